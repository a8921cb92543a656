'use strict'
// Reads and writes the 40 bytes before a chunk's payload, and checks a chunk as far as that needs no neighbour.
// docs/internals/format.md lists the fields.

const { Piece, putUint16, putUint32, putUint48 } = require('@millrace/flow')
const { crc32, crc32OfFew } = require('./crc32')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, RESERVATION_SIZE, LENGTH_SIZE, PAGE_SIZE } = require('./layout')

const TWO_32 = 2 ** 32
/** A header begins with its own checksum, of this size. The next constants are offsets of fields. */
const CRC_SIZE = 4
const PAYLOAD_CRC_OFFSET = 4
const PAYLOAD_SIZE_OFFSET = 8
const FLAGS_OFFSET = 10
const CONTINUED_OFFSET = 28
const ERASED_COUNT_OFFSET = 30
const POSITION_OFFSET = 16
/** The offset of the position's lowest byte. */
const POSITION_END = 21
const { COMMIT_CONTINUES, WAS_ERASED, REST_ERASED, AFTER_LOSS } = CHUNK_FLAGS
const KNOWN_FLAGS = COMMIT_CONTINUES | WAS_ERASED | REST_ERASED | AFTER_LOSS

/**
 * What is needed to check the chunks of one file.
 * @typedef {object} Rules
 * @property {boolean} verify  false skips the checksums
 * @property {number} salt
 * @property {number} shift  logical position less physical position, at the first page
 * @property {boolean} hasGaps  whether it may grow further on, because the file was compacted
 */

/** The fields of a chunk's header. One object is used for many chunks, one after the other. */
class ChunkHeader {
  constructor () {
    this.crc = 0
    this.payloadCrc = 0
    /** Bytes of payload. */
    this.size = 0
    this.flags = 0
    this.epoch = 0
    /** Logical position of the header itself. */
    this.position = 0
    /** Everything before this logical position was on stable storage when the chunk was written. */
    this.durable = 0
    /** How many bytes at the payload's start belong to a record that began before. */
    this.continued = 0
    /** How many records and pieces of records in this chunk are erased. */
    this.erasedCount = 0
    /** The chain crc of the chunk before. */
    this.previous = 0
    /** The crc before the first erasure in this chunk; 0 until then. */
    this.originalCrc = 0
  }

  /** What the next chunk stores as `previous`. Erasing does not change it. */
  get chainCrc () {
    return this.flags & CHUNK_FLAGS.WAS_ERASED ? this.originalCrc : this.crc
  }

  /** Whether this chunk continues an undeleted record, with `size` bytes of it. @type {(size: number) => boolean} */
  hasRest (size) {
    return this.continued === size && (this.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /** The seq of a frame right after the rest of the record that began before. */
  get firstSeq () {
    return this.position + CHUNK_HEADER_SIZE + this.continued
  }

  /** Whether this is the first chunk after an unclean end. */
  get isAfterLoss () {
    return (this.flags & CHUNK_FLAGS.AFTER_LOSS) !== 0
  }

  get commitContinues () {
    return (this.flags & CHUNK_FLAGS.COMMIT_CONTINUES) !== 0
  }
}

/** Fills `header` from the bytes at `offset`. @type {(view: DataView, offset: number, header: ChunkHeader) => void} */
function readChunkHeader (view, offset, header) {
  header.crc = view.getUint32(offset)
  header.payloadCrc = view.getUint32(offset + 4)
  header.size = view.getUint16(offset + 8)
  header.flags = view.getUint16(offset + 10)
  header.epoch = view.getUint32(offset + 12)
  header.position = readUint48(view, offset + 16)
  header.durable = readUint48(view, offset + 22)
  header.continued = view.getUint16(offset + 28)
  header.erasedCount = view.getUint16(offset + 30)
  header.previous = view.getUint32(offset + 32)
  header.originalCrc = view.getUint32(offset + 36)
}

// The call of native code alone takes as long as the table needs for so many bytes.
const FEW_SIZE_MAX = 224

/**
 * Writes the header and its checksums before a payload that is in place. Sets `crc` and `payloadCrc` of `header`.
 * @type {(header: ChunkHeader, bytes: Buffer, offset: number, salt: number) => void}
 */
function writeChunkHeader (header, bytes, offset, salt) {
  const payloadStart = offset + CHUNK_HEADER_SIZE
  header.payloadCrc = header.size <= FEW_SIZE_MAX
    ? crc32OfFew(bytes, payloadStart, payloadStart + header.size, 0)
    : crc32(new Piece(bytes.buffer, bytes.byteOffset + payloadStart, header.size))
  putUint32(bytes, header.payloadCrc, offset + 4)
  putUint16(bytes, header.size, offset + 8)
  putUint16(bytes, header.flags, offset + 10)
  putUint32(bytes, header.epoch, offset + 12)
  putUint48(bytes, header.position, offset + 16)
  putUint48(bytes, header.durable, offset + 22)
  putUint16(bytes, header.continued, offset + 28)
  putUint16(bytes, header.erasedCount, offset + 30)
  putUint32(bytes, header.previous, offset + 32)
  putUint32(bytes, header.originalCrc, offset + 36)
  header.crc = crc32OfFew(bytes, offset + 4, payloadStart, salt)
  putUint32(bytes, header.crc, offset)
}

/**
 * Reads the header of the chunk at `offset`, and checks whatever needs no neighbour.
 * @param {Buffer} bytes
 * @param {DataView} view  begins at the same byte as `bytes`
 * @param {number} offset
 * @param {number} physical  position of the chunk in the file
 * @param {number} end  offset in `bytes` where the chunk's page or the log ends
 * @param {Rules} rules
 * @param {ChunkHeader} header  filled
 * @param {boolean} [isProven]  true if the checksums are known to be right
 * @returns {import('./faults').Fault | null}  what is wrong; null if nothing is
 */
function checkChunk (bytes, view, offset, physical, end, rules, header, isProven = false) {
  readChunkHeader(view, offset, header)
  const isSummed = rules.verify && !isProven
  const payloadStart = offset + CHUNK_HEADER_SIZE
  if (isSummed && crc32OfFew(bytes, offset + 4, payloadStart, rules.salt) !== header.crc) return 'HEADER'
  if (header.continued > header.size || payloadStart + header.size > end) return 'SIZE'
  if (header.size < LENGTH_SIZE && header.continued !== header.size) return 'SIZE'
  if (header.flags & ~KNOWN_FLAGS) return 'FLAGS'
  // At most one for each length field, and one for the rest at the payload's start.
  if (header.erasedCount > header.size / LENGTH_SIZE + 1) return 'ERASED_COUNT'
  if (!isInPlace(header, physical, rules)) return 'PLACE'
  if (header.durable > header.position) return 'DURABLE'
  if (!isSummed) return null
  const payload = new Piece(bytes.buffer, bytes.byteOffset + payloadStart, header.size)
  return crc32(payload) === header.payloadCrc ? null : 'DATA'
}

/** @type {(header: ChunkHeader, physical: number, rules: Rules) => boolean} */
function isInPlace ({ position, continued, flags }, physical, { shift, hasGaps }) {
  if (continued > 0 && (physical % PAGE_SIZE !== 0 || flags & CHUNK_FLAGS.AFTER_LOSS)) return false
  const least = physical + shift
  return position === least || (hasGaps ? position > least : isAhead(position, least))
}

// Whether a chunk can be at `position`: at `least`, or any number of skipped reservations further on.
/** @type {(position: number, least: number) => boolean} */
function isAhead (position, least) {
  return position >= least && (position - least) % RESERVATION_SIZE === 0
}

// Whether a whole header lies here, whatever its payload. It must say the logical position `position`, or one that is
// some reservations further on. For finding the way past damage.
/** @type {(bytes: Buffer, view: DataView, offset: number, position: number, rules: Rules) => boolean} */
function isHeaderAt (bytes, view, offset, position, { salt }) {
  const found = readUint48(view, offset + 16)
  if (!isAhead(found, position) || readUint48(view, offset + 22) > found) return false
  return isHeaderWhole(bytes, view, offset, salt)
}

// Whether a header has its own checksum, whatever position it says.
/** @type {(bytes: Buffer, view: DataView, offset: number, salt: number) => boolean} */
function isHeaderWhole (bytes, view, offset, salt) {
  return crc32OfFew(bytes, offset + 4, offset + CHUNK_HEADER_SIZE, salt) === view.getUint32(offset)
}

// The first offset between `from` and `last` that has a whole header, whatever its payload; -1 if none has. `ahead` is
// the logical position less the offset.
/** @type {(bytes: Buffer, view: DataView, from: number, last: number, ahead: number, rules: Rules) => number} */
function findHeaderAt (bytes, view, from, last, ahead, rules) {
  for (let offset = from; offset <= last; offset++) {
    // The position's lowest byte differs from one offset to the next, so it rules out nearly all of them.
    const isLikely = bytes[offset + POSITION_END] === ((offset + ahead) & 0xff)
    if (isLikely && isHeaderAt(bytes, view, offset, offset + ahead, rules)) return offset
  }
  return -1
}

/** @type {(view: DataView, offset: number) => number} */
function readUint48 (view, offset) {
  return view.getUint16(offset) * TWO_32 + view.getUint32(offset + 2)
}

exports.CRC_SIZE = CRC_SIZE
exports.PAYLOAD_CRC_OFFSET = PAYLOAD_CRC_OFFSET
exports.PAYLOAD_SIZE_OFFSET = PAYLOAD_SIZE_OFFSET
exports.FLAGS_OFFSET = FLAGS_OFFSET
exports.POSITION_OFFSET = POSITION_OFFSET
exports.readUint48 = readUint48
exports.findHeaderAt = findHeaderAt
exports.isHeaderWhole = isHeaderWhole
exports.CONTINUED_OFFSET = CONTINUED_OFFSET
exports.ERASED_COUNT_OFFSET = ERASED_COUNT_OFFSET
exports.ChunkHeader = ChunkHeader
exports.readChunkHeader = readChunkHeader
exports.writeChunkHeader = writeChunkHeader
exports.checkChunk = checkChunk
exports.isAhead = isAhead
exports.isHeaderAt = isHeaderAt
