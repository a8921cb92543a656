'use strict'
// Asks everything that the codec can be asked of a record. What comes back depends on the record's bytes alone.

const { Failure, attempt } = require('../answers')
const { KEYS } = require('./make-tree')
const { compileAll, filterAt, suggestWhere } = require('./filters')

const FILTERS_PER_CASE = 3
const CHILDREN_MAX = 50

/** Sound values to compare with, one of each kind. */
const OTHERS = ['00', '06', '0e00', '0e01', '0e02', '0861', '0961', '2201000000', '43000000000000f03f', '04', '05',
  '4f010000000000000000', '170200', '1f020101'].map((hex) => Buffer.from(hex, 'hex'))

/**
 * @typedef {object} Plan
 * @property {number} shift  where the record is placed
 * @property {number} pick  what it is asked for
 */

/**
 * @param {any} codec  what the package exports
 * @param {import('../surroundings').Placed} placed
 * @param {Plan} plan
 * @param {boolean} isWide  whether to show what is after the record, where that must not matter
 * @returns {Record<string, any>}  answers by name; offsets count from the record's start
 */
function questionRecord (codec, { memory, start, end }, { pick }, isWide) {
  const { binaryCodec, rawCodec } = codec
  const record = memory.subarray(start, end)
  const toEnd = memory.subarray(0, end)
  /** @type {Record<string, any>} */
  const answers = {
    end: attempt(() => codec.validate(memory, start, end) - start, start),
    whole: attempt(() => binaryCodec.decode(record)),
    raw: rawCodec.decodeRange(memory, start, end),
    filters: askFilters(codec, memory, start, end, pick),
    size: attempt(() => codec.getEncodedLength(toEnd, start), start)
  }
  // An exception takes longer than all the rest: what refuses the record anyway is asked in turns.
  const isSound = !(answers.whole instanceof Failure)
  if (isSound || pick % 2 === 0) answers.range = attempt(() => binaryCodec.decodeRange(memory, start, end))
  // What takes a start only may look as far as the buffer goes: that must be the record's end, or the end of its value.
  const isRooted = !(answers.size instanceof Failure)
  const buf = isWide && isRooted ? memory : toEnd
  if (isSound || pick % 2 === 1) answers.decoded = attempt(() => codec.decode(buf, start), start)
  Object.assign(answers, askSeeks(codec, buf, start, pick))
  if (isRooted || pick % 4 === 0) Object.assign(answers, askAt(codec, buf, start, pick))
  if (isSound || pick % 8 === 1) Object.assign(answers, askAsEncoded(codec, record, pick))
  return isSound ? Object.assign(answers, askOfValue(codec, answers, memory, start, end, pick)) : answers
}

/**
 * @param {any} codec
 * @param {Buffer} memory
 * @param {number} start
 * @param {number} end
 * @param {number} pick
 */
function askFilters (codec, memory, start, end, pick) {
  const { wheres } = compileAll(codec)
  const results = []
  for (let index = 0; index < FILTERS_PER_CASE; index++) {
    const at = (pick + index * 11) % wheres.length
    results.push(attempt(() => filterAt(codec, at)(memory, start, end)))
  }
  return results
}

/**
 * @param {any} codec
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} pick
 */
function askSeeks (codec, buf, start, pick) {
  const { paths, seeks } = compileAll(codec)
  const key = KEYS[pick % KEYS.length]
  const at = pick % seeks.length
  const relative = (/** @type {number} */ position) => position < 0 ? position : position - start
  return {
    key: attempt(() => relative(codec.seekKey(buf, start, key)), start),
    keyBytes: attempt(() => relative(codec.seekKey(buf, start, Buffer.from(key))), start),
    seek: attempt(() => relative(seeks[at](buf, start)), start),
    path: attempt(() => relative(codec.seekPath(buf, start, paths[at])), start)
  }
}

/**
 * @param {any} codec
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} pick
 */
function askAt (codec, buf, start, pick) {
  const other = OTHERS[pick % OTHERS.length]
  return {
    asPath: pick % 3 === 0 ? attempt(() => codec.seekPath(other, 0, buf, start), start) : -1,
    children: askChildren(codec, buf, start),
    type: attempt(() => codec.getEncodedType(buf, start), start),
    slice: attempt(() => codec.slice(buf, start), start),
    pluck: attempt(() => codec.pluck(buf, start), start),
    order: attempt(() => codec.compare(buf, start, other, 0), start),
    reverseOrder: attempt(() => codec.compare(other, 0, buf, start), start),
    ownOrder: attempt(() => codec.compare(buf, start, buf, start), start),
    text: attempt(() => codec.compareString(buf, start, KEYS[pick % KEYS.length]), start)
  }
}

/**
 * @param {any} codec
 * @param {Buffer} buf
 * @param {number} start
 */
function askChildren (codec, buf, start) {
  /** @type {number[]} */
  const found = []
  const isObject = attempt(() => codec.getEncodedType(buf, start)) === codec.types.object
  const result = attempt(() => codec.iterate(buf, start, (/** @type {any[]} */ ...[, valueStart, key]) => {
    found.push(valueStart - start, isObject ? key - start : key)
    return found.length >= 2 * CHILDREN_MAX
  }) === -1, start)
  const first = found.length > 0 ? start + found[0] : -1
  const order = attempt(() => codec.compare(buf, start, buf, first), start)
  return { isNone: result, found, order }
}

/**
 * @param {any} codec
 * @param {Buffer} record
 * @param {number} pick
 */
function askAsEncoded (codec, record, pick) {
  const marked = codec.markIdempotent(Buffer.from(record))
  return {
    spliced: attempt(() => codec.encode([marked])),
    markedType: codec.getValueType(marked),
    orderAt: attempt(() => compileAll(codec).compareAt(record, OTHERS[pick % OTHERS.length]))
  }
}

/**
 * What can be asked once there is a value.
 * @param {any} codec
 * @param {Record<string, any>} answers
 * @param {Buffer} memory
 * @param {number} start
 * @param {number} end
 * @param {number} pick
 */
function askOfValue (codec, { whole }, memory, start, end, pick) {
  const where = pick % 4 === 0 ? suggestWhere(whole, pick) : null
  return {
    encoded: attempt(() => codec.encode(whole)),
    encodedSize: pick % 16 === 0 ? attempt(() => codec.encodingLength(whole)) : 0,
    where,
    suggested: where && attempt(() => codec.binaryCodec.compile(where)(memory, start, end))
  }
}

exports.questionRecord = questionRecord
