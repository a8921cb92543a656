'use strict'
// Makes files of the checked framing by hand, from docs/internals/format.md alone: also what no writer of this version
// makes, but every reader must read. Gaps, chunks that end anywhere, records split anywhere, padding, empty chunks.

const { crc } = require('./checked-oracle')

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const PIECE_SIZE = PAGE_SIZE - 40
const TYPES = { record: 0, padding: 1, erased: 2, gap: 3 }

/**
 * @typedef {object} OpenChunk
 * @property {number} position
 * @property {number} continued
 * @property {Buffer[]} parts
 * @property {number} erased
 * @property {boolean} isRestErased
 */

class LogBuilder {
  /**
   * @param {object} log
   * @param {number} [log.salt]
   * @param {number} [log.base]
   * @param {boolean} [log.hasGaps]
   * @param {number} [log.epoch]
   */
  constructor ({ salt = 0x01020304, base = HEAD_SIZE, hasGaps = false, epoch = 1 } = {}) {
    this.header = { salt, base, hasGaps }
    this.epoch = epoch
    /** Physical position of the next byte. */
    this.at = HEAD_SIZE
    this.shift = base - HEAD_SIZE
    this.chainCrc = salt
    this.erased = 0
    /** @type {Array<{ seq: number, data: Buffer, isErased: boolean }>} */
    this.frames = []
    /** @type {Buffer[]} */
    this._parts = []
    /** @type {OpenChunk | null} */
    this._open = null
  }

  /** Bytes left in the page. */
  get room () {
    return PAGE_SIZE - this.at % PAGE_SIZE
  }

  get isOpen () {
    return this._open !== null
  }

  /** Leaves out logical positions in front of the next chunk. @param {number} size */
  jump (size) {
    if (this._open) throw new Error('a chunk is open')
    this.shift += size
  }

  /** Opens a chunk, in the next page where this one has no room. */
  open (continued = 0) {
    if (this.room < 44) this._put(Buffer.alloc(this.room))
    this._open = { position: this.at + this.shift, continued, parts: [], erased: 0, isRestErased: false }
    this.at += 40
  }

  get _openChunk () {
    return /** @type {OpenChunk} */ (this._open)
  }

  /** @param {{ commitContinues: boolean }} options */
  close ({ commitContinues }) {
    const { position, continued, parts, erased, isRestErased } = this._openChunk
    const payload = Buffer.concat(parts)
    const header = Buffer.alloc(40)
    header.writeUInt32BE(crc(payload), 4)
    header.writeUInt16BE(payload.length, 8)
    header.writeUInt16BE(Number(commitContinues) + 2 * Number(erased > 0) + 4 * Number(isRestErased), 10)
    header.writeUInt32BE(this.epoch, 12)
    header.writeUIntBE(position, 16, 6)
    header.writeUIntBE(this.header.base, 22, 6)
    header.writeUInt16BE(continued, 28)
    header.writeUInt16BE(erased, 30)
    header.writeUInt32BE(this.chainCrc, 32)
    // As if the records had been erased some time later.
    const originalCrc = erased > 0 ? crc(header.subarray(4), this.header.salt) : 0
    header.writeUInt32BE(originalCrc, 36)
    header.writeUInt32BE(crc(header.subarray(4), this.header.salt), 0)
    this.chainCrc = erased > 0 ? originalCrc : header.readUInt32BE(0)
    this.erased += erased
    this._parts.push(header, payload)
    this._open = null
  }

  /**
   * A record, split where the page ends; the chunk must be open, with room for a length.
   * @param {Buffer} data
   * @param {{ isErased?: boolean }} [options]
   */
  record (data, { isErased = false } = {}) {
    const bytes = isErased ? Buffer.alloc(data.length) : data
    this.frames.push({ seq: this.at + this.shift, data: bytes, isErased })
    this._length(isErased ? TYPES.erased : TYPES.record, data.length)
    if (isErased) this._openChunk.erased++
    let done = 0
    while (done < bytes.length) {
      if (this._isFull) {
        this.close({ commitContinues: true })
        this.open(Math.min(bytes.length - done, PIECE_SIZE))
        if (isErased) Object.assign(this._openChunk, { erased: 1, isRestErased: true })
      }
      const size = Math.min(bytes.length - done, this.room)
      this._put(bytes.subarray(done, done + size))
      done += size
    }
  }

  /** Logical positions without a byte. @param {number} size */
  gap (size) {
    this._length(TYPES.gap, size)
    this.shift += size
  }

  /** Fills the page. */
  pad () {
    if (this.room >= 4 && !this._isFull) this._length(TYPES.padding, this.room - 4)
    if (!this._isFull) this._put(Buffer.alloc(this.room))
  }

  /** Ends a chunk with up to three zeros that are no length. @param {number} count */
  zeros (count) {
    this._put(Buffer.alloc(count))
  }

  /** Whether the open chunk has reached the end of its page. */
  get _isFull () {
    return this.at % PAGE_SIZE === 0
  }

  /** @returns {Buffer}  the whole file */
  build () {
    const end = this.at
    const last = this.frames.findLast(({ isErased }) => !isErased)
    const slot = { epoch: this.epoch, end, logicalEnd: end + this.shift, last: last ? last.seq : -1 }
    const head = Buffer.alloc(HEAD_SIZE)
    for (const position of [0, 8192]) this._encodeHeader().copy(head, position)
    for (const [index, position] of [4096, 12288].entries()) {
      this._encodeSlot({ ...slot, sequence: 7 + index }).copy(head, position)
    }
    return Buffer.concat([head, ...this._parts])
  }

  _encodeHeader () {
    const { salt, base, hasGaps } = this.header
    const bytes = Buffer.alloc(64)
    bytes.write('89464c470d0a1a0a', 'hex')
    bytes.writeUInt16BE(1, 8)
    bytes.writeUInt16BE(2 + Number(hasGaps), 10)
    bytes.writeUInt32BE(salt, 12)
    bytes.fill(0x1d, 16, 32)
    bytes.writeUIntBE(base, 32, 6)
    bytes[38] = 1
    bytes[39] = 5
    bytes.write('bytes', 40)
    bytes.writeUInt32BE(crc(bytes.subarray(0, 60)), 60)
    return bytes
  }

  /** @param {{ sequence: number, epoch: number, end: number, logicalEnd: number, last: number }} slot */
  _encodeSlot ({ sequence, epoch, end, logicalEnd, last }) {
    const bytes = Buffer.alloc(512)
    bytes.writeUIntBE(sequence, 4, 6)
    bytes.writeUInt32BE(epoch, 10)
    bytes.writeUIntBE(end, 14, 6)
    bytes.writeUIntBE(logicalEnd, 20, 6)
    bytes.writeUIntBE(last + 1, 26, 6)
    bytes.writeUIntBE(this.erased + 1, 32, 6)
    bytes.writeUInt32BE(this.chainCrc, 38)
    bytes.writeUInt32BE(crc(bytes.subarray(4), this.header.salt), 0)
    return bytes
  }

  /** @type {(type: number, size: number) => void} */
  _length (type, size) {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(type * 2 ** 30 + size)
    this._put(bytes)
  }

  /** @param {Buffer} bytes */
  _put (bytes) {
    if (this._open) this._open.parts.push(bytes)
    else this._parts.push(bytes)
    this.at += bytes.length
  }
}

/**
 * A log of everything that the format allows.
 * @param {(limit: number) => number} random
 * @param {object} [options]
 * @param {number} [options.steps]
 * @param {boolean} [options.hasGaps]
 * @returns {LogBuilder}
 */
function buildRandomLog (random, { steps = 60, hasGaps = random(3) > 0 } = {}) {
  const base = hasGaps || random(2) ? HEAD_SIZE + random(3) * random(2 ** 31) : HEAD_SIZE
  const builder = new LogBuilder({ salt: random(2 ** 32), base, hasGaps })
  for (let step = 0; step < steps; step++) {
    if (builder.isOpen && random(3) === 0) builder.close({ commitContinues: random(3) > 0 })
    if (!builder.isOpen) {
      if (hasGaps && random(3) === 0) builder.jump(random(random(4) === 0 ? 2 ** 32 : 1000))
      builder.open()
      if (random(12) === 0) continue
    }
    takeStep(builder, random)
  }
  if (!builder.isOpen) builder.open()
  builder.close({ commitContinues: false })
  return builder
}

/**
 * @param {LogBuilder} builder  with an open chunk
 * @param {(limit: number) => number} random
 */
function takeStep (builder, random) {
  const hasRoom = builder.room >= 4 && builder.room < PAGE_SIZE
  const choice = random(20)
  if (choice === 0 || !hasRoom) {
    if (builder.room < PAGE_SIZE) builder.pad()
    builder.close({ commitContinues: random(2) === 0 })
  } else if (choice === 1) {
    // Fewer than four zeros, behind a length at least.
    builder.record(randomData(random, random(5)))
    if (builder.room > 3 && builder.room < PAGE_SIZE) builder.zeros(1 + random(3))
    builder.close({ commitContinues: random(2) === 0 })
  } else if (choice < 5 && builder.header.hasGaps) {
    builder.gap(random(random(3) === 0 ? 2 ** 30 : 500))
  } else {
    // Now and then as long as the page has room, or a few bytes more or less.
    const size = random(4) === 0 ? Math.max(0, builder.room - 6 + random(8)) : randomSize(random)
    builder.record(randomData(random, size), { isErased: random(6) === 0 })
  }
}

/** Sizes around all that the format sets store by. @param {(limit: number) => number} random */
function randomSize (random) {
  const near = [0, 0, 4, 40, 44, 256, PIECE_SIZE, PIECE_SIZE - 4, PAGE_SIZE, 2 * PIECE_SIZE][random(10)]
  return random(2) === 0 ? random(700) : Math.max(0, near - 3 + random(8))
}

/** @type {(random: (limit: number) => number, size: number) => Buffer} */
function randomData (random, size) {
  if (random(5) === 0) return Buffer.alloc(size)
  const data = Buffer.alloc(size)
  for (let at = 0; at < size; at++) data[at] = random(256)
  return data
}

exports.LogBuilder = LogBuilder
exports.buildRandomLog = buildRandomLog
exports.randomData = randomData
exports.randomSize = randomSize
