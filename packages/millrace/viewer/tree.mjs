// One record as a tree. The server sends a bounded part of it; more is fetched where somebody opens it.

import { askOnce } from './api.mjs'
import { create, formatCount, putText } from './text.mjs'

let shown = 0

/** Shows a record, and forgets the one before. */
export async function showRecord (place, seq) {
  const turn = ++shown
  const answer = await askOnce('record', { seq })
  if (turn !== shown) return
  if (answer.error !== undefined) return place.replaceChildren(putText(create('p', 'problem'), answer.error))
  place.replaceChildren(toElement(answer.tree, { seq, path: [] }, true))
}

function toElement (node, place, isOpen) {
  return node.kind === 'object' || node.kind === 'array' ? toBranch(node, place, isOpen) : toLeaf(node, place)
}

function toLeaf (node, place) {
  const element = create('span', node.kind)
  if (node.kind !== 'string') return putText(element, node.text)
  putText(element, JSON.stringify(node.text).slice(1, -1).replaceAll('\\n', '\n').replaceAll('\\t', '\t'))
  element.prepend('"')
  addRest(element, node, place, node.text.length, 'characters')
  element.append('"')
  return element
}

function toBranch (node, place, isOpen) {
  const branch = create('details')
  branch.open = isOpen
  const [open, close] = node.kind === 'array' ? '[]' : '{}'
  const summary = create('summary')
  if (place.path.length > 0) summary.append(toKey(place.path.at(-1)), ': ')
  summary.append(create('span', 'note', `${open} ${formatCount(node.size)} ${node.size === 1 ? 'member' : 'members'} ${close}`))
  branch.append(summary)
  const list = create('ul')
  branch.append(list)
  const fill = (node) => {
    for (const [key, child] of node.members) {
      const item = create('li')
      const element = toElement(child, { seq: place.seq, path: [...place.path, key] }, place.path.length < 1)
      if (element.tagName !== 'DETAILS') item.append(toKey(key), ': ')
      item.append(element)
      list.append(item)
    }
    const item = create('li')
    if (addRest(item, node, place, node.members.length, 'members', (more) => {
      item.remove()
      fill(more)
    })) list.append(item)
  }
  if (node.members) fill(node)
  else branch.addEventListener('toggle', () => fetchPart(place, 0).then(fill), { once: true })
  return branch
}

function toKey (key) {
  return putText(create('span', 'key'), key)
}

/** Adds a button that fetches what was left out, if anything was. */
function addRest (element, node, place, count, noun, onMore) {
  const from = (node.from ?? 0) + count
  const left = node.size - from
  if (left <= 0) return false
  const button = create('button', '', `${formatCount(left)} more ${noun}`)
  button.type = 'button'
  button.addEventListener('click', async () => {
    button.disabled = true
    const more = await fetchPart(place, from)
    if (onMore) return onMore(more)
    const rest = toElement(more, place, false)
    rest.firstChild.remove()
    rest.lastChild.remove()
    button.replaceWith(...rest.childNodes)
  })
  element.append(' … ', button)
  return true
}

async function fetchPart ({ seq, path }, from) {
  const answer = await askOnce('record', { seq, path: JSON.stringify(path), from })
  return answer.tree ?? { kind: 'null', text: answer.error, members: [], size: 0 }
}
