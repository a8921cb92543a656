'use strict'
// What is known behind a chunk: where the next one begins, what it must follow, what was counted so far.

const { CHUNK_HEADER_SIZE, PAGE_SIZE } = require('../layout')

const UNKNOWN = -1

class ChunkState {
  /**
   * @param {number} end
   * @param {number} logicalEnd
   * @param {number} identity
   */
  constructor (end, logicalEnd, identity) {
    /** Physical and logical position of the next byte. */
    this.end = end
    this.logicalEnd = logicalEnd
    /** Logical position behind the last frame: where gaps are left out, the next one begins there or further on. */
    this.contentEnd = logicalEnd
    /** Of the chunk before; UNKNOWN when it is lost. */
    this.identity = identity
    this.epoch = 0
    this.durable = logicalEnd
    /** How many records are whole and not deleted. */
    this.recordCount = 0
    /** How many of them lie in chunks whose header was damaged. */
    this.mendedCount = 0
    /** The sum of what chunks say is erased, in the file and in what is made of it. */
    this.erasedCount = 0
    this.erasedInOutput = 0
    /** Seq of the last whole record that is not deleted. */
    this.last = -1
    /** Whether the commit of the last chunk goes on. */
    this.isInCommit = false
    /** The record that the last chunk goes on with: its seq, UNKNOWN when there is none. */
    this.openSeq = UNKNOWN
    /** How much of it is to come. */
    this.openRest = 0
    this.isOpenErased = false
    this.isOpenMended = false
    /** The chunk that it begins in, and where in that chunk. */
    this.openStart = 0
    this.openOffset = 0
    /** Whether that chunk ends with its page, as one does whose last record goes on. */
    this.canGoOn = false
  }

  /** Logical position less the physical one. */
  get shift () {
    return this.logicalEnd - this.end
  }

  get isOpen () {
    return this.openSeq !== UNKNOWN
  }

  closeRecord () {
    this.openSeq = UNKNOWN
    this.openRest = 0
    this.isOpenErased = this.isOpenMended = false
  }

  /**
   * The record that is open goes on.
   * @param {number} size  how much of it is in the chunk
   * @param {boolean} isMended
   */
  takePiece (size, isMended) {
    this.openRest -= size
    this.isOpenMended ||= isMended
    if (this.openRest > 0) return
    if (!this.isOpenErased) {
      this.recordCount++
      this.last = this.openSeq
      if (this.isOpenMended) this.mendedCount++
    }
    this.closeRecord()
  }

  /**
   * @param {import('./count-frames').FrameCount} frames  of a chunk
   * @param {number} offset  of the chunk, where its frames were counted
   * @param {number} start  of it in the file
   * @param {boolean} isMended
   */
  takeFrames (frames, offset, start, isMended) {
    this.contentEnd = frames.contentEnd
    if (frames.recordCount > 0) {
      this.recordCount += frames.recordCount
      this.last = frames.last
      if (isMended) this.mendedCount += frames.recordCount
    }
    if (frames.openOffset === -1) return
    this.openSeq = frames.openSeq
    this.openRest = frames.openRest
    this.isOpenErased = frames.isOpenErased
    this.isOpenMended = isMended
    this.openStart = start
    this.openOffset = frames.openOffset - offset
  }

  /**
   * @param {import('../chunk-header').ChunkHeader} header
   * @param {number} start  of the chunk
   * @param {number} gapSize  how many logical positions are left out in it
   */
  takeHeader (header, start, gapSize) {
    const size = CHUNK_HEADER_SIZE + header.size
    this.end = start + size
    this.logicalEnd = header.position + size + gapSize
    this.identity = header.identity
    this.epoch = Math.max(this.epoch, header.epoch)
    this.durable = header.durable
    this.erasedCount += header.erasedCount
    this.erasedInOutput += header.erasedCount
    this.isInCommit = header.commitContinues
    if (this.openStart === start) this.canGoOn = this.end % PAGE_SIZE === 0
  }

  /** @param {ChunkState} other */
  copy (other) {
    this.end = other.end
    this.logicalEnd = other.logicalEnd
    this.contentEnd = other.contentEnd
    this.identity = other.identity
    this.epoch = other.epoch
    this.durable = other.durable
    this.recordCount = other.recordCount
    this.mendedCount = other.mendedCount
    this.erasedCount = other.erasedCount
    this.erasedInOutput = other.erasedInOutput
    this.last = other.last
    this.isInCommit = other.isInCommit
    this.openSeq = other.openSeq
    this.openRest = other.openRest
    this.isOpenErased = other.isOpenErased
    this.isOpenMended = other.isOpenMended
    this.openStart = other.openStart
    this.openOffset = other.openOffset
    this.canGoOn = other.canGoOn
  }
}

exports.ChunkState = ChunkState
exports.UNKNOWN = UNKNOWN
