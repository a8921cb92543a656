'use strict'
// A filter over raw bytes: search many records for what one must have; then seek to the paths and compare in place. The
// answer is that of decoding and comparing.

const {
  OFFSET_MAX, WORD_SIZE, WordMarks, createByteSearch, createSelect, createTextSearch, matches, parseWhere
} = require('@millrace/where')
const { decodeWhole } = require('./decode')
const { readInt32, readFloat64 } = require('./scalars')
const { equalBytes, fits, followProbes, isWhole, toProbe, toSteps } = require('./seek')
const { isWellFormed } = require('./text')
const { STRING, INT, DOUBLE, BOOLNULL, TYPE_BITS, TAG_SIZE_MAX, readTag, writeTag } = require('./wire-format')

/**
 * @typedef {import('@millrace/where').Condition} Condition
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

/** @type {(conditions: Condition[]) => Test} */
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
    return { known, probes: toSteps(path).map(toProbe), equalsAt: compileEquals(equals), mustExist: exists !== false }
  })
  // Where the path of the condition before was found, as far as it was: the next one begins where the two part.
  const found = new Array(1 + Math.max(0, ...walks.map(({ probes }) => probes.length))).fill(0)
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
      const { known, probes, equalsAt, mustExist } = walks[index]
      if (probes.length === 0 && !fits(buf, start, end)) return false
      reached = followProbes(buf, words, end, probes, found, Math.min(known, reached))
      const isThere = reached === probes.length
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
  if (typeof equals === 'number') return (buf, pos, end) => numberAt(buf, pos, end) === equals
  const [encoded] = encodeValues(equals)
  return (buf, pos) => equalBytes(buf, pos, encoded)
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

// Whether a field may be in a record, without walking through it. A key, the value's tag and the value adjoin, and have
// few encodings, mostly one: so they are searched for as one.

/** From this on most bytes need not be looked at. */
const LONG_SIZE_MIN = 24
/** Of longer ones so much is searched for. */
const LONG_SIZE_MAX = OFFSET_MAX

/**
 * @param {Condition[]} conditions
 * @returns {import('@millrace/where').Search[]}  each for what a record that fulfils them all contains
 */
function createSearches (conditions) {
  const searches = conditions.map((condition) => {
    const needles = encodeNeedles(condition)
    const isLong = needles.length === 1 && needles[0].length >= LONG_SIZE_MIN
    return isLong ? searchLong(needles[0]) : createByteSearch(needles)
  })
  return searches.filter((search) => search !== null)
}

/** @param {Buffer} long */
function searchLong (long) {
  const needle = long.subarray(0, LONG_SIZE_MAX)
  return createTextSearch({
    size: needle.length,
    part: (from, to) => cutNeedle(needle, from, to),
    isAround: (buf, start, end, first, offset, literal) => {
      return first >= start && first + literal.length <= end && equalBytes(buf, first, literal)
    },
    mayBeSpelled: () => false
  })
}

/**
 * @param {Condition} condition
 * @returns {Buffer[]}  a record that fulfils it contains one of these; none if there is nothing that it must contain
 */
function encodeNeedles ({ path, equals, exists }) {
  if (exists === false) return []
  const [last] = path.slice(-1)
  const key = last === undefined ? Buffer.alloc(0) : encodeText(last)
  // What follows the beginning of a long key is the rest of it.
  if (key.length >= LONG_SIZE_MAX) return [key]
  const values = equals === undefined ? [Buffer.alloc(0)] : encodeValues(equals)
  return values.map((value) => Buffer.concat([key, value])).filter(({ length }) => length > 0)
}

/**
 * @param {string | number | boolean | null} value
 * @returns {Buffer[]}  its encodings; an empty one if they are too many
 */
function encodeValues (value) {
  if (typeof value === 'string') return [encodeText(value)]
  if (value === null) return [Buffer.from([NULL_TAG])]
  if (typeof value === 'boolean') return [Buffer.from([BOOLEAN_TAG, Number(value)])]
  // There are two doubles of it, besides the int.
  if (value === 0) return [Buffer.alloc(0)]
  const [int, double] = [Buffer.alloc(5, INT_TAG), Buffer.alloc(9, DOUBLE_TAG)]
  double.writeDoubleLE(value, 1)
  if ((value | 0) !== value) return [double]
  int.writeInt32LE(value, 1)
  return [int, double]
}

/** @param {string} text */
function encodeText (text) {
  const bytes = Buffer.from(text)
  const tag = Buffer.alloc(TAG_SIZE_MAX)
  return Buffer.concat([tag.subarray(0, writeTag(tag, 0, bytes.length << TYPE_BITS | STRING)), bytes])
}

/** @param {Buffer} needle @param {number} from @param {number} to */
function cutNeedle (needle, from, to) {
  const literal = needle.subarray(from, to)
  const words = new WordMarks()
  for (let offset = 0; offset <= literal.length - WORD_SIZE; offset++) words.add(literal.readInt32LE(offset), offset)
  return { from, literal, words }
}

exports.compile = compile
exports.createSearches = createSearches
