'use strict'
// The 40 bytes before every chunk's payload: written, read, and checked together with the payload. See docs/format.md.

const { Piece, putUint16, putUint32, putUint48 } = require('@millrace/flow')
const { crc32, crc32OfFew } = require('./crc32')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, RESERVATION_SIZE, LENGTH_SIZE, PAGE_SIZE } = require('./layout')

const TWO_32 = 2 ** 32
/** A header begins with its own checksum; where its payload's checksum and size are. */
const CRC_SIZE = 4
const PAYLOAD_CRC_OFFSET = 4
const PAYLOAD_SIZE_OFFSET = 8
const FLAGS_OFFSET = 10
/** Where in a header it says how much of the chunk belongs to a record begun before, and how much is erased. */
const CONTINUED_OFFSET = 28
const ERASED_COUNT_OFFSET = 30
const POSITION_OFFSET = 16
/** The lowest byte of the position. */
const POSITION_END = 21
const { COMMIT_CONTINUES, WAS_ERASED, REST_ERASED, BEHIND_LOSS } = CHUNK_FLAGS
const KNOWN_FLAGS = COMMIT_CONTINUES | WAS_ERASED | REST_ERASED | BEHIND_LOSS

/**
 * What the chunks of one file are checked by.
 * @typedef {object} Rules
 * @property {boolean} verify  false skips the checksums
 * @property {number} salt
 * @property {number} shift  how far logical positions are ahead of physical ones at the first page
 * @property {boolean} hasGaps  whether they may run further ahead
 */

/** The fields of one chunk's header; used again for one chunk after the other. */
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
    /** Up to which logical position all was on stable storage when the chunk was written. */
    this.durable = 0
    /** Bytes at the payload's start that belong to a record begun before. */
    this.continued = 0
    /** How many records, and pieces of records, of this chunk are erased. */
    this.erasedCount = 0
    /** The chain crc of the chunk before. */
    this.previous = 0
    /** The crc that it had before anything of it was erased; 0 until then. */
    this.originalCrc = 0
  }

  /** What the next chunk knows this one by. Erasing does not change it. */
  get chainCrc () {
    return this.flags & CHUNK_FLAGS.WAS_ERASED ? this.originalCrc : this.crc
  }

  /**
   * Whether this chunk goes on with a record that is there, as a page should that comes after one.
   * @param {number} size  how much of the record the page should have
   */
  hasRest (size) {
    return this.continued === size && (this.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /** The seq of a frame that begins behind what the chunk has of a record begun before. */
  get firstSeq () {
    return this.position + CHUNK_HEADER_SIZE + this.continued
  }

  /** Whether it is the first one after an unclean end. */
  get isBehindLoss () {
    return (this.flags & CHUNK_FLAGS.BEHIND_LOSS) !== 0
  }

  get commitContinues () {
    return (this.flags & CHUNK_FLAGS.COMMIT_CONTINUES) !== 0
  }
}

/**
 * @param {DataView} view
 * @param {number} offset
 * @param {ChunkHeader} header  filled
 */
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

/**
 * Writes the header, with its checksums, before a payload that is there already.
 * @param {ChunkHeader} header  gets its `crc`, and its `payloadCrc`
 * @param {Buffer} bytes
 * @param {number} offset  of the header
 * @param {number} salt
 */
function writeChunkHeader (header, bytes, offset, salt) {
  const payloadStart = offset + CHUNK_HEADER_SIZE
  header.payloadCrc = crc32(new Piece(bytes.buffer, bytes.byteOffset + payloadStart, header.size))
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
 * Reads the header of the chunk at `offset`, and checks it as far as that can be done without its neighbours.
 * @param {Buffer} bytes
 * @param {DataView} view  over the same memory, from the same start
 * @param {number} offset
 * @param {number} physical  where the chunk is in the file
 * @param {number} end  in `bytes`: how far the chunk's page, and the log, reach
 * @param {Rules} rules
 * @param {ChunkHeader} header  filled
 * @param {boolean} [isProven]  whether its checksums are known to be right
 * @returns {import('./faults').Fault | null}  what is wrong with it
 */
function checkChunk (bytes, view, offset, physical, end, rules, header, isProven = false) {
  readChunkHeader(view, offset, header)
  const isSummed = rules.verify && !isProven
  const payloadStart = offset + CHUNK_HEADER_SIZE
  if (isSummed && crc32OfFew(bytes, offset + 4, payloadStart, rules.salt) !== header.crc) return 'HEADER'
  if (header.continued > header.size || payloadStart + header.size > end) return 'SIZE'
  if (header.size < LENGTH_SIZE && header.continued !== header.size) return 'SIZE'
  if (header.flags & ~KNOWN_FLAGS) return 'FLAGS'
  // No more than there are lengths, and the rest that it begins with.
  if (header.erasedCount > header.size / LENGTH_SIZE + 1) return 'ERASED_COUNT'
  if (!isInPlace(header, physical, rules)) return 'PLACE'
  if (header.durable > header.position) return 'DURABLE'
  if (!isSummed) return null
  const payload = new Piece(bytes.buffer, bytes.byteOffset + payloadStart, header.size)
  return crc32(payload) === header.payloadCrc ? null : 'DATA'
}

/**
 * @param {ChunkHeader} header
 * @param {number} physical
 * @param {Rules} rules
 */
function isInPlace ({ position, continued, flags }, physical, { shift, hasGaps }) {
  if (continued > 0 && (physical % PAGE_SIZE !== 0 || flags & CHUNK_FLAGS.BEHIND_LOSS)) return false
  return hasGaps ? position >= physical + shift : isAhead(position, physical + shift)
}

/**
 * Whether a chunk can have a position if more or fewer reservations were skipped before it than is known.
 * @param {number} position
 * @param {number} least
 */
function isAhead (position, least) {
  return position >= least && (position - least) % RESERVATION_SIZE === 0
}

/**
 * Whether a whole header lies here, whatever its payload is like. For finding one's way past damage.
 * @param {Buffer} bytes
 * @param {DataView} view
 * @param {number} offset
 * @param {number} position  the logical one that it must say, or be some reservations ahead of
 * @param {Rules} rules
 */
function isHeaderAt (bytes, view, offset, position, { salt }) {
  const found = readUint48(view, offset + 16)
  if (!isAhead(found, position) || readUint48(view, offset + 22) > found) return false
  return isHeaderWhole(bytes, view, offset, salt)
}

/**
 * Whether a header has its own checksum, wherever it says that it is.
 * @param {Buffer} bytes
 * @param {DataView} view
 * @param {number} offset
 * @param {number} salt
 */
function isHeaderWhole (bytes, view, offset, salt) {
  return crc32OfFew(bytes, offset + 4, offset + CHUNK_HEADER_SIZE, salt) === view.getUint32(offset)
}

/**
 * @param {Buffer} bytes
 * @param {DataView} view
 * @param {number} from  offset
 * @param {number} last  offset
 * @param {number} ahead  how far positions are ahead of offsets
 * @param {Rules} rules
 * @returns {number}  the first of these offsets that has a whole header, whatever its payload is like; -1 if none has
 */
function findHeaderAt (bytes, view, from, last, ahead, rules) {
  for (let offset = from; offset <= last; offset++) {
    // Nearly every byte is ruled out by the one that differs from each position to the next.
    const isLikely = bytes[offset + POSITION_END] === ((offset + ahead) & 0xff)
    if (isLikely && isHeaderAt(bytes, view, offset, offset + ahead, rules)) return offset
  }
  return -1
}

/**
 * @param {DataView} view
 * @param {number} offset
 */
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
