'use strict'
// Finds where whole frames continue after a frame that contradicts itself. A frame's end field says its own position,
// which bytes rarely do by chance, so the search needs little more than one look at each byte.
// If the two sizes of such a frame agree too, it counts as whole: a good record between two damaged ones has no whole
// frame beside it.

const { isZero, promisesOf } = require('@millrace/flow')
const { FRAME_HEAD_SIZE } = require('@millrace/framing')

const BLOCK_SIZE = 16 * 1024
const NOWHERE = -1

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {import('@millrace/block-file').SpanReader} SpanReader
 */

/** @typedef {{ start: number, end: number, isWhole: boolean }} Place  of a frame; not whole: its first size is wrong */

class FrameSearch {
  #blocks
  #framing
  #from
  #fileSize
  #earlier
  #window
  /** The next position at which a frame may end. */
  #at

  /**
   * @param {BlockFile} blocks
   * @param {OffsetFraming} framing
   * @param {number} from  start of a frame that is not whole
   * @param {number} fileSize
   * @param {number} earlier  start of the frame before that was not whole either; NOWHERE if there was none
   * @param {SpanReader} window  continues from what it holds, so that many searches read no byte twice
   */
  constructor (blocks, framing, from, fileSize, earlier, window) {
    this.#blocks = blocks
    this.#framing = framing
    this.#from = from
    this.#fileSize = fileSize
    this.#earlier = earlier
    this.#window = window
    this.#at = from + framing.overhead
  }

  /** @returns {Promise<Place | null>} */
  async run () {
    const [window, fileSize] = [this.#window, this.#fileSize]
    const { trailerSize } = this.#framing
    while (this.#at <= fileSize) {
      const start = this.#at - trailerSize
      const isHeld = start >= window.start && this.#at <= window.end
      if (!isHeld) await promisesOf(window).loadForward(start, trailerSize + 1, fileSize)
      if (!this.#findEnd()) continue
      const place = await this.#findFrameBefore(this.#at++)
      if (place !== null) return place
    }
    return null
  }

  /** @returns {boolean}  whether the bytes before the position where the search stopped name it */
  #findEnd () {
    const framing = this.#framing
    const { buffer, view, start: base, end } = this.#window
    const last = Math.min(end, this.#fileSize)
    while (this.#at <= last) {
      const blockEnd = Math.min(last, this.#at + BLOCK_SIZE - 1)
      const from = Math.max(0, this.#at - framing.endSize - base)
      const hasOnlyZeros = isZero(buffer, from, blockEnd - base)
      for (let at = hasOnlyZeros ? blockEnd + 1 : this.#at; at <= blockEnd; at++) {
        if (buffer[at - base - 1] === (at & 0xff) && framing.isEndAt(view, at - base, at)) {
          this.#at = at
          return true
        }
      }
      this.#at = blockEnd + 1
    }
    return false
  }

  // The bytes before `end` name it. Null if no frame ends there.
  /** @type {(end: number) => Promise<Place | null>} */
  async #findFrameBefore (end) {
    const { overhead, trailerSize } = this.#framing
    const [from, window] = [this.#from, this.#window]
    const size = window.view.getUint32(end - trailerSize - window.start)
    const start = end - overhead - size
    if (start === from || (start === this.#earlier && start !== NOWHERE)) {
      return await this.#isFollowed(end) ? { start, end, isWhole: false } : null
    }
    if (start < from + overhead) return null
    const headSize = start >= window.start ? window.view.getUint32(start - window.start) : await this.#readSize(start)
    if (headSize !== size) return null
    // Zeros over a frame's end look like an empty frame if they leave its very last bytes.
    return size > 0 || await this.#isPreceded(start) ? { start, end, isWhole: true } : null
  }

  /** Whether the file ends there, or a whole frame begins. @type {(end: number) => Promise<boolean>} */
  async #isFollowed (end) {
    return end === this.#fileSize || isFrameAt(this.#blocks, this.#framing, end, this.#fileSize)
  }

  /** @param {number} start */
  async #readSize (start) {
    return (await readBytes(this.#blocks, start, FRAME_HEAD_SIZE)).readUInt32BE(0)
  }

  /** Whether a frame ends there, by the bytes before. @type {(start: number) => Promise<boolean>} */
  async #isPreceded (start) {
    const { endSize } = this.#framing
    return this.#framing.isEndIn(await readBytes(this.#blocks, start - endSize, endSize), start)
  }
}

// Reads no more than these bytes, because a hostile file may ask for it at every few of its bytes.
/** @type {(blocks: BlockFile, start: number, size: number) => Promise<Buffer<ArrayBuffer>>} */
async function readBytes (blocks, start, size) {
  const bytes = Buffer.alloc(size)
  await promisesOf(blocks).readInto(bytes, start)
  return bytes
}

// Whether a whole frame begins there.
/** @type {(blocks: BlockFile, framing: OffsetFraming, start: number, fileSize: number) => Promise<boolean>} */
async function isFrameAt (blocks, framing, start, fileSize) {
  if (start + framing.overhead > fileSize) return false
  const size = (await readBytes(blocks, start, FRAME_HEAD_SIZE)).readUInt32BE(0)
  const end = start + framing.overhead + size
  return end <= fileSize && isFrameEnd(blocks, framing, size, end)
}

// Whether a frame of a record of this size ends there, by the bytes before.
/** @type {(blocks: BlockFile, framing: OffsetFraming, size: number, end: number) => Promise<boolean>} */
async function isFrameEnd (blocks, framing, size, end) {
  const trailer = await readBytes(blocks, end - framing.trailerSize, framing.trailerSize)
  return trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, end)
}

/**
 * Searches after `from`, the start of a frame that is not whole; `earlier` is that of the one before it, or NOWHERE.
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} from
 * @param {number} fileSize
 * @param {number} earlier
 * @param {SpanReader} window
 * @returns {Promise<Place | null>}
 */
function findFrames (blocks, framing, from, fileSize, earlier, window) {
  return new FrameSearch(blocks, framing, from, fileSize, earlier, window).run()
}

// Compares the fields of a frame, which says its size twice and its end once. If two of them are right, and the third
// differs by one bit, that bit was flipped, and the record is whole as far as anybody can tell.

/**
 * Treats the bytes as one frame: how many of its three fields are right, and whether one bit makes the difference.
 * @type {(blocks: BlockFile, framing: OffsetFraming, start: number, end: number) => Promise<{ agreeing: number,
 *   isMendable: boolean }>}
 */
async function compareFields (blocks, framing, start, end) {
  const size = end - start - framing.overhead
  if (size < 0 || size > 0xffffffff) return { agreeing: 0, isMendable: false }
  // With the byte of data beside each field.
  const beside = Math.min(1, size)
  const head = await readBytes(blocks, start, FRAME_HEAD_SIZE + beside)
  const tailSize = framing.trailerSize + beside
  const tail = await readBytes(blocks, end - tailSize, tailSize)
  const trailer = tail.subarray(beside)
  const fields = [
    isFlipped(head.readUInt32BE(0), size, head[FRAME_HEAD_SIZE]),
    isFlipped(trailer.readUInt32BE(0), size, tail[0]),
    isEndFlipped(trailer, end, framing)
  ]
  const agreeing = fields.filter((isFlipped) => isFlipped === null).length
  return { agreeing, isMendable: agreeing === 2 && fields.includes(true) }
}

// `beside` is the byte of data beside the field. Null if nothing is wrong.
/** @type {(found: number, right: number, beside: number) => boolean | null} */
function isFlipped (found, right, beside) {
  const difference = (found ^ right) >>> 0
  if (difference === 0) return null
  // Zeros over the data and a field with one bit set look like a flipped bit.
  return isOneBit(difference) && !(beside === 0 && found < right)
}

/** @type {(trailer: Buffer, end: number, framing: OffsetFraming) => boolean | null} */
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

/** The bytes of an `end` field. @type {(framing: OffsetFraming, end: number) => Buffer} */
function encodeEnd (framing, end) {
  const bytes = Buffer.alloc(framing.overhead)
  framing.writeFrame(Buffer.alloc(0), end - framing.overhead, bytes, 0)
  return bytes.subarray(framing.overhead - framing.endSize)
}

// The fields of a frame that lies there.
/** @type {(framing: OffsetFraming, start: number, end: number) => { head: Buffer, trailer: Buffer }} */
function encodeFields (framing, start, end) {
  const head = Buffer.alloc(FRAME_HEAD_SIZE)
  head.writeUInt32BE(end - start - framing.overhead)
  return { head, trailer: Buffer.concat([head, encodeEnd(framing, end)]) }
}

exports.NOWHERE = NOWHERE
exports.compareFields = compareFields
exports.encodeFields = encodeFields
exports.findFrames = findFrames
exports.isFrameAt = isFrameAt
exports.isFrameEnd = isFrameEnd
