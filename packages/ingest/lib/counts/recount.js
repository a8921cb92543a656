'use strict'
// Counts all events that a log has, beside the counter that goes on. It is made for one run.

const { decodeRecord } = require('../record')
const { Tally, dayOf, formatDay, pairOf } = require('./tally')

const HOLD = 'recount'

/**
 * What was counted again.
 * @typedef {object} Recounted
 * @property {string | null} from  the first day; days before it keep their counts. Null if the log has no record
 * @property {number} events
 * @property {string | null} incomplete  a day whose counts were lost and whose first records were dropped
 */

class Recount {
  #log
  #files
  #signal
  #from = Infinity
  /** Where to read on: once records are known, what is dropped of them ends the run. */
  #start = /** @type {{ gt: number } | { gte: number }} */ ({ gt: -1 })
  /** @type {number | null} */
  #incomplete = null
  #events = 0
  /** The newest day so far. */
  #newest = -Infinity
  cursor = -1
  /** Days that are not in files. @type {Map<number, Tally>} */
  days = new Map()
  /** Days whose files are new. @type {Set<number>} */
  filed = new Set()

  /**
   * @param {import('../options').Log} log
   * @param {import('./files').CountFiles} files
   * @param {AbortSignal} signal
   */
  constructor (log, files, signal) {
    this.#log = log
    this.#files = files
    this.#signal = signal
  }

  /** Begins. What is dropped nevertheless, by a quota, ends the run with ERR_LOG_SEQ_RETAINED. */
  async begin () {
    await this.#log.hold(HOLD, 0)
  }

  /**
   * Finds the first day, once there is a record.
   * @param {(day: number) => boolean} isKnown  whether the day has counts that can be kept
   */
  async #findFrom (isKnown) {
    const first = await this.#log.first({})
    if (first === undefined) return
    this.#start = { gte: first.seq }
    const day = dayOf(decodeRecord(first.value).time)
    // If segments were dropped, the first records of this day may have been in them.
    const [{ base }] = await this.#log.segments()
    const isCut = base > 0
    this.#from = isCut && isKnown(day) ? day + 1 : day
    if (isCut && !isKnown(day)) this.#incomplete = day
  }

  /** Whether it counts the day again. @param {number} day */
  includes = (day) => day >= this.#from

  /**
   * Counts on.
   * @param {number} end  the seq of the last record, not below that of the call before
   * @param {(day: number) => boolean} isKnown  whether the day has counts that can be kept
   * @param {(day: number, tally: Tally) => Promise<boolean>} file  stores the counts of a day that is over, or says no
   */
  async readOn (end, isKnown, file) {
    if (this.#from === Infinity) await this.#findFrom(isKnown)
    for await (const { value } of this.#log.stream({ ...this.#start, lte: end, signal: this.#signal })) {
      const { time, value: inner } = decodeRecord(value)
      const day = dayOf(time)
      if (this.includes(day)) {
        if (day > this.#newest) await this.#fileBefore(day - 1, file)
        this.#newest = Math.max(this.#newest, day)
        const pair = pairOf(inner)
        if (pair.length > 0) (this.days.get(day) ?? await this.#openDay(day)).addPairs(pair)
        this.#events += pair.length / 2
      }
    }
    this.cursor = end
    this.#start = { gt: end }
  }

  /** @type {(before: number, file: (day: number, tally: Tally) => Promise<boolean>) => Promise<void>} */
  async #fileBefore (before, file) {
    for (const [day, tally] of this.days) {
      if (day >= before || !await file(day, tally)) continue
      this.days.delete(day)
      this.filed.add(day)
    }
  }

  /** @param {number} day */
  async #openDay (day) {
    const tally = this.filed.has(day) ? await this.#files.readDay(day) : new Tally()
    this.days.set(day, tally)
    return tally
  }

  async end () {
    await this.#log.release(HOLD)
  }

  /** @returns {Recounted} */
  get result () {
    const from = this.#from === Infinity ? null : formatDay(this.#from)
    return { from, events: this.#events, incomplete: this.#incomplete === null ? null : formatDay(this.#incomplete) }
  }
}

exports.Recount = Recount
