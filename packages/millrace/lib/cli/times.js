'use strict'
// Times as people type them.

const { misuse } = require('@millrace/errors')
const { toInstant } = require('@millrace/where')

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const AGO = /^(\d+(?:\.\d+)?)\s*([smhdw])(?:\s+ago)?$/

/**
 * A duration before now, such as `1h`; or a time as records have it: in UTC, unless it names a zone.
 * @param {string} text
 * @returns {Date}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseTime (text) {
  const ago = AGO.exec(text)
  if (ago !== null) return new Date(Date.now() - Number(ago[1]) * UNITS[/** @type {keyof typeof UNITS} */ (ago[2])])
  const instant = toInstant(text)
  if (instant !== null) return new Date(instant.ms)
  throw misuse('Expected a time such as 2026-11-23, 2026-11-23T10:00 or 2026-11-23T10:00+02:00 (in UTC if it has no zone), or ' +
    '30m, 1h or 2d for so long ago.')
}

exports.parseTime = parseTime
