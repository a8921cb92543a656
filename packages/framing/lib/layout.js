'use strict'
// The constants of the checked framing, which its readers and writers share, and the grid of its pages.
// docs/internals/format.md explains them.

/** Bytes of a page; no chunk crosses its end. Fixed by the version of the format, independent of the block size. */
exports.PAGE_SIZE = 16 * 1024

/** Bytes before the first page. */
exports.HEAD_SIZE = 32 * 1024
/** No two parts of the head share an area of this size, so a torn write of a sector cannot hurt two of them. */
exports.AREA_SIZE = 4096
exports.HEADER_POSITIONS = [0, 8192]
exports.HEADER_SIZE = 64
exports.SLOT_POSITIONS = [4096, 12288]
exports.SLOT_SIZE = 512
exports.JOURNAL_POSITIONS = [16384, 24576]
exports.JOURNAL_SIZE = 8192

exports.CHUNK_HEADER_SIZE = 40
exports.LENGTH_SIZE = 4
/** If less than this is left in a page, no chunk can begin there: the rest is zeros. */
exports.CHUNK_SIZE_MIN = 44
/** A record is split over two pages only if at least this much of its data fits into the first one. */
exports.SPLIT_SIZE_MIN = 256
/** A frame's length has 30 bits. */
exports.RECORD_SIZE_MAX = 2 ** 30 - 1
/** A position has 48 bits. */
exports.FILE_SIZE_MAX = 2 ** 48 - 1
/** The limit of the other numbers that rise. They stay below it, so that there is always one more. */
exports.U48_MAX = 2 ** 48 - 1
/** An epoch has 32 bits. Even a session a second would not use them up; an epoch that reaches the limit stays there. */
exports.EPOCH_MAX = 2 ** 32 - 1

/** `<path>.tail` is the copy of an unsynced end, made before that end is written anew. */
exports.TAIL_SUFFIX = '.tail'
exports.TAIL_HEADER_SIZE = 48
exports.CRC_SIZE = 4

/** `<path>.sums` describes a log of lines: see sums.js. */
exports.SUMS_SUFFIX = '.sums'

/** The physical position where the page of `position` ends. @type {(position: number) => number} */
exports.endOfPage = (position) => position - position % exports.PAGE_SIZE + exports.PAGE_SIZE

/** The top two bits of a frame's length field. */
exports.FRAME_TYPES = Object.freeze({ RECORD: 0, PADDING: 1, ERASED: 2, GAP: 3 })
exports.FRAME_LENGTH_MASK = 0x3fffffff

exports.CHUNK_FLAGS = Object.freeze({ COMMIT_CONTINUES: 1, WAS_ERASED: 2, REST_ERASED: 4, AFTER_LOSS: 8 })

/** A record that holds words begins with these bytes, in a file with a dictionary. `dictionary` writes the same. */
exports.WORDS_MARK = Buffer.from([0, 0x57, 0x44, 0x53])

/** A session reserves this many positions at a time; after an unclean end, positions skip a multiple of it. */
exports.RESERVATION_SIZE = 2 ** 32
