'use strict'
// Finds where whole frames go on behind a place where one contradicts itself. A frame's end says where it is, which few
// bytes do by chance; so nearly all of the search is one look at each byte. Where its two sizes agree as well, nothing
// more is asked of it: a good record between two damaged ones has no whole frame beside it.

const { trampoline } = require('@millrace/flow')
const { HEAD_SIZE } = require('../offset-framing')

const BLOCK_SIZE = 16 * 1024
const ZEROS = Buffer.alloc(BLOCK_SIZE + 16)
const NOWHERE = -1

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../offset-framing').OffsetFraming} OffsetFraming
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
  }

  /** @param {(err: Error | null, place?: Place | null) => void} cb */
  run (cb) {
    const { _window: window, _framing: { trailerSize }, _fileSize: fileSize } = this
    trampoline((next) => {
      if (this._at > fileSize) return cb(null, { start: NOWHERE, end: NOWHERE, isWhole: false })
      const start = this._at - trailerSize
      if (start < window.start || this._at > window.end) {
        return window.loadForward(start, trailerSize + 1, fileSize, (err) => {
          if (err) return cb(err)
          if (this._view.buffer !== window.buffer.buffer) this._view = new DataView(window.buffer.buffer)
          next()
        })
      }
      if (!this._search()) return next()
      this._examine(this._at++, (err, place) => err || place ? cb(err, place) : next())
    })
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
   * @param {(err: Error | null, place?: Place | null) => void} cb  null when no frame ends there
   */
  _examine (end, cb) {
    const { _framing: { overhead, trailerSize }, _from: from, _window: window } = this
    const size = this._view.getUint32(end - trailerSize - window.start)
    const start = end - overhead - size
    if (start === from || (start === this._earlier && start !== NOWHERE)) {
      return this._isFollowed(end, (err, isOne) => cb(err, isOne ? { start, end, isWhole: false } : null))
    }
    if (start < from + overhead) return cb(null, null)
    this._readSize(start, (err, headSize) => {
      if (err || headSize !== size) return cb(err, null)
      const place = { start, end, isWhole: true }
      // Zeros over the end of a frame, but for its very last bytes, make an empty one.
      if (size > 0) cb(null, place)
      else this._isPreceded(start, (err, isOne) => cb(err, isOne ? place : null))
    })
  }

  /**
   * Reads these bytes and no more: every few bytes of a hostile file may ask for it.
   * @param {number} start
   * @param {(err: Error | null, size?: number) => void} cb
   */
  _readSize (start, cb) {
    const { _window: window } = this
    if (start >= window.start) return cb(null, this._view.getUint32(start - window.start))
    const bytes = Buffer.alloc(HEAD_SIZE)
    this._blocks.readInto(bytes, start, (err) => cb(err, bytes.readUInt32BE(0)))
  }

  /**
   * @param {number} end
   * @param {(err: Error | null, isOne?: boolean) => void} cb  whether a whole frame begins there, or the file ends
   */
  _isFollowed (end, cb) {
    if (end === this._fileSize) return cb(null, true)
    isFrameAt(this._blocks, this._framing, end, this._fileSize, cb)
  }

  /**
   * @param {number} start
   * @param {(err: Error | null, isOne?: boolean) => void} cb  whether the bytes before it say that a frame ends there
   */
  _isPreceded (start, cb) {
    const { endSize } = this._framing
    const bytes = Buffer.alloc(endSize)
    this._blocks.readInto(bytes, start - endSize, (err) => cb(err, this._framing.isEndIn(bytes, start)))
  }
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} fileSize
 * @param {(err: Error | null, isOne?: boolean) => void} cb  whether a whole frame begins there
 */
function isFrameAt (blocks, framing, start, fileSize, cb) {
  const { overhead, trailerSize } = framing
  if (start + overhead > fileSize) return cb(null, false)
  const head = Buffer.alloc(HEAD_SIZE)
  blocks.readInto(head, start, (err) => {
    const size = head.readUInt32BE(0)
    const end = start + overhead + size
    if (err || end > fileSize) return cb(err, false)
    const trailer = Buffer.alloc(trailerSize)
    blocks.readInto(trailer, end - trailerSize, (err) => {
      cb(err, trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, end))
    })
  })
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} from
 * @param {number} fileSize
 * @param {number} earlier
 * @param {SpanReader} window
 * @param {(err: Error | null, place?: Place | null) => void} cb
 */
function findFrames (blocks, framing, from, fileSize, earlier, window, cb) {
  new FrameSearch(blocks, framing, from, fileSize, earlier, window).run(cb)
}

exports.NOWHERE = NOWHERE
exports.findFrames = findFrames
exports.isFrameAt = isFrameAt
