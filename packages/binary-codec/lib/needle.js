'use strict'
// Whether a field with a long text may be in a record, without walking through it. A key, the value's tag and the value
// adjoin, and have one encoding each. In 59 such bytes 56 successive positions each begin four bytes that are known
// beforehand: so one word in 56 bytes is looked up in a table, and hardly any of them is found there.

const { writeTag } = require('./varint')
const { STRING, TYPE_BITS, TAG_SIZE_MAX } = require('./types')

const WORD_SIZE = 4
/** Below this so many words have to be looked up that walking through the record is as fast. */
const SIZE_MIN = 24
/** Of longer ones so much is searched for: an offset has to fit into a mark. */
const SIZE_MAX = 250
/** 64 KiB, a byte for each hash: as much as stays near the processor. */
const HASH_BITS = 16
/** Of Knuth: 2^32 by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1

/** Marks of the table. One from 1 on says where in the bytes the word is; it is 1 more. */
const NONE = 0
/** In several places, or there is more than one word of that hash. */
const SEVERAL = 255

/**
 * @typedef {(buf: Buffer, start: number, end: number) => number} Search  a position inside the first place where the
 *   bytes may be; -1 only when they are not there
 */
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
  const { marks, places } = markWords(needle)
  return searchFor(needle, marks, places)
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
 * @returns {{ marks: Uint8Array, places: Map<number, number[]> }}  the offsets of the words are by their hashes
 */
function markWords (needle) {
  const marks = new Uint8Array(2 ** HASH_BITS)
  /** @type {Map<number, number[]>} */
  const places = new Map()
  for (let offset = 0; offset <= needle.length - WORD_SIZE; offset++) {
    const hash = hashOf(needle.readInt32LE(offset))
    const offsets = places.get(hash) ?? []
    offsets.push(offset)
    places.set(hash, offsets)
    marks[hash] = offsets.length === 1 ? offset + 1 : SEVERAL
  }
  return { marks, places }
}

/**
 * @param {Buffer} needle
 * @param {Uint8Array} marks
 * @param {Map<number, number[]>} places
 * @returns {Search}
 */
function searchFor (needle, marks, places) {
  const stride = needle.length - WORD_SIZE + 1
  /** @type {Buffer} */
  let known = Buffer.alloc(0)
  /** @type {DataView} */
  let view = new DataView(new ArrayBuffer(0))

  const isAround = (/** @type {number} */ pos, /** @type {number} */ start, /** @type {number} */ end,
    /** @type {number} */ mark) => {
    if (mark !== SEVERAL) return isAt(known, start, end, pos - mark + 1, needle)
    const offsets = places.get(hashOf(view.getInt32(pos, true))) ?? []
    return offsets.some((offset) => isAt(known, start, end, pos - offset, needle))
  }

  return (buf, start, end) => {
    if (buf !== known) {
      known = buf
      view = new DataView(buf.buffer, buf.byteOffset, buf.length)
    }
    const words = view
    const last = end - WORD_SIZE
    for (let pos = start + stride - 1; pos <= last; pos += stride) {
      const mark = marks[hashOf(words.getInt32(pos, true))]
      if (mark !== NONE && isAround(pos, start, end, mark)) return pos
    }
    return -1
  }
}

/** @param {number} word */
function hashOf (word) {
  return Math.imul(word, HASH_FACTOR) >>> (32 - HASH_BITS)
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
