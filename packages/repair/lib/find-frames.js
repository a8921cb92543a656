'use strict'
// Finds where whole frames go on behind a place where one contradicts itself. A frame's end says where it is, which few
// bytes do by chance; so nearly all of the search is one look at each byte. Where its two sizes agree as well, nothing
// more is asked of it: a good record between two damaged ones has no whole frame beside it. Of two frames in a row that
// one bit each has damaged neither is whole: there the second one may be mended, and the first be followed by that.

const { call } = require('@millrace/flow')
const { FRAME_HEAD_SIZE } = require('@millrace/framing')

const BLOCK_SIZE = 16 * 1024
const ZEROS = Buffer.alloc(BLOCK_SIZE + 16)
const NOWHERE = -1

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {import('@millrace/block-file').SpanReader} SpanReader
 */

/**
 * Where a frame lies.
 * @typedef {object} Place
 * @property {number} start
 * @property {number} end
 * @property {boolean} isWhole  false for one whose first size is wrong, though all that follows is as it should be
 */

class FrameSearch {
  #blocks
  #framing
  #from
  #fileSize
  #earlier
  #window
  #view
  /** The next position at which a frame may end. */
  #at
  /** Where the frame at `from` ends, by its last two fields, if it is to be followed by one that can be mended. */
  #claimedEnd = NOWHERE

  /**
   * @param {BlockFile} blocks
   * @param {OffsetFraming} framing
   * @param {number} from  where a frame begins that is not whole
   * @param {number} fileSize
   * @param {number} earlier  where such a one began before it; NOWHERE if there was none
   * @param {SpanReader} window  goes on from what it holds, so that many searches read no byte more than once
   */
  constructor (blocks, framing, from, fileSize, earlier, window) {
    this.#blocks = blocks
    this.#framing = framing
    this.#from = from
    this.#fileSize = fileSize
    this.#earlier = earlier
    this.#window = window
    this.#view = new DataView(window.buffer.buffer)
    this.#at = from + framing.overhead
  }

  /** @returns {Promise<Place | null>} */
  async run () {
    const [window, fileSize] = [this.#window, this.#fileSize]
    const { trailerSize } = this.#framing
    while (this.#at <= fileSize) {
      const start = this.#at - trailerSize
      if (start < window.start || this.#at > window.end) {
        await call(window, 'loadForward', start, trailerSize + 1, fileSize)
        if (this.#view.buffer !== window.buffer.buffer) this.#view = new DataView(window.buffer.buffer)
      }
      if (!this.#findEnd()) continue
      const place = await this.#findFrameBefore(this.#at++)
      if (place !== null) return place
    }
    return null
  }

  /** @returns {boolean}  whether the position where the search stopped is named by the bytes before it */
  #findEnd () {
    const [framing, view] = [this.#framing, this.#view]
    const { buffer, start: base, end } = this.#window
    const last = Math.min(end, this.#fileSize)
    while (this.#at <= last) {
      const blockEnd = Math.min(last, this.#at + BLOCK_SIZE - 1)
      const from = Math.max(0, this.#at - framing.endSize - base)
      const isZero = buffer.compare(ZEROS, 0, blockEnd - base - from, from, blockEnd - base) === 0
      for (let at = isZero ? blockEnd + 1 : this.#at; at <= blockEnd; at++) {
        if (buffer[at - base - 1] === (at & 0xff) && framing.isEndAt(view, at - base, at)) {
          this.#at = at
          return true
        }
      }
      this.#at = blockEnd + 1
    }
    return false
  }

  /**
   * @param {number} end  named by the bytes before it
   * @returns {Promise<Place | null>}  null when no frame ends there
   */
  async #findFrameBefore (end) {
    const { overhead, trailerSize } = this.#framing
    const [from, window] = [this.#from, this.#window]
    const size = this.#view.getUint32(end - trailerSize - window.start)
    const start = end - overhead - size
    if (start === from || (start === this.#earlier && start !== NOWHERE)) {
      if (await this.#isFollowed(end)) return { start, end, isWhole: false }
      if (start !== from) return null
      this.#claimedEnd = end
      return await this.#isMendableAt(end) ? { start, end, isWhole: false } : null
    }
    if (start < from + overhead) return null
    if (start === this.#claimedEnd && await this.#isMendable(start, end)) {
      return { start: from, end: start, isWhole: false }
    }
    const headSize = start >= window.start ? this.#view.getUint32(start - window.start) : await this.#readSize(start)
    if (headSize !== size) return null
    // Zeros over the end of a frame, but for its very last bytes, make an empty one.
    return size > 0 || await this.#isPreceded(start) ? { start, end, isWhole: true } : null
  }

  /**
   * Whether a whole frame begins there, or the file ends.
   * @param {number} end
   */
  async #isFollowed (end) {
    return end === this.#fileSize || isFrameAt(this.#blocks, this.#framing, end, this.#fileSize)
  }

  /**
   * Whether a frame begins there whose first size is right, and only one of its other fields wrong, by one bit.
   * @param {number} start
   */
  async #isMendableAt (start) {
    const { overhead } = this.#framing
    if (start + overhead > this.#fileSize) return false
    const end = start + overhead + await this.#readSize(start)
    return end <= this.#fileSize && this.#isMendable(start, end)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  async #isMendable (start, end) {
    const { isMendable } = await compareFields(this.#blocks, this.#framing, start, end)
    return isMendable && this.#isFollowed(end)
  }

  /** @param {number} start */
  async #readSize (start) {
    return (await readBytes(this.#blocks, start, FRAME_HEAD_SIZE)).readUInt32BE(0)
  }

  /**
   * Whether the bytes before it say that a frame ends there.
   * @param {number} start
   */
  async #isPreceded (start) {
    const { endSize } = this.#framing
    return this.#framing.isEndIn(await readBytes(this.#blocks, start - endSize, endSize), start)
  }
}

/**
 * Reads these bytes and no more: every few bytes of a hostile file may ask for it.
 * @param {BlockFile} blocks
 * @param {number} start
 * @param {number} size
 */
async function readBytes (blocks, start, size) {
  const bytes = Buffer.alloc(size)
  await call(blocks, 'readInto', bytes, start)
  return bytes
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} fileSize
 * @returns {Promise<boolean>}  whether a whole frame begins there
 */
async function isFrameAt (blocks, framing, start, fileSize) {
  if (start + framing.overhead > fileSize) return false
  const size = (await readBytes(blocks, start, FRAME_HEAD_SIZE)).readUInt32BE(0)
  const end = start + framing.overhead + size
  return end <= fileSize && isFrameEnd(blocks, framing, size, end)
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} size  of a record
 * @param {number} end  within the file
 * @returns {Promise<boolean>}  whether the bytes before `end` say that a frame of a record of that size ends there
 */
async function isFrameEnd (blocks, framing, size, end) {
  const trailer = await readBytes(blocks, end - framing.trailerSize, framing.trailerSize)
  return trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, end)
}

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} from  where a frame begins that is not whole
 * @param {number} fileSize
 * @param {number} earlier  where such a one began before it; NOWHERE if there was none
 * @param {SpanReader} window
 * @returns {Promise<Place | null>}
 */
function findFrames (blocks, framing, from, fileSize, earlier, window) {
  return new FrameSearch(blocks, framing, from, fileSize, earlier, window).run()
}

// A frame says its size twice and its end once. Where two of the three agree with where it begins and ends, and the
// third differs by one bit, that bit was flipped, and the record is whole as far as anybody can tell.

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} end
 * @returns {Promise<{ agreeing: number, isMendable: boolean }>}  how many of the three fields are right, if this is one
 *   frame; and whether a bit makes the difference where one is wrong
 */
async function compareFields (blocks, framing, start, end) {
  const size = end - start - framing.overhead
  if (size < 0 || size > 0xffffffff) return { agreeing: 0, isMendable: false }
  // With the byte of data beside each.
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

exports.NOWHERE = NOWHERE
exports.compareFields = compareFields
exports.encodeFields = encodeFields
exports.findFrames = findFrames
exports.isFrameAt = isFrameAt
exports.isFrameEnd = isFrameEnd
