'use strict'
// Filters for the records of loggers: by time and by level; and what a few bytes of a record say without parsing it.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { LEVEL_NAMES, toLevel } = require('./levels')

/** @typedef {import('./where').AskedFilter} AskedFilter */
/** @typedef {import('./where').Condition} Condition */
/** @typedef {import('./where').Filter} Filter */
/** @typedef {import('./where').AskedPath} AskedPath */
/**
 * @typedef {object} TimeRange
 * @property {Date | number | undefined} [since]  the first time, as a Date or ms since 1970
 * @property {Date | number | undefined} [until]  the time before which records must be
 * @property {AskedPath} [path]  where the time is; by default it is found wherever a logger writes it
 */

/**
 * Makes a filter for records from `since` on and before `until`.
 * @param {TimeRange} range
 * @returns {AskedFilter}
 */
function timeFilter (range) {
  checkOptions('timeFilter', range, ['since', 'until', 'path'])
  const { since, until, path = [] } = range
  const time = { ...(since !== undefined && { gte: toMs(since) }), ...(until !== undefined && { lt: toMs(until) }) }
  return { path, time }
}

/** @param {unknown} time */
function toMs (time) {
  // A Date of another realm is one, too, such as that of a file's time where jest runs a test.
  const isDate = Object.prototype.toString.call(time) === '[object Date]'
  const ms = typeof time === 'symbol' || (typeof time === 'object' && !isDate) ? NaN : Number(time)
  if (Number.isFinite(ms) && Math.abs(ms) <= 8.64e15) return ms
  throw misuse(`timeFilter: expected a Date or ms since 1970, got ${reasonOf(time)}`)
}

/**
 * Makes a filter for records of a level and above.
 * @param {string | number} level  a name that some logger has, in any case; or a number of pino
 * @param {{ levels?: Record<string, number>, path?: AskedPath }} [options]  `levels`: names of your own, in the field
 *   `level`, with numbers as pino has them. `path`: of the level; by default it is found, wherever a logger writes it
 * @returns {AskedFilter}
 */
function levelFilter (level, options = {}) {
  checkOptions('levelFilter', options, ['levels', 'path'])
  const { levels = {}, path = [] } = options
  checkOptions('levelFilter: levels', levels)
  for (const [name, value] of Object.entries(levels)) {
    if (typeof value !== 'number') throw misuse(`levelFilter: levels: ${name} must be a number, got ${reasonOf(value)}`)
  }
  const own = typeof level === 'string' && Object.hasOwn(levels, level) ? levels[level] : undefined
  const least = own ?? (typeof level === 'number' ? level : toLevel(level)?.level)
  if (typeof least !== 'number' || Number.isNaN(least)) {
    const known = [...LEVEL_NAMES, ...Object.keys(levels)]
    throw misuse(`There is no level ${reasonOf(level)}; there are ${known.join(', ')}, and numbers.`)
  }
  const byLevel = { path, level: { gte: least } }
  const names = Object.keys(levels)
  if (names.length === 0) return byLevel
  const field = path.length === 0 ? ['level'] : path
  const wanted = names.filter((name) => levels[name] >= least)
  return { any: [{ path: field, in: wanted }, [{ not: { path: field, in: names } }, byLevel]] }
}

/** @typedef {{ gt: number, gte: number, lt: number, lte: number }} TimeBounds  ms since 1970 */

// How the lines of pino, and the records of ingest, begin.
const [LEVEL_HEAD, TIME_HEAD, TIME_NEXT] = ['{"level":', '{"time":', ',"time":'].map((text) => Buffer.from(text))
const LEVEL_DIGITS = 2
/** From 2001 to 2286, in ms. */
const TIME_DIGITS = 13
const [LEVEL_KEY, TIME_KEY, ESCAPE] = ['"level"', '"time"', '\\u'].map((text) => Buffer.from(text))
/** A number between these is on the scale of pino, whoever wrote it. */
const LEVEL_MAX = 69
const [ZERO, COMMA, BRACE_END] = Buffer.from('0,}')

/**
 * Makes a quick look at the first bytes of a record in JSON, which costs less than to parse it.
 * @param {Condition} condition  of a time or level, of the record itself
 * @returns {(buf: Buffer, start: number, end: number) => boolean | undefined}  whether the record fulfils it, if it is
 *   JSON; undefined if its first bytes do not tell
 */
function createLogCheck ({ time, level }) {
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = time ?? level ?? {}
  const isTime = time !== undefined
  const key = isTime ? TIME_KEY : LEVEL_KEY
  return (buf, start, end) => {
    const at = isTime ? skipToTime(buf, start, end) : skipHead(buf, start, end, LEVEL_HEAD)
    if (at === -1) return undefined
    const number = readDigits(buf, at, end, isTime ? TIME_DIGITS : LEVEL_DIGITS)
    if (number === -1 || (!isTime && number > LEVEL_MAX)) return undefined
    // A later member of the same name would count instead, however it is spelled.
    const rest = buf.subarray(at, end)
    if (rest.indexOf(key) !== -1 || rest.indexOf(ESCAPE) !== -1) return undefined
    return number > gt && number >= gte && number < lt && number <= lte
  }
}

/**
 * The place after it; -1 if it is not there.
 * @type {(buf: Buffer, start: number, end: number, head: Buffer) => number}
 */
function skipHead (buf, start, end, head) {
  if (end - start < head.length) return -1
  for (let index = 0; index < head.length; index++) if (buf[start + index] !== head[index]) return -1
  return start + head.length
}

/** @type {(buf: Buffer, start: number, end: number) => number} */
function skipToTime (buf, start, end) {
  const level = skipHead(buf, start, end, LEVEL_HEAD)
  return level === -1 ? skipHead(buf, start, end, TIME_HEAD) : skipHead(buf, level + LEVEL_DIGITS, end, TIME_NEXT)
}

/** @type {(buf: Buffer, start: number, end: number, count: number) => number} -1 if there are not so many */
function readDigits (buf, start, end, count) {
  const stop = start + count
  if (stop >= end || (buf[stop] !== COMMA && buf[stop] !== BRACE_END) || buf[start] === ZERO) return -1
  let number = 0
  for (let at = start; at < stop; at++) {
    const digit = buf[at] - ZERO
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

/**
 * Gives the bounds on the time of the record that all of these filters need: what is known to be outside of them need
 * not be read.
 * @param {Filter[]} filters  from `parseWhere`
 * @returns {TimeBounds | null}  null without a condition on the time of the record
 */
function timeBoundsOf (filters) {
  const conditions = [...listTimes(filters)]
  if (conditions.length === 0) return null
  const bound = (/** @type {'gt' | 'gte' | 'lt' | 'lte'} */ name, /** @type {number} */ open) => {
    const all = conditions.map((bounds) => bounds[name] ?? open)
    return open < 0 ? Math.max(...all) : Math.min(...all)
  }
  const [gt, gte] = [bound('gt', -Infinity), bound('gte', -Infinity)]
  return { gt, gte, lt: bound('lt', Infinity), lte: bound('lte', Infinity) }
}

/** Those that all must hold. @param {Filter[]} filters @returns {Iterable<import('./where').LogBounds>} */
function * listTimes (filters) {
  for (const filter of filters) {
    if ('all' in filter && filter.all !== undefined) yield * listTimes(filter.all)
    else if ('time' in filter && filter.time !== undefined && filter.path.length === 0) yield filter.time
  }
}

exports.createLogCheck = createLogCheck
exports.levelFilter = levelFilter
exports.timeBoundsOf = timeBoundsOf
exports.timeFilter = timeFilter
