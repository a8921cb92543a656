'use strict'
// The checksums of a log in memory, one a block: five bytes for 64 KiB. The last one is of as much of its block as
// there is, and grows with it.

const { crc32 } = require('../framing/checked/crc32')
const { BLOCK_SIZE } = require('./layout')

const KNOWN = 1
const CHECKED = 2
const COUNT_MIN = 64

class Sums {
  constructor () {
    this._sums = new Uint32Array(COUNT_MIN)
    this._states = new Uint8Array(COUNT_MIN)
    /** How many bytes of the log they are of. */
    this.end = 0
  }

  get blockCount () {
    return Math.ceil(this.end / BLOCK_SIZE)
  }

  /**
   * @param {number} index
   * @returns {number}  where the bytes end that the block's sum is of
   */
  blockEnd (index) {
    return Math.min((index + 1) * BLOCK_SIZE, this.end)
  }

  /**
   * @param {number} index
   * @returns {number}  0 when it is not known
   */
  at (index) {
    return this.isKnown(index) ? this._sums[index] : 0
  }

  /**
   * @param {number} first
   * @param {number} end
   * @returns {Uint32Array}  a view, good until the next change
   */
  slice (first, end) {
    this._makeRoom(end)
    return this._sums.subarray(first, end)
  }

  /** The sum of the last block when it is not full; 0 when it is, or is not known. */
  get tailSum () {
    return this.end % BLOCK_SIZE === 0 ? 0 : this.at(Math.floor(this.end / BLOCK_SIZE))
  }

  /** @param {number} index */
  isKnown (index) {
    return index < this.blockCount && (this._states[index] & KNOWN) !== 0
  }

  /**
   * @param {number} index
   * @returns {boolean}  whether its bytes were found to be right in this session, or were written in it
   */
  isChecked (index) {
    return index < this.blockCount && (this._states[index] & CHECKED) !== 0
  }

  /** @param {number} index */
  needsCheck (index) {
    return index < this.blockCount && this._states[index] === KNOWN
  }

  /** @param {number} index */
  markChecked (index) {
    this._states[index] |= CHECKED
  }

  /**
   * @param {number} index
   * @param {number} sum
   */
  set (index, sum) {
    this._makeRoom(index + 1)
    this._sums[index] = sum
    this._states[index] = KNOWN | CHECKED
  }

  /**
   * Takes a sum that was written down, and that nothing was compared with yet.
   * @param {number} index
   * @param {number} sum
   */
  take (index, sum) {
    this.set(index, sum)
    this._states[index] = KNOWN
  }

  /**
   * Its bytes may be anything.
   * @param {number} index
   */
  forget (index) {
    this._states[index] = 0
    this._sums[index] = 0
  }

  /** @param {Buffer} bytes  what now follows the end */
  extend (bytes) {
    while (bytes.length > 0) {
      const index = Math.floor(this.end / BLOCK_SIZE)
      const part = bytes.subarray(0, (index + 1) * BLOCK_SIZE - this.end)
      this.end += part.length
      if (this.end - part.length === index * BLOCK_SIZE) this.set(index, crc32(part))
      else if (this.isKnown(index)) this._sums[index] = crc32(part, this._sums[index])
      bytes = bytes.subarray(part.length)
    }
  }

  /**
   * @param {number} end  a lower one
   * @param {number} tailSum  of what is left of the last block
   */
  cut (end, tailSum) {
    const index = Math.floor(end / BLOCK_SIZE)
    const isKnown = this.isKnown(index)
    this._states.fill(0, Math.ceil(end / BLOCK_SIZE))
    this.end = end
    if (end % BLOCK_SIZE !== 0 && isKnown) this.set(index, tailSum)
  }

  /** @param {number} count */
  _makeRoom (count) {
    if (count <= this._sums.length) return
    const length = Math.max(count, 2 * this._sums.length)
    const sums = new Uint32Array(length)
    const states = new Uint8Array(length)
    sums.set(this._sums)
    states.set(this._states)
    this._sums = sums
    this._states = states
  }
}

exports.Sums = Sums
