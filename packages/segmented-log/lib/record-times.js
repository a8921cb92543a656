'use strict'
// The earliest and latest time in each sealed segment, so that reads of a period skip other segments. They are noted
// once, in the file `times` of the folder, with a checksum for each line. What is missing there is found again: the
// file is no more than a cache, and a crash may take any of it. Of the newest segment it says nothing, unless an older
// copy of the segments was restored beside it: then it is removed.
//
//   <crc32 of the rest, 8 hex digits> {"time":["time"]}                                       which field it is
//   <crc32> {"segment":"0000...Z.log","from":1795417267000,"to":1795417269000,"untimed":0}    ms since 1970

const path = require('node:path')
const { crc32 } = require('node:zlib')
const { readFile, readWhole, writeWhole } = require('@millrace/block-file')
const { misuse, reasonOf } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const { toInstant } = require('@millrace/where')
const { TIMES_FILE } = require('./names')

const FILE_SIZE_MAX = 64 * 1024 * 1024
/** The file is written anew when it has this many lines of segments that are gone. */
const GONE_COUNT_MAX = 1000

/**
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('./core').Options['codec']} Codec
 * @typedef {import('@millrace/offset-log/composing').RecordRun} RecordRun
 *
 * @typedef {object} Period  the earliest and latest time in a segment; Infinity and -Infinity if it has none
 * @property {number} from
 * @property {number} to
 * @property {number} untimed  how many records have no time
 *
 * @typedef {object} TimeBounds  ms since 1970
 * @property {number} gt
 * @property {number} gte
 * @property {number} lt
 * @property {number} lte
 */

class RecordTimes {
  #core
  /** @type {Map<string, Period>} by the name of the segment */
  #periods = new Map()
  /** Of the file, as far as it was read or written. */
  #size = 0
  /** Whether its first line says that its times are of this field. If not, the next times begin it anew. */
  #isOwn = false
  /** Segments that could not be read. @type {WeakSet<Segment>} */
  #failed = new WeakSet()

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
  }

  get #path () {
    return path.join(this.#core.folder, TIMES_FILE)
  }

  /** @param {Segment} segment */
  has (segment) {
    return this.#periods.has(segment.name) || this.#failed.has(segment)
  }

  /** Reads what the file has gained. @returns {Promise<void>} it never fails: without the file, nothing is skipped */
  async load () {
    const { storage } = this.#core.options
    const handle = await promisesOf(storage).open(this.#path, { flags: 'r', createFolder: false }).catch(() => null)
    if (handle === null) return
    try {
      const size = await promisesOf(handle).size()
      if (size === this.#size || size > FILE_SIZE_MAX) return
      const bytes = Buffer.alloc(size)
      await toPromise((cb) => readWhole(handle, bytes, 0, cb))
      this.#parse(bytes.toString())
      this.#size = size
    } catch {
      // A file that cannot be read says nothing.
    } finally {
      await promisesOf(handle).close().catch(() => {})
    }
  }

  /** @param {string} text */
  #parse (text) {
    const [head, ...lines] = text.split('\n').map(parseLine)
    this.#isOwn = JSON.stringify(head) === JSON.stringify(this.#head)
    if (!this.#isOwn) return
    for (const line of lines) {
      if (line === undefined) continue
      const { segment, from, to, untimed } = line
      // JSON has no Infinity.
      this.#periods.set(segment, { from: from ?? Infinity, to: to ?? -Infinity, untimed })
    }
  }

  get #head () {
    return { time: this.#core.options.time?.name }
  }

  /** Finds the times of a sealed segment, and notes them. @param {Segment} segment */
  async note (segment) {
    const { segments, options: { codec, time } } = this.#core
    const period = { from: Infinity, to: -Infinity, untimed: 0 }
    const onRecords = (/** @type {RecordRun} */ { buffer, starts, ends, seqs, count }) => {
      for (let i = 0; i < count; i++) {
        const ms = timeOf(time, codec, buffer, starts[i], ends[i], seqs[i])
        if (ms === null) period.untimed++
        period.from = Math.min(period.from, ms ?? Infinity)
        period.to = Math.max(period.to, ms ?? -Infinity)
      }
    }
    try {
      await segments.opened.use(segment, (log) => log.scan({}, onRecords))
      this.#periods.set(segment.name, period)
      await this.#write(segment.name, period)
    } catch {
      // For example, it is damaged. Reads do not skip it.
      this.#failed.add(segment)
    }
  }

  /** @type {(name: string, period: Period) => Promise<void>} */
  async #write (name, period) {
    const { segments: { list }, options: { storage } } = this.#core
    const isNew = !this.#isOwn || this.#periods.size > list.length + GONE_COUNT_MAX
    if (isNew) {
      const kept = new Set(list.map(({ name }) => name))
      for (const other of this.#periods.keys()) if (!kept.has(other)) this.#periods.delete(other)
    }
    const lines = isNew ? [this.#head, ...[...this.#periods].map(lineOf)] : [lineOf([name, period])]
    // A line that a crash cut off ends here.
    const bytes = Buffer.from((isNew ? '' : '\n') + lines.map(formatLine).join(''))
    const handle = await promisesOf(storage).open(this.#path, { flags: 'r+', createFolder: false })
    try {
      if (isNew) this.#isOwn = false
      if (isNew) await promisesOf(handle).truncate(0)
      const position = isNew ? 0 : this.#size
      await toPromise((cb) => writeWhole(handle, bytes, position, cb))
      this.#size = position + bytes.length
      this.#isOwn = true
    } finally {
      await promisesOf(handle).close()
    }
  }

  /** Whether no record of the segment is in the bounds. @type {(segment: Segment, bounds: TimeBounds) => boolean} */
  isOutside ({ name }, { gt, gte, lt, lte }) {
    const { from, to } = this.#periods.get(name) ?? UNKNOWN
    return to < gte || to <= gt || from >= lt || from > lte
  }

  /** Whether all of its records are. @type {(segment: Segment, bounds: TimeBounds) => boolean} */
  isInside ({ name }, bounds) {
    const { from, to, untimed } = this.#periods.get(name) ?? UNKNOWN
    return untimed === 0 && isWithin(from, bounds) && isWithin(to, bounds)
  }

  /** @type {(bounds: TimeBounds) => (buf: Buffer, start: number, end: number, seq: number) => boolean} */
  createFilter (bounds) {
    const { codec, time } = this.#core.options
    return (buf, start, end, seq) => {
      const ms = timeOf(time, codec, buf, start, end, seq)
      return ms !== null && isWithin(ms, bounds)
    }
  }
}

/**
 * Removes the file with the times if it has those of a segment that will get records again.
 * @type {(folder: string, storage: import('@millrace/block-file').Storage, name: string) => Promise<void>}
 */
async function forgetTimes (folder, storage, name) {
  const file = path.join(folder, TIMES_FILE)
  if (!(await readFile(storage, file))?.includes(JSON.stringify(name))) return
  await promisesOf(storage).unlink(file)
  await promisesOf(storage).syncFolder(folder)
}

const UNKNOWN = { from: -Infinity, to: Infinity, untimed: 1 }

/** @type {(ms: number, bounds: TimeBounds) => boolean} */
function isWithin (ms, { gt, gte, lt, lte }) {
  return ms > gt && ms >= gte && ms < lt && ms <= lte
}

/** @typedef {NonNullable<ReturnType<typeof parseTime>>} TimeField */

/**
 * @param {TimeField | null} time
 * @param {Codec} codec
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} end
 * @param {number} seq
 * @returns {number | null}
 */
function timeOf (time, codec, buf, start, end, seq) {
  try {
    return time === null ? null : toMs(time.read(codec.decode(buf, start, end, seq)))
  } catch {
    // What cannot be decoded has no time.
    return null
  }
}

/**
 * Any spelling of a time; a small number is ms of a clock that began at 1970.
 * @type {(value: unknown) => number | null}
 */
function toMs (value) {
  return toInstant(value)?.ms ?? toBound(value)
}

/** A number of ms, a Date, or a text. @type {(bound: unknown) => number | null} */
function toBound (bound) {
  if (typeof bound === 'number') return Number.isFinite(bound) ? bound : null
  return toInstant(bound)?.ms ?? null
}

/** @param {[string, Period]} entry */
function lineOf ([segment, { from, to, untimed }]) {
  return { segment, from: finite(from), to: finite(to), untimed }
}

/** @param {number} ms */
function finite (ms) {
  return Number.isFinite(ms) ? ms : null
}

/** @param {object} line */
function formatLine (line) {
  const text = JSON.stringify(line)
  return `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
}

/** @param {string} line @returns {any}  undefined if it is damaged */
function parseLine (line) {
  const text = line.slice(9)
  if (Number.parseInt(line.slice(0, 8), 16) === crc32(text)) return JSON.parse(text)
}

/**
 * The option `time` of a log: where the time of a record is.
 * @param {unknown} time
 * @returns {{ name: string | string[], read: (value: any) => unknown } | null}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseTime (time) {
  if (time === undefined) return null
  if (typeof time === 'function') return { name: 'function', read: /** @type {(value: any) => unknown} */ (time) }
  const isPath = Array.isArray(time) && time.length > 0 && time.every((key) => typeof key === 'string')
  if (!isPath) throw misuse(`SegmentedLog: time must be the path of a field, such as ['time'], or a function, got ${reasonOf(time)}`)
  // A codec may give JSON as text or bytes.
  const parse = (/** @type {unknown} */ value) => {
    return typeof value === 'string' || Buffer.isBuffer(value) ? JSON.parse(String(value)) : value
  }
  return { name: [...time], read: (value) => time.reduce((inner, key) => inner?.[key], parse(value)) }
}

/**
 * The option `time` of a read.
 * @type {(call: string, given: unknown) => TimeBounds}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseTimeBounds (call, given) {
  const bounds = { gt: -Infinity, gte: -Infinity, lt: Infinity, lte: Infinity }
  if (given === null || typeof given !== 'object') throw misuse(`${call}: time must be bounds such as { gte, lt }, got ${reasonOf(given)}`)
  for (const [name, bound] of Object.entries(given)) {
    if (!Object.hasOwn(bounds, name)) throw misuse(`${call}: time has no bound ${name}; there are gt, gte, lt and lte`)
    const ms = bound === undefined ? bounds[/** @type {keyof TimeBounds} */ (name)] : toBound(bound)
    if (ms === null) throw misuse(`${call}: time.${name} must be a number of ms since 1970, a Date or a text, got ${reasonOf(bound)}`)
    bounds[/** @type {keyof TimeBounds} */ (name)] = ms
  }
  return bounds
}

exports.RecordTimes = RecordTimes
exports.forgetTimes = forgetTimes
exports.parseTime = parseTime
exports.parseTimeBounds = parseTimeBounds
