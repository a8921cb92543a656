'use strict'
// A filter over raw bytes: a search for what every matching record must contain; if that is there, parse and compare.
// The search may let a record through that does not match; it must never hold back one that does.
//
// JSON writes a character as itself or as \uXXXX; `/`, `"`, `\` and control characters have other spellings besides. So
// a run of the remaining characters stands in the bytes as it is, unless the record contains `\u`. The same goes for
// keys. U+FFFD belongs to no run, since invalid UTF-8 is read as it too, nor does half a surrogate pair, which has no
// UTF-8. Numbers have no end of spellings (1e3, 1000.0) and no run: the value after each key of the name is read.

const {
  createByteSearch, createCheckedSearch, createLogCheck, createMatch, createSearches, createSelect, isFilter,
  parseWhere, planWhere
} = require('@millrace/where')
const { parseText } = require('./parse-text')
const { SEARCHED_LENGTH_MAX, createStringSearch } = require('./string-search')
const { createMemberCheck } = require('./value-check')

/** @typedef {import('@millrace/where').Condition} Condition */
/** @typedef {import('@millrace/where').Plan} Plan */
/** @typedef {import('@millrace/where').Search} Search */
/** @typedef {(buf: Buffer, start: number, end: number) => boolean} Test */

/**
 * `escapable`: whether the record may write the bytes in escapes instead. `mayBe`: whether what stands after them,
 * from `start` on, may be what is looked for.
 * @typedef {{ bytes: Buffer, escapable: boolean, mayBe?: Test }} Needle
 */

const RUN = /[^"\\/\u0000-\u001f\ufffd\p{Surrogate}]+/gu // eslint-disable-line no-control-regex
const ESCAPE = Buffer.from('\\u')
const BACKSLASH = 0x5c
/** A byte search for more bytes than that looks for the last of them. */
const SEARCHED_SIZE = 16

/**
 * @param {import('@millrace/where').Where} where
 * @returns {Test & { select?: import('@millrace/where').Select }}  whether the record in these bytes fulfils it; false
 *   for what is no JSON text. Reads nothing outside the bytes, never throws
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  const filters = parseWhere(where)
  const plan = planWhere(filters)
  const isMatch = createMatch(filters)
  /** @type {ReturnType<typeof createPrefilter> | null} */
  let mayMatch = null
  /** @type {Test} */
  const test = (buf, start, end) => {
    const record = buf.subarray(start, end)
    if (mayMatch !== null && !mayMatch(record)) return false
    if (isMatchingText(record, isMatch)) return true
    // Nearly all records that an index has found match: they need none, and to make it takes longer than to find one.
    mayMatch ??= createPrefilter(plan)
    return false
  }
  const select = createSelect(test, () => createSearches(plan, searchCondition), { alwaysSearches: true })
  return Object.assign(test, { select })
}

/** @type {(record: Buffer, isMatch: (value: unknown) => boolean) => boolean} */
function isMatchingText (record, isMatch) {
  try {
    return isMatch(parseText(record.toString()))
  } catch {
    return false // bytes that are no JSON text
  }
}

/**
 * @param {Plan} plan
 * @returns {(record: Buffer) => boolean}  false only when the record cannot match
 */
function createPrefilter ({ isAny, leaves, nodes }) {
  const parts = nodes.map(createPrefilter)
  if (isAny) {
    // What must not be there has nothing that a record must contain, and may contain all of it elsewhere.
    if (leaves.some(({ isWanted }) => !isWanted)) return () => true
    parts.push(...leaves.map(({ condition }) => containsAll([condition])))
    return (record) => parts.some((mayMatch) => mayMatch(record))
  }
  const contains = containsAll(leaves.filter(({ isWanted }) => isWanted).map(({ condition }) => condition))
  return (record) => contains(record) && parts.every((mayMatch) => mayMatch(record))
}

/**
 * @param {Condition[]} conditions
 * @returns {(record: Buffer) => boolean}  whether it may contain what all of them need
 */
function containsAll (conditions) {
  // Values first: most records of a log share their keys.
  const all = [...conditions.map(valueNeedle), ...conditions.flatMap(keyNeedles)]
  const needles = all.filter((needle) => needle !== null)
  const ofElements = conditions.map(({ includes }) => includes).filter(isFilter)
  const ofLogs = conditions.filter(({ path, time, level }) => path.length === 0 && (time ?? level) !== undefined)
  const checks = ofLogs.map(createLogCheck)
  const parts = ofElements.map((filter) => createPrefilter(planWhere([filter])))
  return (record) => checks.every((check) => check(record, 0, record.length) !== false) &&
    needles.every((needle) => contains(record, needle)) && parts.every((mayMatch) => mayMatch(record))
}

/** @type {(record: Buffer, needle: Needle) => boolean} */
function contains (record, { bytes, escapable, mayBe }) {
  for (let at = record.indexOf(bytes); at >= 0; at = record.indexOf(bytes, at + 1)) {
    if (mayBe === undefined || mayBe(record, at + bytes.length, record.length)) return true
  }
  return escapable && record.includes(ESCAPE)
}

/**
 * @param {string} text  a string of the record, or how one begins
 * @param {boolean} isWhole
 * @returns {Needle | null}
 */
function textNeedle (text, isWhole) {
  const runs = text.slice(0, SEARCHED_LENGTH_MAX).match(RUN) ?? []
  if (runs[0] === text) return { bytes: Buffer.from(isWhole ? `"${text}"` : `"${text}`), escapable: true }
  const longest = runs.reduce((best, run) => run.length > best.length ? run : best, '')
  return longest === '' ? null : { bytes: Buffer.from(longest), escapable: true }
}

/**
 * Gives null for a number, one of several values, any value.
 * @type {(condition: Condition) => Needle | null}
 */
function valueNeedle ({ equals, prefix, includes }) {
  if (prefix !== undefined) return textNeedle(prefix, false)
  const value = equals === undefined ? includes : equals
  if (typeof value === 'string') return textNeedle(value, true)
  return value === null || typeof value === 'boolean' ? { bytes: Buffer.from(String(value)), escapable: false } : null
}

/**
 * Those of the path, and with the last one what its value may be.
 * @type {(condition: Condition) => Array<Needle | null>}
 */
function keyNeedles (condition) {
  const { path } = condition
  return path.map((step, index) => {
    // An index has no key, unless it is one.
    if (typeof step === 'number') return null
    const needle = textNeedle(step, true)
    if (needle === null || index < path.length - 1 || !isWholeText(needle, step)) return needle
    return { ...needle, mayBe: createMemberCheck(condition) }
  })
}

/** @type {(needle: Needle, text: string) => boolean} */
function isWholeText ({ bytes }, text) {
  return bytes.length === Buffer.byteLength(text) + 2
}

/**
 * @param {Condition} condition
 * @returns {Iterable<Search>}  each for something that a record that fulfils it contains: first what is rare
 */
function * searchCondition (condition) {
  const { path, prefix, includes } = condition
  if (isFilter(includes)) yield * createSearches(planWhere([includes]), searchCondition)
  const long = createStringSearch(listTexts(condition), prefix === undefined)
  if (long !== null) return yield long
  const value = valueNeedle(condition)
  const ofValue = value && searchNeedle(value)
  if (ofValue) yield ofValue
  const key = path.length > 0 ? keyNeedles(condition)[path.length - 1] : null
  // Of a value that is searched for, and a key with nothing known of its value, the value says more.
  if (key === null || (ofValue && key.mayBe === undefined)) return
  const ofKey = searchNeedle(key)
  if (ofKey) yield ofKey
}

/**
 * @param {Condition} condition
 * @returns {string[]}  one of which a record must contain; none if it may contain others instead
 */
function listTexts ({ equals, in: values = [], prefix, includes }) {
  const element = isFilter(includes) ? undefined : includes
  const all = [equals, prefix, element, ...values].filter((value) => value !== undefined)
  const texts = all.filter((value) => typeof value === 'string')
  return texts.length === all.length ? texts : []
}

/** @type {(needle: Needle) => Search | null} */
function searchNeedle ({ bytes, escapable, mayBe }) {
  const search = createByteSearch(escapable ? [bytes, ESCAPE] : [bytes])
  if (search === null || mayBe === undefined) return search
  const size = Math.min(bytes.length, SEARCHED_SIZE)
  // In an escape there may be anything.
  return createCheckedSearch(search, (buf, place, to) => buf[place] === BACKSLASH || mayBe(buf, place + size, to))
}

exports.compile = compile
exports.createPrefilter = createPrefilter
