'use strict'
// Finds where whole frames go on behind a place where one contradicts itself. A frame's end says where it is, which few
// bytes do by chance; so nearly all of the search is one look at each byte. Where its two sizes agree as well, nothing
// more is asked of it: a good record between two damaged ones has no whole frame beside it. Of two frames in a row that
// one bit each has damaged neither is whole: there the second one may be mended, and the first be followed by that.

const { call } = require('@millrace/flow')
const { FRAME_HEAD_SIZE } = require('@millrace/framing')
const { judgeFields } = require('@millrace/framing/survey')

const BLOCK_SIZE = 16 * 1024
const ZEROS = Buffer.alloc(BLOCK_SIZE + 16)
const NOWHERE = -1

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {import('@millrace/block-file').SpanReader} SpanReader
 */

/**
 * @typedef {object} Place
 * @property {number} start  of a frame; NOWHERE when there is none
 * @property {number} end  of it
 * @property {boolean} isWhole  false for one whose first size is wrong, though all that follows is as it should be
 */

class FrameSearch {
  /**
   * @param {BlockFile} blocks
   * @param {OffsetFraming} framing
   * @param {number} from  where a frame begins that is not whole
   * @param {number} fileSize
   * @param {number} earlier  where such a one began before it; NOWHERE if there was none
   * @param {SpanReader} window  goes on from what it holds, so that many searches read no byte more than once
   */
  constructor (blocks, framing, from, fileSize, earlier, window) {
    this._blocks = blocks
    this._framing = framing
    this._from = from
    this._fileSize = fileSize
    this._earlier = earlier
    this._window = window
    this._view = new DataView(window.buffer.buffer)
    /** The next position at which a frame may end. */
    this._at = from + framing.overhead
    /** Where the frame at `from` ends, by its last two fields, if it is to be followed by one that can be mended. */
    this._claimedEnd = NOWHERE
  }

  /** @returns {Promise<Place>} */
  async run () {
    const { _window: window, _framing: { trailerSize }, _fileSize: fileSize } = this
    while (this._at <= fileSize) {
      const start = this._at - trailerSize
      if (start < window.start || this._at > window.end) {
        await call(window, 'loadForward', start, trailerSize + 1, fileSize)
        if (this._view.buffer !== window.buffer.buffer) this._view = new DataView(window.buffer.buffer)
      }
      if (!this._search()) continue
      const place = await this._examine(this._at++)
      if (place !== null) return place
    }
    return { start: NOWHERE, end: NOWHERE, isWhole: false }
  }

  /** @returns {boolean}  whether the position where the search stopped is named by the bytes before it */
  _search () {
    const { _window: window, _framing: framing, _view: view } = this
    const { buffer, start: base } = window
    const last = Math.min(window.end, this._fileSize)
    while (this._at <= last) {
      const blockEnd = Math.min(last, this._at + BLOCK_SIZE - 1)
      const from = Math.max(0, this._at - framing.endSize - base)
      const isZero = buffer.compare(ZEROS, 0, blockEnd - base - from, from, blockEnd - base) === 0
      for (let at = isZero ? blockEnd + 1 : this._at; at <= blockEnd; at++) {
        if (buffer[at - base - 1] === (at & 0xff) && framing.isEndAt(view, at - base, at)) {
          this._at = at
          return true
        }
      }
      this._at = blockEnd + 1
    }
    return false
  }

  /**
   * @param {number} end  named by the bytes before it
   * @returns {Promise<Place | null>}  null when no frame ends there
   */
  async _examine (end) {
    const { _framing: { overhead, trailerSize }, _from: from, _window: window } = this
    const size = this._view.getUint32(end - trailerSize - window.start)
    const start = end - overhead - size
    if (start === from || (start === this._earlier && start !== NOWHERE)) {
      if (await this._isFollowed(end)) return { start, end, isWhole: false }
      if (start !== from) return null
      this._claimedEnd = end
      return await this._isMendableAt(end) ? { start, end, isWhole: false } : null
    }
    if (start < from + overhead) return null
    if (start === this._claimedEnd && await this._isMendable(start, end)) {
      return { start: from, end: start, isWhole: false }
    }
    const headSize = start >= window.start ? this._view.getUint32(start - window.start) : await this._readSize(start)
    if (headSize !== size) return null
    // Zeros over the end of a frame, but for its very last bytes, make an empty one.
    return size > 0 || await this._isPreceded(start) ? { start, end, isWhole: true } : null
  }

  /**
   * Whether a whole frame begins there, or the file ends.
   * @param {number} end
   */
  async _isFollowed (end) {
    return end === this._fileSize || isFrameAt(this._blocks, this._framing, end, this._fileSize)
  }

  /**
   * Whether a frame begins there whose first size is right, and only one of its other fields wrong, by one bit.
   * @param {number} start
   */
  async _isMendableAt (start) {
    const { _framing: { overhead }, _fileSize: fileSize } = this
    if (start + overhead > fileSize) return false
    const end = start + overhead + await this._readSize(start)
    return end <= fileSize && this._isMendable(start, end)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  async _isMendable (start, end) {
    const { isMendable } = await judgeFrame(this._blocks, this._framing, start, end)
    return isMendable && this._isFollowed(end)
  }

  /**
   * Reads these bytes and no more: every few bytes of a hostile file may ask for it.
   * @param {number} start
   */
  async _readSize (start) {
    const bytes = Buffer.alloc(FRAME_HEAD_SIZE)
    await call(this._blocks, 'readInto', bytes, start)
    return bytes.readUInt32BE(0)
  }

  /**
   * Whether the bytes before it say that a frame ends there.
   * @param {number} start
   */
  async _isPreceded (start) {
    const { endSize } = this._framing
    const bytes = Buffer.alloc(endSize)
    await call(this._blocks, 'readInto', bytes, start - endSize)
    return this._framing.isEndIn(bytes, start)
  }
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} fileSize
 * @returns {Promise<boolean>}  whether a whole frame begins there
 */
async function isFrameAt (blocks, framing, start, fileSize) {
  const { overhead, trailerSize } = framing
  if (start + overhead > fileSize) return false
  const head = Buffer.alloc(FRAME_HEAD_SIZE)
  await call(blocks, 'readInto', head, start)
  const size = head.readUInt32BE(0)
  const end = start + overhead + size
  if (end > fileSize) return false
  const trailer = Buffer.alloc(trailerSize)
  await call(blocks, 'readInto', trailer, end - trailerSize)
  return trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, end)
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} from  where a frame begins that is not whole
 * @param {number} fileSize
 * @param {number} earlier  where such a one began before it; NOWHERE if there was none
 * @param {SpanReader} window
 * @returns {Promise<Place>}
 */
function findFrames (blocks, framing, from, fileSize, earlier, window) {
  return new FrameSearch(blocks, framing, from, fileSize, earlier, window).run()
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} end
 * @returns {Promise<import('@millrace/framing/survey').Verdict>}  whether one frame lies there, or can be mended
 */
async function judgeFrame (blocks, framing, start, end) {
  const size = end - start - framing.overhead
  if (size < 0 || size > 0xffffffff) return { agreeing: 0, isMendable: false }
  // With the byte of data beside each.
  const head = Buffer.alloc(FRAME_HEAD_SIZE + Math.min(1, size))
  const tail = Buffer.alloc(framing.trailerSize + Math.min(1, size))
  await call(blocks, 'readInto', head, start)
  await call(blocks, 'readInto', tail, end - tail.length)
  return judgeFields(framing, size, end, head, tail)
}

exports.NOWHERE = NOWHERE
exports.findFrames = findFrames
exports.isFrameAt = isFrameAt
exports.judgeFrame = judgeFrame
