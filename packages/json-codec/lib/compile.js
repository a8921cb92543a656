'use strict'
// A filter over raw bytes: a search for what every matching record must contain, then, if that is there, parse and
// compare. The search may let a record through that does not match; it must never hold back one that does.

const { parseWhere, matches } = require('@millrace/where')
const { makeNeedles, mayMatch } = require('./prefilter')

/**
 * @param {import('@millrace/where').Where} where
 * @returns {(buf: Buffer, start: number, end: number) => boolean}  whether the record in these bytes fulfils it; false
 *   for what is no JSON text. Reads nothing outside the bytes, never throws
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  const conditions = parseWhere(where)
  const needles = makeNeedles(conditions)
  return (buf, start, end) => {
    const record = buf.subarray(start, end)
    if (!mayMatch(record, needles)) return false
    try {
      return matches(conditions, JSON.parse(record.toString()))
    } catch {
      return false // bytes that are no JSON text
    }
  }
}

exports.compile = compile
