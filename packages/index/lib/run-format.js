'use strict'
// What the writer and the reader of run files share. A run file is, in this order:
//
// - data, in pages of PAGE_SIZE bytes; the last page is padded with zeros. In it are sections:
//   - the seqs of the records, in a dozen bits each: see seqs.js. A record's place among them is its ordinal;
//   - the ordinals of odd records, 4 bytes each;
//   - the seqs of records in the range that were deleted when the run was made, as doubles: an older copy of the log,
//     which has them, needs another run;
//   - for each path its keys, in groups of up to GROUP_SIZE. Before each group are the lists of its keys. In it are the
//     short hashes; then, in a section that has ids, the ids: of the long hash of all values the half `low`, as the
//     short hash tells the other one; then the references, in as many bytes each as the group needs: twice the ordinal
//     of the only record, or 1 and twice the distance of a list from the section's start. After the last group are the
//     fences: the first hash of each group, then its place, a multiple of 4, and one less than the size of a reference;
//   - for each path with ranges its numbers, and its times, ascending: chunks of up to GROUP_SIZE doubles and as many
//     ordinals; after the last one the first value of each chunk;
// - the CRC-32 of each page;
// - the footer, as JSON, which says what the run covers, where the sections are, and what proves that it belongs to the
//   log;
// - the trailer: the footer's size and CRC-32, and MAGIC.
//
// Numbers are little-endian. A list is newest first: see posting-list.js.

const PAGE_SIZE = 4096
const GROUP_SIZE = 256
const WORD_SIZE = 4
const DOUBLE_SIZE = 8
/** A reference is that of a list. */
const LIST = 1
const MAGIC = Buffer.from('MRINDEX1')
const TRAILER_SIZE = 16
const FORMAT = 6
const RUN_NAME = /^\d{16}-\d{16}-[0-9a-f]{12}\.run$/
const UNFINISHED_NAME = /^\d{16}-\d{16}-[0-9a-f]{12}\.run\.new$/
/** Codes of a file or a folder that is not there. */
const MISSING = ['ENOENT', 'ENOTDIR']
/** Codes of a run that this process may not read, such as one of another user, or that is no file: a folder, a FIFO. */
const UNREADABLE = ['EACCES', 'EPERM', 'EISDIR', 'ERR_INVALID_ARGUMENT']
/** Larger footers are damaged. */
const FOOTER_SIZE_MAX = 1024 * 1024
/** Runs are not merged beyond it: places in a section have 31 bits. */
const RUN_SIZE_MAX = 2 ** 30

/**
 * @typedef {object} KeySection
 * @property {number} start
 * @property {number} size  from the start to the fences
 * @property {number} count  of entries
 * @property {number} fences  where they are
 * @property {boolean} hasIds  whether keys have ids. A list says whether there is one: values of several long hashes
 *   have none, and so may have a list of a single record
 *
 * @typedef {object} ValueSection
 * @property {number} start
 * @property {number} count
 * @property {number} fences
 *
 * @typedef {object} Footer
 * @property {number} format
 * @property {string} id  of the log, as hex
 * @property {number} epoch
 * @property {string} key  of the hashes, as hex
 * @property {string} codec
 * @property {unknown} paths  as declared
 * @property {number} from  the seq where the range begins
 * @property {number} to  the seq where it ends
 * @property {number} last  the seq of the last record; -1 if there is none
 * @property {number | null} proof  the chain value of the chunk that has the last record
 * @property {number} erased  how many records had been deleted from the log's file; -1 if unknown
 * @property {boolean} isClean  whether the run has none of them
 * @property {number} base
 * @property {number} records
 * @property {number} seqTable  where the table of the seqs is
 * @property {number} oddStart
 * @property {number} oddCount
 * @property {number} erasedStart
 * @property {number} erasedSeqs  how many
 * @property {KeySection[]} keys
 * @property {Array<ValueSection | null>} numbers
 * @property {Array<ValueSection | null>} times
 * @property {number} dataSize
 * @property {number} checksum  of the checksums
 */

/** What a key has before its reference. @param {Pick<KeySection, 'hasIds'>} section */
function headSizeOf ({ hasIds }) {
  return hasIds ? 2 * WORD_SIZE : WORD_SIZE
}

/** A page that is not what was written. */
class DamagedRun extends Error {}

/** A file that was removed. */
class GoneRun extends DamagedRun {}

/** A file that cannot be read now, as when too many are open. It may be read later. */
class UnreadRun extends Error {}

/**
 * What is read of a run must be above what was before it.
 * @type {(before: number, value: number, end: number) => void}
 */
function checkOrder (before, value, end) {
  if (value <= before || value >= end) throw new DamagedRun(`${value} comes after ${before}`)
}

exports.PAGE_SIZE = PAGE_SIZE
exports.GROUP_SIZE = GROUP_SIZE
exports.WORD_SIZE = WORD_SIZE
exports.DOUBLE_SIZE = DOUBLE_SIZE
exports.LIST = LIST
exports.MAGIC = MAGIC
exports.TRAILER_SIZE = TRAILER_SIZE
exports.FORMAT = FORMAT
exports.MISSING = MISSING
exports.UNREADABLE = UNREADABLE
exports.RUN_NAME = RUN_NAME
exports.UNFINISHED_NAME = UNFINISHED_NAME
exports.FOOTER_SIZE_MAX = FOOTER_SIZE_MAX
exports.RUN_SIZE_MAX = RUN_SIZE_MAX
exports.DamagedRun = DamagedRun
exports.GoneRun = GoneRun
exports.UnreadRun = UnreadRun
exports.checkOrder = checkOrder
exports.headSizeOf = headSizeOf
