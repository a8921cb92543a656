'use strict'
// Makes the head of a new checked file, and reads the head of an existing one with a list of its unusable parts. Also
// says which seqs the slots of the head reserve.

const { LogError } = require('@millrace/errors')
const { isZero } = require('@millrace/flow')
const { isAhead } = require('./chunk-header')
const { crc32 } = require('./crc32')
const { decodeJournal } = require('./journal')
const {
  AREA_SIZE, HEADER_POSITIONS, HEADER_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, RESERVATION_SIZE,
  SLOT_POSITIONS, SLOT_SIZE, U48_MAX
} = require('./layout')

/**
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./journal').Journal} Journal
 * @typedef {{ what: string, offset: number, size: number }} Flaw  an unusable part of the head
 */

/**
 * @typedef {object} Head
 * @property {Buffer} bytes  it was read from these
 * @property {FileHeader} header
 * @property {Slot | null} slot  the newest; null if both are lost
 * @property {number} slotIndex  of `slot`; 0 if both are lost
 * @property {boolean} lostSlot  a slot is lost, and may have been the newer one
 * @property {Journal[]} journals  the whole ones, oldest first
 * @property {Flaw[]} flaws
 */

/**
 * Without a slot, the head of a log without records.
 * @type {(header: FileHeader, slot?: Omit<Slot, 'sequence'>) => Buffer}
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

/** The slot of a log without records. @type {(header: FileHeader) => Omit<Slot, 'sequence'>} */
function createSlot ({ base, salt }) {
  return { epoch: 1, end: HEAD_SIZE, logicalEnd: base, last: -1, erasedCount: 0, chainCrc: salt, reservedEnd: 0 }
}

/**
 * Reads all bytes of a head; bytes that the file lacks are zeros. Returns ERR_LOG_UNKNOWN_FORMAT, or ERR_LOG_CORRUPT if
 * neither copy of the header can be read.
 * @type {(whole: Buffer, path: string) => Head | LogError}
 */
function readHead (whole, path) {
  /** @type {Flaw[]} */
  const flaws = []
  const header = readHeaders(whole, flaws, path)
  if (header instanceof LogError) return header
  /** @type {Array<Slot | null>} */
  const slots = []
  for (const [index, position] of SLOT_POSITIONS.entries()) {
    const isAlone = isZero(whole, position + SLOT_SIZE, position + AREA_SIZE)
    const slot = isAlone ? decodeSlot(whole.subarray(position, position + SLOT_SIZE), header.salt) : null
    const isGood = slot !== null && isPossible(slot, header)
    if (!isGood) flaws.push({ what: `checkpoint slot ${index + 1}`, offset: position, size: SLOT_SIZE })
    slots.push(isGood ? slot : null)
  }
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

/** How many records and pieces were ever erased in the file; null if unknown. @type {(head: Head) => number | null} */
function countErased ({ slot, lostSlot, journals }) {
  const counted = slot === null ? journals : [...journals, slot]
  // A lost slot may have counted more than the other slot, but not more than a journal.
  if (counted.length === 0 || (journals.length === 0 && lostSlot)) return null
  let highest = 0
  for (const { erasedCount } of counted) {
    if (erasedCount === null) return null
    highest = Math.max(highest, erasedCount)
  }
  return highest
}

/** @type {(whole: Buffer, flaws: Flaw[], path: string) => FileHeader | LogError} */
function readHeaders (whole, flaws, path) {
  /** @type {FileHeader | null} */
  let found = null
  for (const [index, position] of HEADER_POSITIONS.entries()) {
    const header = decodeFileHeader(whole.subarray(position, position + HEADER_SIZE))
    if (header && 'unknown' in header) return unknownFormat(path, header.unknown)
    const isWhole = header !== null && isZero(whole, position + HEADER_SIZE, position + AREA_SIZE)
    if (!isWhole) flaws.push({ what: `copy ${index + 1} of the header`, offset: position, size: HEADER_SIZE })
    found ??= header
  }
  return found ?? new LogError('ERR_LOG_CORRUPT', `open: both copies of the header of ${path} are damaged; nothing was ` +
    'written. Keep a copy of the file', { offset: 0, path })
}

/** @type {(whole: Buffer, salt: number, flaws: Flaw[]) => Journal[]} */
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

/** @type {(path: string, what: string) => LogError} */
function unknownFormat (path, what) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} has ${what} of the checked framing, which this version ` +
    'does not know; nothing was written. Open it with the version that made it', { offset: 0, path })
}

// The file header, 64 bytes, identifies a file. It is written once, in two copies. docs/internals/format.md lists its
// fields.

const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const VERSION = 1
const CHECKSUM_CRC32 = 1
const HAS_GAPS = 1
/** This flag is set in every file. */
const FLAGS = 2
const HAS_WORDS = 4
const CODEC_NAME_SIZE_MAX = 20

/**
 * @typedef {object} FileHeader
 * @property {number} salt  seeds all other checksums, so that parts of another log do not verify
 * @property {Buffer} id  16 random bytes
 * @property {number} base  the logical position of the first page
 * @property {boolean} hasGaps  whether logical positions may be ahead of physical ones, as after a compaction
 * @property {string} codec  the name of the codec that the log was made with
 * @property {boolean} [hasWords]  whether its records are packed with a dictionary
 */

/** @type {(codec: string, id?: Buffer | null, hasWords?: boolean) => FileHeader} without an id, it gets a random one */
function createFileHeader (codec, id = null, hasWords = false) {
  // Loaded late, as in all of the log: readers need nothing random.
  const random = require('node:crypto').randomBytes(20)
  const salt = random.readUInt32BE(0)
  return { salt, id: id ?? random.subarray(4), base: HEAD_SIZE, hasGaps: false, codec, hasWords }
}

/** The bytes of the header of a checked log. @type {(header: FileHeader) => Buffer} */
function encodeFileHeader ({ salt, id, base, hasGaps, codec, hasWords = false }) {
  const bytes = Buffer.alloc(HEADER_SIZE)
  const name = Buffer.from(codec).subarray(0, CODEC_NAME_SIZE_MAX)
  MAGIC.copy(bytes)
  bytes.writeUInt16BE(VERSION, 8)
  bytes.writeUInt16BE(FLAGS | (hasGaps ? HAS_GAPS : 0) | (hasWords ? HAS_WORDS : 0), 10)
  bytes.writeUInt32BE(salt, 12)
  id.copy(bytes, 16)
  bytes.writeUIntBE(base, 32, 6)
  bytes[38] = CHECKSUM_CRC32
  bytes[39] = name.length
  name.copy(bytes, 40)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 60)), 60)
  return bytes
}

/** Whether the bytes begin as those of a checked log do. @param {Buffer} bytes */
function hasMagic (bytes) {
  return bytes.subarray(0, MAGIC.length).equals(MAGIC)
}

/**
 * Null if the header is damaged. `unknown` says what in it this version does not know.
 * @type {(bytes: Buffer) => FileHeader | { unknown: string } | null}
 */
function decodeFileHeader (bytes) {
  if (!hasMagic(bytes) || crc32(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return null
  const version = bytes.readUInt16BE(8)
  const flags = bytes.readUInt16BE(10)
  if (version !== VERSION) return { unknown: `version ${version}` }
  if ((flags & ~(HAS_GAPS | HAS_WORDS)) !== FLAGS) return { unknown: `the flags ${flags}` }
  if (bytes[38] !== CHECKSUM_CRC32) return { unknown: `the checksum ${bytes[38]}` }
  return {
    salt: bytes.readUInt32BE(12),
    id: Buffer.from(bytes.subarray(16, 32)),
    base: bytes.readUIntBE(32, 6),
    hasGaps: (flags & HAS_GAPS) !== 0,
    codec: bytes.toString('utf8', 40, 40 + Math.min(bytes[39], CODEC_NAME_SIZE_MAX)),
    hasWords: (flags & HAS_WORDS) !== 0
  }
}

// A checkpoint slot says what was on stable storage when it was written. Two slots take turns, so that a torn write of
// one leaves the other. docs/internals/format.md lists the fields.

/**
 * @typedef {object} Slot
 * @property {number} sequence  the slot with the higher one is the newer
 * @property {number} epoch  of the writer
 * @property {number} end  physical; everything before it is on stable storage
 * @property {number} logicalEnd  the logical position there
 * @property {number} last  seq of the last undeleted record before `end`; -1 if there is none
 * @property {number | null} erasedCount  how many records and pieces were ever erased in this file; null if unknown
 * @property {number} chainCrc  of the last chunk before `end`
 * @property {number} reservedEnd  0 after a clean end; else above all that was shown, or will be before a higher one is
 *   synced
 */

/**
 * The bytes of a checkpoint: what is on stable storage, and which seqs may have been shown.
 * @type {(slot: Slot, salt: number) => Buffer}
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

/** Null if the slot is damaged. @type {(bytes: Buffer, salt: number) => Slot | null} */
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

// Whether a writer may have written this slot. A log is cut and continued where its slot says, so a right checksum is
// not enough.
/** @type {(slot: Slot, header: FileHeader) => boolean} */
function isPossible ({ sequence, end, logicalEnd, last, erasedCount, reservedEnd }, { base, hasGaps }) {
  const ahead = logicalEnd - end - (base - HEAD_SIZE)
  const isInPlace = end >= HEAD_SIZE && (hasGaps ? ahead >= 0 : isAhead(ahead, 0))
  const isReservedEndRight = reservedEnd === 0 || reservedEnd >= logicalEnd
  const hasLast = last === -1 || (last >= base && last < logicalEnd)
  return isInPlace && hasLast && isReservedEndRight && sequence < U48_MAX / 2 && (erasedCount ?? 0) < U48_MAX / 2
}

// Keeps track of the seqs that a log has reserved. Records are shown before they are on stable storage, so the power
// may take a record whose seq a reader knows. Therefore the log first syncs a slot that says below which position seqs
// may be shown. After an unclean end it skips all of them, so no position is ever given to two records.

const NOT_KNOWN = Infinity

/** Says which seqs may be shown before they are synced, so that no seq is ever given to two records. */
class SeqReservation {
  /** Whether shown records may be lost, and nothing was appended since. Then the next commit skips `sizeToSkip`. */
  isAfterLoss
  /** The reserved end in the synced slots of this session: no record may reach further. */
  syncedEnd = 0
  /** Up to this position an earlier session may have shown records that are lost; 0 if everything shown is there. */
  #lostEnd
  /** The least reserved end of the next slot; 0 if nothing is reserved. */
  #end
  /** Whether the lock says that nothing is lost if this process is killed. */
  isMarkedIntact = false

  /**
   * @param {Head} head  if a slot is lost, it may have been newer than the one that is left
   * @param {boolean} isIntact  everything ever shown is there: the machine ran on after the session before was killed
   */
  constructor ({ slot, lostSlot }, isIntact) {
    if (isIntact) this.#lostEnd = 0
    else if (slot === null) this.#lostEnd = NOT_KNOWN
    // A lost newer slot reserved at most this much more: it was synced before any record reached this end.
    else if (lostSlot) this.#lostEnd = Math.min(U48_MAX, Math.max(slot.reservedEnd, slot.logicalEnd) + RESERVATION_SIZE)
    else this.#lostEnd = slot.reservedEnd
    this.#end = slot?.reservedEnd ?? 0
    this.isAfterLoss = this.#lostEnd !== 0
  }

  /** Whether the session before was not closed, but nothing of it is lost. */
  get isTakenOver () {
    return this.#end !== 0 && !this.isAfterLoss
  }

  /** How many positions the next commit skips, after a loss. @type {(tail: import('./pack-commit').Tail) => number} */
  sizeToSkip ({ end, shift }) {
    const distance = this.#lostEnd === NOT_KNOWN ? 2 * RESERVATION_SIZE : this.#lostEnd - end - shift
    return Math.max(1, Math.ceil(distance / RESERVATION_SIZE)) * RESERVATION_SIZE
  }

  /** A commit was written after the skipped positions. */
  noteSkipped () {
    this.#lostEnd = 0
    this.isAfterLoss = false
  }

  // Reserves positions for records from `begin` on, a logical position. Each is smaller than a reservation. Returns the
  // reserved end to sync first.
  /** @type {(begin: number) => number} */
  extend (begin) {
    this.#end = Math.max(this.#end, Math.min(U48_MAX, begin + RESERVATION_SIZE))
    return this.#end
  }

  /** A slot of this session, with this reserved end, is on stable storage. @type {(reservedEnd: number) => void} */
  noteSynced (reservedEnd) {
    this.syncedEnd = Math.max(this.syncedEnd, reservedEnd)
  }

  /** A slot on stable storage says that nothing is reserved any more. The next append must reserve again first. */
  release () {
    if (this.isAfterLoss) return
    this.#end = 0
    this.syncedEnd = 0
  }

  // The reserved end for a slot that says that everything before `logicalEnd` is on stable storage. `isLast`: nothing
  // more will be appended.
  /** @type {(logicalEnd: number, isLast: boolean) => number} */
  reservedEndFor (logicalEnd, isLast) {
    if (this.isAfterLoss) {
      const least = this.#lostEnd === NOT_KNOWN ? logicalEnd + 2 * RESERVATION_SIZE : this.#lostEnd
      return Math.min(U48_MAX, Math.max(this.#end, least))
    }
    return isLast || this.#end === 0 ? 0 : this.extend(logicalEnd)
  }
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
exports.SeqReservation = SeqReservation
