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
  #slotEnd
  #slotChainCrc
  /** What was in front of what is lost: the chunk that follows it was in that place. @type {number[]} */
  #ends = []
  /** Of the last chunk whose header was whole. */
  epoch = 0
  /** The chunk before is none of the log's: nor is one that follows it. */
  falseChainCrc = UNKNOWN
  /**
   * Whether the last chunk follows all those before, or those of another page at least. One page may be somewhere else
   * than it was written.
   */
  isAnchored = true

  /** @param {import('./survey').Source} source */
  constructor ({ head: { slot }, rules }) {
    this.#slotEnd = slot?.end ?? UNKNOWN
    this.#slotChainCrc = slot?.chainCrc ?? UNKNOWN
    /** What the next chunk must follow, as far as that is known. */
    this.previous = rules.salt
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
    if (chainCrc !== UNKNOWN && this.#ends.push(chainCrc) > ENDS_MAX) this.#ends.shift()
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
    const isProvenBySlot = state.end === this.#slotEnd && state.chainCrc === this.#slotChainCrc
    if (epoch < this.epoch || isProvenBySlot) return false
    return epoch > this.epoch || !this.isAnchored
  }

  /**
   * Whether a chunk says that it follows one that something else follows, or nothing.
   * @param {ChunkHeader} header
   */
  belongsElsewhere ({ previous }) {
    return previous !== this.previous && this.#ends.includes(previous)
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
    if (chunkStart >= this.#slotEnd || this.#slotEnd > chunkEnd) return false
    return chunkEnd !== this.#slotEnd || header.chainCrc !== this.#slotChainCrc
  }
}

// Chunks that verify, and of which nothing proves that they stayed in the log. A write that recovery takes back is
// replaced by one of a higher epoch; if a disk brings back the old one, and the new one's next chunk is damaged too,
// nothing is left that contradicts it. See docs/format.md.

/**
 * @typedef {{ offset: number, size: number, seqs: { from: number, to: number } }} UnanchoredRange
 * @typedef {{ start: number, end: number, from: number, to: number }} Run  physical, and seqs
 */

class Unanchored {
  #slot
  #rangesMax
  #epoch = 0
  /** Chunks of that epoch behind the last damage, and behind what was durable. @type {Run | null} */
  #run = null
  /** Others of that epoch, in front of damage. @type {Run[]} */
  #runsBefore = []
  /** @type {UnanchoredRange[]} */
  ranges = []
  /** How many there are, kept or not. */
  count = 0

  /**
   * @param {import('../head').Slot | null} slot
   * @param {number} rangesMax  how many to keep
   */
  constructor (slot, rangesMax) {
    this.#slot = slot
    this.#rangesMax = rangesMax
  }

  /**
   * @param {ChunkHeader} header  of a chunk that is kept
   * @param {number} start  physical
   * @param {{ end: number, logicalEnd: number }} state  behind it
   * @param {boolean} isLinked  whether it follows what comes before it
   */
  keep (header, start, { end, logicalEnd }, isLinked) {
    const { epoch, position, durable, firstSeq } = header
    this.see(epoch, isLinked)
    this.#run ??= { start, end, from: firstSeq, to: logicalEnd }
    this.#run.end = end
    this.#run.to = logicalEnd
    // What was durable is not taken back.
    this.#anchorTo(start - (position - durable), durable)
    if (end === this.#slot?.end && header.chainCrc === this.#slot.chainCrc) this.#anchorTo(end, logicalEnd)
  }

  /**
   * What follows a chunk proves that it stayed in the log, and so did all of its epoch in front of it.
   * @param {number} epoch  of a header that is whole
   * @param {boolean} isLinked
   */
  see (epoch, isLinked) {
    if (epoch <= this.#epoch) return
    if (!isLinked) this.#report()
    this.#epoch = epoch
    this.#run = null
    this.#runsBefore = []
  }

  /** Something behind the last chunk is lost. */
  lose () {
    if (this.#run !== null && this.#run.start < this.#run.end) this.#runsBefore.push(this.#run)
    this.#run = null
  }

  /**
   * Chunks that were kept are not.
   * @param {{ end: number, logicalEnd: number }} state  behind what is left
   */
  takeBack ({ end, logicalEnd }) {
    const run = this.#run
    if (run === null || run.end <= end) return
    run.end = end
    run.to = logicalEnd
    if (run.start >= end) this.#run = null
  }

  /** @param {number} epoch  the highest there was */
  close (epoch) {
    this.#run = null
    if (epoch > this.#epoch) this.#report()
  }

  /**
   * @param {number} end  physical
   * @param {number} logicalEnd
   */
  #anchorTo (end, logicalEnd) {
    const run = this.#run
    if (run !== null && end > run.start) {
      run.start = end
      run.from = logicalEnd
    }
    if (this.#runsBefore.length === 0) return
    this.#runsBefore = this.#runsBefore.filter((run) => run.end > end)
    const [first] = this.#runsBefore
    if (first !== undefined && end > first.start) {
      first.start = end
      first.from = logicalEnd
    }
  }

  #report () {
    this.lose()
    for (const { start, end, from, to } of this.#runsBefore) {
      this.count++
      if (this.ranges.length < this.#rangesMax) {
        this.ranges.push({ offset: start, size: end - start, seqs: { from, to } })
      }
    }
  }
}

exports.Chain = Chain
exports.Unanchored = Unanchored
