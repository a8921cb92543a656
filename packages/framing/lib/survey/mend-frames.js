'use strict'
// What becomes of every frame of a legacy log that is repaired: its record is counted, and it goes into the output,
// where it keeps its place. Bytes only, no I/O.

const { FRAME_HEAD_SIZE } = require('../offset-framing')

/**
 * @typedef {import('../offset-framing').OffsetFraming} OffsetFraming
 */

/**
 * Takes what is kept, in order.
 * @typedef {object} FrameSink
 * @property {number} end  where the next byte goes
 * @property {(start: number, end: number) => void} copy  appends these bytes of the file
 * @property {(size: number, make: () => Buffer) => void} fill
 * @property {(start: number, bytes: Buffer) => void} put
 * @property {(size: number) => void} cut
 */

class FrameKeeper {
  /**
   * @param {OffsetFraming} framing
   * @param {FrameSink | null} output
   */
  constructor (framing, output) {
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
    if (end > this._copied) this._output?.copy(this._copied, end)
    this._copied = Math.max(this._copied, end)
  }
}

// Frames of deleted records, in place of what is lost: so what comes behind keeps its place.

// A reader holds a frame as a whole, a deleted one too.
const FRAME_SIZE_MAX = 1024 * 1024

/**
 * @param {import('../offset-framing').OffsetFraming} framing
 * @param {number} start
 * @param {number} end  at least one frame's overhead behind
 * @returns {() => Buffer}  makes the next of the frames
 */
function fillWithDeleted (framing, start, end) {
  const { overhead } = framing
  return () => {
    const left = end - start
    let size = Math.min(left, FRAME_SIZE_MAX)
    // What is left must hold a frame.
    if (size < left && left - size < overhead) size -= overhead
    const bytes = Buffer.alloc(size)
    framing.writeFrame(Buffer.alloc(size - overhead), start, bytes, 0)
    start += size
    return bytes
  }
}

// A frame says its size twice and its end once. Where two of the three agree with where it begins and ends, and the
// third differs by one bit, that bit was flipped, and the record is whole as far as anybody can tell.

/**
 * @typedef {object} Verdict
 * @property {number} agreeing  how many of the three fields are right, if this is one frame
 * @property {boolean} isMendable  whether the one that is wrong differs by a bit
 */

/**
 * @param {OffsetFraming} framing
 * @param {number} size  of the record
 * @param {number} end  of the frame
 * @param {Buffer} head  the frame's first field, and the byte of data beside it if there is one
 * @param {Buffer} tail  the frame's other fields, and the byte of data beside them
 * @returns {Verdict}
 */
function judgeFields (framing, size, end, head, tail) {
  const trailer = tail.subarray(tail.length - framing.trailerSize)
  const fields = [
    isFlipped(head.readUInt32BE(0), size, head[FRAME_HEAD_SIZE]),
    isFlipped(trailer.readUInt32BE(0), size, tail[0]),
    isEndFlipped(trailer, end, framing)
  ]
  const agreeing = fields.filter((isFlipped) => isFlipped === null).length
  return { agreeing, isMendable: agreeing === 2 && fields.includes(true) }
}

/**
 * @param {number} found
 * @param {number} right
 * @param {number} beside  the byte of data beside it
 * @returns {boolean | null}  null when nothing is wrong
 */
function isFlipped (found, right, beside) {
  const difference = (found ^ right) >>> 0
  if (difference === 0) return null
  // Zeros over the data and over the field, where that has one bit set, look like a flipped bit.
  return isOneBit(difference) && !(beside === 0 && found < right)
}

/**
 * @param {Buffer} trailer
 * @param {number} end
 * @param {OffsetFraming} framing
 */
function isEndFlipped (trailer, end, framing) {
  const right = encodeEnd(framing, end)
  const found = trailer.subarray(trailer.length - framing.endSize)
  const differences = right.map((byte, index) => byte ^ found[index]).filter((difference) => difference !== 0)
  if (differences.length === 0) return null
  return differences.length === 1 && isOneBit(differences[0])
}

/** @param {number} number */
function isOneBit (number) {
  return (number & (number - 1)) === 0
}

/**
 * @param {OffsetFraming} framing
 * @param {number} end
 * @returns {Buffer}  the bytes of the field that says so
 */
function encodeEnd (framing, end) {
  const bytes = Buffer.alloc(framing.overhead)
  framing.writeFrame(Buffer.alloc(0), end - framing.overhead, bytes, 0)
  return bytes.subarray(framing.overhead - framing.endSize)
}

/**
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} end
 * @returns {{ head: Buffer, trailer: Buffer }}  of a frame that lies there
 */
function encodeFields (framing, start, end) {
  const head = Buffer.alloc(FRAME_HEAD_SIZE)
  head.writeUInt32BE(end - start - framing.overhead)
  return { head, trailer: Buffer.concat([head, encodeEnd(framing, end)]) }
}

exports.FrameKeeper = FrameKeeper
exports.judgeFields = judgeFields
