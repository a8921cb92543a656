'use strict'
// Reads a log as lines of JSON. A range is read piece by piece, so that a filter that finds nothing stops too: after a
// budget of bytes and time, the last line says where to go on.

const { codes } = require('@millrace/errors')
const { parseTime, parseWhere } = require('@millrace/where')
const { Problem } = require('./problem')
const { decodeRecord, onValues, recordCodec, showRecord } = require('./record')
const { HEAVY_SIZE, SCAN_SIZE } = require('./scans')

const CHUNK_LENGTH = 64 * 1024
/**
 * A longer filter is tested record by record, in a stream that yields. A log tests a run of some thousand records at
 * once, and with hundreds of conditions that takes too long.
 */
const LIGHT_LENGTH = 256
/** So many records that an index names are read in one turn. */
const CANDIDATES = 1000
/** Each condition of this kind looks at all elements of an array, and a record may be one large array. */
const INCLUDES_MAX = 16
/** Batches that are tried again after a failure come later than their times. */
const TIME_SLACK_MS = 3_600_000
const SMALL_MS = /^\d{1,8}$/
/** What a zone looks like if it was not encoded. */
const UNCODED_PLUS = /:\d\d[\d.]* \d\d:?\d\d$/
/** All times may be in it. */
const UNKNOWN = { from: -Infinity, to: Infinity }

/**
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./options').Log} Log
 * @typedef {import('./options').Segment} Segment
 * @typedef {{ scanSize: number, scanMs: number }} Budget
 * @typedef {{ from: number, to: number }} Period  ms since 1970
 * @typedef {Map<number, Period>} Periods  of sealed segments, by base
 *
 * @typedef {object} Query
 * @property {number | null} from  the first seq that is wanted
 * @property {number} to  the last one
 * @property {number} limit
 * @property {boolean} isReverse
 * @property {number} fromMs
 * @property {number} toMs
 * @property {boolean} isExplained  whether only to say how the log would find the records
 * @property {Filter} filter
 *
 * @typedef {object} Filter
 * @property {any[]} where  on records
 * @property {((buf: Buffer, start: number, end: number) => boolean) | null} test  if the log must not do it
 * @property {number} pieceSize  so much is read in one turn. Seqs are positions in bytes
 */

/**
 * @typedef {object} Given  the query of a URL, as its schema has it
 * @property {number} [gt]
 * @property {number} [gte]
 * @property {number} [lt]
 * @property {number} [lte]
 * @property {string} [since]
 * @property {string} [until]
 * @property {string} [where]
 * @property {number} [limit]
 * @property {boolean} [reverse]
 * @property {boolean} [explain]
 *
 * @param {Given} given
 * @returns {Query}
 * @throws {Problem}
 */
function parseQuery ({ gt, gte, lt = Infinity, lte = Infinity, since, until, where: filter, ...others }) {
  const { limit = Infinity, reverse = false } = others
  const fromMs = since === undefined ? -Infinity : parseBound('since', since)
  const toMs = until === undefined ? Infinity : parseBound('until', until)
  const where = parseFilter(filter)
  if (fromMs > -Infinity || toMs < Infinity) {
    where.unshift({ path: ['time'], ...(fromMs > -Infinity && { gte: fromMs }), ...(toMs < Infinity && { lte: toMs }) })
  }
  return {
    from: gt === undefined && gte === undefined ? null : Math.max(gte ?? -1, (gt ?? -2) + 1),
    to: Math.min(lte, lt - 1),
    limit,
    isReverse: reverse,
    isExplained: others.explain === true,
    fromMs,
    toMs,
    filter: createFilter(where, filter)
  }
}

/** @type {(where: any[], text: string | undefined) => Filter} */
function createFilter (where, text = '') {
  const isHeavy = text.length > LIGHT_LENGTH
  return { where, test: isHeavy ? recordCodec.compile(where) : null, pieceSize: isHeavy ? HEAVY_SIZE : SCAN_SIZE }
}

/** @param {any} filter @returns {number} */
function countIncludes (filter) {
  if (filter === null || typeof filter !== 'object') return 0
  return Object.entries(filter).reduce((sum, [name, part]) => sum + countIncludes(part) + Number(name === 'includes'), 0)
}

/**
 * A time as the command takes it; or ms since 1970 as records have them, however small: some clocks begin there.
 * @type {(name: string, text: string) => number} throws a Problem
 */
function parseBound (name, text) {
  if (SMALL_MS.test(text)) return Number(text)
  try {
    return parseTime(text, Date.now())
  } catch (/** @type {any} */ err) {
    const hint = UNCODED_PLUS.test(text) ? ' A + in a URL is written %2B.' : ''
    throw new Problem(400, `${name}: ${err.message}${hint}`, { code: 'bad_query' })
  }
}

/**
 * @param {string | undefined} text
 * @param {string} [name]  of the parameter
 * @returns {any[]}
 */
function parseFilter (text, name = 'where') {
  if (text === undefined) return []
  try {
    // One level more than before must still be allowed, so what is checked is what is used.
    const where = parseWhere(JSON.parse(text)).map(onValues)
    parseWhere(where)
    if (countIncludes(where) > INCLUDES_MAX) throw new Error(`more than ${INCLUDES_MAX} conditions with includes`)
    return where
  } catch (/** @type {any} */ err) {
    throw new Problem(400, `${name}: ${err.message}`, { code: `bad_${name}` })
  }
}

/**
 * The lines of a range, in chunks, and at the end a line that says how it ended.
 * @param {NamedLog} entry
 * @param {Query} query
 * @param {Budget} budget
 * @param {import('./scans').Scans} scans
 * @param {{ gone: AbortSignal, ending: AbortSignal }} signals  `gone` fails the read, `ending` uses up its budget
 * @returns {AsyncGenerator<string, void>}
 */
async function * readLines (entry, query, { scanSize, scanMs }, scans, { gone, ending }) {
  const budget = { scanSize, endMs: performance.now() + scanMs, ending }
  if (query.isExplained) return yield await explainRead(entry, query, budget.endMs)
  /** @type {Progress} */
  const progress = { high: query.to, count: 0, size: 0, text: '', isSent: false }
  for (;;) {
    try {
      return yield * readOn(entry, query, progress, { budget, scans, gone })
    } catch (/** @type {any} */ err) {
      // Who names no first seq reads what is left: that the oldest segments are dropped meanwhile makes no gap then.
      const hasNoGap = query.from === null && (query.isReverse || !progress.isSent)
      if (err.code !== 'ERR_LOG_SEQ_RETAINED' || !hasNoGap || performance.now() > budget.endMs) throw err
      if (!query.isReverse) Object.assign(progress, { count: 0, text: '' })
    }
  }
}

/**
 * @typedef {object} Progress
 * @property {number} high  the last seq that is still wanted
 * @property {number} count  of records so far
 * @property {number} size  about what was read for them, in bytes
 * @property {string} text  lines that no chunk has yet
 * @property {boolean} isSent  whether a chunk has lines
 *
 * @param {NamedLog} entry
 * @param {Query} query
 * @param {Progress} progress  is kept up to date
 * @param {{ budget: { scanSize: number, endMs: number, ending: AbortSignal }, scans: import('./scans').Scans,
 *   gone: AbortSignal }} limits
 * @returns {AsyncGenerator<string, void>}
 */
async function * readOn (entry, query, progress, { budget, scans, gone }) {
  const { log } = entry
  const { isReverse, filter: { where, test, pieceSize }, limit } = query
  const left = await findRange(entry, { ...query, to: progress.high }, budget.endMs)
  const indexed = await findIndexed(log, query, left)
  const next = () => isReverse ? { lt: left.high + 1 } : { gte: left.low }
  const readPiece = async () => {
    const size = sizeOfPiece(left, { isReverse, pieceSize, indexed })
    const piece = isReverse ? await lastPiece(log, left, size) : await firstPiece(log, left, size)
    if (piece === null) return false
    const stream = log.stream({ ...piece, ...(test === null && { where }), reverse: isReverse, signal: gone })
    for await (const { seq, value } of stream) {
      if (test !== null && !test(value, 0, value.length)) continue
      progress.text += `${showRecord(seq, value)}\n`
      if (isReverse) progress.high = left.high = seq - 1
      else left.low = seq + 1
      if (++progress.count === limit) return true
    }
    if (isReverse) progress.high = left.high = piece.gte - 1
    else left.low = piece.lte + 1
    // Seqs that were skipped cost nothing.
    progress.size += Math.min(pieceSize, piece.lte - piece.gte + 1)
    return true
  }
  while (left.low <= left.high) {
    // Its lines are sent afterwards: a client that is slow holds up no other reader.
    if (!await scans.run(1, readPiece)) break
    if (progress.count === limit) return yield `${progress.text}${endLine('limit', next())}`
    const isOver = progress.size >= budget.scanSize || performance.now() > budget.endMs || budget.ending.aborted
    if (isOver && left.low <= left.high) return yield `${progress.text}${endLine('budget', next())}`
    if (progress.text.length < CHUNK_LENGTH) continue
    progress.isSent = true
    yield progress.text
    progress.text = ''
  }
  yield `${progress.text}${endLine('end', next())}`
}

/**
 * How the log would find the records: a line with what `explain` of the log says.
 * @type {(entry: NamedLog, query: Query, endMs: number) => Promise<string>}
 */
async function explainRead (entry, query, endMs) {
  const { low, high } = await findRange(entry, query, endMs)
  const { filter: { where, test }, isReverse } = query
  // A long filter is tested record by record.
  const filter = where.length > 0 && test === null ? { where } : {}
  const explained = await entry.log.explain({ ...filter, gte: low, lte: high, reverse: isReverse })
  const why = test === null ? explained.why : 'the filter is so long that each record is tested'
  return `${JSON.stringify({ explain: { ...explained, why } })}\n`
}

/**
 * Of the range, what an index knows: up to which seq, and in pieces of which size it names few records.
 * @typedef {{ to: number, size: number }} Indexed
 * @type {(log: Log, query: Query, left: Left) => Promise<Indexed | null>}  null if everything is scanned
 */
async function findIndexed (log, { filter: { where, test }, isReverse }, { low, high }) {
  if (log.index === null || test !== null || where.length === 0 || low > high) return null
  try {
    const { uses, candidates, scanned } = await log.explain({ where, gte: low, lte: high, reverse: isReverse })
    if (uses.length === 0) return null
    const to = Math.min(scanned?.from ?? Infinity, high + 1)
    return { to, size: Math.ceil((to - low) / Math.max(1, candidates / CANDIDATES)) }
  } catch {
    // A read says what is wrong.
    return null
  }
}

/** @type {(left: Left, how: { isReverse: boolean, pieceSize: number, indexed: Indexed | null }) => number} */
function sizeOfPiece ({ low, high }, { isReverse, pieceSize, indexed }) {
  if (indexed === null || (isReverse ? high : low) >= indexed.to) return pieceSize
  // What is scanned comes in pieces of its own.
  return Math.max(pieceSize, isReverse ? indexed.size : Math.min(indexed.size, indexed.to - low))
}

// Between two records there may be seqs that a power cut took, and no range may begin there. So the bound where a piece
// begins to be read is always one that a record gave.

/**
 * @typedef {{ gte: number, lte: number }} Piece
 * @typedef {{ low: number, high: number }} Left
 */

/** @type {(log: Log, left: Left, size: number) => Promise<Piece | null>} null: no record is left */
async function firstPiece (log, { low, high }, size) {
  const end = Math.min(high, low + size - 1)
  const last = await seqBefore(log, end + 1).catch((err) => {
    if (err.code !== 'ERR_LOG_SEQ_LOST') throw err
    return findLast(log.stream({ gte: low, lte: end, values: false }))
  })
  if (last >= low) return { gte: low, lte: last }
  const next = await log.first({ gte: low, values: false })
  return next === undefined || next > high ? null : { gte: next, lte: next }
}

/**
 * The same for a range that is read backwards.
 * @type {(log: Log, left: Left, size: number) => Promise<Piece | null>}
 */
async function lastPiece (log, { low, high }, size) {
  const begin = Math.max(low, high - size + 1)
  let first = await seqBefore(log, begin).catch((err) => {
    if (err.code !== 'ERR_LOG_SEQ_LOST') throw err
    return findLast(log.stream({ gte: begin, lte: high, reverse: true, values: false }))
  })
  if (first !== -1) return { gte: Math.max(low, first), lte: high }
  // Nothing is below the piece, or nothing is in it.
  first = await seqBefore(log, high + 1)
  return first < low ? null : { gte: begin === low ? low : first, lte: high }
}

/** @type {(seqs: AsyncIterable<number>) => Promise<number>} the one that comes last; -1 if none does */
async function findLast (seqs) {
  let last = -1
  for await (const seq of seqs) last = seq
  return last
}

/** Of the last record below a seq; -1 if there is none. @type {(log: Log, seq: number) => Promise<number>} */
async function seqBefore (log, seq) {
  return await log.last({ lt: seq, values: false }) ?? -1
}

/**
 * The seqs to read. What lies outside of the times is left out by whole segments, and the filter does the rest.
 * @param {NamedLog} entry
 * @param {Query} query
 * @param {number} endMs  by the steady clock: later, no more is found out about segments
 */
async function findRange (entry, { from, to, fromMs, toMs }, endMs) {
  const { log } = entry
  // Fails if the first seq that is wanted was dropped.
  const first = await log.first({ ...(from !== null && from > 0 && { gte: from }), values: false })
  const end = Number(log.since.value)
  const hasTimes = fromMs > -Infinity || toMs < Infinity
  const { base, behind } = hasTimes ? await findSegments(entry, fromMs, toMs, endMs) : { base: -1, behind: Infinity }
  const begin = await seqBefore(log, base) + 1
  return {
    low: Math.max(from ?? -1, first ?? end + 1, begin),
    high: Math.min(to, end, behind - 1)
  }
}

/**
 * Leaves out segments at both ends. Their names do not tell, since a wrong clock may have made them; their first and
 * last records do.
 * @type {(entry: NamedLog, fromMs: number, toMs: number, endMs: number) => Promise<{ base: number, behind: number }>}
 */
async function findSegments (entry, fromMs, toMs, endMs) {
  /** @type {Segment[]} */
  const segments = await entry.log.segments()
  const periodAt = (/** @type {number} */ index) => {
    return findPeriod(entry, { base: segments[index].base, next: segments[index + 1]?.base ?? null }, endMs)
  }
  let low = 0
  let high = segments.length - 1
  while (low < high && (await periodAt(low)).to + TIME_SLACK_MS < fromMs) low++
  while (low < high && (await periodAt(high)).from - TIME_SLACK_MS > toMs) high--
  if (entry.periods.size > segments.length) {
    for (const base of entry.periods.keys()) if (base < segments[0].base) entry.periods.delete(base)
  }
  return { base: low === 0 ? -1 : segments[low].base, behind: segments[high + 1]?.base ?? Infinity }
}

/**
 * The times in a segment do not fall. Of a sealed segment, they are remembered.
 * @type {(entry: NamedLog, segment: { base: number, next: number | null }, endMs: number) => Promise<Period>}
 */
async function findPeriod ({ log, periods }, { base, next }, endMs) {
  const known = periods.get(base)
  if (known !== undefined) return known
  if (performance.now() > endMs) return UNKNOWN
  try {
    const range = { gte: base, ...(next !== null && { lt: next }), onRetained: 'skip' }
    const from = timeOf(await log.first(range), Infinity)
    if (next === null) return { from, to: Infinity }
    const period = { from, to: timeOf(await log.last(range), -Infinity) }
    periods.set(base, period)
    return period
  } catch {
    // It is damaged, or was dropped.
    return UNKNOWN
  }
}

/** @type {(record: { value: Buffer } | undefined, none: number) => number} */
function timeOf (record, none) {
  if (record === undefined) return none
  const { time } = decodeRecord(record.value)
  if (!Number.isFinite(time)) throw new Error('a record without a time')
  return time
}

/** @type {(reason: 'end' | 'limit' | 'budget', next: object) => string} */
function endLine (reason, next) {
  return `${JSON.stringify({ end: { reason, next } })}\n`
}

/**
 * A failure of a read, with the first seq that is left if the wanted one is gone.
 * @param {NamedLog} entry
 * @param {any} err
 */
async function describeGone ({ log }, err) {
  if (err?.code !== 'ERR_LOG_SEQ_RETAINED' && err?.code !== 'ERR_LOG_SEQ_LOST') return err
  const first = await log.first({ values: false }).catch(() => undefined)
  const more = { first: first ?? null }
  const reason = codes[/** @type {keyof typeof codes} */ (err.code)]
  const detail = `${reason}; the first record that is left has the seq ${more.first}`
  return new Problem(410, detail, { code: 'gone', more, cause: err })
}

exports.firstPiece = firstPiece
exports.LIGHT_LENGTH = LIGHT_LENGTH
exports.parseFilter = parseFilter
exports.parseQuery = parseQuery
exports.readLines = readLines
exports.seqBefore = seqBefore
exports.describeGone = describeGone
exports.findPeriod = findPeriod
