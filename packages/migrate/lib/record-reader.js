'use strict'
// Records one by one, out of a cursor that gives some at a time.

/**
 * @typedef {import('./block-cursor').Cursor} Cursor
 * @typedef {import('./block-cursor').Batch} Batch
 */

/** @type {Batch} */
const NOTHING = { seqs: [], records: [], isEnd: false }

class RecordReader {
  /** @param {Cursor} cursor */
  constructor (cursor) {
    this.cursor = cursor
    this._batch = NOTHING
    this._index = 0
  }

  /** Whether there is a record at hand. */
  get hasRecord () {
    return this._index < this._batch.records.length
  }

  /** Whether there will be none any more. */
  get isEnd () {
    return !this.hasRecord && this._batch.isEnd
  }

  /** Of the record at hand. */
  get seq () {
    return this._batch.seqs[this._index]
  }

  /** The record at hand. */
  get bytes () {
    return this._batch.records[this._index]
  }

  /** How far the source is done. */
  get position () {
    return this.hasRecord ? Math.min(this.seq, this.total) : Math.min(this.cursor.position, this.total)
  }

  /** The position at the end. */
  get total () {
    return this.cursor.total
  }

  /** Goes on to the next one. */
  advance () {
    this._index++
  }

  /** @param {(err: Error | null) => void} cb  runs when there is a record at hand, or the end */
  fill (cb) {
    if (this.hasRecord || this._batch.isEnd) return cb(null)
    // Each batch in a turn of its own: a long run must not hold up the event loop.
    setImmediate(() => this.cursor.next((err, batch) => {
      if (err || !batch) return cb(err)
      this._batch = batch
      this._index = 0
      this.fill(cb)
    }))
  }
}

exports.RecordReader = RecordReader
