'use strict'
// Goes through a file of a legacy framing from frame to frame, past those that contradict themselves.

const { trampoline } = require('@millrace/flow')
const { guard, once } = require('../../../salvage/guard')
const { HEAD_SIZE, isAllZero } = require('../offset-framing')
const { NOWHERE, findFrames, isFrameAt } = require('./find-frames')
const { FrameKeeper } = require('./frame-keeper')
const { judgeFrame } = require('./mend-frame')
const { Suspects } = require('./suspects')

// A larger frame is not read into the window: its size alone must not make anybody take so much memory.
const HELD_SIZE_MAX = 256 * 1024
const ZEROS = Buffer.alloc(256 * 1024)
// Bytes that are being written are whole after less than this; where nobody writes it need not be waited for often.
const PAUSE_MS = 10
const PAUSES_MAX = 20

const STATUS = Object.freeze({ NEEDS_BYTES: 1, LARGE: 2, CONTRADICTION: 3, AT_END: 4 })
const WHAT = Object.freeze({
  FRAMES: 'frames that contradict themselves',
  FIELD: 'a size or an end of a frame, whose record is there',
  SUSPECT: 'bytes that do not have the checksum they had'
})

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../offset-framing').OffsetFraming} OffsetFraming
 * @typedef {import('./find-frames').Place} Place
 * @typedef {(err: Error | null) => void} Done
 */

class OffsetSurvey {
  /**
   * @param {object} source
   * @param {BlockFile} source.blocks
   * @param {OffsetFraming} source.framing
   * @param {import('./suspects').Range[]} source.suspects  ranges that are known to be bad, in order
   * @param {object} sinks
   * @param {import('../../../salvage/damage-list').DamageList} sinks.damage
   * @param {import('../../../salvage/output').Output | null} sinks.output
   * @param {(position: number) => void} sinks.onProgress
   * @param {boolean} sinks.keepsSuspects
   */
  constructor ({ blocks, framing, suspects }, { damage, output, onProgress, keepsSuspects }) {
    this._blocks = blocks
    this._framing = framing
    this._suspects = new Suspects(suspects)
    this._damage = damage
    this._output = output
    this._onProgress = onProgress
    this._keepsSuspects = keepsSuspects
    this._fileSize = blocks.size.value
    this.keeper = new FrameKeeper(blocks, framing, output)
    this._window = blocks.createSpanReader()
    /** @type {DataView} */
    this._view = new DataView(new ArrayBuffer(0))
    this._need = framing.overhead
    /** Where the last damage began, unless it was mended. */
    this._earlier = NOWHERE
    /** Where a frame was read again before it counted as damaged. */
    this._confirmed = NOWHERE
    this._pausesLeft = PAUSES_MAX
    this._isOver = false
  }

  /** Where the next frame begins; in the end, where the log does. */
  get end () {
    return this.keeper.end
  }

  /** @param {Done} cb */
  run (cb) {
    const end = once(cb)
    trampoline((next) => guard(end, () => {
      const goOn = (/** @type {Error | null} */ err) => err ? end(err) : next()
      if (this._output?.isFull) return this._output.drain(goOn)
      const status = this._isOver ? STATUS.AT_END : this._walk()
      if (status === STATUS.NEEDS_BYTES) return this._load(goOn)
      if (status === STATUS.LARGE) return this._passLarge(goOn)
      if (status === STATUS.CONTRADICTION) return this._meetContradiction(goOn)
      this._damage.close()
      this.keeper.finish()
      end(null)
    }))
  }

  /** @param {Done} cb */
  _load (cb) {
    this._onProgress(this.end)
    this._window.loadForward(this.end, this._need, this._fileSize, cb)
  }

  /**
   * Passes the whole frames that the window holds.
   * @returns {number}  one of STATUS
   */
  _walk () {
    const { _window: window, _framing: framing, _fileSize: fileSize, keeper } = this
    const { overhead, trailerSize } = framing
    const { buffer, start: base } = window
    const view = this._viewOf(buffer)
    const held = this.end >= base && this.end < window.end ? window.end - base : -Infinity
    for (;;) {
      const { end: start } = keeper
      const offset = start - base
      if (start === fileSize) return STATUS.AT_END
      if (start + overhead > fileSize) return STATUS.CONTRADICTION
      this._need = overhead
      if (offset + HEAD_SIZE > held) return STATUS.NEEDS_BYTES
      const size = view.getUint32(offset)
      const frameEnd = offset + size + overhead
      if (base + frameEnd > fileSize) return STATUS.CONTRADICTION
      if (frameEnd > held) {
        this._need = size + overhead
        return size > HELD_SIZE_MAX ? STATUS.LARGE : STATUS.NEEDS_BYTES
      }
      const isOfSize = view.getUint32(frameEnd - trailerSize) === size
      if (!isOfSize || !framing.isEndAt(view, frameEnd, base + frameEnd)) return STATUS.CONTRADICTION
      this._pass(base + frameEnd, isAllZero(buffer, offset + HEAD_SIZE, frameEnd - trailerSize))
    }
  }

  /**
   * @param {Buffer} buffer  the window's: a search may have moved it on to another
   * @returns {DataView}
   */
  _viewOf (buffer) {
    if (this._view.buffer !== buffer.buffer) this._view = new DataView(buffer.buffer)
    return this._view
  }

  /**
   * Passes the whole frame that comes next.
   * @param {number} frameEnd
   * @param {boolean} isDeleted
   */
  _pass (frameEnd, isDeleted) {
    const { keeper, end: start } = this
    if (!this._suspects.touches(start, frameEnd)) return keeper.keep(frameEnd, isDeleted)
    this._note(WHAT.SUSPECT, start, frameEnd, isDeleted ? 0 : 1)
    if (this._keepsSuspects) keeper.keepSuspect(frameEnd, isDeleted)
    else keeper.replace(frameEnd)
  }

  /** @param {Done} cb */
  _passLarge (cb) {
    const { _blocks: blocks, _framing: framing, end: start, _need: frameSize } = this
    const { trailerSize } = framing
    const frameEnd = start + frameSize
    const trailer = Buffer.alloc(trailerSize)
    blocks.readInto(trailer, frameEnd - trailerSize, (err) => {
      if (err) return cb(err)
      const isWhole = trailer.readUInt32BE(0) === frameSize - framing.overhead && framing.isEndIn(trailer, frameEnd)
      if (!isWhole) return this._meetContradiction(cb)
      isZeroRange(blocks, start + HEAD_SIZE, frameEnd - trailerSize, (err, isDeleted = false) => {
        if (!err) this._pass(frameEnd, isDeleted)
        cb(err)
      })
    })
  }

  /**
   * The next frame contradicts itself: it is damaged if whole ones come behind it, else the log may just end here.
   * @param {Done} cb
   */
  _meetContradiction (cb) {
    const { _blocks: blocks, _framing: framing, _fileSize: fileSize, end: start } = this
    if (this._confirmed !== start && this._pausesLeft > 0) {
      this._confirmed = start
      this._pausesLeft--
      this._window.forget()
      setTimeout(cb, PAUSE_MS, null)
      return
    }
    findFrames(blocks, framing, start, fileSize, this._earlier, this._window, (err, place) => {
      if (err || !place) return cb(err)
      if (place.start === NOWHERE) return this._meetEnd(cb)
      if (place.isWhole) return this._passDamage(place.start, cb)
      // Imitations of frames inside a record lie between: they were none.
      if (place.start === this._earlier && place.start < start) this.keeper.returnTo(place.start)
      this._passDamage(place.end, cb)
    })
  }

  /**
   * @param {number} frameEnd  where whole frames go on
   * @param {Done} cb
   */
  _passDamage (frameEnd, cb) {
    const { end: start, keeper } = this
    judgeFrame(this._blocks, this._framing, start, frameEnd, (err, verdict) => {
      if (err || !verdict) return cb(err)
      if (!verdict.isMendable) {
        this._note(WHAT.FRAMES, start, frameEnd, null)
        this._earlier = start
        keeper.noteDamage()
        keeper.replace(frameEnd)
        return cb(null)
      }
      const { trailerSize } = this._framing
      isZeroRange(this._blocks, start + HEAD_SIZE, frameEnd - trailerSize, (err, isDeleted = false) => {
        if (err) return cb(err)
        this._note(WHAT.FIELD, start, frameEnd, 0)
        this._earlier = NOWHERE
        keeper.mend(frameEnd, isDeleted)
        cb(null)
      })
    })
  }

  /**
   * A write that was cut off cannot have left both ends of its frame. If two of its three fields say that the rest of
   * the file is one frame, it was whole once.
   * @param {Done} cb
   */
  _meetEnd (cb) {
    const { end: start, _fileSize: fileSize } = this
    judgeFrame(this._blocks, this._framing, start, fileSize, (err, verdict) => {
      if (err || !verdict) return cb(err)
      if (verdict.agreeing >= 2) return this._passDamage(fileSize, cb)
      this._endsInFrame((err, isOne) => {
        if (err) return cb(err)
        if (isOne) return this._passDamage(fileSize, cb)
        this._isOver = true
        cb(null)
      })
    })
  }

  /**
   * Who opens the log takes an empty frame at its end for a record, so nothing was cut off; but zeros over the end of a
   * larger one, save its last bytes, look the same.
   * @param {(err: Error | null, isOne?: boolean) => void} cb
   */
  _endsInFrame (cb) {
    const { end: start, _fileSize: fileSize, _framing: framing } = this
    const last = fileSize - framing.overhead
    if (last < start) return cb(null, false)
    isFrameAt(this._blocks, framing, last, fileSize, cb)
  }

  /**
   * @param {string} what
   * @param {number} start
   * @param {number} end
   * @param {number | null} records
   */
  _note (what, start, end, records) {
    const seqs = records === 0 ? null : { from: start, to: end }
    this._damage.add({ what, start, end, isPromised: null, seqs, records })
  }
}

/**
 * @param {BlockFile} blocks
 * @param {number} start
 * @param {number} end
 * @param {(err: Error | null, isZero?: boolean) => void} cb
 */
function isZeroRange (blocks, start, end, cb) {
  const buffer = Buffer.alloc(Math.max(0, Math.min(ZEROS.length, end - start)))
  trampoline((next) => {
    if (start >= end) return cb(null, true)
    const bytes = buffer.subarray(0, Math.min(buffer.length, end - start))
    blocks.readInto(bytes, start, (err) => {
      if (err || bytes.compare(ZEROS, 0, bytes.length) !== 0) return cb(err, false)
      start += bytes.length
      next()
    })
  })
}

exports.OffsetSurvey = OffsetSurvey
exports.isZeroRange = isZeroRange
