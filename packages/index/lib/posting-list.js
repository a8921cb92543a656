'use strict'
// A list of ordinals, newest first, in one of three forms: a few of them, many in blocks that can be skipped, or a bit
// for each record of the run if that is smaller.
//
// The first byte is the form. With HAS_ID the id of all its values follows, in 4 bytes; with ENTRY_HAS_ID it is in the
// entry of the list. Then
// - FEW: how many, in the other bits of the first byte or, if these are 0, as a varint; a varint of the newest, and one
//   for each further distance;
// - BLOCKS: how many, in 4 bytes; for each block of BLOCK_COUNT the newest and the place of the other distances after
//   this table, in 4 bytes each; the distances as varints;
// - BITS: how many, in 4 bytes; the bits.

const { DamagedRun, WORD_SIZE } = require('./run-format')

const FEW = 0
const BLOCKS = 1
const BITS = 2
const FORM_MASK = 3
const HAS_ID = 4
const ENTRY_HAS_ID = 8
const COUNT_SHIFT = 4
const SMALL_COUNT_MAX = 0xf
/** As the id of a list that is written: its entry has it. */
const IN_ENTRY = -1
const BLOCK_COUNT = 128
const BLOCK_ENTRY_SIZE = 8
const ID_SIZE = 4
const VARINT_SIZE_MAX = 5
/** Of the bits that are taken at once. */
const BITS_STEP = 512
const BLOCK_SIZE_MAX = BLOCK_COUNT * VARINT_SIZE_MAX
/** As many as one call of `readBlock` gives at most. */
const ORDINALS_MAX = BITS_STEP * 8

/**
 * @typedef {object} Target  where bytes are written
 * @property {Buffer} bytes
 * @property {DataView} view  of the same
 * @property {number} filled
 * @property {(size: number) => void} makeRoom
 */

/**
 * Writes a list of at most BLOCK_COUNT.
 * @param {Target} target
 * @param {ArrayLike<number>} ordinals  ascending, each once, at least one
 * @param {number} count
 * @param {number | null} id  of all their values, or IN_ENTRY
 */
function writeFew (target, ordinals, count, id) {
  target.makeRoom(1 + ID_SIZE + (count + 1) * VARINT_SIZE_MAX)
  const { bytes } = target
  const isSmall = count <= SMALL_COUNT_MAX
  let at = writeHead(target, isSmall ? FEW | count << COUNT_SHIFT : FEW, id)
  if (!isSmall) at = writeVarint(bytes, at, count)
  at = writeVarint(bytes, at, ordinals[count - 1])
  target.filled = writeDistances(bytes, at, ordinals, count - 1, 0)
}

/**
 * Writes a longer list.
 * @param {Target} target
 * @param {ArrayLike<number>} ordinals  ascending, each once
 * @param {number} count
 * @param {number} records  of the run
 * @param {number | null} id  of all their values, or IN_ENTRY
 */
function writeSome (target, ordinals, count, records, id) {
  const list = new LongList(target, ordinals, count)
  list.addSize(0, count - 1)
  list.begin(records, id)
  list.write(0, list.pieces)
  list.end()
}

/**
 * As `writeSome`, in steps.
 * @param {Target} target  nobody else may write meanwhile
 * @param {ArrayLike<number>} ordinals
 * @param {number} count
 * @param {number} records
 * @param {number | null} id
 * @param {import('./pace').Pace} pace
 */
async function writeMany (target, ordinals, count, records, id, pace) {
  const list = new LongList(target, ordinals, count)
  await pace.walk(count - 1, 1, (from, to) => list.addSize(from, to))
  list.begin(records, id)
  await pace.walk(list.pieces, list.hasBits ? 1 : 2 * BLOCK_COUNT, (from, to) => list.write(from, to))
  list.end()
}

/** A list with blocks or bits that is being written. */
class LongList {
  #target
  #ordinals
  #count
  #blocks
  /** Of the table of blocks, and what is after it. */
  #size
  /** Where the table or the bits are, what is after the table, and what comes next. */
  #table = 0
  #start = 0
  #at = 0
  hasBits = false

  /** @param {Target} target @param {ArrayLike<number>} ordinals @param {number} count */
  constructor (target, ordinals, count) {
    this.#target = target
    this.#ordinals = ordinals
    this.#count = count
    this.#blocks = Math.ceil(count / BLOCK_COUNT)
    this.#size = this.#blocks * BLOCK_ENTRY_SIZE
  }

  /** Adds the sizes of some distances. @param {number} from @param {number} to */
  addSize (from, to) {
    const ordinals = this.#ordinals
    let size = 0
    for (let at = from; at < to; at++) size += varintSize(ordinals[at + 1] - ordinals[at])
    this.#size += size
  }

  /** Once all sizes are known. @param {number} records @param {number | null} id */
  begin (records, id) {
    const target = this.#target
    const bitsSize = Math.ceil(records / 8)
    this.hasBits = this.#size > bitsSize
    target.makeRoom(1 + ID_SIZE + WORD_SIZE + Math.min(this.#size, bitsSize))
    const at = writeHead(target, this.hasBits ? BITS : BLOCKS, id)
    target.view.setUint32(at, this.#count, true)
    this.#table = at + WORD_SIZE
    this.#start = this.#table + this.#blocks * BLOCK_ENTRY_SIZE
    this.#at = this.hasBits ? this.#table + bitsSize : this.#start
    if (this.hasBits) target.bytes.fill(0, this.#table, this.#at)
  }

  /** How many ordinals, or blocks of them, are to be written. */
  get pieces () {
    return this.hasBits ? this.#count : this.#blocks
  }

  /** @param {number} from  a piece @param {number} to */
  write (from, to) {
    if (this.hasBits) setBits(this.#target.bytes, this.#table, this.#ordinals, from, to)
    else for (let block = from; block < to; block++) this.#writeBlock(block)
  }

  /** @param {number} block */
  #writeBlock (block) {
    const { bytes, view } = this.#target
    const newest = this.#count - 1 - block * BLOCK_COUNT
    const entry = this.#table + block * BLOCK_ENTRY_SIZE
    view.setUint32(entry, this.#ordinals[newest], true)
    view.setUint32(entry + WORD_SIZE, this.#at - this.#start, true)
    this.#at = writeDistances(bytes, this.#at, this.#ordinals, newest, Math.max(0, newest - BLOCK_COUNT + 1))
  }

  end () {
    this.#target.filled = this.#at
  }
}

/** @type {(bytes: Buffer, at: number, ordinals: ArrayLike<number>, from: number, to: number) => void} */
function setBits (bytes, at, ordinals, from, to) {
  for (let index = from; index < to; index++) bytes[at + (ordinals[index] >> 3)] |= 1 << (ordinals[index] & 7)
}

/** @type {(target: Target, form: number, id: number | null) => number} where it ends */
function writeHead ({ bytes, view, filled }, form, id) {
  bytes[filled] = form | (id === null ? 0 : id === IN_ENTRY ? ENTRY_HAS_ID : HAS_ID)
  if (id === null || id === IN_ENTRY) return filled + 1
  view.setUint32(filled + 1, id, true)
  return filled + 1 + ID_SIZE
}

/** @type {(bytes: Buffer, at: number, ordinals: ArrayLike<number>, newest: number, oldest: number) => number} */
function writeDistances (bytes, at, ordinals, newest, oldest) {
  for (let index = newest; index > oldest; index--) at = writeVarint(bytes, at, ordinals[index] - ordinals[index - 1])
  return at
}

/** @type {(bytes: Buffer, at: number, value: number) => number} */
function writeVarint (bytes, at, value) {
  while (value >= 0x80) {
    bytes[at++] = value & 0x7f | 0x80
    value >>>= 7
  }
  bytes[at] = value
  return at + 1
}

/** @param {number} value */
function varintSize (value) {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5
}

/**
 * @typedef {object} Source  where bytes are read
 * @property {number} records  of the run
 * @property {(offset: number, size: number) => Buffer} read  less if the data ends there; valid until the next read
 * @property {(offset: number) => number} byteAt  0 after the end of the data
 */

/** A list in a run. Block 0 has the newest ones. */
class PostingList {
  #source
  #form
  /** Where the table, the bits or the first varint is. */
  #start
  /** The table of blocks. @type {DataView | null} */
  #table = null

  /** @param {Source} source @param {number} offset @param {number | null} entryId  what its entry has */
  constructor (source, offset, entryId) {
    this.#source = source
    const head = source.read(offset, 1 + ID_SIZE + 2 * VARINT_SIZE_MAX)
    this.#form = head[0] & FORM_MASK
    const hasId = (head[0] & HAS_ID) !== 0
    const headSize = 1 + (hasId ? ID_SIZE : 0) + (this.#form === FEW ? 1 : WORD_SIZE)
    if (head.length < headSize || this.#form > BITS) throw new DamagedRun('a list that is cut off, or none')
    /** Of all its values; null if it is not known. */
    this.id = hasId ? head.readUInt32LE(1) : (head[0] & ENTRY_HAS_ID) !== 0 ? entryId : null
    const at = hasId ? 1 + ID_SIZE : 1
    this.count = readCount(head, at)
    this.#start = offset + varintEnd
    const countMax = this.#form === FEW ? BLOCK_COUNT : source.records
    if (this.count > source.records || this.count > countMax) throw new DamagedRun('a list of more records than there are')
    this.blockCount = 1
    if (this.#form === BLOCKS) this.blockCount = Math.ceil(this.count / BLOCK_COUNT)
    else if (this.#form === BITS) this.blockCount = Math.ceil(source.records / ORDINALS_MAX)
  }

  /** It has so many bytes, or more. */
  get sizeMin () {
    return this.#form === BITS ? this.#source.records >> 3 : this.count
  }

  /** What no ordinal of the block is above. @param {number} block @returns {number} */
  newestOf (block) {
    if (this.#form === BLOCKS) return this.#readTable().getUint32(block * BLOCK_ENTRY_SIZE, true)
    return this.#form === FEW ? this.#source.records - 1 : this.#source.records - 1 - block * ORDINALS_MAX
  }

  /** How many ordinals a block may have. */
  get blockSize () {
    if (this.#form === BITS) return ORDINALS_MAX
    return Math.min(this.count, BLOCK_COUNT)
  }

  /**
   * Gives the ordinals of a block.
   * @param {number} block
   * @param {Uint32Array} target  with room for a block
   * @returns {number}  how many; the newest first
   */
  readBlock (block, target) {
    if (this.#form === BITS) return this.#readBits(block, target)
    if (this.#form === FEW) {
      const bytes = this.#source.read(this.#start, VARINT_SIZE_MAX + BLOCK_SIZE_MAX)
      const at = readVarint(bytes, 0)
      return readDistances(bytes, at, varint, this.count, target)
    }
    const table = this.#readTable()
    const place = table.getUint32(block * BLOCK_ENTRY_SIZE + WORD_SIZE, true)
    const bytes = this.#source.read(this.#start + this.blockCount * BLOCK_ENTRY_SIZE + place, BLOCK_SIZE_MAX)
    const count = Math.min(BLOCK_COUNT, this.count - block * BLOCK_COUNT)
    return readDistances(bytes, 0, table.getUint32(block * BLOCK_ENTRY_SIZE, true), count, target)
  }

  /** Whether there is a bit for each record: then to look for one takes no block. */
  get hasBits () {
    return this.#form === BITS
  }

  /** @param {number} ordinal */
  hasBit (ordinal) {
    return (this.#source.byteAt(this.#start + (ordinal >> 3)) >> (ordinal & 7) & 1) === 1
  }

  /** Block 0 has the last bits. @param {number} block @param {Uint32Array} target */
  #readBits (block, target) {
    const end = this.#source.records - block * ORDINALS_MAX
    const start = Math.max(0, end - ORDINALS_MAX)
    const firstByte = start >> 3
    const bytes = this.#source.read(this.#start + firstByte, Math.ceil(end / 8) - firstByte)
    let count = 0
    for (let index = bytes.length - 1; index >= 0; index--) {
      const byte = bytes[index]
      if (byte === 0) continue
      const base = (firstByte + index) * 8
      for (let bit = 7; bit >= 0; bit--) {
        const ordinal = base + bit
        if ((byte >> bit & 1) === 1 && ordinal >= start && ordinal < end) target[count++] = ordinal
      }
    }
    return count
  }

  #readTable () {
    if (this.#table === null) {
      const bytes = this.#source.read(this.#start, this.blockCount * BLOCK_ENTRY_SIZE)
      if (bytes.length < this.blockCount * BLOCK_ENTRY_SIZE) throw new DamagedRun('a list that is cut off')
      const own = new Uint8Array(bytes)
      this.#table = new DataView(own.buffer)
    }
    return this.#table
  }
}

let varint = 0
let varintEnd = 0

/** How many a list has. `varintEnd` is where that ends. @type {(head: Buffer, at: number) => number} */
function readCount (head, at) {
  const isFew = (head[0] & FORM_MASK) === FEW
  varintEnd = isFew ? at : at + WORD_SIZE
  if (!isFew) return head.readUInt32LE(at)
  const small = head[0] >>> COUNT_SHIFT
  if (small > 0) return small
  readVarint(head, at)
  return varint
}

/** @type {(bytes: Buffer, at: number) => number} */
function readVarint (bytes, at) {
  let value = bytes[at++] & 0x7f
  let shift = 7
  for (; bytes[at - 1] >= 0x80 && shift < 35; shift += 7) value |= (bytes[at++] & 0x7f) << shift
  varint = value >>> 0
  varintEnd = at
  return at
}

/** @type {(bytes: Buffer, at: number, newest: number, count: number, target: Uint32Array) => number} */
function readDistances (bytes, at, newest, count, target) {
  let ordinal = newest
  target[0] = ordinal
  for (let index = 1; index < count; index++) {
    const byte = bytes[at]
    if (byte < 0x80) {
      at++
      ordinal -= byte
    } else {
      at = readVarint(bytes, at)
      ordinal -= varint
    }
    target[index] = ordinal
  }
  return count
}

exports.IN_ENTRY = IN_ENTRY
exports.BLOCK_COUNT = BLOCK_COUNT
exports.ORDINALS_MAX = ORDINALS_MAX
exports.PostingList = PostingList
exports.writeFew = writeFew
exports.writeMany = writeMany
exports.writeSome = writeSome
