'use strict'
// Finds out which member of a log's records is their time, and reads it.

const { descend } = require('./outline')

// The names that loggers, message formats and databases use most.
const CANDIDATES = [
  'timestamp', 'value.timestamp', 'time', 'ts', '@timestamp', 'date', 'at', 'createdAt', 'created_at', 'created',
  'eventTime', 'datetime', 't', 'meta.time', 'meta.timestamp', 'value.content.timestamp'
].map((path) => path.split('.'))
// A member that is a time in fewer records than these is something else.
const SHARE_MIN = 0.8
const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:$|[T ]\d{2}:\d{2})/
// 1973, read as milliseconds since 1970; below it a number is a count of seconds, from 1973 as well.
const MS_MIN = 1e11
const SECONDS_MIN = 1e8
const MICROSECONDS_MIN = 1e14
const NANOSECONDS_MIN = 1e17
const MS_MAX = 8.64e15

/**
 * @param {unknown[]} values  of some records
 * @returns {string[] | null}  the path of the time; null if there is none
 */
function findTimePath (values) {
  const countOf = (/** @type {string[]} */ path) => values.filter((value) => readTime(value, path) !== null).length
  const counted = CANDIDATES.map((path) => ({ path, count: countOf(path) }))
  const best = counted.reduce((best, next) => next.count > best.count ? next : best)
  return best.count > 0 && best.count >= SHARE_MIN * values.length ? best.path : null
}

/**
 * @param {unknown} value  of a record
 * @param {string[] | null} path
 * @returns {number | null}  ms since 1970; null if there is no time at the path
 */
function readTime (value, path) {
  if (path === null) return null
  const time = descend(value, path).value
  if (typeof time === 'string') return ISO_DATE.test(time) ? finite(Date.parse(time)) : null
  if (typeof time === 'bigint') return toMs(Number(time))
  return typeof time === 'number' ? toMs(time) : null
}

/** @param {number} time  in a unit that its size tells */
function toMs (time) {
  if (!(time >= SECONDS_MIN)) return null
  if (time < MS_MIN) return time * 1000
  if (time < MICROSECONDS_MIN) return time
  if (time < NANOSECONDS_MIN) return time / 1000
  return finite(time / 1e6)
}

/** @param {number} ms */
function finite (ms) {
  return ms <= MS_MAX ? ms : null
}

exports.findTimePath = findTimePath
exports.readTime = readTime
