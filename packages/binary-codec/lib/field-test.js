'use strict'
// Whether a value fulfils a condition, by its bytes in place. Each test gets the position of a value that is whole, as
// far as its tag tells.

const { compareTexts, createValueMatch, isFilter } = require('@millrace/where')
const { readInt32, readFloat64 } = require('./scalars')
const { equalBytes, skip } = require('./seek')
const { isWellFormed } = require('./text')
const {
  STRING, INT, DOUBLE, ARRAY, BOOLNULL, TYPE_BITS, TYPE_MASK, TAG_SIZE_MAX, readTag, tagSize, writeTag
} = require('./wire-format')

/**
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('@millrace/where').Primitive} Primitive
 * @typedef {(buf: Buffer, pos: number, end: number) => boolean} Test
 */

const INT_TAG = 4 << TYPE_BITS | INT
const DOUBLE_TAG = 8 << TYPE_BITS | DOUBLE
const BOOLEAN_TAG = 1 << TYPE_BITS | BOOLNULL
const NULL_TAG = BOOLNULL
const FIRST_NON_ASCII = 0x80

/**
 * @param {Condition} condition
 * @param {(filter: Filter) => Test} createElementTest
 * @returns {Test}
 */
function createFieldTest (condition, createElementTest) {
  const { exists, equals, in: values, prefix, includes } = condition
  if (exists !== undefined) return () => true
  if (equals !== undefined) return createEqualityTest(equals)
  if (values !== undefined) return createChoiceTest(values)
  if (prefix !== undefined) return createPrefixTest(prefix)
  if (includes === undefined) return createRangeTest(condition)
  return createMemberTest(isFilter(includes) ? createElementTest(includes) : createEqualityTest(includes))
}

/** @type {(equals: Primitive) => Test} */
function createEqualityTest (equals) {
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

/** @type {(values: readonly Primitive[]) => Test} */
function createChoiceTest (values) {
  /** @type {Set<unknown>} 0 is found as -0, and NaN is not in it */
  const numbers = new Set(values.filter((value) => typeof value === 'number'))
  // Their bytes as characters: a table of our own would have to withstand values that were chosen to be slow.
  const texts = new Set(values.filter(isText).map((text) => Buffer.from(text).toString('latin1')))
  const sizes = new Set(Array.from(texts, ({ length }) => length))
  const [hasNull, hasTrue, hasFalse] = [null, true, false].map((value) => values.includes(value))
  return (buf, pos, end) => {
    const tag = readTag(buf, pos, end)
    if ((tag & TYPE_MASK) === STRING) {
      const size = tag >> TYPE_BITS
      const start = pos + tagSize(tag)
      return sizes.has(size) && texts.has(buf.toString('latin1', start, start + size))
    }
    if (tag === NULL_TAG) return hasNull
    if (tag === BOOLEAN_TAG) return (hasFalse && buf[pos + 1] === 0) || (hasTrue && buf[pos + 1] === 1)
    return numbers.has(numberAt(buf, pos, end))
  }
}

/** Bytes never decode to half a surrogate pair. @param {Primitive} value @returns {value is string} */
function isText (value) {
  return typeof value === 'string' && isWellFormed(value)
}

/** @type {(prefix: string) => Test} */
function createPrefixTest (prefix) {
  const bytes = Buffer.from(prefix)
  return (buf, pos, end) => {
    const tag = readTag(buf, pos, end)
    const isLongEnough = (tag & TYPE_MASK) === STRING && tag >> TYPE_BITS >= bytes.length
    return isLongEnough && equalBytes(buf, pos + tagSize(tag), bytes)
  }
}

/** @type {(condition: Condition) => Test} */
function createRangeTest (condition) {
  const { gt, gte, lt, lte } = condition
  const [low, high] = [gt ?? gte, lt ?? lte]
  if (typeof (low ?? high) === 'string') return createTextRangeTest(low, high, gt !== undefined, lt !== undefined)
  const isInRange = createValueMatch(condition)
  return (buf, pos, end) => isInRange(numberAt(buf, pos, end))
}

/**
 * @typedef {string | number | undefined} Bound
 * @type {(low: Bound, high: Bound, isAbove: boolean, isBelow: boolean) => Test}
 */
function createTextRangeTest (low, high, isAbove, isBelow) {
  const compareLow = low === undefined ? () => 1 : createTextOrder(String(low))
  const compareHigh = high === undefined ? () => -1 : createTextOrder(String(high))
  return (buf, pos, end) => {
    const tag = readTag(buf, pos, end)
    if ((tag & TYPE_MASK) !== STRING) return false
    const start = pos + tagSize(tag)
    const stop = start + (tag >> TYPE_BITS)
    const above = compareLow(buf, start, stop)
    if (above < 0 || (above === 0 && isAbove)) return false
    const below = compareHigh(buf, start, stop)
    return below < 0 || (below === 0 && !isBelow)
  }
}

/**
 * @param {string} text  well-formed
 * @returns {(buf: Buffer, start: number, stop: number) => number}  how a string in the bytes compares to it
 */
function createTextOrder (text) {
  const bytes = Buffer.from(text)
  // By the bytes, where one side has whole characters before the difference and an ASCII one or nothing after it.
  // Elsewhere there may be invalid UTF-8, which is read as U+FFFD.
  const isInCharacter = (/** @type {number} */ index) => (bytes[index] & 0xc0) === 0x80
  return (buf, start, stop) => {
    const size = Math.min(stop - start, bytes.length)
    let at = 0
    while (at < size && buf[start + at] === bytes[at]) at++
    if (at === bytes.length) return start + at === stop ? 0 : 1
    const isPlain = !isInCharacter(at) && (start + at === stop || buf[start + at] < FIRST_NON_ASCII)
    if (!isPlain) return compareTexts(buf.toString('utf8', start, stop), text)
    return start + at === stop ? -1 : buf[start + at] - bytes[at]
  }
}

/** @type {(isWanted: Test) => Test} */
function createMemberTest (isWanted) {
  return (buf, pos, end) => {
    const tag = readTag(buf, pos, end)
    if ((tag & TYPE_MASK) !== ARRAY) return false
    let at = pos + tagSize(tag)
    const stop = at + (tag >> TYPE_BITS)
    while (at < stop) {
      const next = skip(buf, at, stop)
      if (next < 0) return false
      if (isWanted(buf, at, next)) return true
      at = next
    }
    return false
  }
}

/**
 * @param {Primitive} value
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
  const size = Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(TAG_SIZE_MAX + size)
  const start = writeTag(bytes, 0, size << TYPE_BITS | STRING)
  bytes.write(text, start)
  return bytes.subarray(0, start + size)
}

exports.createFieldTest = createFieldTest
exports.encodeValues = encodeValues
exports.encodeText = encodeText
exports.INT_TAG = INT_TAG
exports.DOUBLE_TAG = DOUBLE_TAG
