'use strict'
// A slot of a sidecar: what was known of the log when it was synced last. Two take turns, so that a torn write of one
// leaves the other. See docs/format.md.

const { integers } = require('@millrace/block-file')
const { crc32, crc32OfFew } = require('../framing/checked/crc32')
const {
  BLOCK_SIZE, MAGIC, RANGE_COUNT_MAX, RANGE_SIZE, SLOT_AREA_SIZE, SLOT_HEADER_SIZE, SUMS_PER_PAGE, VERSION
} = require('./layout')

const FLAG_CLEAN = 1
const SEQUENCE_LIMIT = 2 ** 47
// What the checksum is of begins behind it; the bytes before it seed it.
const CRC_OFFSET = 12
// Written in whole units of it, so that a disk need not read first.
const UNIT_SIZE = 512

/**
 * @typedef {object} Slot
 * @property {number} sequence  the higher one is the newer; its parity says in which area it is
 * @property {number} salt  of this sidecar
 * @property {boolean} isClean  whether the log was closed, and not changed since
 * @property {number} end  how many bytes of the log are covered: all of them are on stable storage
 * @property {number} tailSum  of the bytes of the last block before `end`, when that block is not full; else 0
 * @property {number} writtenMs  since 1970
 * @property {bigint} inode  of the log, or 0 when that is not known
 * @property {bigint} modifiedNs  of the log, when it is clean; 0 when that is not known
 * @property {ArrayLike<number>} sums  of the full blocks behind the last full page
 * @property {import('./block-ranges').BlockRange[]} changing  blocks that may hold old bytes, new ones, or a mixture
 */

/**
 * @param {Slot} slot
 * @returns {Buffer}  what is to be written at the start of its area
 */
function encodeSlot (slot) {
  const { sums, changing } = slot
  const size = sizeOf(sums.length, changing.length)
  const bytes = Buffer.alloc(Math.ceil(size / UNIT_SIZE) * UNIT_SIZE)
  MAGIC.copy(bytes)
  bytes.writeUInt16BE(VERSION, 8)
  bytes.writeUInt16BE(slot.isClean ? FLAG_CLEAN : 0, 10)
  bytes.writeUInt32BE(slot.salt, 16)
  bytes.writeUIntBE(slot.sequence, 20, 6)
  bytes.writeUIntBE(slot.writtenMs, 26, 6)
  integers.writeUInt53BE(bytes, slot.end, 32)
  bytes.writeUInt32BE(slot.tailSum, 40)
  bytes.writeUInt16BE(sums.length, 44)
  bytes.writeUInt16BE(changing.length, 46)
  bytes.writeBigUInt64BE(BigInt.asUintN(64, slot.inode), 48)
  bytes.writeBigUInt64BE(BigInt.asUintN(64, slot.modifiedNs), 56)
  let offset = SLOT_HEADER_SIZE
  for (let index = 0; index < sums.length; index++) offset = bytes.writeUInt32BE(sums[index], offset)
  for (const { first, count } of changing) {
    bytes.writeUIntBE(first, offset, 6)
    offset = bytes.writeUInt32BE(count, offset + 6)
  }
  bytes.writeUInt32BE(checksum(bytes, size), CRC_OFFSET)
  return bytes
}

/**
 * @param {Buffer} bytes  of one area
 * @returns {Slot | null}  null when it holds none that is whole
 */
function decodeSlot (bytes) {
  if (!hasMagic(bytes) || bytes.readUInt16BE(8) !== VERSION) return null
  const sumCount = bytes.readUInt16BE(44)
  const rangeCount = bytes.readUInt16BE(46)
  const size = sizeOf(sumCount, rangeCount)
  if (size > bytes.length || rangeCount > RANGE_COUNT_MAX) return null
  if (bytes.readUInt32BE(CRC_OFFSET) !== checksum(bytes, size)) return null
  // The field is wider than the numbers in it.
  if (bytes.readUInt16BE(10) > FLAG_CLEAN || bytes.readUInt32BE(32) >= 2 ** 21) return null
  const sequence = bytes.readUIntBE(20, 6)
  // Nobody writes so many, and those that follow need room.
  if (sequence >= SEQUENCE_LIMIT) return null
  const end = integers.readUInt53BE(bytes, 32)
  if (Math.floor(end / BLOCK_SIZE) % SUMS_PER_PAGE !== sumCount) return null
  const rangesOffset = SLOT_HEADER_SIZE + 4 * sumCount
  return {
    sequence,
    salt: bytes.readUInt32BE(16),
    isClean: (bytes.readUInt16BE(10) & FLAG_CLEAN) !== 0,
    end,
    tailSum: bytes.readUInt32BE(40),
    writtenMs: bytes.readUIntBE(26, 6),
    inode: bytes.readBigUInt64BE(48),
    modifiedNs: bytes.readBigUInt64BE(56),
    sums: Array.from({ length: sumCount }, (_, index) => bytes.readUInt32BE(SLOT_HEADER_SIZE + 4 * index)),
    changing: Array.from({ length: rangeCount }, (_, index) => {
      const offset = rangesOffset + RANGE_SIZE * index
      return { first: bytes.readUIntBE(offset, 6), count: bytes.readUInt32BE(offset + 6) }
    })
  }
}

/**
 * @param {Buffer} bytes  of one area
 * @returns {boolean}  whether a slot of any version may be there
 */
function hasMagic (bytes) {
  return bytes.length >= SLOT_AREA_SIZE && bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) === 0
}

/**
 * @param {number} sumCount
 * @param {number} rangeCount
 */
function sizeOf (sumCount, rangeCount) {
  return SLOT_HEADER_SIZE + 4 * sumCount + RANGE_SIZE * rangeCount
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 */
function checksum (bytes, size) {
  return crc32(bytes.subarray(CRC_OFFSET + 4, size), crc32OfFew(bytes, 0, CRC_OFFSET, 0))
}

exports.encodeSlot = encodeSlot
exports.decodeSlot = decodeSlot
