'use strict'
// Where values are written: one behind the other, in memory that they share and stay in, as in Node's own pool. To
// copy each out of a scratch buffer took a tenth of encoding it. Only what is too large for that is still copied.

const { Piece, allocateShared } = require('@millrace/flow')
const { asTextBuffer } = require('./text')

/** A small value that is kept keeps alive the neighbours that lie in as much memory as this. */
const SLAB_SIZE = 16 * 1024
/** A slab with less room left is not used any more, so that few small values begin in one that they do not fit into. */
const ROOM_MIN = 1024
/** Larger values are copied out when they do not fit, and leave the rest of the slab to smaller ones. */
const SHARED_SIZE_MAX = SLAB_SIZE / 4
const SCRATCH_SIZE = 64 * 1024
/** A scratch buffer that one large value has grown past this is let go afterwards. */
const SCRATCH_KEPT_SIZE_MAX = 4 * 1024 * 1024

/** @typedef {import('./text').TextBuffer} TextBuffer */

class WriteMemory {
  constructor () {
    /** Where the value begins in `bytes`. */
    this.start = 0
    this._slab = asTextBuffer(allocateShared(SLAB_SIZE))
    this._slabView = new DataView(this._slab.buffer)
    /** @type {TextBuffer | null} */
    this._scratch = null
    /** Where the value in hand is: the slab or the scratch. */
    this.bytes = this._slab
    /** Over `bytes`. */
    this.view = this._slabView
  }

  /** Makes room for a value. What was written and not taken is overwritten. */
  begin () {
    if (this.bytes === this._slab && this.start + ROOM_MIN <= SLAB_SIZE) return
    if (this.start + ROOM_MIN > SLAB_SIZE) this._renewSlab()
    if (this._scratch !== null && this._scratch.length > SCRATCH_KEPT_SIZE_MAX) this._scratch = null
    this.bytes = this._slab
    this.view = this._slabView
  }

  /**
   * @param {number} end  of what was written so far, which keeps its place
   * @param {number} size  so many bytes must fit behind it
   */
  grow (end, size) {
    const before = this.bytes
    if (before === this._scratch || this._scratch === null || this._scratch.length < end + size) {
      this._scratch = asTextBuffer(Buffer.allocUnsafeSlow(Math.max(SCRATCH_SIZE, 2 * before.length, end + size)))
    }
    this.bytes = this._scratch
    this.view = new DataView(this.bytes.buffer)
    before.copy(this.bytes, this.start, this.start, end)
  }

  /**
   * @param {number} end  of the value
   * @returns {Buffer}  its bytes, which are not written again
   */
  finish (end) {
    const { bytes, start } = this
    if (bytes !== this._slab) {
      // What did not fit behind the others would not the next time either.
      if (end - start <= SHARED_SIZE_MAX) this.start = SLAB_SIZE
      return Buffer.from(bytes.subarray(start, end))
    }
    this.start = end
    return new Piece(bytes.buffer, start, end - start)
  }

  _renewSlab () {
    this._slab = asTextBuffer(allocateShared(SLAB_SIZE))
    this._slabView = new DataView(this._slab.buffer)
    this.start = 0
  }
}

exports.WriteMemory = WriteMemory
