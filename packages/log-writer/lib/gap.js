'use strict'
// What was dropped, to be written into the log: how many records, of which levels, why and when.

/**
 * The field `gap` of a gap record, `{ level: 40, time, msg, gap }`: the log itself says what is missing in it.
 * @typedef {object} Gap
 * @property {number} count  how many records
 * @property {Record<string, number>} levels  how many of each level
 * @property {string} reason  why; several are joined with commas. `'drop-new'` and `'drop-old'`: the queue was full.
 *   `'refused'`: the log refused the record, such as a record that is too large. `'standard-error'`: it should have
 *   gone to standard error, and nobody reads that. `'diverted'`: it was not dropped, but went to standard error
 * @property {number} from  when the first dropped record was submitted, in ms since 1970
 * @property {number} to  when the last one was
 */

const WARN = 40

class GapCounter {
  #count = 0
  /** @type {Map<string, number>} */
  #levels = new Map()
  /** @type {Set<string>} */
  #reasons = new Set()
  #from = Infinity
  #to = -Infinity

  get isEmpty () {
    return this.#count === 0
  }

  /**
   * @param {import('./levels').Level} level
   * @param {number} time  by the steady clock
   * @param {string} reason
   */
  add (level, time, reason) {
    this.#count++
    this.#levels.set(level.name, (this.#levels.get(level.name) ?? 0) + 1)
    this.#reasons.add(reason)
    this.#from = Math.min(this.#from, time)
    this.#to = Math.max(this.#to, time)
  }

  /** Makes the record of what was dropped, and begins again. */
  take () {
    const count = this.#count
    const levels = Object.fromEntries(this.#levels)
    const reason = [...this.#reasons].join(',')
    const time = Date.now()
    const toWallMs = (/** @type {number} */ steadyMs) => Math.round(time - (performance.now() - steadyMs))
    /** @type {Gap} */
    const gap = { count, levels, reason, from: toWallMs(this.#from), to: toWallMs(this.#to) }
    this.#count = 0
    this.#levels.clear()
    this.#reasons.clear()
    this.#from = Infinity
    this.#to = -Infinity
    const what = reason === 'diverted' ? 'went to standard error' : `were dropped: ${reason}`
    return { level: WARN, time, msg: `${count} records ${what}`, gap }
  }
}

exports.GapCounter = GapCounter
