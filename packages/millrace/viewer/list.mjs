// The list of records, newest first: pages are added at both ends as somebody scrolls there, and dropped at the other.

import { create, formatCount, formatSize, formatTime, putText } from './text.mjs'

const ROW_COUNT_MAX = 1000

export class List {
  #element
  #onChoose
  #damage = []

  /**
   * @param {HTMLElement} element
   * @param {(seq: number) => void} onChoose
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
    let above = Infinity
    for (const row of [...this.#element.children]) {
      row.before(...this.#rowsOfDamage(above, Number(row.dataset.seq)))
      above = Number(row.dataset.seq)
    }
  }

  get newest () {
    return this.#seqAt(this.#element.querySelector('li[data-seq]'))
  }

  get oldest () {
    return this.#seqAt([...this.#element.querySelectorAll('li[data-seq]')].pop())
  }

  clear () {
    this.#element.replaceChildren()
  }

  /** @param {object[]} rows  older than all that are shown; others are shown already */
  addOlder (rows) {
    let above = this.oldest ?? Infinity
    for (const row of rows.filter(({ seq }) => seq < above)) {
      this.#element.append(...this.#rowsOfDamage(above, row.seq), this.#toElement(row))
      above = row.seq
    }
    return this.#drop(() => this.#element.firstElementChild)
  }

  /** @param {object[]} rows  newer than all that are shown, newest first; others are shown already */
  addNewer (rows, isFresh = false) {
    const newest = this.newest ?? -1
    const elements = rows.filter(({ seq }) => seq > newest).map((row) => this.#toElement(row))
    if (isFresh) for (const element of elements) element.classList.add('fresh')
    this.#element.prepend(...elements)
    return this.#drop(() => this.#element.lastElementChild)
  }

  /** @param {HTMLElement} row */
  choose (row) {
    this.#element.querySelector('[aria-selected=true]')?.setAttribute('aria-selected', 'false')
    row.setAttribute('aria-selected', 'true')
    this.#element.setAttribute('aria-activedescendant', row.id)
    this.#onChoose(Number(row.dataset.seq))
  }

  #seqAt (row) {
    return row ? Number(row.dataset.seq) : undefined
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

  #toElement ({ seq, size, time, text, error }) {
    const row = create('li', error === undefined ? '' : 'error')
    row.id = `record-${seq}`
    row.dataset.seq = seq
    row.setAttribute('role', 'option')
    row.setAttribute('aria-selected', 'false')
    const words = error === undefined ? text : `${error}: ${text}`
    const facts = { seq: String(seq), time: formatTime(time), size: formatSize(size) }
    row.append(...Object.entries(facts).map(([name, text]) => create('span', name, text)), putText(create('span', 'text'), words))
    return row
  }

  #rowsOfDamage (above, below) {
    const between = this.#damage.filter(({ seqs }) => seqs && seqs.from < above && seqs.from >= below)
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
