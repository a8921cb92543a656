'use strict'
// What is known of the chain of chunks: what the next one must follow, and what of the file is none of the log's,
// however well it verifies.

const { PAGE_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

// How many of the places are remembered where a chunk is lost.
const ENDS_MAX = 16

/**
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {{ header: ChunkHeader, chunkStart: number, chunkEnd: number }} Entered  a chunk
 */

class Chain {
  /** @param {import('./read-source').Source} source */
  constructor ({ head: { slot }, rules }) {
    this._slotEnd = slot?.end ?? UNKNOWN
    this._slotIdentity = slot?.identity ?? UNKNOWN
    /** What the next chunk must follow, as far as that is known. */
    this.previous = rules.salt
    /** Of the last chunk whose header was whole. */
    this.epoch = 0
    /** The chunk before is none of the log's: nor is one that follows it. */
    this.falseIdentity = UNKNOWN
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
   * @param {number} identity  of it, or UNKNOWN
   * @param {number} epoch
   */
  goOn (start, identity, epoch) {
    if (start % PAGE_SIZE === 0 && this.previous !== UNKNOWN) this.isAnchored = true
    this.previous = identity
    this.epoch = Math.max(this.epoch, epoch)
    this.falseIdentity = UNKNOWN
  }

  /**
   * Nothing is known of what comes next.
   * @param {number} identity  of the chunk in front of what is lost, or UNKNOWN
   */
  break (identity) {
    if (identity !== UNKNOWN && this._ends.push(identity) > ENDS_MAX) this._ends.shift()
    this.previous = this.falseIdentity = UNKNOWN
    this.isAnchored = false
  }

  /**
   * Whether a header may be the next one.
   * @param {ChunkHeader} header
   */
  goesOnWith ({ previous, epoch }) {
    return (this.previous === UNKNOWN || previous === this.previous) && epoch >= this.epoch &&
      previous !== this.falseIdentity
  }

  /**
   * Of two chunks that do not fit the one of the lower epoch is left over from a write that was taken back. Of those of
   * one epoch one is in the wrong place.
   * @param {ChunkHeader} header
   * @param {{ end: number, identity: number }} state  behind the chunk before
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
    if (this.falseIdentity !== UNKNOWN && entered.header.previous === this.falseIdentity) return true
    if (this.previous === UNKNOWN && this.belongsElsewhere(entered.header)) return true
    return this.contradictsSlot(entered)
  }

  /** @param {Entered} entered */
  contradictsSlot ({ header, chunkStart, chunkEnd }) {
    if (chunkStart >= this._slotEnd || this._slotEnd > chunkEnd) return false
    return chunkEnd !== this._slotEnd || header.identity !== this._slotIdentity
  }

  /**
   * Whether the newest slot says that the last chunk is the log's.
   * @param {{ end: number, identity: number }} state
   */
  _isProvenBySlot ({ end, identity }) {
    return end === this._slotEnd && identity === this._slotIdentity
  }
}

exports.Chain = Chain
