'use strict'
// Many records at once, without an object each: where they lie in one buffer, in arrays that are used again and again.

// Enough that the call around a chunk costs nothing a record; few enough that a reader's arrays stay in the cache.
const RECORD_COUNT_MAX = 4096
// A reader of a few records should not pay for arrays of thousands: they double while chunks come out full.
const RECORD_COUNT_MIN = 16
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./codec').RecordFilter} RecordFilter */

class Chunk {
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
    const { buffer, seqs, starts, ends, count } = this
    const isForward = count > 0 && starts[0] <= starts[count - 1]
    if ('search' in isWanted && isWanted.search && isForward) return this._filterFound(isWanted, isWanted.search)
    this.count = 0
    for (let index = 0; index < count; index++) {
      if (isWanted(buffer, starts[index], ends[index], seqs[index])) this.add(seqs[index], starts[index], ends[index])
    }
  }

  /**
   * Keeps the records that pass, in order, and looks only at those in which a search finds something.
   * @param {RecordFilter} isWanted
   * @param {import('./codec').Search} search
   */
  _filterFound (isWanted, search) {
    const { buffer, seqs, starts, ends, count } = this
    let index = 0
    let kept = 0
    while (index < count) {
      const place = search(buffer, starts[index], ends[count - 1])
      if (place < 0) break
      // Whoever wrote the search: it goes on.
      const found = Math.max(place, starts[index])
      while (index < count && ends[index] <= found) index++
      // Between two records, or in the bytes of one that was deleted.
      if (index === count || found < starts[index]) continue
      if (isWanted(buffer, starts[index], ends[index])) {
        seqs[kept] = seqs[index]
        starts[kept] = starts[index]
        ends[kept] = ends[index]
        kept++
      }
      index++
    }
    this.count = kept
  }
}

exports.Chunk = Chunk
