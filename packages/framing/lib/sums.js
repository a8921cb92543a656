'use strict'
// The bytes of `<log>.sums`, the file beside a log of lines. It has four slots of the same form, each in a page of
// its own. A slot that verifies describes the log as it was when the slot was written:
//
//   slot := "MRsums1\n" sequence:u48 flags:u16 id:16 epoch:u32 durable:u48 base:u48 start:u48 end:u48
//           startCrc:u32 endCrc:u32 crc:u32
//
// Numbers are big-endian. The last commit was to be written from `start` to `end`; it was described before it was
// written. `startCrc` and `endCrc` are the checksums of the log's bytes from `base` to `start` and to `end`.

const { crc32 } = require('./crc32')

const MAGIC = Buffer.from('MRsums1\n')
const SLOT_SIZE = 72
const SUMS_POSITIONS = Object.freeze([0, 4096, 8192, 12288])
const SUMS_SIZE = 16384

const IS_CLEAN = 1
const TAKES_LINES = 2

/**
 * @typedef {object} SumsSlot
 * @property {number} sequence  the higher one is newer
 * @property {boolean} isClean  the log was closed, and all of it is durable
 * @property {boolean} takesLines  commits of single records are not described: whole lines behind `end` count, too
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
  bytes.writeUInt16BE((slot.isClean ? IS_CLEAN : 0) | (slot.takesLines ? TAKES_LINES : 0), 14)
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
    id: Buffer.from(bytes.subarray(16, 32)),
    epoch: bytes.readUInt32BE(32),
    durable: bytes.readUIntBE(36, 6),
    base: bytes.readUIntBE(42, 6),
    start: bytes.readUIntBE(48, 6),
    end: bytes.readUIntBE(54, 6),
    startCrc: bytes.readUInt32BE(60),
    endCrc: bytes.readUInt32BE(64)
  }
  return slot.base <= slot.start && slot.start <= slot.end && slot.durable <= slot.end ? slot : null
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

exports.SUMS_POSITIONS = SUMS_POSITIONS
exports.SUMS_SIZE = SUMS_SIZE
exports.encodeSums = encodeSums
exports.readSums = readSums
