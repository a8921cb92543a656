'use strict'
// The strings and doubles of one value that is being decoded. Its bytes become one string, of which the ASCII strings
// in it are parts: one call into the engine instead of one for each. Such a part keeps the whole alive, so that is done
// for values of a few KiB only.

const { commonText } = require('./text')

/** @typedef {import('./text').TextBuffer} TextBuffer */

const WHOLE_SIZE_MAX = 4096
/** Memory of at most this size is kept at hand for the next value. Most values are in the same as the one before. */
const KEPT_SIZE_MAX = 2 ** 20
const WORD_SIZE = 4
const HIGH_BITS = 0x80808080

const NOTHING = new ArrayBuffer(0)

/** @type {ArrayBufferLike} */
let memory = NOTHING
/** @type {DataView} */
let words = new DataView(NOTHING)
/** Of the buffer in the memory. */
let base = 0
/** Where the value begins and ends in the buffer, and its bytes as one string once that is needed. */
let from = 0
let to = 0
let whole = ''

/**
 * @param {TextBuffer} buf  no other is read until `endValue`
 * @param {number} start  of the value
 * @param {number} end
 */
function beginValue (buf, start, end) {
  const { buffer } = buf
  if (buffer !== memory) {
    memory = buffer
    words = new DataView(buffer)
  }
  base = buf.byteOffset
  from = start
  to = end
  whole = ''
}

/** Lets go of memory that is too large to be kept alive for the next value. */
function endValue () {
  whole = ''
  if (memory.byteLength <= KEPT_SIZE_MAX) return
  memory = NOTHING
  words = new DataView(NOTHING)
}

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {string}
 */
function takeString (buf, pos, end) {
  const text = commonText(buf, pos, end)
  if (text !== '' || end === pos) return text
  if (to - from > WHOLE_SIZE_MAX || end - pos < WORD_SIZE || !isAscii(pos, end)) return buf.utf8Slice(pos, end)
  if (whole === '') whole = buf.latin1Slice(from, to)
  return whole.substring(pos - from, end - from)
}

/**
 * Two words at a time into two variables, which do not wait for each other.
 * @param {number} pos
 * @param {number} end  at least a word behind it
 * @returns {boolean}
 */
function isAscii (pos, end) {
  const view = words
  const last = end + base - WORD_SIZE
  const lastPair = last - WORD_SIZE
  let bits = view.getInt32(last, true)
  let more = 0
  let at = pos + base
  for (; at < lastPair; at += 2 * WORD_SIZE) {
    bits |= view.getInt32(at, true)
    more |= view.getInt32(at + WORD_SIZE, true)
  }
  if (at < last) bits |= view.getInt32(at, true)
  return ((bits | more) & HIGH_BITS) === 0
}

/**
 * @param {number} pos  of 8 bytes of the value
 * @returns {number}
 */
function takeFloat64 (pos) {
  return words.getFloat64(base + pos, true)
}

exports.beginValue = beginValue
exports.endValue = endValue
exports.takeString = takeString
exports.takeFloat64 = takeFloat64
