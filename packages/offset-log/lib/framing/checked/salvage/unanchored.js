'use strict'
// Chunks that verify, and of which nothing proves that they stayed in the log. A write that recovery takes back is
// replaced by one of a higher epoch; if a disk brings back the old one, and the new one's next chunk is damaged too,
// nothing is left that contradicts it. See docs/format.md.

/**
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {{ offset: number, size: number, seqs: { from: number, to: number } }} UnanchoredRange
 * @typedef {{ start: number, end: number, from: number, to: number }} Run  physical, and seqs
 */

class Unanchored {
  /**
   * @param {import('../head').Slot | null} slot
   * @param {number} rangesMax  how many to keep
   */
  constructor (slot, rangesMax) {
    this._slot = slot
    this._rangesMax = rangesMax
    /** @type {UnanchoredRange[]} */
    this.ranges = []
    /** How many there are, kept or not. */
    this.count = 0
    this._epoch = 0
    /** Chunks of that epoch behind the last damage, and behind what was durable. @type {Run | null} */
    this._run = null
    /** Others of that epoch, in front of damage. @type {Run[]} */
    this._pending = []
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
    this._run ??= { start, end, from: firstSeq, to: logicalEnd }
    this._run.end = end
    this._run.to = logicalEnd
    // What was durable is not taken back.
    this._anchorTo(start - (position - durable), durable)
    if (end === this._slot?.end && header.identity === this._slot.identity) this._anchorTo(end, logicalEnd)
  }

  /**
   * What follows a chunk proves that it stayed in the log, and so did all of its epoch in front of it.
   * @param {number} epoch  of a header that is whole
   * @param {boolean} isLinked
   */
  see (epoch, isLinked) {
    if (epoch <= this._epoch) return
    if (!isLinked) this._report()
    this._epoch = epoch
    this._run = null
    this._pending = []
  }

  /** Something behind the last chunk is lost. */
  lose () {
    if (this._run !== null && this._run.start < this._run.end) this._pending.push(this._run)
    this._run = null
  }

  /**
   * Chunks that were kept are not.
   * @param {{ end: number, logicalEnd: number }} state  behind what is left
   */
  takeBack ({ end, logicalEnd }) {
    const run = this._run
    if (run === null || run.end <= end) return
    run.end = end
    run.to = logicalEnd
    if (run.start >= end) this._run = null
  }

  /** @param {number} epoch  the highest there was */
  close (epoch) {
    this._run = null
    if (epoch > this._epoch) this._report()
  }

  /**
   * @param {number} end  physical
   * @param {number} logicalEnd
   */
  _anchorTo (end, logicalEnd) {
    const run = this._run
    if (run !== null && end > run.start) {
      run.start = end
      run.from = logicalEnd
    }
    if (this._pending.length === 0) return
    this._pending = this._pending.filter((run) => run.end > end)
    const [first] = this._pending
    if (first !== undefined && end > first.start) {
      first.start = end
      first.from = logicalEnd
    }
  }

  _report () {
    this.lose()
    for (const { start, end, from, to } of this._pending) {
      this.count++
      if (this.ranges.length < this._rangesMax) {
        this.ranges.push({ offset: start, size: end - start, seqs: { from, to } })
      }
    }
  }
}

exports.Unanchored = Unanchored
