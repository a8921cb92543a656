'use strict'
// Times as records spell them, and as people type them. A text without a zone is in UTC, everywhere.

const { misuse } = require('@millrace/errors')

/** Below it, a number is a count of seconds: 1973 in ms, the year 5138 in seconds. */
const MS_MIN = 1e11
const MICROSECONDS_MIN = 1e14
const NANOSECONDS_MIN = 1e17
const NANOSECONDS_MAX = 1e20
/** 1973, in seconds. A smaller number may be anything: a duration, a count. */
const SECONDS_MIN = 1e8
/** Of a Date. */
const MS_MAX = 8.64e15
const TEXT_LENGTH_MAX = 100

/** A day and a time of it, as ISO 8601, RFC 3339, Python, Java, Go and SQL write them. */
const ISO = new RegExp(String.raw`^(\d{4})([-/])(\d\d)\2(\d\d)(?:[T ]\s?(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?(?: ?([AP]M)\b)?\s?` +
  String.raw`(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?(?::?\d\d)?)?(?: ([A-Z]{2,5}|[+-]\d{2,4}))?(?: m=[+-][\d.]+|\[[\w/+-]+\])*)?$`, 'i')
/** The same without dashes. */
const BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(?:(\d\d)(?:[.,](\d{1,18}))?)?(Z|[+-]\d\d:?(?:\d\d)?)?$/i
/** As web servers write it. */
const COMMON = /^\[?(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))? ([+-]\d{4})\]?$/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** As mails and `date` have it: with the name of a month, a year and a time. */
const SPOKEN = /^(?:[A-Z][a-z]{2,8},? +)?(?:\d{1,2} +[A-Z][a-z]{2,8}|[A-Z][a-z]{2,8} +\d{1,2}),? .*\d:\d\d/
const YEAR = /\b\d{4}\b/
/** After the time, as `date` has it, or at the end. */
const ZONE = /(?:\d:\d\d(?:\.\d+)?(?: [AP]M)?|\d) ?(?:\b(?:UTC|GMT|Z)\b|[+-]\d\d:?\d\d)/i
/** The names of zones that mean one offset: those of RFC 822, and the usual ones of tzdata. */
const OFFSETS = new Map(Object.entries({
  UTC: '+0000', GMT: '+0000', WET: '+0000', WEST: '+0100', BST: '+0100', CET: '+0100', CEST: '+0200', EET: '+0200', EEST: '+0300',
  SAST: '+0200', MSK: '+0300', AWST: '+0800', HKT: '+0800', JST: '+0900', KST: '+0900', AEST: '+1000', AEDT: '+1100', NZST: '+1200',
  NZDT: '+1300', EST: '-0500', EDT: '-0400', CST: '-0600', CDT: '-0500', MST: '-0700', MDT: '-0600', PST: '-0800', PDT: '-0700'
}))
const ZONE_NAMES = new RegExp(`\\b(?:${[...OFFSETS.keys()].join('|')})\\b(?![+-])`)
const DIGITS = /^\d{9,20}(?:\.\d{1,9})?$/
const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const AGO = /^\s*(\d+(?:\.\d+)?)\s*([smhdw])(?:\s+ago)?\s*$/
/** At the beginning of a line of text. */
const LEADING = new RegExp(String.raw`^\[?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?` +
  String.raw`(?:Z|[+-]\d\d:?\d\d| (?:[AP]M|[+-]\d{4}|${[...OFFSETS.keys()].join('|')}))?)\b`)

/**
 * A time to the nanosecond, in whole numbers.
 * @typedef {{ ms: number, nanoseconds: number }} Instant  `ms` since 1970, and from 0 to 999,999 nanoseconds after it
 */

/**
 * Gives the time that a single value means. A text without a zone is in UTC, on every machine.
 * @param {unknown} value  a number or digits of seconds, ms, microseconds or nanoseconds since 1970, as its size tells;
 *   a text; a Date; or an object such as those of MongoDB, Google's protobuf and log4j
 * @returns {Instant | null}  null if it is not a time
 */
function toInstant (value) {
  switch (typeof value) {
    case 'number': return value >= SECONDS_MIN ? ofNumber(value) : null
    case 'bigint': return value >= 0n && value < BigInt(NANOSECONDS_MAX) ? ofDigits(String(value)) : null
    case 'string': return value.length <= TEXT_LENGTH_MAX ? ofText(value.trim()) : null
    case 'object': return value === null ? null : ofObject(value)
    default: return null
  }
}

/**
 * Gives the time that a person has typed: a duration before now, such as `10m` or `2d ago`; or a time as records have
 * it.
 * @param {string} text
 * @param {number} nowMs  since 1970
 * @returns {number}  ms since 1970
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseTime (text, nowMs) {
  const [, count, unit] = AGO.exec(text) ?? []
  const ago = Number(count) * UNITS_MS[/** @type {keyof typeof UNITS_MS} */ (unit)]
  const ms = count === undefined ? toInstant(text)?.ms : Math.round(nowMs - ago)
  if (ms !== undefined && Math.abs(ms) <= MS_MAX) return ms
  throw misuse('Expected a time such as 2026-11-23, 2026-11-23T10:00 or 2026-11-23T10:00+02:00 (in UTC if it has no zone), or ' +
    '30m, 1h or 2d for so long ago.')
}

/** @param {number} value  at least 0 @returns {Instant | null} */
function ofNumber (value) {
  if (!(value < NANOSECONDS_MAX)) return null
  // A number of seconds has no more than a microsecond of digits that mean something.
  if (value < MS_MIN) return split(Math.round(value * 1e6), 1000)
  if (value < MICROSECONDS_MIN) return split(Math.round(value * 1000), 1000)
  if (value < NANOSECONDS_MIN) return split(Math.floor(value), 1000)
  return ofDigits(String(BigInt(Math.floor(value))))
}

/** @type {(count: number, perMs: number) => Instant} */
function split (count, perMs) {
  const ms = Math.floor(count / perMs)
  return { ms, nanoseconds: Math.round((count - ms * perMs) * (1e6 / perMs)) }
}

/** Exactly, also where a number would be rounded. @param {string} text @returns {Instant | null} */
function ofDigits (text) {
  const [whole, fraction = ''] = text.split('.')
  const value = Number(whole)
  const scale = value < MS_MIN ? 9 : value < MICROSECONDS_MIN ? 6 : value < NANOSECONDS_MIN ? 3 : 0
  if (value < SECONDS_MIN || value >= NANOSECONDS_MAX) return null
  const nanoseconds = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  return { ms: Number(nanoseconds / 1_000_000n), nanoseconds: Number(nanoseconds % 1_000_000n) }
}

/** @param {string} text @returns {Instant | null} */
function ofText (text) {
  const iso = ISO.exec(text)
  if (iso !== null) {
    const [, year, , month, day, hour, minute, second, fraction, half, zone, name] = iso
    // A name that may mean several offsets says no time.
    const offset = zone ?? (name === undefined ? 'Z' : OFFSETS.get(name.toUpperCase()))
    if (offset === undefined) return null
    return ofParts([year, month, day, toHour(hour, half), minute, second], fraction, offset)
  }
  if (DIGITS.test(text)) return ofDigits(text)
  const basic = BASIC.exec(text)
  if (basic !== null) return ofParts(basic.slice(1, 7), basic[7], basic[8])
  const common = COMMON.exec(text)
  if (common !== null) {
    const [, day, month, year, hour, minute, second, fraction, zone] = common
    return ofParts([year, String(MONTHS.indexOf(month) + 1), day, hour, minute, second], fraction, zone)
  }
  if (!SPOKEN.test(text) || !YEAR.test(text)) return null
  const named = text.replace(ZONE_NAMES, (name) => /** @type {string} */ (OFFSETS.get(name)))
  const ms = Date.parse(ZONE.test(named) ? named : `${named} UTC`)
  return Number.isNaN(ms) ? null : { ms, nanoseconds: 0 }
}

/** Of 24. @type {(hour: string | undefined, half: string | undefined) => string | undefined} `half`: AM or PM */
function toHour (hour, half) {
  const number = Number(hour)
  if (half === undefined || number > 12) return hour
  return String(number % 12 + (half.toUpperCase() === 'PM' ? 12 : 0))
}

/** @type {(parts: Array<string | undefined>, fraction?: string, zone?: string) => Instant | null} */
function ofParts (parts, fraction = '', zone = 'Z') {
  const [year, month, day, hour, minute, second] = parts.map((part = '0') => Number(part))
  // A leap second belongs to the next minute.
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
  const isTime = (hour < 24 && minute < 60 && second <= 60) || (hour === 24 && minute + second === 0)
  if (!isDay || !isTime) return null
  const digits = fraction.slice(0, 9).padEnd(9, '0')
  const whole = new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000
  return { ms: whole + Number(digits.slice(0, 3)) - offsetOf(zone), nanoseconds: Number(digits.slice(3)) }
}

/** @param {number} year @param {number} month  from 1 */
function daysOf (year, month) {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** In ms. @param {string} zone */
function offsetOf (zone) {
  const [, sign, hours, minutes = '0', seconds = '0'] = /^([+-])(\d\d):?(\d\d)?:?(\d\d)?$/.exec(zone) ?? []
  if (sign === undefined) return 0
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ms : ms
}

/** @param {any} value @returns {Instant | null} */
function ofObject (value) {
  if (value instanceof Date) return ofMs(value.getTime())
  if (value.$date !== undefined) return ofMongo(value.$date)
  if (value.$numberLong !== undefined) return toInstant(value.$numberLong)
  if (value.$bigint !== undefined) return toInstant(value.$bigint)
  const seconds = Number(value.seconds ?? value.epochSecond ?? NaN)
  const nanos = Number(value.nanos ?? value.nanoOfSecond ?? 0)
  if (!Number.isSafeInteger(seconds) || !(nanos >= 0 && nanos < 1e9)) return null
  return ofMs(seconds * 1000 + Math.floor(nanos / 1e6), nanos % 1e6)
}

/** A number of ms, however small; or a text. @param {any} date @returns {Instant | null} */
function ofMongo (date) {
  if (typeof date === 'number') return ofMs(date)
  return typeof date === 'string' ? toInstant(date) : ofMs(date?.$numberLong)
}

/** @type {(ms: unknown, nanoseconds?: number) => Instant | null} */
function ofMs (ms, nanoseconds = 0) {
  const number = Number(ms ?? NaN)
  return Math.abs(number) <= MS_MAX ? { ms: Math.floor(number), nanoseconds } : null
}

/** What a line of text begins with. @param {string} text @returns {Instant | null} */
function toLeadingInstant (text) {
  const found = LEADING.exec(text.slice(0, TEXT_LENGTH_MAX))
  return found === null ? null : ofText(found[1])
}

/** Gives the nanoseconds since 1970, as digits. @param {Instant} instant */
function toNanoseconds ({ ms, nanoseconds }) {
  return String(BigInt(ms) * 1_000_000n + BigInt(nanoseconds))
}

exports.parseTime = parseTime
exports.toInstant = toInstant
exports.toLeadingInstant = toLeadingInstant
exports.toNanoseconds = toNanoseconds
exports.SECONDS_MIN = SECONDS_MIN
