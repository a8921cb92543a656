'use strict'
// The names in the folder. They are all that the log stores about its segments, so no manifest can be torn or disagree
// with the files.
//
//   0000000000032854-20261123T070107123Z.log    a segment: its base, and when it was made
//   0000000000032854-20261123T070107123Z.log.gz the same, compressed; or .zst
//   0000000000032854-20261123T070107123Z.jsonl  a segment of lines; or .jsonl.gz, .jsonl.zst
//   0000000000032854-20261123T070107123Z.log.kept-20261124T000000000Z
//                                               of this segment only chosen records are left; it got no records after
//                                               this time
//   forwarder.0000000000032854.hold             a hold: its name, and the seq from which on it needs the records
//   times                                       a cache: see times.js
//   index/                                      the files of an index, which may be removed
//   writer, writer.lock                         the lock of the folder: see Folder of @millrace/block-file

const { LOCK_FILE, PLAIN_SEGMENT, SEGMENT_EXTENSIONS: EXTENSIONS, SEGMENT_NAME } = require('@millrace/block-file')
const { misuse, reasonOf } = require('@millrace/errors')
const { formatOf } = require('./compressed/formats')

const DIGITS = 16
/** The end of the year 9999. */
const TIME_MAX = Date.UTC(10_000, 0) - 1
const TIME = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z/
/** A file that belongs to a segment: `<segment>.lock`, `<segment>.cut-<offset>` and so on. */
const BESIDE = new RegExp(`^(${PLAIN_SEGMENT})\\.(.+)$`)
const HOLD = /^([A-Za-z0-9_-]{1,64})\.(\d{16})\.hold$/
/** The end of the name of an empty file beside a segment, and the time in it. */
const KEPT = /^kept-\d{8}T\d{9}Z$/
/** The file with the times of the segments. */
const TIMES_FILE = 'times'
/** The folder of an index. */
const INDEX_FOLDER = 'index'
const LOCK_FILES = [LOCK_FILE, `${LOCK_FILE}.lock`]
/** The name of a slot's folder, which has a log of its own: see `@millrace/merged-log`. */
const SLOT = /^(0|[1-9]\d{0,5})$/
const HOLD_NAME = /^[A-Za-z0-9_-]{1,64}$/

/**
 * @typedef {import('./compressed/formats').Format} Format
 *
 * @typedef {keyof typeof EXTENSIONS} Framing
 *
 * @typedef {object} SegmentName
 * @property {string} name  of its file before it is compressed
 * @property {string} file  the name that its file has now
 * @property {Format | null} format  of a compressed segment
 * @property {Framing} framing  of the log in it
 * @property {number} base  the log's seqs are this much above those in the segment's file
 * @property {number} createdMs  by the clock of that time
 *
 * @typedef {object} Listing
 * @property {SegmentName[]} segments  by base
 * @property {Array<{ name: string, of: string, suffix: string }>} beside  files that belong to a segment. If a segment
 *   has a plain file and a compressed one, the plain one counts: a crash left the other
 * @property {Map<string, number>} kept  segments that have only chosen records, by name: the time when the last record
 *   may have been appended, in ms since 1970
 * @property {Array<{ file: string, name: string, seq: number }>} holds
 * @property {string[]} others  the other files of the log
 * @property {number[]} slots  of several processes, in order: then the folder should have no segments
 */

/** @type {(base: number, createdMs: number, framing: Framing) => string} */
function segmentName (base, createdMs, framing) {
  return `${String(base).padStart(DIGITS, '0')}-${formatTime(createdMs)}${EXTENSIONS[framing]}`
}

const FRAMINGS = /** @type {Framing[]} */ (Object.keys(EXTENSIONS))

/** @param {string} name  of a plain segment */
function framingOf (name) {
  return FRAMINGS.find((framing) => name.endsWith(EXTENSIONS[framing])) ?? 'checked'
}

/** @type {(segment: string, untilMs: number) => string} the file that marks a segment as kept, by its name */
function keptName (segment, untilMs) {
  return `${segment}.kept-${formatTime(untilMs)}`
}

/** @param {string} suffix  of a file beside a segment */
function isKeptMark (suffix) {
  return KEPT.test(suffix)
}

/** @param {number} ms  since 1970 */
function formatTime (ms) {
  // Any year has four digits, whatever the clock says.
  return new Date(Math.min(Math.max(0, ms), TIME_MAX)).toISOString().replace(/[-:.]/g, '')
}

/** @param {string} name  has such a time after a hyphen */
function timeIn (name) {
  const [year, month, day, hour, minute, second, ms] = (TIME.exec(name) ?? []).slice(1).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second, ms)
}

/** @type {(name: string, seq: number) => string} */
function holdName (name, seq) {
  return `${name}.${String(seq).padStart(DIGITS, '0')}.hold`
}

/** Names that the log did not make are left out. @type {(names: string[]) => Listing} */
function parseNames (names) {
  /** @type {Listing} */
  const listing = { segments: [], beside: [], kept: new Map(), holds: [], others: [], slots: [] }
  // There may be thousands of segments, so this costs little for each. The digits sort as the numbers do.
  for (const name of names.sort()) {
    if (SEGMENT_NAME.test(name)) {
      const segment = new ParsedName(name)
      const of = segment.name
      const isSecond = name !== of && listing.segments.at(-1)?.name === of
      if (isSecond) listing.beside.push({ name, of, suffix: name.slice(of.length + 1) })
      else listing.segments.push(segment)
      continue
    }
    const beside = BESIDE.exec(name)
    const hold = beside ? null : HOLD.exec(name)
    if (beside) {
      const [, of, suffix] = beside
      listing.beside.push({ name, of, suffix })
      if (isKeptMark(suffix)) listing.kept.set(of, timeIn(suffix))
    } else if (name === TIMES_FILE || LOCK_FILES.includes(name)) listing.others.push(name)
    else if (hold) listing.holds.push({ file: name, name: hold[1], seq: Number(hold[2]) })
    else if (SLOT.test(name)) listing.slots.push(Number(name))
  }
  listing.slots.sort((a, b) => a - b)
  return listing
}

/** Reads a name only when somebody asks: there may be thousands. @implements {SegmentName} */
class ParsedName {
  /** @param {string} file */
  constructor (file) {
    this.file = file
  }

  get name () {
    const { format } = this
    return format === null ? this.file : this.file.slice(0, -format.suffix.length)
  }

  get format () {
    return formatOf(this.file) ?? null
  }

  get framing () {
    return framingOf(this.name)
  }

  get base () {
    return Number(this.file.slice(0, DIGITS))
  }

  get createdMs () {
    return timeIn(this.file)
  }
}

/** @type {(call: string, name: unknown) => asserts name is string} throws ERR_INVALID_ARGUMENT */
function checkHoldName (call, name) {
  if (typeof name === 'string' && HOLD_NAME.test(name)) return
  throw misuse(`${call}: a hold's name must have 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, got ${reasonOf(name)}`)
}

exports.EXTENSIONS = EXTENSIONS
exports.framingOf = framingOf
exports.INDEX_FOLDER = INDEX_FOLDER
exports.TIMES_FILE = TIMES_FILE
exports.isKeptMark = isKeptMark
exports.keptName = keptName
exports.segmentName = segmentName
exports.holdName = holdName
exports.parseNames = parseNames
exports.checkHoldName = checkHoldName
