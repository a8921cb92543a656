'use strict'
// Times as people type them.

const { misuse } = require('@millrace/errors')

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const AGO = /^(\d+(?:\.\d+)?)\s*([smhdw])(?:\s+ago)?$/
const DAY = /^\d{4}-\d\d-\d\d$/

/**
 * A duration before now, such as `1h`; or a time, in the local zone unless it names one.
 * @param {string} text
 * @returns {Date}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseTime (text) {
  const ago = AGO.exec(text)
  if (ago !== null) return new Date(Date.now() - Number(ago[1]) * UNITS[/** @type {keyof typeof UNITS} */ (ago[2])])
  // JavaScript takes a day without a time as one in UTC.
  const date = new Date(DAY.test(text) ? `${text}T00:00` : text.replace(/^(\d{4}-\d\d-\d\d) /, '$1T'))
  if (/^\d{4}-/.test(text) && !Number.isNaN(date.getTime())) return date
  throw misuse('Expected a time such as 2026-11-23, 2026-11-23T10:00 or 2026-11-23T10:00Z, or 30m, 1h or 2d for so long ago.')
}

exports.parseTime = parseTime
