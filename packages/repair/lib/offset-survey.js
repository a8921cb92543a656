'use strict'
// Goes through a file of a legacy framing from frame to frame, past those that contradict themselves.

const { call, pause } = require('@millrace/flow')
const { FRAME_HEAD_SIZE, isAllZero } = require('@millrace/framing')
const { FrameKeeper } = require('@millrace/framing/survey')
const { NOWHERE, findFrames, isFrameAt, judgeFrame } = require('./find-frames')

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
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {{ start: number, end: number }} Range  in the file
 */

class OffsetSurvey {
  /**
   * @param {object} source
   * @param {BlockFile} source.blocks
   * @param {OffsetFraming} source.framing
   * @param {Range[]} source.suspects  ranges that are known to be bad, in order
   * @param {object} sinks
   * @param {import('@millrace/framing/survey').DamageList} sinks.damage
   * @param {import('@millrace/offset-log/copying').Output | null} sinks.output
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
    this.keeper = new FrameKeeper(framing, output && sinkOf(output, blocks))
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

  async run () {
    for (;;) {
      if (this._output?.isFull) await this._output.drain()
      const status = this._isOver ? STATUS.AT_END : this._walk()
      if (status === STATUS.AT_END) break
      if (status === STATUS.NEEDS_BYTES) await this._load()
      else if (status === STATUS.LARGE) await this._passLarge()
      else await this._meetContradiction()
    }
    this._damage.close()
    this.keeper.finish()
  }

  async _load () {
    this._onProgress(this.end)
    await call(this._window, 'loadForward', this.end, this._need, this._fileSize)
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
      if (offset + FRAME_HEAD_SIZE > held) return STATUS.NEEDS_BYTES
      const size = view.getUint32(offset)
      const frameEnd = offset + size + overhead
      if (base + frameEnd > fileSize) return STATUS.CONTRADICTION
      if (frameEnd > held) {
        this._need = size + overhead
        return size > HELD_SIZE_MAX ? STATUS.LARGE : STATUS.NEEDS_BYTES
      }
      const isOfSize = view.getUint32(frameEnd - trailerSize) === size
      if (!isOfSize || !framing.isEndAt(view, frameEnd, base + frameEnd)) return STATUS.CONTRADICTION
      this._pass(base + frameEnd, isAllZero(buffer, offset + FRAME_HEAD_SIZE, frameEnd - trailerSize))
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

  async _passLarge () {
    const { _blocks: blocks, _framing: framing, end: start, _need: frameSize } = this
    const { trailerSize } = framing
    const frameEnd = start + frameSize
    const trailer = Buffer.alloc(trailerSize)
    await call(blocks, 'readInto', trailer, frameEnd - trailerSize)
    const isWhole = trailer.readUInt32BE(0) === frameSize - framing.overhead && framing.isEndIn(trailer, frameEnd)
    if (!isWhole) return this._meetContradiction()
    this._pass(frameEnd, await isZeroRange(blocks, start + FRAME_HEAD_SIZE, frameEnd - trailerSize))
  }

  /** The next frame contradicts itself: it is damaged if whole ones come behind it, else the log may just end here. */
  async _meetContradiction () {
    const { _blocks: blocks, _framing: framing, _fileSize: fileSize, end: start } = this
    if (this._confirmed !== start && this._pausesLeft > 0) {
      this._confirmed = start
      this._pausesLeft--
      this._window.forget()
      await pause(PAUSE_MS)
      return
    }
    const place = await findFrames(blocks, framing, start, fileSize, this._earlier, this._window)
    if (place.start === NOWHERE) return this._meetEnd()
    if (place.isWhole) return this._passDamage(place.start)
    // Imitations of frames inside a record lie between: they were none.
    if (place.start === this._earlier && place.start < start) this.keeper.returnTo(place.start)
    await this._passDamage(place.end)
  }

  /** @param {number} frameEnd  where whole frames go on */
  async _passDamage (frameEnd) {
    const { end: start, keeper, _blocks: blocks, _framing: framing } = this
    const { isMendable } = await judgeFrame(blocks, framing, start, frameEnd)
    if (!isMendable) {
      this._note(WHAT.FRAMES, start, frameEnd, null)
      this._earlier = start
      keeper.noteDamage()
      keeper.replace(frameEnd)
      return
    }
    const isDeleted = await isZeroRange(blocks, start + FRAME_HEAD_SIZE, frameEnd - framing.trailerSize)
    this._note(WHAT.FIELD, start, frameEnd, 0)
    this._earlier = NOWHERE
    keeper.mend(frameEnd, isDeleted)
  }

  /**
   * A write that was cut off cannot have left both ends of its frame. If two of its three fields say that the rest of
   * the file is one frame, it was whole once.
   */
  async _meetEnd () {
    const { end: start, _fileSize: fileSize } = this
    const { agreeing } = await judgeFrame(this._blocks, this._framing, start, fileSize)
    if (agreeing >= 2 || await this._endsInFrame()) await this._passDamage(fileSize)
    else this._isOver = true
  }

  /**
   * Who opens the log takes an empty frame at its end for a record, so nothing was cut off; but zeros over the end of a
   * larger one, save its last bytes, look the same.
   */
  async _endsInFrame () {
    const { end: start, _fileSize: fileSize, _framing: framing } = this
    const last = fileSize - framing.overhead
    return last >= start && isFrameAt(this._blocks, framing, last, fileSize)
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
 * @param {import('@millrace/offset-log/copying').Output} output
 * @param {BlockFile} blocks
 * @returns {import('@millrace/framing/survey').FrameSink}
 */
function sinkOf (output, blocks) {
  return {
    get end () { return output.end },
    copy: (start, end) => output.copy(blocks, start, end),
    fill: (size, make) => output.fill(size, make),
    put: (start, bytes) => output.put(start, bytes),
    cut: (size) => output.cut(size)
  }
}

/**
 * @param {BlockFile} blocks
 * @param {number} start
 * @param {number} end
 * @returns {Promise<boolean>}
 */
async function isZeroRange (blocks, start, end) {
  const buffer = Buffer.alloc(Math.max(0, Math.min(ZEROS.length, end - start)))
  while (start < end) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, end - start))
    await call(blocks, 'readInto', bytes, start)
    if (bytes.compare(ZEROS, 0, bytes.length) !== 0) return false
    start += bytes.length
  }
  return true
}

// Ranges of a legacy file that are known to be bad from elsewhere, since its own bytes do not show it.

class Suspects {
  /** @param {Range[]} ranges  in order */
  constructor (ranges) {
    this._ranges = ranges
    this._next = 0
  }

  /**
   * @param {number} start  not before that of the last call
   * @param {number} end
   * @returns {boolean}  whether any of these bytes is bad
   */
  touches (start, end) {
    const { _ranges: ranges } = this
    while (this._next < ranges.length && ranges[this._next].end <= start) this._next++
    return this._next < ranges.length && ranges[this._next].start < end
  }
}

exports.OffsetSurvey = OffsetSurvey
exports.isZeroRange = isZeroRange
