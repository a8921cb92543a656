'use strict'
// The head of a checked file as a whole: made for a new file, and read with a list of all that is wrong in it.

const crypto = require('node:crypto')
const { LogError } = require('@millrace/errors')
const { isAhead } = require('./chunk-header')
const { crc32 } = require('./crc32')
const {
  AREA_SIZE, CHUNK_HEADER_SIZE, HEADER_POSITIONS, HEADER_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE,
  LENGTH_SIZE, PAGE_SIZE, SLOT_POSITIONS, SLOT_SIZE,
  U48_MAX
} = require('./layout')

const ZEROS = Buffer.alloc(JOURNAL_SIZE)

/**
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
 * @returns {Buffer}  all bytes of a log without records
 */
function encodeHead (header) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  const headerBytes = encodeFileHeader(header)
  for (const position of HEADER_POSITIONS) headerBytes.copy(bytes, position)
  SLOT_POSITIONS.forEach((position, index) => encodeSlot({
    sequence: index,
    epoch: 1,
    end: HEAD_SIZE,
    logicalEnd: header.base,
    last: -1,
    erasedCount: 0,
    identity: header.salt,
    ceiling: 0
  }, header.salt).copy(bytes, position))
  return bytes
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
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 */
function isZero (bytes, start, end) {
  return bytes.compare(ZEROS, 0, end - start, start, end) === 0
}

/**
 * @param {string} path
 * @param {string} what
 */
function unknownFormat (path, what) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} has ${what} of the checked framing, which this version ` +
    'does not know; nothing was written. Use a newer one', { offset: 0, path })
}

// The 64 bytes that say what a file is: magic, version, salt, id. Written once, in two copies. See docs/format.md.

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
 * @param {FileHeader} header
 */
function isPossible ({ sequence, end, logicalEnd, last, erasedCount, ceiling }, { base, hasGaps, hasJumps }) {
  const ahead = logicalEnd - end - (base - HEAD_SIZE)
  const isInPlace = end >= HEAD_SIZE && (hasGaps ? ahead >= 0 : isAhead(ahead, 0, hasJumps))
  const hasCeiling = ceiling === 0 || (hasJumps && ceiling >= logicalEnd)
  const hasLast = last === -1 || (last >= base && last < logicalEnd)
  return isInPlace && hasLast && hasCeiling && sequence < U48_MAX / 2 && (erasedCount ?? 0) < U48_MAX / 2
}

// The journal of a deletion: which bytes of which chunks become what. It is on stable storage before the first of them
// changes, so that a crash in between is finished at the next open. It never holds a byte of a record.

const JOURNAL_HEADER_SIZE = 20
const ENTRY_HEADER_SIZE = 6 + CHUNK_HEADER_SIZE + 2
const PATCH_SIZE = 8
/** How many patches of one chunk fit into an area. */
const PATCH_COUNT_MAX = Math.floor((JOURNAL_SIZE - JOURNAL_HEADER_SIZE - ENTRY_HEADER_SIZE) / PATCH_SIZE)

/**
 * @typedef {object} Patch  of a chunk's payload
 * @property {number} offset  in the payload
 * @property {number} mark  the new length field at the offset, or 0 when a record goes on here from the page before
 * @property {number} size  how many bytes after it become zeros
 */

/**
 * @typedef {object} Entry
 * @property {number} position  of the chunk in the file
 * @property {Buffer} header  the chunk's header afterwards
 * @property {Patch[]} patches
 */

/**
 * @typedef {object} Journal
 * @property {number} round  rises with every deletion; its parity says which of the two areas it is in
 * @property {number | null} erasedCount  records ever erased in this file, these included; null when not known
 * @property {Entry[]} entries
 */

/** @param {Entry[]} entries */
function journalSize (entries) {
  const sizes = entries.map(({ patches }) => ENTRY_HEADER_SIZE + patches.length * PATCH_SIZE)
  return sizes.reduce((total, size) => total + size, JOURNAL_HEADER_SIZE)
}

/** @param {Entry[]} entries  whether they fit into one area */
function fitsJournal (entries) {
  return journalSize(entries) <= JOURNAL_SIZE
}

/**
 * @param {Journal} journal
 * @param {number} salt
 * @returns {Buffer}  the whole area
 */
function encodeJournal ({ round, erasedCount, entries }, salt) {
  const bytes = Buffer.alloc(JOURNAL_SIZE)
  bytes.writeUIntBE(round, 4, 6)
  bytes.writeUIntBE(erasedCount === null ? 0 : erasedCount + 1, 10, 6)
  bytes.writeUInt16BE(entries.length, 16)
  let offset = JOURNAL_HEADER_SIZE
  for (const { position, header, patches } of entries) {
    bytes.writeUIntBE(position, offset, 6)
    header.copy(bytes, offset + 6)
    bytes.writeUInt16BE(patches.length, offset + 6 + CHUNK_HEADER_SIZE)
    offset += ENTRY_HEADER_SIZE
    for (const patch of patches) {
      bytes.writeUInt16BE(patch.offset, offset)
      bytes.writeUInt16BE(patch.size, offset + 2)
      bytes.writeUInt32BE(patch.mark, offset + 4)
      offset += PATCH_SIZE
    }
  }
  bytes.writeUInt32BE(crc32(bytes.subarray(4), salt), 0)
  return bytes
}

/**
 * @param {Buffer} bytes  the whole area
 * @param {number} salt
 * @returns {Journal | null}  null when it is not whole, or not one that a writer makes
 */
function decodeJournal (bytes, salt) {
  if (crc32(bytes.subarray(4), salt) !== bytes.readUInt32BE(0)) return null
  /** @type {Entry[]} */
  const entries = []
  let offset = JOURNAL_HEADER_SIZE
  for (let left = bytes.readUInt16BE(16); left > 0; left--) {
    if (offset + ENTRY_HEADER_SIZE > JOURNAL_SIZE) return null
    const position = bytes.readUIntBE(offset, 6)
    const header = Buffer.from(bytes.subarray(offset + 6, offset + 6 + CHUNK_HEADER_SIZE))
    const patchCount = bytes.readUInt16BE(offset + 6 + CHUNK_HEADER_SIZE)
    offset += ENTRY_HEADER_SIZE
    if (offset + patchCount * PATCH_SIZE > JOURNAL_SIZE) return null
    const entry = { position, header, patches: decodePatches(bytes, offset, patchCount) }
    if (!isInChunk(entry)) return null
    entries.push(entry)
    offset += patchCount * PATCH_SIZE
  }
  // Each chunk once, so that it takes no longer to finish them than to read them.
  if (new Set(entries.map(({ position }) => position)).size < entries.length) return null
  const round = bytes.readUIntBE(4, 6)
  const erasedCount = bytes.readUIntBE(10, 6)
  if (round === U48_MAX || erasedCount > U48_MAX / 2) return null
  return { round, erasedCount: erasedCount === 0 ? null : erasedCount - 1, entries }
}

/**
 * Whether the chunk lies where chunks do, and the patches in the chunk, and not over one another.
 * @param {Entry} entry
 */
function isInChunk ({ position, header, patches }) {
  const size = header.readUInt16BE(8)
  if (position < HEAD_SIZE || position % PAGE_SIZE + CHUNK_HEADER_SIZE + size > PAGE_SIZE) return false
  let sum = 0
  for (const patch of patches) {
    const patchSize = patch.size + (patch.mark === 0 ? 0 : LENGTH_SIZE)
    if (patch.offset + patchSize > size) return false
    sum += patchSize
  }
  return sum <= size
}

/**
 * @param {Buffer} bytes
 * @param {number} start  of the first one
 * @param {number} count
 * @returns {Patch[]}
 */
function decodePatches (bytes, start, count) {
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * PATCH_SIZE
    return { offset: bytes.readUInt16BE(at), size: bytes.readUInt16BE(at + 2), mark: bytes.readUInt32BE(at + 4) }
  })
}

/**
 * Changes a chunk as an entry says.
 * @param {Entry} entry
 * @param {Buffer} chunk  header and payload, in place
 */
function applyEntry ({ header, patches }, chunk) {
  header.copy(chunk)
  const payload = chunk.subarray(CHUNK_HEADER_SIZE)
  for (const { offset, size, mark } of patches) {
    if (mark !== 0 && offset + LENGTH_SIZE > payload.length) continue
    const start = mark === 0 ? offset : payload.writeUInt32BE(mark, offset)
    payload.fill(0, start, start + size)
  }
}

exports.encodeHead = encodeHead
exports.readHead = readHead
exports.createFileHeader = createFileHeader
exports.encodeFileHeader = encodeFileHeader
exports.decodeFileHeader = decodeFileHeader
exports.hasMagic = hasMagic
exports.encodeSlot = encodeSlot
exports.decodeSlot = decodeSlot
exports.isPossible = isPossible
exports.PATCH_COUNT_MAX = PATCH_COUNT_MAX
exports.fitsJournal = fitsJournal
exports.encodeJournal = encodeJournal
exports.decodeJournal = decodeJournal
exports.applyEntry = applyEntry
