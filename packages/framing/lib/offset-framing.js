'use strict'
// Writes and walks the frames of offset32, offset48 and offset53, byte for byte those of flumelog-offset 3 (see
// docs/internals/format.md), without any I/O:
//
//   frame := <size u32BE> data <size u32BE> <end u32BE | u48BE | u53BE>
//
// where `end` is the position in the file after the frame.

const { LogError } = require('@millrace/errors')
const { putUint32, putUint48, putUint53 } = require('@millrace/flow')
const { tooLargeToRead } = require('./faults')

const FRAME_HEAD_SIZE = 4
const TWO_32 = 2 ** 32

/**
 * A walk notes in it the records that it finds.
 * @typedef {{ count: number, isFull: boolean, seqs: Float64Array, starts: Uint32Array, ends: Uint32Array,
 *   add: (seq: number, start: number, end: number) => void, take: (count: number) => void }} RecordRun
 */

/**
 * @typedef {{ buffer: Buffer, view: DataView, start: number, end: number }} Window  bytes of the file, from position
 *   `start` to `end`; `view` shows `buffer`
 */

/**
 * How a walk over a window ended.
 * @typedef {object} Walk
 * @property {number} position  of the next frame: its start when walking forward, its end when walking backward
 * @property {number} need  how many bytes from there the window must hold to go on; 0 if bytes are not what is missing
 * @property {LogError | null} error  the frame at the position contradicts itself, or is too large
 * @property {number} maxRecordSize  in bytes
 */

class OffsetFraming {
  /**
   * @param {string} name
   * @param {number} endSize  width of the `end` field, in bytes
   * @param {(buf: Buffer, value: number, offset: number) => void} writeEnd
   */
  constructor (name, endSize, writeEnd) {
    this.name = name
    /** How many bytes a frame takes beside its data. */
    this.overhead = FRAME_HEAD_SIZE + 4 + endSize
    this.endSize = endSize
    this.trailerSize = 4 + endSize
    /** The largest file that `end` can describe. */
    this.fileSizeMax = Math.min(2 ** (8 * endSize) - 1, Number.MAX_SAFE_INTEGER)
    this._writeEnd = writeEnd
  }

  /** A record of zeros cannot be written: it would read as deleted. @type {(data: Buffer) => LogError | null} */
  checkRecord (data) {
    if (!isAllZero(data, 0, data.length)) return null
    const found = data.length === 0 ? 'an empty record' : `a record of ${data.length} zero bytes`
    return new LogError('ERR_RECORD_UNREPRESENTABLE', `append: ${found} would read as deleted in ${this.name}; ` +
      'encode the value with at least one byte other than zero')
  }

  /**
   * @param {Buffer} data
   * @param {number} seq  position of the frame in the file
   * @param {Buffer} target  has room for the data and the overhead from `offset` on
   * @param {number} offset
   * @returns {number}  the size of the frame in bytes
   */
  writeFrame (data, seq, target, offset) {
    const { length } = data
    const size = length + this.overhead
    putUint32(target, length, offset)
    target.set(data, offset + FRAME_HEAD_SIZE)
    putUint32(target, length, offset + FRAME_HEAD_SIZE + length)
    this._writeEnd(target, seq + size, offset + size - this.endSize)
    return size
  }

  /**
   * Collects the undeleted records whose frames begin at `walk.position` or after, and before `stop`.
   * @param {Window} window
   * @param {Walk} walk  in and out
   * @param {number} stop
   * @param {number} fileEnd  where the last frame of the log ends
   * @param {RecordRun} chunk  gets records until it is full
   */
  walkForward (window, walk, stop, fileEnd, chunk) {
    const { buffer, view, start: base } = window
    const { overhead, trailerSize } = this
    const held = window.end - base
    const stopOffset = Math.min(stop, fileEnd) - base
    walk.need = 0
    let offset = this._walkOrdinary(window, walk, stopOffset, chunk)
    while (offset < stopOffset && !chunk.isFull) {
      if (offset + FRAME_HEAD_SIZE > held) {
        if (base + offset + overhead > fileEnd) walk.error = this._pastEnd(base + offset, fileEnd)
        else walk.need = overhead
        break
      }
      const size = view.getUint32(offset)
      const frameEnd = offset + size + overhead
      if (frameEnd > held || size > walk.maxRecordSize) {
        if (base + frameEnd > fileEnd) walk.error = this._pastEnd(base + offset, fileEnd)
        else if (size > walk.maxRecordSize) walk.error = tooLargeToRead(base + offset, size, walk.maxRecordSize)
        else walk.need = size + overhead
        break
      }
      if (view.getUint32(frameEnd - trailerSize) !== size || !this._isEnd(view, frameEnd, base + frameEnd)) {
        walk.error = this.contradiction(base + offset, base + frameEnd)
        break
      }
      const dataStart = offset + FRAME_HEAD_SIZE
      if (!isAllZero(buffer, dataStart, dataStart + size)) chunk.add(base + offset, dataStart, dataStart + size)
      offset = frameEnd
    }
    walk.position = base + offset
  }

  // Passes the ordinary frames from `walk.position` on, which are nearly all. `walkForward` judges the frame at which
  // this stops. Returns that frame's offset in the window.
  /** @type {(window: Window, walk: Walk, stopOffset: number, chunk: RecordRun) => number} */
  // eslint-disable-next-line complexity -- the hot loop of legacy scans
  _walkOrdinary ({ buffer, view, start: base, end }, { position, maxRecordSize }, stopOffset, chunk) {
    const { overhead, trailerSize, endSize } = this
    // Positions may be doubles. If offsets were too, each frame would convert them to integers again.
    const held = end - base | 0
    const lastStart = Math.min(stopOffset - 1, held - FRAME_HEAD_SIZE) | 0
    const high = Math.floor(base / TWO_32)
    let offset = position - base | 0
    // The comparisons below need all ends in the window to have the same upper half, or none.
    if (Math.floor(end / TWO_32) !== high || (endSize === 4 && high > 0)) return offset
    const { seqs, starts, ends } = chunk
    const low = base | 0
    const room = seqs.length
    let { count } = chunk
    while (offset <= lastStart && count < room) {
      // As a signed number, because a size of 2 GiB and more is not ordinary.
      const size = view.getInt32(offset)
      const frameEnd = offset + size + overhead
      if (size < 1 || size > maxRecordSize || frameEnd > held) break
      if (view.getInt32(frameEnd - trailerSize) !== size || view.getInt32(frameEnd - 4) !== (low + frameEnd | 0)) break
      if (endSize === 6 && view.getUint16(frameEnd - 6) !== high) break
      if (endSize === 8 && view.getUint32(frameEnd - 8) !== high) break
      // The record may be a deleted one.
      if (buffer[offset + FRAME_HEAD_SIZE] === 0) break
      seqs[count] = base + offset
      starts[count] = offset + FRAME_HEAD_SIZE
      ends[count] = offset + FRAME_HEAD_SIZE + size
      count++
      offset = frameEnd
    }
    chunk.take(count)
    return offset
  }

  /**
   * Collects the undeleted records whose frames end at `walk.position` or before, last first, down to seq `stop`.
   * @param {Window} window
   * @param {Walk} walk  in and out; its position becomes the start of the last frame
   * @param {number} stop  the lowest wanted seq
   * @param {RecordRun} chunk
   */
  walkBackward (window, walk, stop, chunk) {
    const { buffer, view, start: base } = window
    const { overhead, trailerSize } = this
    let frameEnd = walk.position - base
    walk.need = 0
    while (base + frameEnd > stop && !chunk.isFull) {
      if (frameEnd < trailerSize) {
        if (base === 0) walk.error = this.contradiction(0, frameEnd)
        else walk.need = overhead
        break
      }
      const size = view.getUint32(frameEnd - trailerSize)
      const offset = frameEnd - size - overhead
      if (base + offset >= 0 && (offset < 0 || size > walk.maxRecordSize)) {
        if (size > walk.maxRecordSize) walk.error = tooLargeToRead(base + offset, size, walk.maxRecordSize)
        else walk.need = size + overhead
        break
      }
      if (offset < 0 || view.getUint32(offset) !== size || !this._isEnd(view, frameEnd, base + frameEnd)) {
        walk.error = this.contradiction(Math.max(0, base + offset), base + frameEnd)
        break
      }
      if (base + offset < stop) {
        walk.position = base + offset
        return
      }
      const dataStart = offset + FRAME_HEAD_SIZE
      if (!isAllZero(buffer, dataStart, dataStart + size)) chunk.add(base + offset, dataStart, dataStart + size)
      frameEnd = offset
    }
    walk.position = base + frameEnd
  }

  // Whether the `end` field before `offset` is right.
  /** @type {(view: DataView, offset: number, position: number) => boolean} */
  isEndAt (view, offset, position) {
    return offset >= this.endSize && this._isEnd(view, offset, position)
  }

  /** Whether these bytes end with a right `end` field. @type {(bytes: Buffer, position: number) => boolean} */
  isEndIn (bytes, position) {
    return this.isEndAt(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), bytes.length, position)
  }

  /** @type {(view: DataView, offset: number, position: number) => boolean} */
  _isEnd (view, offset, position) {
    if (view.getUint32(offset - 4) !== position >>> 0) return false
    if (this.endSize === 4) return position < TWO_32
    const high = Math.floor(position / TWO_32)
    return this.endSize === 6 ? view.getUint16(offset - 6) === high : view.getUint32(offset - 8) === high
  }

  /** The error for a frame whose two lengths differ. @type {(seq: number, frameEnd: number) => LogError} */
  contradiction (seq, frameEnd) {
    return new LogError('ERR_LOG_CORRUPT', `the frame from ${seq} to ${frameEnd} contradicts itself: its two sizes and ` +
      'its end do not agree; keep a copy of the file before you go on', { offset: seq })
  }

  /** @type {(seq: number, fileEnd: number) => LogError} */
  _pastEnd (seq, fileEnd) {
    return new LogError('ERR_LOG_CORRUPT', `the frame at ${seq} would reach past the end of the log, ${fileEnd}; ` +
      'keep a copy of the file before you go on', { offset: seq })
  }
}

/**
 * Whether all bytes are zero, as those of a deleted record are.
 * @type {(buf: Buffer, start: number, end: number) => boolean}
 */
function isAllZero (buf, start, end) {
  for (let offset = start; offset < end; offset++) {
    if (buf[offset] !== 0) return false
  }
  return true
}

/** The offset framings by name, narrowest first. @type {Record<string, OffsetFraming>} */
exports.offsetFramings = {
  offset32: new OffsetFraming('offset32', 4, putUint32),
  offset48: new OffsetFraming('offset48', 6, putUint48),
  offset53: new OffsetFraming('offset53', 8, putUint53)
}

exports.OffsetFraming = OffsetFraming
exports.FRAME_HEAD_SIZE = FRAME_HEAD_SIZE
exports.isAllZero = isAllZero
