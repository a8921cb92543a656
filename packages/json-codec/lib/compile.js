'use strict'
// A filter over raw bytes: a search for what every matching record must contain; if that is there, parse and compare.
// The search may let a record through that does not match; it must never hold back one that does.
//
// JSON writes a character as itself or as \uXXXX; `/`, `"`, `\` and control characters have other spellings besides. So
// a run of the remaining characters stands in the bytes as it is, unless the record contains `\u`. The same goes for
// keys. U+FFFD belongs to no run, since invalid UTF-8 is read as it too, nor does half a surrogate pair, which has no
// UTF-8. Numbers have no end of spellings (1e3, 1000.0) and no run.

const { createByteSearch, createSelect, parseWhere, matches } = require('@millrace/where')
const { parseText } = require('./parse-text')
const { SEARCHED_LENGTH_MAX, createStringSearch } = require('./string-search')

/** @typedef {import('@millrace/where').Condition} Condition */
/** @typedef {(buf: Buffer, start: number, end: number) => boolean} Test */

/**
 * `escapable`: whether the record may write the bytes in escapes instead.
 * @typedef {{ bytes: Buffer, escapable: boolean }} Needle
 */

const RUN = /[^"\\/\u0000-\u001f\ufffd\p{Surrogate}]+/gu // eslint-disable-line no-control-regex
const ESCAPE = Buffer.from('\\u')

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

/**
 * @param {Condition[]} conditions
 * @returns {Needle[]}  a matching record contains them all. Values first: most records of a log share their keys
 */
function makeNeedles (conditions) {
  // What must not be there has nothing that a record must contain, and may contain all of it elsewhere.
  const wanted = conditions.filter(({ exists }) => exists !== false)
  const ofValues = wanted.map(valueNeedle)
  const ofKeys = wanted.flatMap(({ path }) => path.map(textNeedle))
  return [...ofValues, ...ofKeys].filter((needle) => needle !== null)
}

/** @type {(text: string) => Needle | null} */
function textNeedle (text) {
  const runs = text.slice(0, SEARCHED_LENGTH_MAX).match(RUN) ?? []
  if (runs[0] === text) return { bytes: Buffer.from(`"${text}"`), escapable: true }
  const longest = runs.reduce((best, run) => run.length > best.length ? run : best, '')
  return longest === '' ? null : { bytes: Buffer.from(longest), escapable: true }
}

/**
 * Gives null for a number, and for any value.
 * @type {(condition: Condition) => Needle | null}
 */
function valueNeedle ({ equals }) {
  if (typeof equals === 'string') return textNeedle(equals)
  return equals === undefined || typeof equals === 'number' ? null : { bytes: Buffer.from(String(equals)), escapable: false }
}

/**
 * @param {Buffer} record
 * @param {Needle[]} needles
 * @returns {boolean}  false only when the record cannot match
 */
function mayMatch (record, needles) {
  for (const { bytes, escapable } of needles) {
    if (record.indexOf(bytes) === -1) return escapable && record.indexOf(ESCAPE) !== -1
  }
  return true
}

/**
 * @param {Condition[]} conditions
 * @returns {import('@millrace/where').Search[]}  each for what a record that fulfils them all contains
 */
function createSearches (conditions) {
  return conditions.map(createSearch).filter((search) => search !== null)
}

/** For what says most about it: its value, or else the key. @param {Condition} condition */
function createSearch (condition) {
  const { path, equals, exists } = condition
  if (exists === false) return null
  const long = typeof equals === 'string' ? createStringSearch(equals) : null
  if (long !== null) return long
  const needle = valueNeedle(condition) ?? (path.length > 0 ? textNeedle(path[path.length - 1]) : null)
  if (needle === null) return null
  return createByteSearch(needle.escapable ? [needle.bytes, ESCAPE] : [needle.bytes])
}

exports.compile = compile
exports.makeNeedles = makeNeedles
exports.mayMatch = mayMatch
