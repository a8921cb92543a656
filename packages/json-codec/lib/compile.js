'use strict'
// A filter over raw bytes: a search for what every matching record must contain, then, if that is there, parse and
// compare. The search may let a record through that does not match; it must never hold back one that does.

const { createSelect, parseWhere, matches } = require('@millrace/where')
const { parseText } = require('./parse-text')
const { makeNeedles, mayMatch } = require('./prefilter')
const { createSearches } = require('./searches')

/** @typedef {(buf: Buffer, start: number, end: number) => boolean} Test */

/**
 * @param {import('@millrace/where').Where} where
 * @returns {Test & { select?: import('@millrace/where').Select }}  whether the record in these bytes fulfils it; false
 *   for what is no JSON text. Reads nothing outside the bytes, never throws
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  const conditions = parseWhere(where)
  const needles = makeNeedles(conditions)
  /** @type {Test} */
  const test = (buf, start, end) => {
    const record = buf.subarray(start, end)
    if (!mayMatch(record, needles)) return false
    try {
      return matches(conditions, parseText(record.toString()))
    } catch {
      return false // bytes that are no JSON text
    }
  }
  return Object.assign(test, { select: createSelect(test, createSearches(conditions), { alwaysSearches: true }) })
}

exports.compile = compile
