'use strict'
// An overwrite of bytes that have sums: which blocks have to be read for it, and which sums there are afterwards.

const { crc32 } = require('../framing/checked/crc32')
const { BLOCK_SIZE } = require('./layout')

/** @typedef {import('./sums').Sums} Sums */

class Overwrite {
  /**
   * @param {Sums} sums
   * @param {Buffer} bytes
   * @param {number} position  all of them lie before the end of what has sums
   */
  constructor (sums, bytes, position) {
    this._sums = sums
    this._bytes = bytes
    this._start = position
    this._end = position + bytes.length
    /** @type {Map<number, Buffer>} blocks that are not overwritten whole, as they are in the file */
    this.loaded = new Map()
    /** @type {number[]} */
    this.blocks = blocksIn(position, this._end)
  }

  /** @returns {number[]}  the blocks that have to be in `loaded` */
  get edges () {
    const whole = (/** @type {number} */ index) => {
      return this._start <= index * BLOCK_SIZE && this._end >= this._sums.blockEnd(index)
    }
    return this.blocks.filter((index) => !whole(index))
  }

  /**
   * Once it is written. Where a write had failed before, nobody knows what is there: a block has a sum again only when
   * it has the bytes again that it had.
   * @param {Map<number, number>} doubtful  blocks that were left half written, with the sums they had before
   */
  settle (doubtful) {
    for (const index of this.blocks) {
      const sum = this._sumAfter(index)
      const before = doubtful.get(index)
      if (before !== undefined && before !== sum) {
        this._sums.forget(index)
        continue
      }
      doubtful.delete(index)
      this._sums.set(index, sum)
    }
  }

  /**
   * When it failed half way.
   * @param {Map<number, number>} doubtful
   */
  fail (doubtful) {
    for (const index of this.blocks) {
      if (!this._sums.isKnown(index)) continue
      doubtful.set(index, this._sums.at(index))
      this._sums.forget(index)
    }
  }

  /** @param {number} index */
  _sumAfter (index) {
    const start = index * BLOCK_SIZE
    const block = this.loaded.get(index)
    if (!block) return crc32(this._bytes.subarray(start - this._start, this._sums.blockEnd(index) - this._start))
    const from = Math.max(start, this._start)
    this._bytes.copy(block, from - start, from - this._start, Math.min(start + block.length, this._end) - this._start)
    return crc32(block)
  }
}

/**
 * @param {number} start
 * @param {number} end
 * @returns {number[]}
 */
function blocksIn (start, end) {
  const first = Math.floor(start / BLOCK_SIZE)
  return Array.from({ length: Math.max(0, Math.ceil(end / BLOCK_SIZE) - first) }, (_, index) => first + index)
}

exports.Overwrite = Overwrite
exports.blocksIn = blocksIn
