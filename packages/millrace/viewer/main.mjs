// The viewer: ties the list, the time line, the filter and the record together, and keeps what is shown in the URL.

import { ask, askOnce } from './api.mjs'
import { List } from './list.mjs'
import { create, formatCount, formatSize, formatTime, putText } from './text.mjs'
import { showRecord } from './tree.mjs'

const TYPING_MS = 120
const SCROLL_MARGIN = '600px'
// While records come, the time line is looked at again so often, and where that reads all of the log, never.
const TIMELINE_MS = 2000
const at = (id) => document.getElementById(id)

/** Loaded after the first records: most of the page's code is its. */
let chart = null
const state = { query: '', hasOlder: true, hasNewer: false, isLoading: false, end: undefined, damage: [], isEstimable: false, counted: null }
/** What ends when the list is made anew. */
let session = new AbortController()
let following = null

const list = new List(at('list'), (seq) => open(seq))
const whenNearEnd = observe(at('end'), () => at('list').childElementCount > 0 && older())

/** Makes the list anew: from the newest record on, or from a place on. */
async function show ({ from } = {}) {
  session.abort()
  session = new AbortController()
  const { signal } = session
  list.clear()
  Object.assign(state, { hasOlder: true, hasNewer: false, isLoading: false })
  at('newer').hidden = true
  at('end').textContent = ''
  if (state.query === '') setStatus('')
  if (from === undefined || state.query !== '') return older()
  stopFollowing()
  // The page that begins there, with what comes before it below.
  const { rows } = await askOnce('page', { from, count: 25 }, signal)
  if (rows.length > 0) list.addOlder(rows)
  setNewer(true)
  await older()
}

/** Adds the next older records at the end of the list: those after it, or those that a search finds. */
async function older () {
  const { signal } = session
  if (state.isLoading || !state.hasOlder) return
  state.isLoading = true
  try {
    if (state.query === '') await page(list.oldest, signal)
    else await search(list.oldest, signal)
    if (!signal.aborted) whenNearEnd.again()
  } catch (err) {
    if (!signal.aborted) at('end').textContent = err.message
  } finally {
    if (!signal.aborted) state.isLoading = false
  }
}

async function page (before, signal) {
  const { rows, lost, isLast } = await askOnce('page', { before, count: 50 }, signal)
  if (signal.aborted) return
  at('list').classList.toggle('timeless', rows.every(({ time }) => time === null) && at('list').querySelector('.time:not(:empty)') === null)
  if (list.addOlder(rows)) setNewer(true)
  state.hasOlder = !isLast
  at('end').textContent = endText(isLast, lost)
}

function endText (isLast, lost) {
  const damage = lost?.count > 0 ? `${formatCount(lost.count)} damaged ${lost.count === 1 ? 'range' : 'ranges'} skipped. ` : ''
  if (!isLast) return damage
  return damage + (list.newest === undefined ? 'This log is empty.' : 'This is the first record.')
}

async function newer () {
  if (list.newest === undefined) return show()
  const { rows } = await askOnce('page', { after: list.newest, count: 50 }, session.signal)
  list.addNewer(rows)
  setNewer(rows.length === 50)
}

function setNewer (hasNewer) {
  state.hasNewer = hasNewer
  at('newer').hidden = !hasNewer
}

/** Searches on from a place, or from the newest record. The next search ends this one. */
async function search (before, signal) {
  let count = 0
  const startedMs = performance.now()
  setStatus('searching …')
  await ask('search', { query: state.query, before, count: 100 }, (line) => {
    if (signal.aborted) return
    if (line.row) {
      count++
      list.addOlder([line.row])
    } else if (line.error !== undefined) {
      state.hasOlder = false
      setStatus(line.error, true)
    } else if (line.isDone) {
      state.hasOlder = !line.isLast
      setStatus(`${formatCount(list.newest === undefined ? 0 : at('list').childElementCount)}${line.isLast ? '' : '+'} found, ` +
        `${Math.round(performance.now() - startedMs)} ms`)
      at('end').textContent = line.isLast ? 'No older record passes the filter.' : ''
    } else {
      setStatus(`${formatCount(count)} found, ${Math.round(100 * line.done)} % searched`)
    }
  }, signal)
}

/** Runs an action when an element comes near to what is seen of the records. */
function observe (element, action) {
  const observer = new IntersectionObserver((entries) => {
    if (entries.at(-1).isIntersecting) action()
  }, { root: at('records'), rootMargin: SCROLL_MARGIN })
  observer.observe(element)
  // An observer tells only of changes: it does not know an element that left and came back between two frames.
  const again = () => {
    observer.unobserve(element)
    observer.observe(element)
  }
  return { again }
}

function setStatus (text, isBad = false) {
  putText(at('status'), text).classList.toggle('bad', isBad)
  at('query').setAttribute('aria-invalid', String(isBad))
}

function open (seq) {
  document.body.classList.add('open')
  at('detail-title').textContent = `Record ${seq}`
  showRecord(at('tree'), seq).catch((err) => putText(at('tree'), err.message))
  keepInUrl({ seq })
}

function keepInUrl (changes) {
  const parameters = new URLSearchParams(location.hash.slice(1))
  for (const [key, value] of Object.entries(changes)) value === '' ? parameters.delete(key) : parameters.set(key, value)
  history.replaceState(null, '', `#${parameters}`)
}

async function follow () {
  following = new AbortController()
  const { signal } = following
  at('follow').setAttribute('aria-pressed', 'true')
  if (state.hasNewer) await show()
  while (!signal.aborted) {
    // Another filter makes another list, and follows with it.
    const { signal: unchanged } = session
    const after = (state.query === '' ? list.newest : undefined) ?? state.end
    await ask('tail', { after, query: state.query }, showNews, AbortSignal.any([signal, unchanged])).catch(() => {})
    // The connection was lost.
    if (!signal.aborted && !unchanged.aborted) await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

function showNews ({ rows, isCut, end, count, error }) {
  // The file was removed, or cut off: what is shown is old.
  if (error !== undefined) return putText(at('status'), error).classList.add('bad')
  state.end = end
  if (state.counted !== null) state.counted += count
  if (isCut) {
    list.clear()
    state.hasOlder = true
  }
  list.addNewer(rows, true)
  growTimeline()
}

let growing = 0
function growTimeline () {
  if (growing || !chart || !state.isEstimable) return
  growing = setTimeout(() => ask('timeline', {}, showTimeline).catch(() => {}).finally(() => { growing = 0 }), TIMELINE_MS)
}

function stopFollowing () {
  following?.abort()
  at('follow').setAttribute('aria-pressed', 'false')
}

async function loadTimeline () {
  const { Chart } = await import('./chart.mjs')
  chart = new Chart(at('chart'), {
    onPick: (place) => show({ from: place }),
    onPoint: (text) => { at('timeline-value').textContent = text }
  })
  chart.damage = state.damage
  await ask('timeline', {}, showTimeline)
}

function showTimeline ({ timeline, count, done }) {
  if (timeline) {
    chart.timeline = timeline
    if (timeline.isCounted) state.counted = timeline.count
    // What was counted is still known exactly when the bars are an estimate again.
    const isCounted = state.counted !== null
    const range = timeline.unit === 'time' ? `, ${formatTime(timeline.start)} to ${formatTime(timeline.end)}` : ''
    at('timeline-title').textContent = `${isCounted ? '' : 'about '}${formatCount(state.counted ?? timeline.count)} records${range}` +
      (isCounted ? '' : ' (an estimate: Count all reads the whole log)')
    at('count').hidden = isCounted
  } else if (done !== undefined && done < 1) {
    at('timeline-title').textContent = `${formatCount(count)} records counted, ${Math.round(100 * done)} %`
  }
}

async function count () {
  at('count').disabled = true
  await ask('count', {}, showTimeline).finally(() => { at('count').disabled = false })
}

async function verify () {
  at('verify').disabled = true
  const found = []
  await ask('verify', {}, ({ done, damage, report, error }) => {
    if (damage) found.push(damage)
    if (done !== undefined) at('verify').textContent = `Verifying ${Math.round(100 * done)} %`
    if (error !== undefined) showDamage([], error)
    if (report) showReport(report)
  }).finally(() => Object.assign(at('verify'), { disabled: false, textContent: 'Verify' }))
}

function showReport (report) {
  const { isSound, records, damage, damageCount, damageSize } = report
  const text = isSound
    ? `Verified: ${formatCount(records)} records, no damage.`
    : `Verified: ${formatCount(records)} records are whole. ${formatCount(damageCount)} damaged ` +
      `${damageCount === 1 ? 'range' : 'ranges'}, ${formatSize(damageSize)}. Run millrace repair: it makes a new log of the whole records.`
  showDamage(damage, text, isSound)
  list.damage = state.damage = damage
  if (chart) chart.damage = damage
}

function showDamage (ranges, text, isGood = false) {
  const items = create('ul')
  for (const { what, offset, size, seqs, slot, file } of ranges.slice(0, 20)) {
    const item = putText(create('li'), `${formatSize(size)} at offset ${offset}${file ? ` of ${file}` : ''}: ${what}`)
    if (seqs) {
      const button = create('button', '', 'show')
      const from = Math.max(0, seqs.from)
      button.addEventListener('click', () => show({ from: slot === undefined ? from : `${slot}:${from}` }))
      item.append(button)
    }
    items.append(item)
  }
  at('damage').replaceChildren(putText(create('p'), text), items)
  at('damage').classList.toggle('good', isGood)
  at('damage').hidden = false
}

async function load () {
  const parameters = new URLSearchParams(location.hash.slice(1))
  state.query = at('query').value = parameters.get('query') ?? ''
  const chosen = parameters.get('seq')
  const first = chosen !== null && state.query === '' ? show({ from: chosen }) : show()
  const info = await askOnce('info', {})
  document.title = `${info.name}, Millrace`
  putText(at('name'), info.name)
  at('name').title = info.path
  state.end = info.end
  at('follow').disabled = false
  state.isEstimable = info.isEstimable
  putText(at('facts'), [formatSize(info.size), info.slotCount && `${info.slotCount} ${info.slotCount === 1 ? 'slot' : 'slots'}`, info.framing && `${info.framing} framing`, info.codec && `codec ${info.codec}`,
    info.index && `index of ${info.index.join(', ')}`,
    `changed ${formatTime(Math.round(info.modified / 1000) * 1000)} UTC`].filter(Boolean).join(', '))
  if (info.damage.length > 0) showDamage(info.damage, 'This log is damaged, so it can only be read.')
  await first
  if (chosen !== null) open(chosen)
  await loadTimeline()
}

let typing = 0
at('query').addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => {
    state.query = at('query').value.trim()
    keepInUrl({ query: state.query })
    show()
  }, TYPING_MS)
})
at('search').addEventListener('submit', (event) => event.preventDefault())
at('newer').addEventListener('click', newer)
at('follow').addEventListener('click', () => following && !following.signal.aborted ? stopFollowing() : follow())
at('count').addEventListener('click', count)
at('verify').addEventListener('click', verify)
at('close').addEventListener('click', () => document.body.classList.remove('open'))
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') document.body.classList.remove('open')
  if (event.key !== '/' || event.target === at('query')) return
  event.preventDefault()
  at('query').focus()
})

load().catch((err) => showDamage([], err.message))
