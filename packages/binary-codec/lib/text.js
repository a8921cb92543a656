'use strict'
// Strings: as the sequences of characters that their UTF-8 is, and from bytes. Invalid UTF-8 becomes U+FFFD, as
// everywhere in Node.

/**
 * The methods below are Node's own and public in practice (`toString` calls them after looking up the encoding), but
 * its type declarations leave them out.
 * @typedef {Buffer & {
 *   latin1Slice: (start: number, end: number) => string,
 *   utf8Slice: (start: number, end: number) => string,
 *   utf8Write: (text: string, start: number) => number
 * }} TextBuffer
 */

/**
 * @param {Uint8Array} buf
 * @returns {TextBuffer}  the same memory
 */
function asTextBuffer (buf) {
  return /** @type {TextBuffer} */ (Buffer.isBuffer(buf) ? buf : Buffer.from(buf.buffer, buf.byteOffset, buf.length))
}

/** Whether it has no half of a surrogate pair, which UTF-8 cannot say. @param {string} text @returns {boolean} */
function isWellFormed (text) {
  return /** @type {any} */ (text).isWellFormed()
}

/**
 * The order of the UTF-8 bytes. That of the units differs: those of a pair are below U+E000, what they stand for is
 * above U+FFFF.
 * @param {string} a  well-formed, as `b`
 * @param {string} b
 * @returns {number}
 */
function compareCodePoints (a, b) {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Its place when surrogates come last. @type {(unit: number) => number} */
function rank (unit) {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Whether another text may have the same UTF-8: each half of a surrogate pair becomes U+FFFD. @param {string} text */
function mayCollide (text) {
  return !isWellFormed(text) || text.includes('\ufffd')
}

/** What its UTF-8 says. @param {string} text @returns {string} */
function toWellFormed (text) {
  return /** @type {any} */ (text).toWellFormed()
}

// Short strings that come again and again are found in a table instead of being made anew: a call into the engine takes
// longer than comparing a dozen bytes. For keys it also gives the engine the one string that it wants for a property.

const SLOTS = 512

/** @typedef {(buf: TextBuffer, pos: number, end: number) => string} ReadText */

/** A newcomer replaces what is in its slot, so the table never grows. It holds ASCII only. */
class TextTable {
  /** @param {number} sizeMax  bytes of the longest string kept */
  constructor (sizeMax) {
    this.sizeMax = sizeMax
    /** @type {string[]} */
    this.texts = new Array(SLOTS).fill('')
  }

  /**
   * Gives '' unless these bytes are a short text in ASCII, and no name of what all objects inherit.
   * @type {ReadText}
   */
  find (buf, pos, end) {
    const size = end - pos
    if (size === 0 || size > this.sizeMax) return ''
    const inner = buf[pos + (size >> 1)] * 7 + buf[pos + (size * 3 >> 2)] * 13
    const slot = (buf[pos] + inner + buf[end - 1] * 31 + size * 67) & (SLOTS - 1)
    const known = this.texts[slot]
    if (known.length === size && equalsAscii(buf, pos, known)) return known
    for (let i = pos; i < end; i++) if (buf[i] >= 0x80) return ''
    const text = buf.latin1Slice(pos, end)
    if (text in Object.prototype) return ''
    this.texts[slot] = text
    return text
  }
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {string} text  all ASCII
 * @returns {boolean}
 */
function equalsAscii (buf, pos, text) {
  for (let i = 0; i < text.length; i++) if (buf[pos + i] !== text.charCodeAt(i)) return false
  return true
}

const commonKeys = new TextTable(32)
/** Values repeat less than keys do, and must not push them out: they have a table of their own. */
const commonValues = new TextTable(12)

/** @type {ReadText} */
function commonKey (buf, pos, end) {
  return commonKeys.find(buf, pos, end)
}

/** @type {ReadText} */
function readKey (buf, pos, end) {
  const text = commonKey(buf, pos, end)
  return text === '' && end > pos ? buf.utf8Slice(pos, end) : text
}

// The strings and doubles of one value that is being decoded. Its bytes become one string; the ASCII strings
// in it are parts: one call into the engine instead of one for each. Such a part keeps the whole alive, so that is done
// for values of a few KiB only.

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

/** @type {ReadText} */
function readString (buf, pos, end) {
  const text = commonValues.find(buf, pos, end)
  if (text !== '' || end === pos) return text
  if (to - from > WHOLE_SIZE_MAX || end - pos < WORD_SIZE || !isAscii(pos, end)) return buf.utf8Slice(pos, end)
  if (whole === '') whole = buf.latin1Slice(from, to)
  return whole.substring(pos - from, end - from)
}

/**
 * Two words at a time into two variables, which do not wait for each other.
 * @param {number} pos
 * @param {number} end  at least a word after it
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
function readViewedFloat64 (pos) {
  return words.getFloat64(base + pos, true)
}

exports.asTextBuffer = asTextBuffer
exports.mayCollide = mayCollide
exports.toWellFormed = toWellFormed
exports.isWellFormed = isWellFormed
exports.compareCodePoints = compareCodePoints
exports.commonKey = commonKey
exports.readKey = readKey
exports.beginValue = beginValue
exports.endValue = endValue
exports.readString = readString
exports.readViewedFloat64 = readViewedFloat64
