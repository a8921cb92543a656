'use strict'
// A run of records: one buffer, and arrays of positions that are reused for the next run. There is no object per
// record.

const { LogError, misuse, reasonOf } = require('@millrace/errors')

// Large enough that the calls for a run cost nothing per record, and small enough that its arrays stay in the
// processor's cache.
const RECORD_COUNT_MAX = 4096
// A reader of a few records should not pay for large arrays. They double while runs are full.
const RECORD_COUNT_MIN = 16
const NOTHING = Buffer.alloc(0)
const NO_INDEXES = new Uint32Array(0)

/** @typedef {import('./codec').RecordFilter} RecordFilter */

class RecordRun {
  /** @param {number} [capacity]  records that it has room for, until it grows */
  constructor (capacity = RECORD_COUNT_MIN) {
    this.count = 0
    /** Has the records' bytes, and other bytes between them. @type {Buffer} */
    this.buffer = NOTHING
    this._capacity = capacity
    /** Whether it got as many records as it has room for, even if a filter has left fewer. */
    this.isFull = false
    this.seqs = new Float64Array(capacity)
    /** Record `i` is the bytes of `buffer` from `starts[i]` to `ends[i]`. */
    this.starts = new Uint32Array(capacity)
    this.ends = new Uint32Array(capacity)
    /** Allocated by the first selection. */
    this._picked = NO_INDEXES
  }

  clear () {
    if (this.isFull && this._capacity < RECORD_COUNT_MAX) this._grow()
    this.isFull = false
    this.count = 0
  }

  _grow () {
    this._capacity *= 2
    this.seqs = new Float64Array(this._capacity)
    this.starts = new Uint32Array(this._capacity)
    this.ends = new Uint32Array(this._capacity)
  }

  /** @type {(seq: number, start: number, end: number) => void} */
  add (seq, start, end) {
    const index = this.count++
    this.seqs[index] = seq
    this.starts[index] = start
    this.ends[index] = end
    this.isFull = this.count === this._capacity
  }

  /** Notes that the arrays were filled directly. @param {number} count  of all records, earlier ones included */
  take (count) {
    this.count = count
    this.isFull = count === this._capacity
  }

  /**
   * Keeps the records that match, in order.
   * @param {RecordFilter | ((buf: Buffer, start: number, end: number, seq: number) => boolean)} isWanted
   */
  filter (isWanted) {
    if ('select' in isWanted && isWanted.select) return this._select(isWanted.select)
    const { buffer, seqs, starts, ends, count } = this
    this.count = 0
    for (let index = 0; index < count; index++) {
      if (isWanted(buffer, starts[index], ends[index], seqs[index])) this._keep(index)
    }
  }

  /**
   * The same with what a codec compiled, which may be the user's: whatever it throws becomes a LogError.
   * @param {Parameters<RecordRun['filter']>[0]} isWanted
   * @param {string} codecName
   * @returns {LogError | null}  ERR_CODEC_DECODE
   */
  applyFilter (isWanted, codecName) {
    try {
      this.filter(isWanted)
      return null
    } catch (err) {
      if (err instanceof LogError) return err
      return new LogError('ERR_CODEC_DECODE', `the filter that the codec ${codecName} compiled has failed: ${reasonOf(err)}`,
        { cause: err })
    }
  }

  /** @param {import('./codec').Select} select */
  _select (select) {
    const { count } = this
    if (this._picked.length < count) this._picked = new Uint32Array(this._capacity)
    const picked = this._picked
    const pickedCount = select(this, picked)
    this.count = 0
    let next = 0
    for (let i = 0; i < pickedCount; i++) {
      const index = picked[i]
      if (!(index >= next && index < count)) throw misuse('select must give indexes of records, in ascending order')
      this._keep(index)
      next = index + 1
    }
  }

  /** @param {number} index */
  _keep (index) {
    const to = this.count++
    this.seqs[to] = this.seqs[index]
    this.starts[to] = this.starts[index]
    this.ends[to] = this.ends[index]
  }
}

/** For whoever gives none: nothing is added to it. */
const NO_RECORDS = new RecordRun(0)

exports.NO_RECORDS = NO_RECORDS
exports.RecordRun = RecordRun
