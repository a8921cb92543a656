'use strict'
// Finds the record that a seq names where that takes no waiting: in a cached block, or with one small read. Whatever is
// not as it nearly always is, is left to read-record.js, which says what is wrong.

const { HEAD_SIZE, isAllZero } = require('./offset-framing')

// How much is read at first. It follows the records that are asked for, so that one in twenty is larger and has to be
// read again: a second read takes as long as 8 KiB more in the first.
const WISH_MIN = 512
const WISH_MAX = 4096
const WISH_LESS = 8
const WISH_MORE = 19 * WISH_LESS

/** @typedef {import('./offset-store').OffsetStore} OffsetStore */

class RecordPeeker {
  /** @param {OffsetStore} store */
  constructor (store) {
    this._store = store
    this._peeker = store.blocks.createPeeker()
    // Where the record ended that was looked at last: whoever then asks for the next one goes through the log in order.
    this._nextSeq = -1
    this._wish = WISH_MAX / 2
    /** Where the record is that was found, in `bytes`; not to be used once anything else is read or awaited. */
    this.start = 0
    this.end = 0
  }

  get bytes () {
    return this._peeker.bytes
  }

  /** @returns {Buffer}  the record that was found, the caller's own */
  take () {
    return this._peeker.take(this.start, this.end)
  }

  /**
   * @param {number} seq  any number
   * @returns {boolean}  whether it was found: a whole frame, of a record that is not deleted
   */
  find (seq) {
    const { framing, end, maxRecordSize } = this._store
    const { overhead, trailerSize } = framing
    if (!Number.isSafeInteger(seq) || seq < 0 || seq + overhead > end || (seq > 0 && seq < overhead)) return false
    // A frame ends where this one begins.
    const before = seq === 0 ? 0 : framing.endSize
    const position = seq - before
    const peeker = this._peeker
    const inOrder = seq === this._nextSeq
    if (!peeker.look(position, before + HEAD_SIZE, Math.min(this._wish, end - position), inOrder)) return false
    const size = peeker.view.getUint32(peeker.offset + before)
    const frameEnd = seq + size + overhead
    if (frameEnd > end || size > maxRecordSize) return false
    const wanted = frameEnd - position
    if (wanted > this._wish) this._wish = Math.min(WISH_MAX, this._wish + WISH_MORE)
    else if (this._wish > WISH_MIN) this._wish -= WISH_LESS
    if (wanted > peeker.size && !peeker.read(position, wanted)) return false
    const { bytes, view, offset } = peeker
    const start = offset + before + HEAD_SIZE
    const dataEnd = start + size
    if (before > 0 && !framing.isEndAt(view, offset + before, seq)) return false
    // Read once more, perhaps: another process may be writing.
    if (view.getUint32(start - HEAD_SIZE) !== size || view.getUint32(dataEnd) !== size) return false
    if (!framing.isEndAt(view, dataEnd + trailerSize, frameEnd) || isAllZero(bytes, start, dataEnd)) return false
    this.start = start
    this.end = dataEnd
    this._nextSeq = frameEnd
    return true
  }
}

exports.RecordPeeker = RecordPeeker
