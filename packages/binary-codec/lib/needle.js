'use strict'
// Whether a field may be in a record, without walking through it. A key, the value's tag and the value adjoin, and have
// few encodings, mostly one: so they are searched for as one.

const { OFFSET_MAX, WORD_SIZE, WordMarks, createByteSearch, createTextSearch } = require('@millrace/where')
const { writeTag } = require('./varint')
const { BOOLNULL, DOUBLE, INT, STRING, TYPE_BITS, TAG_SIZE_MAX } = require('./types')

/** From this on most bytes need not be looked at. */
const LONG_SIZE_MIN = 24
/** Of longer ones so much is searched for. */
const LONG_SIZE_MAX = OFFSET_MAX

/** @typedef {import('@millrace/where').Search} Search */
/** @typedef {import('@millrace/where').Condition} Condition */

/**
 * @param {Condition[]} conditions
 * @returns {Search[]}  each for what a record that fulfils them all contains
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
    isAround: (buf, start, end, first, offset, literal) => isAt(buf, start, end, first, literal),
    mayBeSpelled: () => false
  })
}

/**
 * @param {Condition} condition
 * @returns {Buffer[]}  one of which a record that fulfils it contains; none when there is nothing that it must contain
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
  if (typeof value === 'number') return encodeNumber(value)
  return [withTag(BOOLNULL, value === null ? Buffer.alloc(0) : Buffer.from([value ? 1 : 0]))]
}

/**
 * @param {string} text
 * @returns {Buffer}  of a long one the beginning, which is all that is searched for
 */
function encodeText (text) {
  if (text.length <= LONG_SIZE_MAX) return withTag(STRING, Buffer.from(text))
  // The last unit may be half a pair, whose bytes are others.
  const beginning = Buffer.from(text.slice(0, LONG_SIZE_MAX + 1)).subarray(0, LONG_SIZE_MAX)
  return withTag(STRING, beginning, Buffer.byteLength(text))
}

/**
 * @param {number} value
 * @returns {Buffer[]}
 */
function encodeNumber (value) {
  // There are two doubles of it, besides the int.
  if (value === 0) return [Buffer.alloc(0)]
  const [int, double] = [Buffer.alloc(4), Buffer.alloc(8)]
  double.writeDoubleLE(value)
  if ((value | 0) !== value) return [withTag(DOUBLE, double)]
  int.writeInt32LE(value)
  return [withTag(INT, int), withTag(DOUBLE, double)]
}

/**
 * @param {number} type
 * @param {Buffer} payload
 * @param {number} [size]  of the payload, if it goes on
 */
function withTag (type, payload, size = payload.length) {
  const tag = Buffer.alloc(TAG_SIZE_MAX)
  return Buffer.concat([tag.subarray(0, writeTag(tag, 0, size << TYPE_BITS | type)), payload])
}

/**
 * @param {Buffer} needle
 * @param {number} from
 * @param {number} to
 */
function cutNeedle (needle, from, to) {
  const literal = needle.subarray(from, to)
  const words = new WordMarks()
  for (let offset = 0; offset <= literal.length - WORD_SIZE; offset++) words.add(literal.readInt32LE(offset), offset)
  return { from, literal, words }
}

/**
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} end
 * @param {number} first
 * @param {Buffer} needle
 * @returns {boolean}  whether the needle is there, inside of the record
 */
function isAt (buf, start, end, first, needle) {
  if (first < start || first + needle.length > end) return false
  for (let i = 0; i < needle.length; i++) if (buf[first + i] !== needle[i]) return false
  return true
}

exports.createSearches = createSearches
