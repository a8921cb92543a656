'use strict'
// The state of a survey after a chunk: where the next one begins, what it must follow, and what was counted so far.

const { encodeHead } = require('../head')
const { CHUNK_HEADER_SIZE, FILE_SIZE_MAX, PAGE_SIZE } = require('../layout')

const UNKNOWN = -1

/**
 * A record that continues after the last chunk.
 * @typedef {object} OpenRecord
 * @property {number} seq
 * @property {number} rest  how many bytes are to come
 * @property {boolean} isErased
 * @property {boolean} isMended  whether the header of a chunk that it lies in was damaged
 * @property {number} chunkStart  of the chunk in which it begins
 * @property {number} offset  of its frame in that chunk
 * @property {boolean} canGoOn  whether that chunk ends with its page, as it must if its last record continues
 */

class ChunkState {
  /** @param {number} end @param {number} logicalEnd @param {number} chainCrc */
  constructor (end, logicalEnd, chainCrc) {
    /** Physical and logical position of the next byte. */
    this.end = end
    this.logicalEnd = logicalEnd
    /** Logical position after the last frame. In a compacted log the next frame begins there or further on. */
    this.contentEnd = logicalEnd
    /** Of the last chunk; UNKNOWN if that is lost. */
    this.chainCrc = chainCrc
    this.epoch = 0
    this.durable = logicalEnd
    /** How many records are whole and not deleted. */
    this.recordCount = 0
    /** How many of them lie in chunks whose header was damaged. */
    this.mendedCount = 0
    /** The sum of `erased` over the chunks of the file, and of the output. */
    this.erasedCount = 0
    this.erasedInOutput = 0
    /** Seq of the last record that is whole and not deleted. */
    this.last = -1
    this.isInCommit = false
    /** The record that continues in the next chunk. @type {Readonly<OpenRecord> | null} */
    this.open = null
  }

  /** Logical position less the physical one. */
  get shift () {
    return this.logicalEnd - this.end
  }

  // Field by field: it runs twice for each chunk, and for small chunks a spread takes as long as everything else.
  /** @type {(other: ChunkState) => void} */
  copy (other) {
    this.end = other.end
    this.logicalEnd = other.logicalEnd
    this.contentEnd = other.contentEnd
    this.chainCrc = other.chainCrc
    this.epoch = other.epoch
    this.durable = other.durable
    this.recordCount = other.recordCount
    this.mendedCount = other.mendedCount
    this.erasedCount = other.erasedCount
    this.erasedInOutput = other.erasedInOutput
    this.last = other.last
    this.isInCommit = other.isInCommit
    this.open = other.open
  }

  /**
   * Continues after a chunk.
   * @param {import('../chunk-header').ChunkHeader} header
   * @param {number} start  of the chunk, physical
   * @param {import('../frames').FrameCount} frames  counted in the chunk
   * @param {number} offset  of the chunk, in the bytes where the frames were counted
   * @param {{ goesOn: boolean, isMended: boolean, hasGaps: boolean }} how  whether it continues the open record, its
   *   header was damaged, and gaps move positions
   */
  pass (header, start, frames, offset, { goesOn, isMended, hasGaps }) {
    const size = CHUNK_HEADER_SIZE + header.size
    this.end = start + size
    this.logicalEnd = header.position + size + (hasGaps ? frames.gapSize : 0)
    this.contentEnd = frames.contentEnd
    this.chainCrc = header.chainCrc
    this.epoch = Math.max(this.epoch, header.epoch)
    this.durable = header.durable
    this.erasedCount += header.erasedCount
    this.erasedInOutput += header.erasedCount
    this.isInCommit = header.commitContinues
    if (goesOn) this.#passPiece(header.continued, isMended)
    if (frames.recordCount > 0) {
      this.recordCount += frames.recordCount
      this.last = frames.last
      if (isMended) this.mendedCount += frames.recordCount
    }
    if (frames.openOffset === -1) return
    this.open = {
      seq: frames.openSeq,
      rest: frames.openRest,
      isErased: frames.isOpenErased,
      isMended,
      chunkStart: start,
      offset: frames.openOffset - offset,
      canGoOn: this.end % PAGE_SIZE === 0
    }
  }

  /** `size` bytes of the open record are in the chunk. @type {(size: number, isMended: boolean) => void} */
  #passPiece (size, isMended) {
    if (this.open === null) return
    const open = { ...this.open, rest: this.open.rest - size, isMended: this.open.isMended || isMended }
    this.open = open.rest > 0 ? open : null
    if (open.rest > 0 || open.isErased) return
    this.recordCount++
    this.last = open.seq
    if (open.isMended) this.mendedCount++
  }
}

/**
 * @param {Pick<import('../head').Head, 'header' | 'slot'>} head  of the surveyed log
 * @param {ChunkState} state  at its end
 * @param {number} reservedEnd  above all positions that may be lost; 0 if none may be
 * @param {number} [epoch]  the highest that is known
 * @returns {Buffer}  the head of the new log
 */
function encodeHeadOf ({ header, slot }, state, reservedEnd, epoch = slot?.epoch ?? 0) {
  const { logicalEnd } = state
  return encodeHead(header, {
    epoch: Math.max(1, epoch, state.epoch),
    end: state.end,
    logicalEnd: Math.min(logicalEnd, FILE_SIZE_MAX),
    last: Math.min(state.last, FILE_SIZE_MAX - 1),
    erasedCount: state.erasedInOutput,
    chainCrc: state.chainCrc,
    reservedEnd: reservedEnd === 0 ? 0 : Math.max(reservedEnd, logicalEnd)
  })
}

exports.ChunkState = ChunkState
exports.encodeHeadOf = encodeHeadOf
exports.UNKNOWN = UNKNOWN
