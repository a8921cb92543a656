'use strict'
// What all that writes or reads the checked framing shares: its constants, which docs/format.md explains, and the grid
// of pages.

/** The grid that chunks never cross, in bytes. Fixed by the version; has nothing to do with the block size. */
exports.PAGE_SIZE = 16 * 1024

/** Bytes before the first page. Each part lies in sectors of its own, so that no write can hurt two of them. */
exports.HEAD_SIZE = 32 * 1024
/** What no two parts of the head share, in bytes: a physical sector of today's disks. */
exports.AREA_SIZE = 4096
exports.HEADER_POSITIONS = [0, 8192]
exports.HEADER_SIZE = 64
exports.SLOT_POSITIONS = [4096, 12288]
exports.SLOT_SIZE = 512
exports.JOURNAL_POSITIONS = [16384, 24576]
exports.JOURNAL_SIZE = 8192

exports.CHUNK_HEADER_SIZE = 40
exports.LENGTH_SIZE = 4
/** With less than this left in a page nothing can begin there: it is filled with zeros. */
exports.CHUNK_SIZE_MIN = 44
/** A record is split over two pages only when at least this much of its data fits into the first one. */
exports.SPLIT_SIZE_MIN = 256
/** Frame lengths have 30 bits. */
exports.RECORD_SIZE_MAX = 2 ** 30 - 1
/** Positions have 48 bits. */
exports.FILE_SIZE_MAX = 2 ** 48 - 1
/** So have other numbers that rise. The last is never used, so that there is always one more. */
exports.U48_MAX = 2 ** 48 - 1
/** Epochs have 32. Not even a session a second comes there; who does stays there. */
exports.EPOCH_MAX = 2 ** 32 - 1

/** What is added to the log's path for the copy of an end that is being made durable. */
exports.TAIL_SUFFIX = '.tail'
exports.TAIL_HEADER_SIZE = 48
exports.CRC_SIZE = 4

/**
 * @param {number} position  physical
 * @returns {number}  where its page ends
 */
exports.endOfPage = (position) => position - position % exports.PAGE_SIZE + exports.PAGE_SIZE

const ZEROS = Buffer.alloc(exports.PAGE_SIZE)
/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end  at most a page on
 */
exports.isZero = (bytes, start, end) => bytes.compare(ZEROS, 0, end - start, start, end) === 0

/** The top two bits of a frame's length. */
exports.FRAME_TYPES = Object.freeze({ RECORD: 0, PADDING: 1, ERASED: 2, GAP: 3 })
exports.FRAME_LENGTH_MASK = 0x3fffffff

/** The flags of a chunk. */
exports.CHUNK_FLAGS = Object.freeze({ COMMIT_CONTINUES: 1, WAS_ERASED: 2, REST_ERASED: 4, BEHIND_LOSS: 8 })

/** Behind an unclean end positions go on a multiple of this further on; a session keeps so many for itself. */
exports.RESERVATION_SIZE = 2 ** 32
