'use strict'
// Counts what the sink has not got yet, and what the log dropped before the sink got it. Each record is counted once:
// when the forwarder reads it, or before that, by a scan that runs ahead and decodes nothing.

const { performance } = require('node:perf_hooks')
const { isPlausible } = require('@millrace/flow')
const { findFirst, hasDropped } = require('./dropped')

/** @typedef {{ records: number, size: number }} Amount  `size` is in bytes of the log */
/** @typedef {Amount & { seq: number }} Mark  what was ever counted, up to and with the record at `seq` */

/** A mark is made after so many bytes. What lies between two marks is counted again if the log drops up to there. */
const MARK_SIZE = 2 ** 20

class LagCounter {
  #log
  /** Where the log began when the cursor was made. */
  #from
  /** Everything that was counted since the last reset. @type {Amount} */
  #counted = { records: 0, size: 0 }
  /** Of that, what the sink got, or the log dropped. @type {Amount} */
  #done = { records: 0, size: 0 }
  /** In order. The last one is that of `end`, or not made yet. @type {Mark[]} */
  #marks = []
  /** Records that were dropped since `takeMissing`; null if records were dropped that nobody had counted. */
  #missing = /** @type {number | null} */ (0)
  /** How often counting began anew. */
  #resetCount = 0

  /**
   * @param {any} log  loaded
   * @param {number} after  the seq of the last record that is done with
   * @param {number} from  where the log began when the cursor was made
   */
  constructor (log, after, from) {
    this.#log = log
    this.#from = from
    /** The seq up to which records were counted. */
    this.end = after
  }

  /** @returns {Amount} */
  get behind () {
    return { records: this.#counted.records - this.#done.records, size: this.#counted.size - this.#done.size }
  }

  /** @type {(seq: number, size: number) => void} in the order of the log; a record may be noted twice */
  note (seq, size) {
    if (seq <= this.end) return
    this.end = seq
    this.#counted.records++
    this.#counted.size += size
    if (this.#counted.size - (this.#marks.at(-1)?.size ?? 0) >= MARK_SIZE) this.#mark()
  }

  #mark () {
    if (this.#marks.at(-1)?.seq !== this.end) this.#marks.push({ seq: this.end, ...this.#counted })
  }

  /** @type {(records: number, size: number) => void} */
  forget (records, size) {
    this.#pass({ records: this.#done.records + records, size: this.#done.size + size })
  }

  /** @param {Amount} done */
  #pass ({ records, size }) {
    this.#done.records = Math.min(records, this.#counted.records)
    this.#done.size = Math.min(size, this.#counted.size)
    const passed = this.#marks.findIndex((mark) => mark.records > this.#done.records)
    this.#marks.splice(0, passed === -1 ? this.#marks.length : passed)
  }

  /** Counts anew: the log is not what it was. @param {number} after */
  reset (after) {
    this.end = after
    this.#counted = { records: 0, size: 0 }
    this.#done = { records: 0, size: 0 }
    this.#marks = []
    this.#resetCount++
  }

  /**
   * The log has dropped the records before `first`.
   * @param {number} first  the seq of a record
   * @param {() => Amount} read  what was read of the log and is not done with: it is not missing
   */
  async cut (first, read) {
    const resetCount = this.#resetCount
    if (this.end < first) {
      this.#missing = null
      return this.reset(first - 1)
    }
    this.#mark()
    const { seq, records, size } = /** @type {Mark} */ (this.#marks.find((mark) => mark.seq >= first))
    const left = await this.#measureRange({ gte: first, lte: seq }).catch(() => null)
    if (this.#resetCount !== resetCount) return
    if (left === null) {
      this.#missing = null
      return this.reset(first - 1)
    }
    const held = read()
    const missing = records - left.records - this.#done.records - held.records
    if (missing <= 0) return
    if (this.#missing !== null) this.#missing += missing
    this.#pass({
      records: this.#done.records + missing,
      size: Math.max(this.#done.size, size - left.size - held.size)
    })
  }

  /** How many records were dropped since the last call; null if that is not known. @returns {number | null} */
  takeMissing () {
    const missing = this.#missing
    this.#missing = 0
    return missing
  }

  /** @type {(range: { gte: number, lte: number }) => Promise<Amount>} */
  async #measureRange (range) {
    const found = { records: 0, size: 0 }
    await this.#log.scan({ ...range, ...this.#skipping }, (/** @type {any} */ { count, starts, ends }) => {
      found.records += count
      for (let i = 0; i < count; i++) found.size += ends[i] - starts[i]
    })
    return found
  }

  get #skipping () {
    return { onCorrupt: this.#log.supports?.onCorrupt ? 'skip' : undefined }
  }

  /**
   * Counts what was appended since, and what was dropped.
   * @param {number} after  the seq of the last record that was read
   * @param {() => Amount} read  as for `cut`
   * @param {AbortSignal} signal
   */
  async measure (after, read, signal) {
    if (this.#log.since.value <= after) return
    const first = await this.#findDropped(after)
    if (first !== null) await this.cut(first, read)
    if (this.#log.since.value <= this.end) return
    const resetCount = this.#resetCount
    const range = { gt: this.end, ...this.#skipping, signal }
    await this.#log.scan(range, (/** @type {any} */ { count, seqs, starts, ends }) => {
      if (this.#resetCount !== resetCount) return false
      for (let i = 0; i < count; i++) this.note(seqs[i], ends[i] - starts[i])
    })
  }

  /** The first record that is left, if some were dropped. @type {(after: number) => Promise<number | null>} */
  async #findDropped (after) {
    if (!await hasDropped(this.#log, Math.max(this.#from, after + 1))) return null
    return findFirst(this.#log, { gt: after, onRetained: 'skip' })
  }
}

/**
 * The age of the oldest record that is behind: by its own time, or since it was read.
 * @type {(oldest: import('./reading').Entry | undefined, timeOf: any, readMs: number) => number}
 */
function findAgeMs (oldest, timeOf, readMs) {
  if (oldest === undefined) return 0
  let time = NaN
  try {
    time = timeOf === false ? NaN : timeOf(oldest.value) ?? NaN
  } catch {
    // The record may have any shape.
  }
  const nowMs = Date.now()
  return Math.max(0, Math.round(isPlausible(time, nowMs) ? nowMs - time : performance.now() - readMs))
}

exports.LagCounter = LagCounter
exports.findAgeMs = findAgeMs
