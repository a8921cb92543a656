'use strict'
// What a walk over one block of an old format finds: where the records are, and where the bytes make no sense.

/**
 * A record in a block: its frame begins at `seq`, its data is from `start` to `end`. All are offsets in the block.
 * @typedef {{ seq: number, start: number, end: number }} Found
 * @typedef {{ what: string, start: number, end: number }} Flaw  bytes of the block that are no frames, and why
 */

class BlockWalk {
  constructor () {
    /** @type {Found[]} undeleted, in order, up to the flaw if there is one */
    this.records = []
    /** Frames whose data was erased, or is empty, which looks the same. */
    this.deletedCount = 0
    /** Frames that hold at least one byte, erased or not: what speaks for the format. */
    this.frameCount = 0
    /** @type {Flaw | null} what is damaged */
    this.flaw = null
    /** @type {Found[]} undeleted records behind the flaw */
    this.rest = []
    /** @type {Flaw | null} what the end of the file has cut off */
    this.torn = null
  }

  /**
   * @param {Buffer} block
   * @param {number} seq
   * @param {number} start
   * @param {number} end
   * @param {Found[]} [records]
   */
  add (block, seq, start, end, records = this.records) {
    if (end > start) this.frameCount++
    if (isAllZero(block, start, end)) this.deletedCount++
    else records.push({ seq, start, end })
  }
}

/**
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} end
 */
function isAllZero (buf, start, end) {
  for (let offset = start; offset < end; offset++) {
    if (buf[offset] !== 0) return false
  }
  return true
}

exports.BlockWalk = BlockWalk
exports.isAllZero = isAllZero
