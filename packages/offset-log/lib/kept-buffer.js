'use strict'
// Memory that is used again and again: what is new to the process is slow.

// Larger ones are not kept: there are few.
const KEPT_SIZE_MAX = 1024 * 1024
const KEPT_SIZE_MIN = 4 * 1024

class KeptBuffer {
  constructor () {
    this._buffer = Buffer.alloc(0)
  }

  /**
   * @param {number} size
   * @returns {Buffer}  at least as large; the same one as before unless more is asked for
   */
  ofSize (size) {
    if (size > KEPT_SIZE_MAX) return Buffer.allocUnsafeSlow(size)
    if (size > this._buffer.length) {
      const larger = Math.max(size, 2 * this._buffer.length, KEPT_SIZE_MIN)
      this._buffer = Buffer.allocUnsafeSlow(Math.min(larger, KEPT_SIZE_MAX))
    }
    return this._buffer
  }
}

exports.KeptBuffer = KeptBuffer
