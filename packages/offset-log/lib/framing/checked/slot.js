'use strict'
// A checkpoint: what was known when all before it was on stable storage. Two slots take turns, so that a torn write of
// one leaves the other. See docs/format.md.

const { isAhead } = require('./chunk-header')
const { crc32 } = require('./crc32')
const { HEAD_SIZE, SLOT_SIZE, U48_MAX } = require('./layout')

/**
 * @typedef {object} Slot
 * @property {number} sequence  the higher one is the newer
 * @property {number} epoch  of the log's writer
 * @property {number} end  bytes of the file that are on stable storage
 * @property {number} logicalEnd  the logical position there
 * @property {number} last  seq of the last record before it that is not deleted, -1 if none
 * @property {number | null} erasedCount  records ever erased in this file; null when that is not known
 * @property {number} identity  of the last chunk before the end
 * @property {number} ceiling  0 after a clean end; else a position that nothing reaches which was shown to anybody, or
 *   will be before there is a slot with a higher one
 */

/**
 * @param {Slot} slot
 * @param {number} salt
 * @returns {Buffer}
 */
function encodeSlot (slot, salt) {
  const bytes = Buffer.alloc(SLOT_SIZE)
  bytes.writeUIntBE(slot.sequence, 4, 6)
  bytes.writeUInt32BE(slot.epoch, 10)
  bytes.writeUIntBE(slot.end, 14, 6)
  bytes.writeUIntBE(slot.logicalEnd, 20, 6)
  bytes.writeUIntBE(slot.last + 1, 26, 6)
  bytes.writeUIntBE(slot.erasedCount === null ? 0 : slot.erasedCount + 1, 32, 6)
  bytes.writeUInt32BE(slot.identity, 38)
  bytes.writeUIntBE(slot.ceiling, 42, 6)
  bytes.writeUInt32BE(crc32(bytes.subarray(4), salt), 0)
  return bytes
}

/**
 * @param {Buffer} bytes  of one slot
 * @param {number} salt
 * @returns {Slot | null}  null when damaged
 */
function decodeSlot (bytes, salt) {
  if (crc32(bytes.subarray(4), salt) !== bytes.readUInt32BE(0)) return null
  const erasedCount = bytes.readUIntBE(32, 6)
  return {
    sequence: bytes.readUIntBE(4, 6),
    epoch: bytes.readUInt32BE(10),
    end: bytes.readUIntBE(14, 6),
    logicalEnd: bytes.readUIntBE(20, 6),
    last: bytes.readUIntBE(26, 6) - 1,
    erasedCount: erasedCount === 0 ? null : erasedCount - 1,
    identity: bytes.readUInt32BE(38),
    ceiling: bytes.readUIntBE(42, 6)
  }
}

/**
 * Who trusts a slot cuts and appends where it says: what no writer says is not believed, whatever its checksum.
 * @param {Slot} slot
 * @param {import('./file-header').FileHeader} header
 */
function isPossible ({ sequence, end, logicalEnd, last, erasedCount, ceiling }, { base, hasGaps, hasJumps }) {
  const ahead = logicalEnd - end - (base - HEAD_SIZE)
  const isInPlace = end >= HEAD_SIZE && (hasGaps ? ahead >= 0 : isAhead(ahead, 0, hasJumps))
  const hasCeiling = ceiling === 0 || (hasJumps && ceiling >= logicalEnd)
  const hasLast = last === -1 || (last >= base && last < logicalEnd)
  return isInPlace && hasLast && hasCeiling && sequence < U48_MAX / 2 && (erasedCount ?? 0) < U48_MAX / 2
}

exports.encodeSlot = encodeSlot
exports.decodeSlot = decodeSlot
exports.isPossible = isPossible
