'use strict'
// What is known behind a chunk: where the next one begins, what it must follow, what was counted so far.

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

  /** @param {ChunkState} other */
  copy (other) {
    this.end = other.end
    this.logicalEnd = other.logicalEnd
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
  }
}

exports.ChunkState = ChunkState
exports.UNKNOWN = UNKNOWN
