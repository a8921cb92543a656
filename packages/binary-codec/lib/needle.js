'use strict'
// Whether a field with a long text may be in a record, without walking through it. A key, the value's tag and the value
// adjoin, and have one encoding each, so they are searched for as one.

const { OFFSET_MAX, WORD_SIZE, WordMarks, createTextSearch } = require('@millrace/where')
const { writeTag } = require('./varint')
const { STRING, TYPE_BITS, TAG_SIZE_MAX } = require('./types')

/** Below this so many words have to be looked up that walking through the record is as fast. */
const SIZE_MIN = 24
/** Of longer ones so much is searched for. */
const SIZE_MAX = OFFSET_MAX

/** @typedef {import('@millrace/where').Search} Search */
/** @typedef {import('@millrace/where/lib/parse-where').Condition} Condition */

/**
 * @param {Condition[]} conditions
 * @returns {Search | null}  for what every record that fulfils them all contains; null when none is long enough
 */
function createNeedleSearch (conditions) {
  const needles = conditions.map(encodeNeedle)
  const longest = needles.reduce((best, needle) => needle.length > best.length ? needle : best, Buffer.alloc(0))
  if (longest.length < SIZE_MIN) return null
  const needle = longest.subarray(0, SIZE_MAX)
  return createTextSearch({
    size: needle.length,
    part: (from, to) => cutNeedle(needle, from, to),
    isAround: (buf, start, end, first, offset, literal) => isAt(buf, start, end, first, literal),
    mayBeSpelled: () => false
  })
}

/**
 * @param {Condition} condition
 * @returns {Buffer}  what a record that fulfils it contains; empty when that is no text
 */
function encodeNeedle ({ path, equals }) {
  if (typeof equals !== 'string') return Buffer.alloc(0)
  return Buffer.concat([...path.slice(-1), equals].map(encodeText))
}

/** @param {string} text */
function encodeText (text) {
  const bytes = Buffer.from(text)
  const tag = Buffer.alloc(TAG_SIZE_MAX)
  return Buffer.concat([tag.subarray(0, writeTag(tag, 0, bytes.length << TYPE_BITS | STRING)), bytes])
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

exports.createNeedleSearch = createNeedleSearch
