'use strict'
// Surveys a file of an offset framing frame by frame, past those that contradict themselves. It counts the whole
// records and puts every frame into the output, where it keeps its place.

const { pause, promisesOf } = require('@millrace/flow')
const { FRAME_HEAD_SIZE, isAllZero } = require('@millrace/framing')
const { NOWHERE, compareFields, encodeFields, findFrames, isFrameAt, isFrameEnd } = require('./find-frames')

// A larger frame is not read into the window: a damaged size alone must not cost so much memory.
const HELD_SIZE_MAX = 256 * 1024
// Readers hold a whole frame in memory, also that of a deleted record.
const FILLER_SIZE_MAX = 1024 * 1024
const ZEROS = Buffer.alloc(256 * 1024)
// Bytes that a writer is writing are whole after less than this. Without a writer, waiting is in vain, so it is
// limited.
const PAUSE_MS = 10
const PAUSES_MAX = 20

const STATUS = Object.freeze({ NEEDS_BYTES: 1, LARGE: 2, CONTRADICTION: 3, AT_END: 4 })
const WHAT = Object.freeze({
  FRAMES: 'frames that contradict themselves',
  FIELD: 'a size or an end of a frame, whose record is there'
})

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 */

class OffsetSurvey {
  #blocks
  #framing
  #damage
  #output
  #onProgress
  #fileSize
  #window
  #need
  /** Where the last damage began, unless it was mended; else NOWHERE. */
  #earlier = NOWHERE
  /** The frame here was read again, so now it counts as damaged. */
  #confirmed = NOWHERE
  #pausesLeft = PAUSES_MAX
  #isOver = false
  /** The output has the file up to here. */
  #copiedEnd = 0
  /** Where the next frame begins; at the end of the survey, where the log ends. */
  end = 0
  counts = {
    records: 0,
    /** How many of `records` lie in damaged frames. */
    mendable: 0,
    erased: 0,
    /** Seq of the last undeleted record. */
    since: -1
  }

  /** The counts before the last damage. */
  #countsBefore = { ...this.counts }

  /**
   * @param {object} source
   * @param {BlockFile} source.blocks
   * @param {OffsetFraming} source.framing
   * @param {object} sinks
   * @param {import('@millrace/framing/survey').DamageList} sinks.damage
   * @param {import('@millrace/offset-log/copies').Output | null} sinks.output
   * @param {(position: number) => void} sinks.onProgress
   */
  constructor ({ blocks, framing }, { damage, output, onProgress }) {
    this.#blocks = blocks
    this.#framing = framing
    this.#damage = damage
    this.#output = output
    this.#onProgress = onProgress
    this.#fileSize = blocks.size.value
    this.#window = blocks.createSpanReader()
    this.#need = framing.overhead
  }

  async run () {
    for (;;) {
      if (this.#output?.isFull) await this.#output.drain()
      const status = this.#isOver ? STATUS.AT_END : this.#passWholeFrames()
      if (status === STATUS.AT_END) break
      if (status === STATUS.NEEDS_BYTES) await this.#load()
      else if (status === STATUS.LARGE) await this.#passLarge()
      else await this.#passContradiction()
    }
    this.#damage.close()
    this.#copyTo(this.end)
  }

  async #load () {
    this.#onProgress(this.end)
    await promisesOf(this.#window).loadForward(this.end, this.#need, this.#fileSize)
  }

  /** Passes the whole frames in the window. @returns {number}  one of STATUS */
  #passWholeFrames () {
    const [framing, fileSize] = [this.#framing, this.#fileSize]
    const { overhead, trailerSize } = framing
    const { buffer, view, start: base, end } = this.#window
    const held = this.end >= base && this.end < end ? end - base : -Infinity
    for (;;) {
      const start = this.end
      const offset = start - base
      if (start === fileSize) return STATUS.AT_END
      if (start + overhead > fileSize) return STATUS.CONTRADICTION
      this.#need = overhead
      if (offset + FRAME_HEAD_SIZE > held) return STATUS.NEEDS_BYTES
      const size = view.getUint32(offset)
      const frameEnd = offset + size + overhead
      if (base + frameEnd > fileSize) return STATUS.CONTRADICTION
      if (frameEnd > held) {
        this.#need = size + overhead
        return size > HELD_SIZE_MAX ? STATUS.LARGE : STATUS.NEEDS_BYTES
      }
      const isOfSize = view.getUint32(frameEnd - trailerSize) === size
      if (!isOfSize || !framing.isEndAt(view, frameEnd, base + frameEnd)) return STATUS.CONTRADICTION
      this.#keep(base + frameEnd, isAllZero(buffer, offset + FRAME_HEAD_SIZE, frameEnd - trailerSize))
    }
  }

  async #passLarge () {
    const [blocks, framing] = [this.#blocks, this.#framing]
    const size = this.#need - framing.overhead
    const dataStart = this.end + FRAME_HEAD_SIZE
    const frameEnd = this.end + this.#need
    if (!await isFrameEnd(blocks, framing, size, frameEnd)) return this.#passContradiction()
    this.#keep(frameEnd, await isZeroRange(blocks, dataStart, dataStart + size))
  }

  /** The next frame contradicts itself. If whole frames are after it, it is damaged; if not, the log may end here. */
  async #passContradiction () {
    const { end: start } = this
    if (this.#confirmed !== start && this.#pausesLeft > 0) {
      this.#confirmed = start
      this.#pausesLeft--
      this.#window.forget()
      await pause(PAUSE_MS)
      return
    }
    const place = await findFrames(this.#blocks, this.#framing, start, this.#fileSize, this.#earlier, this.#window)
    if (place === null) return this.#passEnd()
    if (place.isWhole) return this.#passDamage(place.start)
    // What looked like frames in between was the data of a record.
    if (place.start === this.#earlier && place.start < start) this.#returnTo(place.start)
    await this.#passDamage(place.end)
  }

  /** Whole frames continue at `frameEnd`. @type {(frameEnd: number) => Promise<void>} */
  async #passDamage (frameEnd) {
    const { end: start } = this
    const { isMendable } = await compareFields(this.#blocks, this.#framing, start, frameEnd)
    if (!isMendable) {
      this.#report(WHAT.FRAMES, start, frameEnd, null)
      this.#earlier = start
      this.#countsBefore = { ...this.counts }
      this.#replace(frameEnd)
      return
    }
    const dataEnd = frameEnd - this.#framing.trailerSize
    const isDeleted = await isZeroRange(this.#blocks, start + FRAME_HEAD_SIZE, dataEnd)
    this.#report(WHAT.FIELD, start, frameEnd, 0)
    this.#earlier = NOWHERE
    this.#mend(frameEnd, isDeleted)
  }

  // A write that was cut off leaves only one end of its frame. If two of the three fields say that the rest of the file
  // is one frame, that frame was whole once.
  async #passEnd () {
    const { agreeing } = await compareFields(this.#blocks, this.#framing, this.end, this.#fileSize)
    if (agreeing >= 2 || await this.#endsInFrame()) await this.#passDamage(this.#fileSize)
    else this.#isOver = true
  }

  // Opening a log takes an empty frame at its end for a record, so nothing was cut off. But zeros over the end of a
  // larger frame look the same if they leave its last bytes.
  async #endsInFrame () {
    const last = this.#fileSize - this.#framing.overhead
    return last >= this.end && isFrameAt(this.#blocks, this.#framing, last, this.#fileSize)
  }

  /** @type {(what: string, start: number, end: number, records: number | null) => void} */
  #report (what, start, end, records) {
    const seqs = records === 0 ? null : { from: start, to: end }
    this.#damage.add({ what, start, end, isPromised: null, seqs, records })
  }

  // What becomes of a frame.

  /** @type {(frameEnd: number, isDeleted: boolean) => void} */
  #keep (frameEnd, isDeleted) {
    if (isDeleted) {
      this.counts.erased++
    } else {
      this.counts.records++
      this.counts.since = this.end
    }
    this.end = frameEnd
  }

  /** One field of the frame is wrong. @type {(frameEnd: number, isDeleted: boolean) => void} */
  #mend (frameEnd, isDeleted) {
    const { head, trailer } = encodeFields(this.#framing, this.end, frameEnd)
    this.#copyTo(frameEnd)
    this.#output?.put(this.end, head)
    this.#output?.put(frameEnd - trailer.length, trailer)
    if (!isDeleted) this.counts.mendable++
    this.#keep(frameEnd, isDeleted)
  }

  // Puts deleted records in place of what is lost, so that what comes after keeps its place.
  /** @type {(end: number) => void} */
  #replace (end) {
    this.#copyTo(this.end)
    this.#output?.fill(end - this.end, makeDeletedFrames(this.#framing, this.end, end))
    this.#copiedEnd = this.end = end
  }

  /** Takes back everything since the last damage, which began at `start`. @type {(start: number) => void} */
  #returnTo (start) {
    this.counts = { ...this.#countsBefore }
    this.end = this.#copiedEnd = start
    if (this.#output && this.#output.end > start) this.#output.cut(start)
  }

  /** Copies the file into the output up to `end`. @type {(end: number) => void} */
  #copyTo (end) {
    if (end > this.#copiedEnd) this.#output?.copy(this.#blocks, this.#copiedEnd, end)
    this.#copiedEnd = Math.max(this.#copiedEnd, end)
  }
}

// Returns a function that makes the next frame. The range has room for at least one.
/** @type {(framing: OffsetFraming, start: number, end: number) => () => Buffer} */
function makeDeletedFrames (framing, start, end) {
  const { overhead } = framing
  return () => {
    const left = end - start
    let size = Math.min(left, FILLER_SIZE_MAX)
    // What is left must have room for a frame.
    if (size < left && left - size < overhead) size -= overhead
    const bytes = Buffer.alloc(size)
    framing.writeFrame(Buffer.alloc(size - overhead), start, bytes, 0)
    start += size
    return bytes
  }
}

/** @type {(blocks: BlockFile, start: number, end: number) => Promise<boolean>} */
async function isZeroRange (blocks, start, end) {
  const buffer = Buffer.alloc(Math.max(0, Math.min(ZEROS.length, end - start)))
  while (start < end) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, end - start))
    await promisesOf(blocks).readInto(bytes, start)
    if (bytes.compare(ZEROS, 0, bytes.length) !== 0) return false
    start += bytes.length
  }
  return true
}

exports.OffsetSurvey = OffsetSurvey
exports.isZeroRange = isZeroRange
