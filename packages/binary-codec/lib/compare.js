'use strict'
// One total order over encoded values, without decoding them: absent, null, strings, buffers, numbers, arrays, objects,
// booleans, extensions, undefined. Strings, buffers, arrays and objects by their bytes; ints and doubles as numbers.

const { isUint8Array } = require('node:util').types
const { misuse } = require('@millrace/errors')
const { readInt, readDouble, readBoolnull, inspectExtension } = require('./scalars')
const { createSeekPath } = require('./seek')
const { STRING, INT, DOUBLE, BOOLNULL, EXTENSION, TYPE_BITS, TYPE_MASK, requireTagAt, tagSize } = require('./wire-format')

/**
 * Compares two payloads.
 * @typedef {(buf1: Buffer, pos1: number, end1: number, buf2: Buffer, pos2: number, end2: number) => number} Compare
 */

const NULL_RANK = -1
const UNDEFINED_RANK = 8

/**
 * Compares two encoded values. The order is: not found, null, strings, buffers, numbers, arrays, objects, false, true,
 * Dates, BigInts, typed arrays and the like by subtype, undefined. Numbers, Dates and BigInts compare by value,
 * everything else by its bytes.
 * @param {Buffer} buf1
 * @param {number} start1  -1 for a value not found, as the seek functions give it
 * @param {Buffer} buf2
 * @param {number} start2
 * @returns {number}  below, equal to or above 0. NaN stands above Infinity and equals itself; 0 equals -0
 * @throws {LogError} ERR_CODEC_DECODE
 */
function compare (buf1, start1, buf2, start2) {
  if (start1 === -1 || start2 === -1) return Math.sign(start1 - start2)
  const tag1 = requireTagAt(buf1, start1)
  const tag2 = requireTagAt(buf2, start2)
  const pos1 = start1 + tagSize(tag1)
  const pos2 = start2 + tagSize(tag2)
  const rank1 = rank(buf1, tag1, pos1)
  const rank2 = rank(buf2, tag2, pos2)
  if (rank1 !== rank2) return rank1 < rank2 ? -1 : 1
  const end1 = pos1 + (tag1 >> TYPE_BITS)
  const end2 = pos2 + (tag2 >> TYPE_BITS)
  if (rank1 === DOUBLE) return order(readNumber(buf1, tag1, pos1, end1), readNumber(buf2, tag2, pos2, end2))
  if (rank1 === EXTENSION) return compareExtensions(buf1, pos1, end1, buf2, pos2, end2)
  return compareBytes(buf1, pos1, end1, buf2, pos2, end2)
}

/**
 * @param {Buffer} buf
 * @param {number} tag
 * @param {number} pos  of the payload
 * @returns {number}  values of different rank compare by it: the type, but one for both numbers
 */
function rank (buf, tag, pos) {
  const type = tag & TYPE_MASK
  if (type === INT) return DOUBLE
  if (type !== BOOLNULL) return type
  const value = readBoolnull(buf, pos, pos + (tag >> TYPE_BITS))
  if (value === null) return NULL_RANK
  return value === undefined ? UNDEFINED_RANK : BOOLNULL
}

/** @type {(buf: Buffer, tag: number, pos: number, end: number) => number} */
function readNumber (buf, tag, pos, end) {
  return (tag & TYPE_MASK) === INT ? readInt(buf, pos, end) : readDouble(buf, pos, end)
}

/**
 * By subtype: Dates before BigInts, each by value, an invalid Date after the valid ones; then typed arrays and the
 * like, each by its bytes.
 * @type {Compare}
 */
function compareExtensions (buf1, pos1, end1, buf2, pos2, end2) {
  const value1 = inspectExtension(buf1, pos1, end1)
  const value2 = inspectExtension(buf2, pos2, end2)
  if (buf1[pos1] !== buf2[pos2]) return buf1[pos1] < buf2[pos2] ? -1 : 1
  if (isUint8Array(value1)) return compareBytes(buf1, pos1, end1, buf2, pos2, end2)
  return value1 instanceof Date ? order(value1.getTime(), Number(value2)) : order(value1, value2)
}

/** Of two numbers, or two BigInts. @type {(a: any, b: any) => number} */
function order (a, b) {
  if (a < b) return -1
  if (a > b) return 1
  if (a === b) return 0
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

/** @type {Compare} */
function compareBytes (buf1, pos1, end1, buf2, pos2, end2) {
  return Buffer.compare(buf1.subarray(pos1, end1), buf2.subarray(pos2, end2))
}

/**
 * Compares an encoded string with a text.
 * @param {Buffer} buf
 * @param {number} start
 * @param {string | Uint8Array} target
 * @returns {number | null}  how the string at `start` compares to the target, by bytes; null when there is none
 */
function compareString (buf, start, target) {
  if (start === -1) return null
  const tag = requireTagAt(buf, start)
  if (typeof target !== 'string' && !isUint8Array(target)) {
    throw misuse(`compareString: expected a string or a Buffer, got ${typeof target}`)
  }
  if ((tag & TYPE_MASK) !== STRING) return null
  const bytes = typeof target === 'string' ? Buffer.from(target) : target
  const pos = start + tagSize(tag)
  return Buffer.compare(buf.subarray(pos, pos + (tag >> TYPE_BITS)), bytes)
}

/**
 * Makes a function that compares encoded values by what they have at some paths.
 * @param {ReadonlyArray<ReadonlyArray<string | Uint8Array | number>>} paths  the first at which two differ decides
 * @returns {(a: Buffer, b: Buffer) => number}  for `Array.prototype.sort` over encoded values
 */
function createCompareAt (paths) {
  if (!Array.isArray(paths)) throw misuse(`createCompareAt: expected an array of paths, got ${typeof paths}`)
  const seeks = paths.map(createSeekPath)
  return (a, b) => {
    for (const seek of seeks) {
      const result = compare(a, seek(a, 0), b, seek(b, 0))
      if (result !== 0) return result
    }
    return 0
  }
}

exports.compare = compare
exports.compareString = compareString
exports.createCompareAt = createCompareAt
