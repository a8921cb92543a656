'use strict'
// What is known behind a chunk: where the next one begins, what it must follow, what was counted so far.

const { encodeHead } = require('../head')
const { CHUNK_HEADER_SIZE, FILE_SIZE_MAX, PAGE_SIZE } = require('../layout')

const UNKNOWN = -1

class ChunkState {
  /**
   * @param {number} end
   * @param {number} logicalEnd
   * @param {number} chainCrc
   */
  constructor (end, logicalEnd, chainCrc) {
    /** Physical and logical position of the next byte. */
    this.end = end
    this.logicalEnd = logicalEnd
    /** Logical position behind the last frame: where gaps are left out, the next one begins there or further on. */
    this.contentEnd = logicalEnd
    /** Of the chunk before; UNKNOWN when it is lost. */
    this.chainCrc = chainCrc
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
   * @param {import('../frames').FrameCount} frames  of a chunk
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
    this.chainCrc = header.chainCrc
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
    this.chainCrc = other.chainCrc
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

/**
 * @param {Pick<import('../head').Head, 'header' | 'slot'>} head  of the log that was surveyed
 * @param {ChunkState} state  all that is left of it
 * @param {number} reservedEnd  what nothing reaches that may be lost; 0 if nothing may be
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

// What is known of the chain of chunks: what the next one must follow, and what of the file is none of the log's,
// however well it verifies.

// How many of the places are remembered where a chunk is lost.
const ENDS_MAX = 16

/**
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {{ header: ChunkHeader, chunkStart: number, chunkEnd: number }} Entered  a chunk
 */

class Chain {
  /** @param {import('./survey').Source} source */
  constructor ({ head: { slot }, rules }) {
    this._slotEnd = slot?.end ?? UNKNOWN
    this._slotChainCrc = slot?.chainCrc ?? UNKNOWN
    /** What the next chunk must follow, as far as that is known. */
    this.previous = rules.salt
    /** Of the last chunk whose header was whole. */
    this.epoch = 0
    /** The chunk before is none of the log's: nor is one that follows it. */
    this.falseChainCrc = UNKNOWN
    /**
     * Whether the last chunk follows all those before, or those of another page at least. One page may be somewhere
     * else than it was written.
     */
    this.isAnchored = true
    /** What was in front of what is lost: the chunk that follows it was in that place. @type {number[]} */
    this._ends = []
  }

  /** Whether what the next chunk must follow is known. */
  get isLinked () {
    return this.previous !== UNKNOWN
  }

  /**
   * @param {number} start  of a chunk that is the log's
   * @param {number} chainCrc  of it, or UNKNOWN
   * @param {number} epoch
   */
  goOn (start, chainCrc, epoch) {
    if (start % PAGE_SIZE === 0 && this.previous !== UNKNOWN) this.isAnchored = true
    this.previous = chainCrc
    this.epoch = Math.max(this.epoch, epoch)
    this.falseChainCrc = UNKNOWN
  }

  /**
   * Nothing is known of what comes next.
   * @param {number} chainCrc  of the chunk in front of what is lost, or UNKNOWN
   */
  break (chainCrc) {
    if (chainCrc !== UNKNOWN && this._ends.push(chainCrc) > ENDS_MAX) this._ends.shift()
    this.previous = this.falseChainCrc = UNKNOWN
    this.isAnchored = false
  }

  /**
   * Whether a header may be the next one.
   * @param {ChunkHeader} header
   */
  goesOnWith ({ previous, epoch }) {
    return (this.previous === UNKNOWN || previous === this.previous) && epoch >= this.epoch &&
      previous !== this.falseChainCrc
  }

  /**
   * Of two chunks that do not fit the one of the lower epoch is left over from a write that was taken back. Of those of
   * one epoch one is in the wrong place.
   * @param {ChunkHeader} header
   * @param {{ end: number, chainCrc: number }} state  behind the chunk before
   * @returns {boolean}  whether it is the one before that is wrong
   */
  isRightInstead ({ epoch }, state) {
    if (epoch < this.epoch || this._isProvenBySlot(state)) return false
    return epoch > this.epoch || !this.isAnchored
  }

  /**
   * Whether a chunk says that it follows one that something else follows, or nothing.
   * @param {ChunkHeader} header
   */
  belongsElsewhere ({ previous }) {
    return previous !== this.previous && this._ends.includes(previous)
  }

  /**
   * Whether a chunk follows one that is none of the log's, or is not what the newest slot knows at its place.
   * @param {Entered} entered
   */
  isFalse (entered) {
    if (this.falseChainCrc !== UNKNOWN && entered.header.previous === this.falseChainCrc) return true
    if (this.previous === UNKNOWN && this.belongsElsewhere(entered.header)) return true
    return this.contradictsSlot(entered)
  }

  /** @param {Entered} entered */
  contradictsSlot ({ header, chunkStart, chunkEnd }) {
    if (chunkStart >= this._slotEnd || this._slotEnd > chunkEnd) return false
    return chunkEnd !== this._slotEnd || header.chainCrc !== this._slotChainCrc
  }

  /**
   * Whether the newest slot says that the last chunk is the log's.
   * @param {{ end: number, chainCrc: number }} state
   */
  _isProvenBySlot ({ end, chainCrc }) {
    return end === this._slotEnd && chainCrc === this._slotChainCrc
  }
}

exports.ChunkState = ChunkState
exports.encodeHeadOf = encodeHeadOf
exports.UNKNOWN = UNKNOWN
exports.Chain = Chain
