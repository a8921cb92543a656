'use strict'
// Filters for the records of loggers, which say their time and level in more than one way.

const { misuse } = require('@millrace/errors')

// Times in seconds are below this, and times in ms above: 1973 in ms, the year 5138 in seconds.
const SECONDS_MAX = 1e11
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

/** @typedef {import('./where').AskedFilter} AskedFilter */
/** @typedef {{ since?: Date | number | undefined, until?: Date | number | undefined, path?: string }} TimeRange */

/**
 * Records from `since` on and before `until`. The time of a record may be a number of ms or seconds since 1970, or an
 * ISO text in UTC.
 * @param {TimeRange} range  `path` is `time` by default
 * @returns {AskedFilter}
 */
function timeFilter ({ since, until, path = 'time' }) {
  const from = since === undefined ? SECONDS_MAX : toMs(since)
  const to = until === undefined ? Infinity : toMs(until)
  const isBounded = Number.isFinite(to)
  return {
    any: [
      { path, gte: from, ...(isBounded && { lt: to }) },
      { path, gte: since === undefined ? -SECONDS_MAX : from / 1000, lt: isBounded ? to / 1000 : SECONDS_MAX },
      { path, gte: since === undefined ? '' : toText(from), ...(isBounded && { lt: toText(to) }) }
    ]
  }
}

/** @param {Date | number} time */
function toMs (time) {
  const ms = Number(time)
  if (Number.isFinite(ms) && Math.abs(ms) <= 8.64e15) return ms
  throw misuse(`timeFilter: expected a Date or ms since 1970, got ${String(time)}`)
}

/** Without the Z: so it is in front of the same time with more digits. @param {number} ms */
function toText (ms) {
  return new Date(ms).toISOString().slice(0, -1)
}

/**
 * Records of a level and above. The level of a record may be a number or a name, in lower or upper case.
 * @param {string | number} level
 * @param {{ levels?: Record<string, number>, path?: string }} [options]  names besides those of pino
 * @returns {AskedFilter}
 */
function levelFilter (level, { levels, path = 'level' } = {}) {
  const all = { ...LEVELS, ...levels }
  const least = typeof level === 'number' ? level : Object.entries(all).find(([name]) => name === level.toLowerCase())?.[1]
  if (least === undefined || Number.isNaN(least)) {
    throw misuse(`There is no level ${String(level)}; there are ${Object.keys(all).join(', ')}, and numbers.`)
  }
  const names = Object.entries(all).filter(([, number]) => number >= least).map(([name]) => name)
  return { any: [{ path, gte: least }, { path, in: [...names, ...names.map((name) => name.toUpperCase())] }] }
}

exports.levelFilter = levelFilter
exports.timeFilter = timeFilter
