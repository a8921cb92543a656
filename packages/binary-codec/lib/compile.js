'use strict'
// A filter over raw bytes: search many records for what one must have; then seek to the paths and compare in place. The
// answer is that of decoding and comparing.

const { createSelect, parseWhere, matches } = require('@millrace/where')
const { isWellFormed } = require('./code-points')
const { decodeWhole } = require('./decode')
const { createSearches } = require('./needle')
const { readInt32, readFloat64 } = require('./scalars')
const { toSteps, fits, isWhole, equalBytes } = require('./seek')
const { readTag, tagSize } = require('./varint')
const { STRING, INT, DOUBLE, BOOLNULL, TYPE_BITS } = require('./types')
const { followTurns, makeTurn } = require('./walk')

/**
 * @typedef {import('@millrace/where/lib/parse-where').Condition} Condition
 * @typedef {(buf: Buffer, start: number, end: number) => boolean} Test
 */

const INT_TAG = 4 << TYPE_BITS | INT
const DOUBLE_TAG = 8 << TYPE_BITS | DOUBLE
const BOOLEAN_TAG = 1 << TYPE_BITS | BOOLNULL
const NULL_TAG = BOOLNULL
const NO_BYTES = Buffer.alloc(0)
const NO_WORDS = new DataView(new ArrayBuffer(0))

/**
 * @param {import('@millrace/where').Where} where
 * @returns {Test & { select?: import('@millrace/where').Select }}  whether the record in these bytes fulfils it. Reads
 *   nothing outside them, never throws; for bytes that decode refuses the answer depends on nothing but them
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  // Bytes never decode to half a surrogate pair: there is nothing at a path that has one.
  const conditions = parseWhere(where).filter((condition) => condition.exists !== false || !hasHalfPair(condition))
  if (conditions.some(needsText)) return compileDecoding(conditions)
  if (conditions.some(hasHalfPair)) return () => false
  const { test, forget } = compileWalk(conditions)
  const select = createSelect(test, createSearches(conditions))
  if (select === undefined) return test
  return Object.assign(test, {
    /** @type {import('@millrace/where').Select} */
    select (records, picked) {
      const count = select(records, picked)
      forget()
      return count
    }
  })
}

/**
 * Invalid UTF-8 decodes to U+FFFD, so a string with that character has more spellings than one.
 * @param {Condition} condition
 * @returns {boolean}
 */
function needsText ({ path, equals }) {
  return [...path, equals].some((text) => typeof text === 'string' && text.includes('\ufffd'))
}

/**
 * @param {Condition[]} conditions
 * @returns {Test}
 */
function compileDecoding (conditions) {
  return (buf, start, end) => {
    try {
      return matches(conditions, decodeWhole(buf.subarray(start, end), false))
    } catch {
      return false
    }
  }
}

/**
 * @param {Condition} condition
 * @returns {boolean}
 */
function hasHalfPair ({ path, equals }) {
  return [...path, equals].some((text) => typeof text === 'string' && !isWellFormed(text))
}

/**
 * @param {Condition[]} conditions
 * @returns {{ test: Test, forget: () => void }}  the bytes that were tested last are kept until they are forgotten, or
 *   others come
 */
function compileWalk (conditions) {
  const walks = conditions.map(({ path, equals, exists }, index) => {
    const known = countShared(path, conditions[index - 1]?.path)
    return { known, turns: toSteps(path).map(makeTurn), equalsAt: compileEquals(equals), mustExist: exists !== false }
  })
  // Where the path of the condition before was found, as far as it was: the next one begins where the two part.
  const found = new Array(1 + Math.max(0, ...walks.map(({ turns }) => turns.length))).fill(0)
  /** @type {Buffer} */
  let last = NO_BYTES
  /** @type {DataView} */
  let words = NO_WORDS
  /** @type {Test} */
  const test = (buf, start, end) => {
    if (buf !== last) {
      last = buf
      words = new DataView(buf.buffer, buf.byteOffset, buf.length)
    }
    found[0] = start
    let reached = 0
    for (let index = 0; index < walks.length; index++) {
      const { known, turns, equalsAt, mustExist } = walks[index]
      if (turns.length === 0 && !fits(buf, start, end)) return false
      reached = followTurns(buf, words, end, turns, found, Math.min(known, reached))
      const isThere = reached === turns.length
      if (isThere !== mustExist) return false
      if (isThere ? !equalsAt(buf, found[reached], end) : !isWhole(buf, found[reached], end)) return false
    }
    return true
  }
  const forget = () => {
    last = NO_BYTES
    words = NO_WORDS
  }
  return { test, forget }
}

/**
 * @param {string[]} path
 * @param {string[]} [before]
 * @returns {number}  how many keys the two begin with together
 */
function countShared (path, before = []) {
  let count = 0
  while (count < path.length && count < before.length && path[count] === before[count]) count++
  return count
}

/**
 * @param {string | number | boolean | null | undefined} equals  undefined for any value
 * @returns {Test}  gets the position of a value that lies inside the record
 */
function compileEquals (equals) {
  if (equals === undefined) return () => true
  if (typeof equals === 'string') return compileStringEquals(Buffer.from(equals))
  if (typeof equals === 'number') return (buf, pos, end) => numberAt(buf, pos, end) === equals
  if (equals === null) return (buf, pos, end) => readTag(buf, pos, end) === NULL_TAG
  const byte = equals ? 1 : 0
  return (buf, pos, end) => readTag(buf, pos, end) === BOOLEAN_TAG && buf[pos + 1] === byte
}

/**
 * @param {Buffer} bytes
 * @returns {Test}
 */
function compileStringEquals (bytes) {
  const tag = bytes.length << TYPE_BITS | STRING
  const size = tagSize(tag)
  return (buf, pos, end) => readTag(buf, pos, end) === tag && equalBytes(buf, pos + size, bytes)
}

/**
 * @param {Buffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}  NaN, which equals nothing, when there is no number
 */
function numberAt (buf, pos, end) {
  const tag = readTag(buf, pos, end)
  if (tag === INT_TAG) return readInt32(buf, pos + 1)
  return tag === DOUBLE_TAG ? readFloat64(buf, pos + 1) : NaN
}

exports.compile = compile
