// The list of records, newest first: pages are added at both ends as somebody scrolls there, and dropped at the other.

import { formatPlace, isAfter, parseKey } from './places.mjs'
import { create, formatCount, formatSize, formatTime, putText } from './text.mjs'

const ROW_COUNT_MAX = 1000

export class List {
  #element
  #onChoose
  #damage = []

  /**
   * @param {HTMLElement} element
   * @param {(seq: string) => void} onChoose
   */
  constructor (element, onChoose) {
    this.#element = element
    this.#onChoose = onChoose
    element.addEventListener('click', ({ target }) => {
      const row = target.closest('li[data-seq]')
      if (row) this.choose(row)
    })
    element.addEventListener('keydown', (event) => this.#onKey(event))
  }

  /** Ranges of seqs that are damaged, to be shown where they lie. */
  set damage (ranges) {
    this.#damage = ranges
    for (const row of this.#element.querySelectorAll('li.bad')) row.remove()
    const above = {}
    for (const row of [...this.#element.children]) row.before(...this.#rowsOfDamage(above, row.dataset.seq))
  }

  /** The place of the first record that is shown; undefined if there is none. */
  get newest () {
    const row = this.#newest
    return row && formatPlace(row)
  }

  get oldest () {
    const row = this.#oldest
    return row && formatPlace(row)
  }

  get #newest () {
    return this.#element.querySelector('li[data-seq]')?.dataset
  }

  get #oldest () {
    return [...this.#element.querySelectorAll('li[data-seq]')].pop()?.dataset
  }

  clear () {
    this.#element.replaceChildren()
  }

  /** @param {object[]} rows  older than all that are shown; others are shown already */
  addOlder (rows) {
    const oldest = this.#oldest
    const above = this.#lowest()
    for (const row of rows.filter((row) => !oldest || isAfter(oldest, row))) {
      this.#element.append(...this.#rowsOfDamage(above, row.seq), this.#toElement(row))
    }
    return this.#drop(() => this.#element.firstElementChild)
  }

  /** @param {object[]} rows  newer than all that are shown, newest first; others are shown already */
  addNewer (rows, isFresh = false) {
    const newest = this.#newest
    const elements = rows.filter((row) => !newest || isAfter(row, newest)).map((row) => this.#toElement(row))
    if (isFresh) for (const element of elements) element.classList.add('fresh')
    this.#element.prepend(...elements)
    return this.#drop(() => this.#element.lastElementChild)
  }

  /** @param {HTMLElement} row */
  choose (row) {
    this.#element.querySelector('[aria-selected=true]')?.setAttribute('aria-selected', 'false')
    row.setAttribute('aria-selected', 'true')
    this.#element.setAttribute('aria-activedescendant', row.id)
    this.#onChoose(row.dataset.seq)
  }

  #onKey (event) {
    const steps = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling', j: 'nextElementSibling', k: 'previousElementSibling' }
    const step = steps[event.key]
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    let row = this.#element.querySelector('[aria-selected=true]')
    row = row ? row[step] : this.#element.querySelector('li[data-seq]')
    while (row && row.dataset.seq === undefined) row = row[step]
    if (!row) return
    this.choose(row)
    row.scrollIntoView({ block: 'nearest' })
  }

  #toElement ({ seq, beside, size, time, text, error }) {
    const row = create('li', error === undefined ? '' : 'error')
    row.id = `record-${seq}`
    row.dataset.seq = seq
    if (beside !== undefined) row.dataset.beside = beside
    row.setAttribute('role', 'option')
    row.setAttribute('aria-selected', 'false')
    const words = error === undefined ? text : `${error}: ${text}`
    const facts = { seq: String(seq), time: formatTime(time), size: formatSize(size) }
    row.append(...Object.entries(facts).map(([name, text]) => create('span', name, text)), putText(create('span', 'text'), words))
    return row
  }

  /** By slot: the lowest seq that is shown. */
  #lowest () {
    const lowest = {}
    if (this.#damage.length === 0) return lowest
    for (const { dataset } of this.#element.querySelectorAll('li[data-seq]')) {
      const { slot, seq } = parseKey(dataset.seq)
      lowest[slot] = seq
    }
    return lowest
  }

  /**
   * Of the damage that is next to a record.
   * @param {Record<string, number>} above  by slot, the lowest seq of the records before; becomes that of this one
   * @param {string | number} key  of the record
   */
  #rowsOfDamage (above, key) {
    const own = parseKey(key)
    const end = above[own.slot] ?? Infinity
    above[own.slot] = own.seq
    const between = this.#damage.filter(({ seqs, slot = '' }) => {
      return seqs && String(slot) === own.slot && seqs.from < end && seqs.from >= own.seq
    })
    return between.map(({ what, offset, size, records }) => {
      const row = create('li', 'bad')
      const count = records === null ? '' : `, ${formatCount(records)} ${records === 1 ? 'record' : 'records'}`
      return putText(row, `damaged: ${formatSize(size)} at offset ${offset}${count} (${what})`)
    })
  }

  /** @returns {boolean}  whether there were more rows than are kept */
  #drop (pick) {
    const hasMore = this.#element.childElementCount > ROW_COUNT_MAX
    while (this.#element.childElementCount > ROW_COUNT_MAX) pick().remove()
    return hasMore
  }
}
