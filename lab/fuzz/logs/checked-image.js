'use strict'
// A checked log as its parts, by docs/internals/format.md alone: whatever is changed in them, the rest is made to
// fit again, checksums, chain, places and slots, unless that is what was changed.

const { crc32 } = require('node:zlib')
const { writeNumber } = require('../numbers')

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const CHUNK_SIZE_MIN = 44
const HEADER_POSITIONS = [0, 8192]
const SLOT_POSITIONS = [4096, 12288]
const SLOT_SIZE = 512
const JOURNAL_POSITIONS = [16384, 24576]
const JOURNAL_SIZE = 8192

/** Where fields are, and how wide. @type {Record<string, [offset: number, width: number]>} */
const CHUNK_FIELDS = {
  crc: [0, 4],
  payloadCrc: [4, 4],
  size: [8, 2],
  flags: [10, 2],
  epoch: [12, 4],
  position: [16, 6],
  durable: [22, 6],
  continued: [28, 2],
  erased: [30, 2],
  previous: [32, 4],
  originalCrc: [36, 4]
}
/** @type {Record<string, [offset: number, width: number]>} */
const SLOT_FIELDS = {
  sequence: [4, 6], epoch: [10, 4], end: [14, 6], logicalEnd: [20, 6], last: [26, 6], erased: [32, 6], chainCrc: [38, 4]
}
/** @type {Record<string, [offset: number, width: number]>} */
const HEADER_FIELDS = {
  magic: [0, 2],
  version: [8, 2],
  flags: [10, 2],
  salt: [12, 4],
  base: [32, 6],
  checksum: [38, 1],
  nameSize: [39, 1],
  name: [40, 6]
}

/**
 * @typedef {object} Chunk
 * @property {Buffer} header  40 bytes, as they were
 * @property {Buffer} payload
 * @property {Record<string, number>} forced  fields that are not made to fit
 */

class CheckedImage {
  /** @param {Buffer} bytes  a whole log, as a writer left it */
  constructor (bytes) {
    this.head = Buffer.from(bytes.subarray(0, HEAD_SIZE))
    this.salt = this.head.readUInt32BE(12)
    this.shift = this.head.readUIntBE(32, 6) - HEAD_SIZE
    /** @type {Chunk[]} */
    this.chunks = []
    /** Whether the newest slot said that the log ends with the file. */
    const ends = SLOT_POSITIONS.map((position) => readField(this.head, position, SLOT_FIELDS.end))
    this.wasClean = Math.max(...ends) === bytes.length
    /** What is written over the slots in the end, by slot. @type {Array<Record<string, number>>} */
    this.slots = [{}, {}]
    /** What lies after the chunks. */
    this.rest = this._readChunks(bytes)
  }

  /** @param {Buffer} bytes */
  _readChunks (bytes) {
    let at = HEAD_SIZE
    while (at + 40 <= bytes.length) {
      const room = PAGE_SIZE - at % PAGE_SIZE
      if (room < CHUNK_SIZE_MIN) {
        at += room
        continue
      }
      const header = Buffer.from(bytes.subarray(at, at + 40))
      const end = at + 40 + header.readUInt16BE(8)
      if (crc32(header.subarray(4), this.salt) !== header.readUInt32BE(0) || end > bytes.length) break
      this.chunks.push({ header, payload: Buffer.from(bytes.subarray(at + 40, end)), forced: {} })
      at = end
    }
    return Buffer.from(bytes.subarray(Math.min(at, bytes.length)))
  }

  /** @returns {Buffer}  the whole file */
  build () {
    /** @type {Buffer[]} */
    const parts = []
    let at = HEAD_SIZE
    let chainCrc = this.salt
    let jump = this.shift
    for (const { header, payload, forced } of this.chunks) {
      const room = PAGE_SIZE - at % PAGE_SIZE
      if (room < CHUNK_SIZE_MIN) {
        parts.push(Buffer.alloc(room))
        at += room
      }
      const before = readField(header, 0, CHUNK_FIELDS.position)
      // Gaps stay: the first chunk that is moved is as far ahead as it was.
      if (before > at + jump) jump = before - at
      const built = Buffer.from(header)
      const known = { payloadCrc: crc32(payload), size: payload.length, position: at + jump, previous: chainCrc }
      const fields = { ...known, ...forced }
      for (const [name, value] of Object.entries(fields)) setField(built, 0, CHUNK_FIELDS[name], value)
      if (forced.crc === undefined) built.writeUInt32BE(crc32(built.subarray(4), this.salt), 0)
      chainCrc = readField(built, 0, built.readUInt16BE(10) & 2 ? CHUNK_FIELDS.originalCrc : CHUNK_FIELDS.crc)
      parts.push(built, payload)
      at += 40 + payload.length
    }
    this._fixSlots(at, at + jump, chainCrc)
    return Buffer.concat([this.head, ...parts, this.rest])
  }

  /**
   * @param {number} end
   * @param {number} logicalEnd
   * @param {number} chainCrc
   */
  _fixSlots (end, logicalEnd, chainCrc) {
    const [first, second] = SLOT_POSITIONS.map((position) => readField(this.head, position, SLOT_FIELDS.sequence))
    const newest = second > first ? 1 : 0
    for (const [index, forced] of this.slots.entries()) {
      const fits = this.wasClean && index === newest ? { end, logicalEnd, chainCrc } : {}
      const fields = Object.entries({ ...fits, ...forced })
      for (const [name, value] of fields) setField(this.head, SLOT_POSITIONS[index], SLOT_FIELDS[name], value)
      if (fields.length > 0) this.sealSlot(index)
    }
  }

  /** @param {number} index */
  sealSlot (index) {
    const slot = this.head.subarray(SLOT_POSITIONS[index], SLOT_POSITIONS[index] + SLOT_SIZE)
    slot.writeUInt32BE(crc32(slot.subarray(4), this.salt), 0)
  }

  /**
   * @param {number} index  of the copy
   * @param {string} name
   * @param {number} value
   */
  setHeaderField (index, name, value) {
    const header = this.head.subarray(HEADER_POSITIONS[index], HEADER_POSITIONS[index] + 64)
    setField(header, 0, HEADER_FIELDS[name], value)
    header.writeUInt32BE(crc32(header.subarray(0, 60)), 60)
  }

  /**
   * @param {number} index  of the area
   * @param {Buffer} journal  its checksum is made to fit
   */
  setJournal (index, journal) {
    const area = this.head.subarray(JOURNAL_POSITIONS[index], JOURNAL_POSITIONS[index] + JOURNAL_SIZE)
    area.fill(0)
    journal.copy(area)
    area.writeUInt32BE(crc32(area.subarray(4), this.salt), 0)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {[offset: number, width: number]} field
 */
function readField (bytes, start, [offset, width]) {
  return bytes.readUIntBE(start + offset, width)
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {[offset: number, width: number]} field
 * @param {number} value
 */
function setField (bytes, start, [offset, width], value) {
  writeNumber(bytes, start + offset, width, value)
}

exports.CHUNK_FIELDS = CHUNK_FIELDS
exports.CheckedImage = CheckedImage
exports.HEADER_FIELDS = HEADER_FIELDS
exports.HEAD_SIZE = HEAD_SIZE
exports.JOURNAL_SIZE = JOURNAL_SIZE
exports.PAGE_SIZE = PAGE_SIZE
exports.SLOT_FIELDS = SLOT_FIELDS
exports.readField = readField
exports.setField = setField
