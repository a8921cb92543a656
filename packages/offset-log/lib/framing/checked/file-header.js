'use strict'
// The 64 bytes that say what a file is: magic, version, salt, id. Written once, in two copies. See docs/format.md.

const crypto = require('node:crypto')
const { crc32 } = require('./crc32')
const { HEADER_SIZE, HEAD_SIZE } = require('./layout')

const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const VERSION = 1
const CHECKSUM_CRC32 = 1
const HAS_GAPS = 1
const HAS_JUMPS = 2
const CODEC_NAME_SIZE_MAX = 20

/**
 * @typedef {object} FileHeader
 * @property {number} salt  seeds the checksums of everything else, so that parts of another log do not pass
 * @property {Buffer} id  16 random bytes
 * @property {number} base  the logical position of the first page
 * @property {boolean} hasGaps  whether logical positions run ahead of physical ones, as after a compaction
 * @property {boolean} hasJumps  whether they may do so behind an unclean end, and slots say what is at stake. Logs of
 *   an older version have neither
 * @property {string} codec  the name of the codec that the log was made with
 */

/**
 * @param {string} codec
 * @returns {FileHeader}
 */
function createFileHeader (codec) {
  const random = crypto.randomBytes(20)
  const salt = random.readUInt32BE(0)
  return { salt, id: random.subarray(4), base: HEAD_SIZE, hasGaps: false, hasJumps: true, codec }
}

/**
 * @param {FileHeader} header
 * @returns {Buffer}
 */
function encodeFileHeader ({ salt, id, base, hasGaps, hasJumps, codec }) {
  const bytes = Buffer.alloc(HEADER_SIZE)
  const name = Buffer.from(codec).subarray(0, CODEC_NAME_SIZE_MAX)
  MAGIC.copy(bytes)
  bytes.writeUInt16BE(VERSION, 8)
  bytes.writeUInt16BE((hasGaps ? HAS_GAPS : 0) | (hasJumps ? HAS_JUMPS : 0), 10)
  bytes.writeUInt32BE(salt, 12)
  id.copy(bytes, 16)
  bytes.writeUIntBE(base, 32, 6)
  bytes[38] = CHECKSUM_CRC32
  bytes[39] = name.length
  name.copy(bytes, 40)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 60)), 60)
  return bytes
}

/** @param {Buffer} bytes */
function hasMagic (bytes) {
  return bytes.subarray(0, MAGIC.length).equals(MAGIC)
}

/**
 * @param {Buffer} bytes  64
 * @returns {FileHeader | { unknown: string } | null}  null when damaged; `unknown` says what this version cannot read
 */
function decodeFileHeader (bytes) {
  if (!hasMagic(bytes) || crc32(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return null
  const version = bytes.readUInt16BE(8)
  const flags = bytes.readUInt16BE(10)
  if (version !== VERSION) return { unknown: `version ${version}` }
  if ((flags & ~(HAS_GAPS | HAS_JUMPS)) !== 0) return { unknown: `the flags ${flags}` }
  if (bytes[38] !== CHECKSUM_CRC32) return { unknown: `the checksum ${bytes[38]}` }
  return {
    salt: bytes.readUInt32BE(12),
    id: Buffer.from(bytes.subarray(16, 32)),
    base: bytes.readUIntBE(32, 6),
    hasGaps: (flags & HAS_GAPS) !== 0,
    hasJumps: (flags & HAS_JUMPS) !== 0,
    codec: bytes.toString('utf8', 40, 40 + Math.min(bytes[39], CODEC_NAME_SIZE_MAX))
  }
}

exports.createFileHeader = createFileHeader
exports.encodeFileHeader = encodeFileHeader
exports.decodeFileHeader = decodeFileHeader
exports.hasMagic = hasMagic
