'use strict'
// The bytes of `<log>.sums`, the file beside a log of lines:
//
//   sums  := slot{5} table        each slot begins a page of 4 KiB
//   slot  := "MRsums1\n" sequence:u48 flags:u16 id:16 epoch:u32 durable:u48 base:u48 start:u48 end:u48
//            startCrc:u32 endCrc:u32 crc:u32
//   table := crc:u32*             of each 16 KiB of the log, in order; 0 if it is not known. It grows by 16 KiB
//
// Numbers are big-endian. A slot that verifies describes the log as it was when the slot was written: the last commit
// was to be written from `start` to `end`, and was described before. `base` is where a page of 16 KiB begins.
// `startCrc` and `endCrc` stand for the log's bytes from `base` to `start` and to `end`; see `SumWalk`.

const { crc32 } = require('./crc32')
const { CRC_SIZE } = require('./layout')

const MAGIC = Buffer.from('MRsums1\n')
const SLOT_SIZE = 72
const SUMS_POSITIONS = Object.freeze([0, 4096, 8192, 12288, 16384])
/** Where the slots end. */
const SUMS_SIZE = 20480
/** How many bytes of the log have a checksum of their own. */
const SUMMED_SIZE = 16384
/** No log writes so many slots. */
const SEQUENCE_MAX = 2 ** 47
/** By how much the table grows, in bytes. */
const TABLE_SIZE = 16384

const IS_CLEAN = 1
const TAKES_LINES = 2
const IS_CHANGED = 4

/**
 * @typedef {object} SumsSlot
 * @property {number} sequence  the higher one is newer
 * @property {boolean} isClean  the log was closed, and all of it is durable
 * @property {boolean} takesLines  commits of single records are not described: whole lines after `end` count, too
 * @property {boolean} isChanged  another program has changed the log, and nobody has accepted that
 * @property {Buffer} id  16 bytes; names the log
 * @property {number} epoch  rises when positions may get other lines
 * @property {number} durable  the log is on stable storage up to here
 * @property {number} base
 * @property {number} start
 * @property {number} end
 * @property {number} startCrc
 * @property {number} endCrc
 */

/** Encodes a slot. @param {SumsSlot} slot @returns {Buffer} */
function encodeSums (slot) {
  const bytes = Buffer.alloc(SLOT_SIZE)
  MAGIC.copy(bytes)
  bytes.writeUIntBE(slot.sequence, 8, 6)
  const { isClean, takesLines, isChanged } = slot
  bytes.writeUInt16BE((isClean ? IS_CLEAN : 0) | (takesLines ? TAKES_LINES : 0) | (isChanged ? IS_CHANGED : 0), 14)
  slot.id.copy(bytes, 16)
  bytes.writeUInt32BE(slot.epoch, 32)
  bytes.writeUIntBE(slot.durable, 36, 6)
  bytes.writeUIntBE(slot.base, 42, 6)
  bytes.writeUIntBE(slot.start, 48, 6)
  bytes.writeUIntBE(slot.end, 54, 6)
  bytes.writeUInt32BE(slot.startCrc, 60)
  bytes.writeUInt32BE(slot.endCrc, 64)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 68)), 68)
  return bytes
}

/** @param {Buffer} bytes @returns {SumsSlot | null} */
function decodeSums (bytes) {
  if (bytes.length < SLOT_SIZE || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null
  if (crc32(bytes.subarray(0, 68)) !== bytes.readUInt32BE(68)) return null
  const flags = bytes.readUInt16BE(14)
  const slot = {
    sequence: bytes.readUIntBE(8, 6),
    isClean: (flags & IS_CLEAN) !== 0,
    takesLines: (flags & TAKES_LINES) !== 0,
    isChanged: (flags & IS_CHANGED) !== 0,
    id: Buffer.from(bytes.subarray(16, 32)),
    epoch: bytes.readUInt32BE(32),
    durable: bytes.readUIntBE(36, 6),
    base: bytes.readUIntBE(42, 6),
    start: bytes.readUIntBE(48, 6),
    end: bytes.readUIntBE(54, 6),
    startCrc: bytes.readUInt32BE(60),
    endCrc: bytes.readUInt32BE(64)
  }
  const { sequence, durable, base, start, end } = slot
  const isSound = base % SUMMED_SIZE === 0 && base <= start && start <= end && durable <= end
  return isSound && sequence < SEQUENCE_MAX ? slot : null
}

/**
 * The slots of a file of sums, the newest first, each with its place.
 * @type {(bytes: Buffer) => Array<SumsSlot & { place: number }>} `bytes`: of the whole file
 */
function readSums (bytes) {
  return SUMS_POSITIONS.flatMap((position, place) => {
    const slot = decodeSums(bytes.subarray(position, position + SLOT_SIZE))
    return slot === null ? [] : [{ ...slot, place }]
  }).sort((a, b) => b.sequence - a.sequence)
}

/** Where the table has the checksum of a page. @param {number} page  its number */
function sumPosition (page) {
  return SUMS_SIZE + CRC_SIZE * page
}

/** Where the table ends if it has the byte before this position of its file. @param {number} position */
function tableEnd (position) {
  return SUMS_SIZE + Math.ceil((position - SUMS_SIZE) / TABLE_SIZE) * TABLE_SIZE
}

/** How many pages are whole before a position. @param {number} position */
function countPages (position) {
  return Math.floor(position / SUMMED_SIZE)
}

/** @type {(crcs: number[], seed: number) => number} the checksum of checksums */
function sumOfPages (crcs, seed) {
  return crc32(encodePages(crcs), seed)
}

/** @type {(crcs: number[]) => Buffer} as the table has them */
function encodePages (crcs) {
  const bytes = Buffer.allocUnsafe(CRC_SIZE * crcs.length)
  crcs.forEach((crc, index) => bytes.writeUInt32BE(crc, CRC_SIZE * index))
  return bytes
}

/**
 * Computes the checksums of the log's bytes, in order, from the start of a page on: of each page, and one of all bytes.
 * That is the checksum of the checksums of the whole pages and of the last part.
 */
class SumWalk {
  /** @param {number} base  where a page begins */
  constructor (base) {
    this.end = base
    /** Of the page that is not whole. */
    this.part = 0
    /** Of the checksums of the whole pages. */
    this.whole = 0
    /** The checksums of the pages that became whole since somebody took them. @type {number[]} */
    this.pages = []
  }

  /** Of all bytes. */
  get crc () {
    return sumOfPages([this.part], this.whole)
  }

  /** The number of the first page in `pages`. */
  get firstPage () {
    return countPages(this.end) - this.pages.length
  }

  /** Goes on over these bytes. @param {Buffer} bytes  those that follow */
  add (bytes) {
    for (let at = 0; at < bytes.length;) {
      const size = Math.min(SUMMED_SIZE - this.end % SUMMED_SIZE, bytes.length - at)
      this.part = crc32(bytes.subarray(at, at + size), this.part)
      this.end += size
      at += size
      if (this.end % SUMMED_SIZE === 0) this._closePage()
    }
  }

  _closePage () {
    this.whole = sumOfPages([this.part], this.whole)
    this.pages.push(this.part)
    this.part = 0
  }

  /** A walk that goes on from here by itself, with no pages. */
  fork () {
    const walk = new SumWalk(this.end)
    walk.part = this.part
    walk.whole = this.whole
    return walk
  }
}

exports.SUMMED_SIZE = SUMMED_SIZE
exports.SumWalk = SumWalk
exports.TABLE_SIZE = TABLE_SIZE
exports.countPages = countPages
exports.encodePages = encodePages
exports.sumOfPages = sumOfPages
exports.sumPosition = sumPosition
exports.tableEnd = tableEnd
exports.SUMS_POSITIONS = SUMS_POSITIONS
exports.SUMS_SIZE = SUMS_SIZE
exports.encodeSums = encodeSums
exports.readSums = readSums
