'use strict'
// Memory for small values, handed out piece by piece, and no piece twice: one allocation for many values, which whoever
// gets one may keep.

const { allocateShared, Piece } = require('@millrace/flow')

// Of a larger slab more would be kept by whoever keeps a single value; of smaller ones the last bytes are wasted more
// often.
const SLAB_SIZE = 16 * 1024
// A larger copy gets memory of its own.
const COPIED_SIZE_MAX = SLAB_SIZE / 4
const ALIGNMENT = 8

class Slab {
  constructor () {
    /** What is handed out of. It is replaced when it is used up. */
    this.bytes = Buffer.alloc(0)
    /** Over `bytes`. */
    this.view = new DataView(this.bytes.buffer, 0, 0)
    this._memory = this.bytes.buffer
    this._size = 0
    this._used = 0
  }

  /**
   * @param {number} size  in bytes
   * @returns {number}  where in `bytes` so many are free; they stay so until some are taken
   */
  reserve (size) {
    if (this._used + size > this._size) this._renew(size)
    return this._used
  }

  /**
   * @param {number} start  in `bytes`, where some were reserved, or behind it
   * @param {number} end
   * @returns {Buffer}  what was put there, the caller's own
   */
  take (start, end) {
    this._used = (end + ALIGNMENT - 1) & -ALIGNMENT
    return new Piece(this._memory, start, end - start)
  }

  /**
   * @param {Buffer} source
   * @param {number} start  in the source
   * @param {number} end
   * @returns {Buffer}  a copy, the caller's own
   */
  copy (source, start, end) {
    const size = end - start
    if (size > COPIED_SIZE_MAX) {
      const own = Buffer.allocUnsafeSlow(size)
      source.copy(own, 0, start, end)
      return own
    }
    const offset = this.reserve(size)
    source.copy(this.bytes, offset, start, end)
    return this.take(offset, offset + size)
  }

  /** @param {number} size  that must fit into it */
  _renew (size) {
    this._size = Math.max(SLAB_SIZE, size)
    this.bytes = allocateShared(this._size)
    this._memory = this.bytes.buffer
    this.view = new DataView(this._memory, 0, this._size)
    this._used = 0
  }
}

exports.Slab = Slab
