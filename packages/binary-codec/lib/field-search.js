'use strict'
// Whether a field may be in a record, without walking through it. A key, the value's tag and the value adjoin, and have
// few encodings, mostly one: so they are searched for as one. Of a value with many encodings the key is searched for,
// and the value after it is tested.

const {
  OFFSET_MAX, WORD_SIZE, createByteSearch, createCheckedSearch, createSearches, createTextSearch, isFilter, planWhere
} = require('@millrace/where')
const { DOUBLE_TAG, INT_TAG, createFieldTest, encodeText, encodeValues } = require('./field-test')
const { equalBytes, fits } = require('./seek')

/** @typedef {import('@millrace/where').Condition} Condition */
/** @typedef {import('@millrace/where').Search} Search */

/** From this on most bytes need not be looked at. */
const LONG_SIZE_MIN = 24
/** Of longer ones so much is searched for. */
const LONG_SIZE_MAX = OFFSET_MAX
/** The words of more are so many that one of them is found everywhere. */
const LONG_COUNT_MAX = 32
/** A byte search for more bytes than that looks for the last of them. */
const SEARCHED_SIZE = 16
const NO_BYTES = Buffer.alloc(0)

/**
 * @param {Condition} condition
 * @returns {Iterable<Search>}  each for something that a record that fulfils it contains: first what is rare
 */
function * searchCondition (condition) {
  const { path, equals, in: values, prefix, includes } = condition
  if (isFilter(includes)) return yield * createSearches(planWhere([includes]), searchCondition)
  const last = path.length > 0 ? path[path.length - 1] : 0
  const key = typeof last === 'string' ? encodeText(last) : NO_BYTES
  if (includes !== undefined) return yield * searchNeedles(encodeValues(includes))
  if (prefix !== undefined && (yield * searchNeedles([Buffer.from(prefix)])) && prefix.length >= LONG_SIZE_MIN) return
  const asked = equals === undefined ? values : [equals]
  if (asked !== undefined) {
    const encodings = asked.length <= LONG_COUNT_MAX ? asked.flatMap(encodeValues) : []
    const isFound = yield * searchNeedles(encodings.map((value) => joinKey(key, value)))
    if (isFound) return
  }
  if (key.length > 0) yield * searchKey(key, condition)
}

/** @type {(key: Buffer, value: Buffer) => Buffer} */
function joinKey (key, value) {
  // What follows the beginning of a long key is the rest of it.
  return key.length >= LONG_SIZE_MAX ? key : Buffer.concat([key, value])
}

/**
 * @param {Buffer[]} needles  one of which a record must contain
 * @returns {Generator<Search, boolean>}  whether there was a search for them
 */
function * searchNeedles (needles) {
  if (needles.length === 0 || needles.some(({ length }) => length === 0)) return false
  const areLong = needles.length <= LONG_COUNT_MAX && needles.every(({ length }) => length >= LONG_SIZE_MIN)
  // Two needles are as many as a byte search takes at once.
  const search = areLong && needles.length !== 2 ? searchLong(needles) : createByteSearch(needles)
  if (search !== null) yield search
  return search !== null
}

/** @param {Buffer[]} all */
function searchLong (all) {
  return createTextSearch(all.map((long) => {
    const needle = long.subarray(0, LONG_SIZE_MAX)
    return {
      size: needle.length,
      part: (from, to) => cutNeedle(needle, from, to),
      isAround: (buf, start, end, first, offset, literal) => {
        return first >= start && first + literal.length <= end && equalBytes(buf, first, literal)
      },
      mayBeSpelled: () => false
    }
  }))
}

/**
 * @param {Buffer} needle
 * @param {number} from
 * @param {number} to
 * @returns {import('@millrace/where').Part}
 */
function cutNeedle (needle, from, to) {
  const literal = needle.subarray(from, to)
  return {
    from,
    literal,
    eachWord (onWord) {
      for (let offset = 0; offset <= literal.length - WORD_SIZE; offset++) onWord(literal.readInt32LE(offset), offset)
    }
  }
}

/**
 * @param {Buffer} key  encoded
 * @param {Condition} condition
 * @returns {Iterable<Search>}
 */
function * searchKey (key, condition) {
  if (condition.exists !== undefined) return yield * searchNeedles([key])
  const { gt, gte, lt, lte } = condition
  const isNumeric = [gt, gte, lt, lte].some((bound) => typeof bound === 'number')
  const needles = isNumeric ? [INT_TAG, DOUBLE_TAG].map((tag) => Buffer.concat([key, Buffer.from([tag])])) : [key]
  const search = createByteSearch(needles)
  if (search === null) return
  const size = Math.min(needles[0].length, SEARCHED_SIZE) - Number(isNumeric)
  const isWanted = createFieldTest(condition, () => () => true)
  yield createCheckedSearch(search, (buf, place, to) => fits(buf, place + size, to) && isWanted(buf, place + size, to))
}

exports.searchCondition = searchCondition
