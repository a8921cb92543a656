'use strict'
// Knows what the next chunk must follow, and which chunks do not belong to the log although they verify.

const { PAGE_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

// For this many lost ranges the chunk before is remembered.
const ENDS_MAX = 16

/**
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {{ header: ChunkHeader, chunkStart: number, chunkEnd: number }} Entered
 */

class Chain {
  #slotEnd
  #slotChainCrc
  /** Chain crcs of the chunks before lost ranges: a chunk linked to one belongs there. @type {number[]} */
  #ends = []
  /** Of the last chunk with a whole header. */
  epoch = 0
  /** The chain crc of the chunk before, if that does not belong to the log: what is linked to it does not either. */
  falseChainCrc = UNKNOWN
  /**
   * Whether the last chunk is linked to all before it, or at least to those of another page. A single page may lie
   * elsewhere than it was written.
   */
  isAnchored = true

  /** @param {import('./survey').Source} source */
  constructor ({ head: { slot }, rules }) {
    this.#slotEnd = slot?.end ?? UNKNOWN
    this.#slotChainCrc = slot?.chainCrc ?? UNKNOWN
    /** The chain crc that the next chunk must name, or UNKNOWN. */
    this.previous = rules.salt
  }

  get isLinked () {
    return this.previous !== UNKNOWN
  }

  /** Continues after a chunk of the log. @type {(start: number, chainCrc: number, epoch: number) => void} */
  goOn (start, chainCrc, epoch) {
    if (start % PAGE_SIZE === 0 && this.previous !== UNKNOWN) this.isAnchored = true
    this.previous = chainCrc
    this.epoch = Math.max(this.epoch, epoch)
    this.falseChainCrc = UNKNOWN
  }

  /** Something is lost after the chunk with this chain crc, or UNKNOWN. @type {(chainCrc: number) => void} */
  break (chainCrc) {
    if (chainCrc !== UNKNOWN && this.#ends.push(chainCrc) > ENDS_MAX) this.#ends.shift()
    this.previous = this.falseChainCrc = UNKNOWN
    this.isAnchored = false
  }

  /** Whether a header may be the next one. @type {(header: ChunkHeader) => boolean} */
  goesOnWith ({ previous, epoch }) {
    return (this.previous === UNKNOWN || previous === this.previous) && epoch >= this.epoch &&
      previous !== this.falseChainCrc
  }

  // Two chunks do not fit together: the last one, with `state` after it, and this one. Returns whether the last one is
  // wrong. A lower epoch is left over from a write that was taken back. If the epochs are equal, one of the two is in
  // the wrong place.
  /** @type {(header: ChunkHeader, state: { end: number, chainCrc: number }) => boolean} */
  isRightInstead ({ epoch }, state) {
    const isProvenBySlot = state.end === this.#slotEnd && state.chainCrc === this.#slotChainCrc
    if (epoch < this.epoch || isProvenBySlot) return false
    return epoch > this.epoch || !this.isAnchored
  }

  /** Whether a chunk names one that a lost range follows. @type {(header: ChunkHeader) => boolean} */
  belongsElsewhere ({ previous }) {
    return previous !== this.previous && this.#ends.includes(previous)
  }

  /** Whether a chunk follows a false one or contradicts the newest slot. @type {(entered: Entered) => boolean} */
  isFalse (entered) {
    if (this.falseChainCrc !== UNKNOWN && entered.header.previous === this.falseChainCrc) return true
    if (this.previous === UNKNOWN && this.belongsElsewhere(entered.header)) return true
    return this.contradictsSlot(entered)
  }

  /** Whether the slot's end is in the chunk, or at its end with another crc. @type {(entered: Entered) => boolean} */
  contradictsSlot ({ header, chunkStart, chunkEnd }) {
    if (chunkStart >= this.#slotEnd || this.#slotEnd > chunkEnd) return false
    return chunkEnd !== this.#slotEnd || header.chainCrc !== this.#slotChainCrc
  }
}

// Finds chunks that verify although nothing proves that they stayed in the log. When recovery takes a write back, the
// next write has a higher epoch. If a disk brings the old write back, and the chunk after the new one is damaged too,
// nothing is left that contradicts the old one. See docs/internals/format.md, "Chunks that nothing dates".

/**
 * @typedef {{ offset: number, size: number, seqs: { from: number, to: number } }} UnanchoredRange
 * @typedef {{ start: number, end: number, from: number, to: number }} Run  positions and seqs
 */

class Unanchored {
  #slot
  #rangesMax
  #epoch = 0
  /** Chunks of `#epoch` that lie after the last damage, and after what was durable. @type {Run | null} */
  #run = null
  /** Other runs of that epoch, each before damage. @type {Run[]} */
  #runsBefore = []
  /** @type {UnanchoredRange[]} */
  ranges = []
  /** How many there are, listed or not. */
  count = 0

  /** @param {import('../head').Slot | null} slot @param {number} rangesMax */
  constructor (slot, rangesMax) {
    this.#slot = slot
    this.#rangesMax = rangesMax
  }

  /**
   * A chunk is kept; `state` is that after it. `isLinked`: it is linked to a known chunk.
   * @type {(header: ChunkHeader, start: number, state: { end: number, logicalEnd: number }, isLinked: boolean) => void}
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

  // A whole header of this epoch comes. If it is linked, it proves that the chunks of the lower epoch before stayed
  // in the log.
  /** @type {(epoch: number, isLinked: boolean) => void} */
  see (epoch, isLinked) {
    if (epoch <= this.#epoch) return
    if (!isLinked) this.#report()
    this.#epoch = epoch
    this.#run = null
    this.#runsBefore = []
  }

  /** Something is lost after the last chunk. */
  lose () {
    if (this.#run !== null && this.#run.start < this.#run.end) this.#runsBefore.push(this.#run)
    this.#run = null
  }

  /** Drops chunks after this state. @type {(state: { end: number, logicalEnd: number }) => void} */
  takeBack ({ end, logicalEnd }) {
    const run = this.#run
    if (run === null || run.end <= end) return
    run.end = end
    run.to = logicalEnd
    if (run.start >= end) this.#run = null
  }

  /** `epoch` is the highest that is known. @type {(epoch: number) => void} */
  close (epoch) {
    this.#run = null
    if (epoch > this.#epoch) this.#report()
  }

  /** Nothing up to here can have been taken back. @type {(end: number, logicalEnd: number) => void} */
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
