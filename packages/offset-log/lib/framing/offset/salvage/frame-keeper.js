'use strict'
// What becomes of every frame: its record is counted, and it goes into the output, where it keeps its place.

const { fillWithDeleted } = require('./deleted-frames')
const { encodeFields } = require('./mend-frame')

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../offset-framing').OffsetFraming} OffsetFraming
 * @typedef {import('../../../salvage/output').Output} Output
 */

class FrameKeeper {
  /**
   * @param {BlockFile} blocks
   * @param {OffsetFraming} framing
   * @param {Output | null} output
   */
  constructor (blocks, framing, output) {
    this._blocks = blocks
    this._framing = framing
    this._output = output
    /** Where the next frame begins. */
    this.end = 0
    this.recordCount = 0
    /** How many of them lie in frames that were damaged. */
    this.mendedCount = 0
    this.erasedCount = 0
    /** Seq of the last record that is not deleted. */
    this.last = -1
    /** What of the file is in the output. */
    this._copied = 0
    /** What had been counted before the last damage. */
    this._before = { recordCount: 0, mendedCount: 0, erasedCount: 0, last: -1 }
  }

  /**
   * @param {number} frameEnd
   * @param {boolean} isDeleted
   */
  keep (frameEnd, isDeleted) {
    if (isDeleted) {
      this.erasedCount++
    } else {
      this.recordCount++
      this.last = this.end
    }
    this.end = frameEnd
  }

  /**
   * @param {number} frameEnd
   * @param {boolean} isDeleted
   */
  keepSuspect (frameEnd, isDeleted) {
    if (!isDeleted) this.mendedCount++
    this.keep(frameEnd, isDeleted)
  }

  /**
   * A frame of which one field is wrong.
   * @param {number} frameEnd
   * @param {boolean} isDeleted
   */
  mend (frameEnd, isDeleted) {
    const { end: start, _output: output } = this
    const { head, trailer } = encodeFields(this._framing, start, frameEnd)
    this._copyTo(frameEnd)
    output?.put(start, head)
    output?.put(frameEnd - trailer.length, trailer)
    this.keepSuspect(frameEnd, isDeleted)
  }

  /**
   * Puts deleted records in place of what is lost.
   * @param {number} end
   */
  replace (end) {
    this._copyTo(this.end)
    this._output?.fill(end - this.end, fillWithDeleted(this._framing, this.end, end))
    this._copied = this.end = end
  }

  noteDamage () {
    const { recordCount, mendedCount, erasedCount, last } = this
    this._before = { recordCount, mendedCount, erasedCount, last }
  }

  /**
   * Takes back all since the last damage.
   * @param {number} start  where that began
   */
  returnTo (start) {
    Object.assign(this, this._before)
    this.end = this._copied = start
    if (this._output && this._output.end > start) this._output.cut(start)
  }

  /** All that was kept is in the output. */
  finish () {
    this._copyTo(this.end)
  }

  /** @param {number} end */
  _copyTo (end) {
    if (end > this._copied) this._output?.copy(this._blocks, this._copied, end)
    this._copied = Math.max(this._copied, end)
  }
}

exports.FrameKeeper = FrameKeeper
