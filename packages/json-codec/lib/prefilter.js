'use strict'
// What must stand in a record's bytes for it to fulfil a condition, however the record spells it.
//
// JSON writes a character as itself or as \uXXXX; `/`, `"`, `\` and control characters have other spellings besides. So
// a run of the remaining characters stands in the bytes as it is, unless the record contains `\u`. The same goes for
// keys. U+FFFD belongs to no run, since invalid UTF-8 is read as it too, nor does half a surrogate pair, which has no
// UTF-8. Numbers have no end of spellings (1e3, 1000.0) and no run.

/** @typedef {import('@millrace/where/lib/parse-where').Condition} Condition */

/**
 * `escapable`: whether the record may write the bytes in escapes instead.
 * @typedef {{ bytes: Buffer, escapable: boolean }} Needle
 */

const RUN = /[^"\\/\u0000-\u001f\ufffd\p{Surrogate}]+/gu // eslint-disable-line no-control-regex
const ESCAPE = Buffer.from('\\u')
/** Of a longer text the beginning is searched for: what is behind it says no more, and would be copied. */
const SEARCHED_LENGTH_MAX = 4096

/**
 * @param {Condition[]} conditions
 * @returns {Needle[]}  all of which a matching record contains. Values first: most records of a log share their keys
 */
function makeNeedles (conditions) {
  // What must not be there has nothing that a record must contain, and may contain all of it elsewhere.
  const wanted = conditions.filter(({ exists }) => exists !== false)
  const ofValues = wanted.map(valueNeedle)
  const ofKeys = wanted.flatMap(({ path }) => path.map(textNeedle))
  return [...ofValues, ...ofKeys].filter((needle) => needle !== null)
}

/**
 * @param {string} text
 * @returns {Needle | null}
 */
function textNeedle (text) {
  const runs = text.slice(0, SEARCHED_LENGTH_MAX).match(RUN) ?? []
  if (runs[0] === text) return { bytes: Buffer.from(`"${text}"`), escapable: true }
  const longest = runs.reduce((best, run) => run.length > best.length ? run : best, '')
  return longest === '' ? null : { bytes: Buffer.from(longest), escapable: true }
}

/**
 * @param {Condition} condition
 * @returns {Needle | null}  null for a number, and for any value
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
 * @param {Condition} condition
 * @returns {Needle | null}  what says most about it: its value, or else the key
 */
function makeNeedle (condition) {
  const needles = [valueNeedle(condition), ...condition.path.slice(-1).map(textNeedle)]
  return needles.find((needle) => needle !== null) ?? null
}

exports.makeNeedle = makeNeedle
exports.makeNeedles = makeNeedles
exports.ESCAPE = ESCAPE
exports.SEARCHED_LENGTH_MAX = SEARCHED_LENGTH_MAX
exports.mayMatch = mayMatch
