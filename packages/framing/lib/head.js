'use strict'
// The head of a checked file as a whole: made for a new file, and read with a list of all that is wrong in it.

const crypto = require('node:crypto')
const { LogError } = require('@millrace/errors')
const { isAhead } = require('./chunk-header')
const { crc32 } = require('./crc32')
const { decodeJournal } = require('./journal')
const {
  AREA_SIZE, HEADER_POSITIONS, HEADER_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, SLOT_POSITIONS, SLOT_SIZE,
  U48_MAX, isZero
} = require('./layout')

/**
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./journal').Journal} Journal
 * @typedef {{ what: string, offset: number, size: number }} Flaw  a part of the head that cannot be used
 */

/**
 * @typedef {object} Head
 * @property {Buffer} bytes  that it was read from
 * @property {FileHeader} header
 * @property {Slot | null} slot  the newest; null when both are lost
 * @property {number} slotIndex  which of the two it is; the other one when both are lost
 * @property {boolean} lostSlot  one that is lost may have been newer
 * @property {Journal[]} journals  those that are whole, oldest first
 * @property {Flaw[]} flaws
 */

/**
 * @param {FileHeader} header
 * @param {Omit<Slot, 'sequence'>} [slot]  of a log that has records
 * @returns {Buffer}  all bytes of the head
 */
function encodeHead (header, slot = createSlot(header)) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  const headerBytes = encodeFileHeader(header)
  for (const position of HEADER_POSITIONS) headerBytes.copy(bytes, position)
  for (const [sequence, position] of SLOT_POSITIONS.entries()) {
    encodeSlot({ ...slot, sequence }, header.salt).copy(bytes, position)
  }
  return bytes
}

/**
 * @param {FileHeader} header
 * @returns {Omit<Slot, 'sequence'>}  of a log without records
 */
function createSlot ({ base, salt }) {
  return { epoch: 1, end: HEAD_SIZE, logicalEnd: base, last: -1, erasedCount: 0, chainCrc: salt, reservedEnd: 0 }
}

/**
 * @param {Buffer} whole  all bytes of the head; zeros where the file is shorter
 * @param {string} path
 * @returns {Head | LogError}  ERR_LOG_UNKNOWN_FORMAT, or ERR_LOG_CORRUPT when neither copy of the header can be read
 */
function readHead (whole, path) {
  /** @type {Flaw[]} */
  const flaws = []
  const header = readHeaders(whole, flaws, path)
  if (header instanceof LogError) return header
  const slots = SLOT_POSITIONS.map((position, index) => {
    const slot = isZero(whole, position + SLOT_SIZE, position + AREA_SIZE)
      ? decodeSlot(whole.subarray(position, position + SLOT_SIZE), header.salt)
      : null
    if (slot !== null && isPossible(slot, header)) return slot
    flaws.push({ what: `checkpoint slot ${index + 1}`, offset: position, size: SLOT_SIZE })
    return null
  })
  const slotIndex = (slots[1]?.sequence ?? -1) > (slots[0]?.sequence ?? -1) ? 1 : 0
  return {
    bytes: whole,
    header,
    slot: slots[slotIndex],
    slotIndex,
    lostSlot: slots.includes(null),
    journals: readJournals(whole, header.salt, flaws),
    flaws
  }
}

/**
 * @param {Head} head
 * @returns {number | null}  how many records, and pieces of them, were ever erased in the file; null when not known
 */
function countErased ({ slot, lostSlot, journals }) {
  const counts = [...journals, ...(slot ? [slot] : [])].map(({ erasedCount }) => erasedCount)
  // A slot that is lost may have counted more, unless there is a journal.
  if (counts.length === 0 || counts.includes(null) || (journals.length === 0 && lostSlot)) return null
  return Math.max(...counts.map(Number))
}

/**
 * @param {Buffer} whole
 * @param {Flaw[]} flaws
 * @param {string} path
 * @returns {FileHeader | LogError}
 */
function readHeaders (whole, flaws, path) {
  /** @type {Array<FileHeader | null>} */
  const headers = []
  for (const [index, position] of HEADER_POSITIONS.entries()) {
    const header = decodeFileHeader(whole.subarray(position, position + HEADER_SIZE))
    if (header && 'unknown' in header) return unknownFormat(path, header.unknown)
    const isWhole = header !== null && isZero(whole, position + HEADER_SIZE, position + AREA_SIZE)
    if (!isWhole) flaws.push({ what: `copy ${index + 1} of the header`, offset: position, size: HEADER_SIZE })
    headers.push(header)
  }
  const [header] = headers.filter((header) => header !== null)
  return header ?? new LogError('ERR_LOG_CORRUPT', `open: both copies of the header of ${path} are damaged; nothing was ` +
    'written. Keep a copy of the file', { offset: 0, path })
}

/**
 * @param {Buffer} whole
 * @param {number} salt
 * @param {Flaw[]} flaws
 * @returns {Journal[]}
 */
function readJournals (whole, salt, flaws) {
  /** @type {Journal[]} */
  const journals = []
  for (const [index, offset] of JOURNAL_POSITIONS.entries()) {
    const area = whole.subarray(offset, offset + JOURNAL_SIZE)
    if (isZero(area, 0, JOURNAL_SIZE)) continue
    const journal = decodeJournal(area, salt)
    if (journal && journal.round % 2 === index) journals.push(journal)
    else flaws.push({ what: `journal ${index + 1}`, offset, size: JOURNAL_SIZE })
  }
  return journals.sort((a, b) => a.round - b.round)
}

/**
 * @param {string} path
 * @param {string} what
 */
function unknownFormat (path, what) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} has ${what} of the checked framing, which this version ` +
    'does not know; nothing was written. Open it with the version that made it', { offset: 0, path })
}

// The 64 bytes that say what a file is: magic, version, salt, id. Written once, in two copies. See docs/format.md.

const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const VERSION = 1
const CHECKSUM_CRC32 = 1
const HAS_GAPS = 1
/** Set in every file. */
const FLAGS = 2
const CODEC_NAME_SIZE_MAX = 20

/**
 * @typedef {object} FileHeader
 * @property {number} salt  seeds the checksums of everything else, so that parts of another log do not pass
 * @property {Buffer} id  16 random bytes
 * @property {number} base  the logical position of the first page
 * @property {boolean} hasGaps  whether logical positions run ahead of physical ones, as after a compaction
 * @property {string} codec  the name of the codec that the log was made with
 */

/**
 * @param {string} codec
 * @returns {FileHeader}
 */
function createFileHeader (codec) {
  const random = crypto.randomBytes(20)
  const salt = random.readUInt32BE(0)
  return { salt, id: random.subarray(4), base: HEAD_SIZE, hasGaps: false, codec }
}

/**
 * @param {FileHeader} header
 * @returns {Buffer}
 */
function encodeFileHeader ({ salt, id, base, hasGaps, codec }) {
  const bytes = Buffer.alloc(HEADER_SIZE)
  const name = Buffer.from(codec).subarray(0, CODEC_NAME_SIZE_MAX)
  MAGIC.copy(bytes)
  bytes.writeUInt16BE(VERSION, 8)
  bytes.writeUInt16BE(FLAGS | (hasGaps ? HAS_GAPS : 0), 10)
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
  if ((flags & ~HAS_GAPS) !== FLAGS) return { unknown: `the flags ${flags}` }
  if (bytes[38] !== CHECKSUM_CRC32) return { unknown: `the checksum ${bytes[38]}` }
  return {
    salt: bytes.readUInt32BE(12),
    id: Buffer.from(bytes.subarray(16, 32)),
    base: bytes.readUIntBE(32, 6),
    hasGaps: (flags & HAS_GAPS) !== 0,
    codec: bytes.toString('utf8', 40, 40 + Math.min(bytes[39], CODEC_NAME_SIZE_MAX))
  }
}

// A checkpoint: what was known when all before it was on stable storage. Two slots take turns, so that a torn write of
// one leaves the other. See docs/format.md.

/**
 * @typedef {object} Slot
 * @property {number} sequence  the higher one is the newer
 * @property {number} epoch  of the log's writer
 * @property {number} end  bytes of the file that are on stable storage
 * @property {number} logicalEnd  the logical position there
 * @property {number} last  seq of the last record before it that is not deleted, -1 if none
 * @property {number | null} erasedCount  records ever erased in this file; null when that is not known
 * @property {number} chainCrc  of the last chunk before the end
 * @property {number} reservedEnd  0 after a clean end; else a position that nothing reaches which was shown to anybody,
 *   or will be before there is a slot with a higher one
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
  bytes.writeUInt32BE(slot.chainCrc, 38)
  bytes.writeUIntBE(slot.reservedEnd, 42, 6)
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
    chainCrc: bytes.readUInt32BE(38),
    reservedEnd: bytes.readUIntBE(42, 6)
  }
}

/**
 * Who trusts a slot cuts and appends where it says: what no writer says is not believed, whatever its checksum.
 * @param {Slot} slot
 * @param {FileHeader} header
 */
function isPossible ({ sequence, end, logicalEnd, last, erasedCount, reservedEnd }, { base, hasGaps }) {
  const ahead = logicalEnd - end - (base - HEAD_SIZE)
  const isInPlace = end >= HEAD_SIZE && (hasGaps ? ahead >= 0 : isAhead(ahead, 0))
  const isReservedEndRight = reservedEnd === 0 || reservedEnd >= logicalEnd
  const hasLast = last === -1 || (last >= base && last < logicalEnd)
  return isInPlace && hasLast && isReservedEndRight && sequence < U48_MAX / 2 && (erasedCount ?? 0) < U48_MAX / 2
}

exports.encodeHead = encodeHead
exports.readHead = readHead
exports.countErased = countErased
exports.createFileHeader = createFileHeader
exports.encodeFileHeader = encodeFileHeader
exports.decodeFileHeader = decodeFileHeader
exports.hasMagic = hasMagic
exports.encodeSlot = encodeSlot
exports.decodeSlot = decodeSlot
exports.isPossible = isPossible
