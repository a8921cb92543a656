'use strict'
// Many records at once, without an object each: where they lie in one buffer, in arrays that are used again and again.

const { misuse } = require('@millrace/errors')

// Enough that the call around a run costs nothing a record; few enough that a reader's arrays stay in the cache.
const RECORD_COUNT_MAX = 4096
// A reader of a few records should not pay for arrays of thousands: they double while runs come out full.
const RECORD_COUNT_MIN = 16
const NOTHING = Buffer.alloc(0)
const NO_INDEXES = new Uint32Array(0)

/** @typedef {import('./codec').RecordFilter} RecordFilter */

class RecordRun {
  constructor () {
    /** How many records there are. */
    this.count = 0
    /** @type {Buffer} the records' bytes, and others between them */
    this.buffer = NOTHING
    this._capacity = RECORD_COUNT_MIN
    this._wasFull = false
    this.seqs = new Float64Array(RECORD_COUNT_MIN)
    /** Record `i` is the bytes of `buffer` from `starts[i]` to `ends[i]`. */
    this.starts = new Uint32Array(RECORD_COUNT_MIN)
    this.ends = new Uint32Array(RECORD_COUNT_MIN)
    /** Made when they are needed. */
    this._picked = NO_INDEXES
  }

  get isFull () {
    return this.count === this._capacity
  }

  /** Forgets the records. */
  clear () {
    if (this._wasFull && this._capacity < RECORD_COUNT_MAX) this._grow()
    this._wasFull = false
    this.count = 0
  }

  _grow () {
    this._capacity *= 2
    this.seqs = new Float64Array(this._capacity)
    this.starts = new Uint32Array(this._capacity)
    this.ends = new Uint32Array(this._capacity)
  }

  /**
   * @param {number} seq
   * @param {number} start
   * @param {number} end
   */
  add (seq, start, end) {
    const index = this.count++
    this.seqs[index] = seq
    this.starts[index] = start
    this.ends[index] = end
    if (this.count === this._capacity) this._wasFull = true
  }

  /**
   * So many records, those of before among them, were put into the arrays.
   * @param {number} count
   */
  take (count) {
    this.count = count
    if (count === this._capacity) this._wasFull = true
  }

  /**
   * Keeps the records that pass, in order.
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
   * Keeps the records that were selected from all of them at once.
   * @param {import('./codec').Select} select
   */
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

  /** @param {number} index  of one of those that were there */
  _keep (index) {
    const to = this.count++
    this.seqs[to] = this.seqs[index]
    this.starts[to] = this.starts[index]
    this.ends[to] = this.ends[index]
  }
}

exports.RecordRun = RecordRun
