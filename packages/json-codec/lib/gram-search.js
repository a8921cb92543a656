'use strict'
// Whether a long string may stand in a record, without looking at most of its bytes. However a string of 54 bytes is
// spelled, 51 successive positions in it each begin four bytes that are known beforehand. So one word in 51 bytes is
// looked up in a table, and hardly any of them is found there.

const { listSpellings, splitRuns } = require('./spellings')

const WORD_SIZE = 4
/** Below this so many words have to be looked up that a plain search is as fast. */
const SIZE_MIN = 12
/** Of longer strings so much is searched for: what is beyond makes a search no faster. */
const SIZE_MAX = 64
/** 64 KiB, a byte for each hash: as much as stays near the processor. */
const HASH_BITS = 16
/** Of Knuth: 2^32 by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1
const BACKSLASH = 0x5c
/** How far before its last byte an escape, \uXXXX, begins. */
const ESCAPE_REACH = 5

/** Marks of the table. One from 1 on says where in the string, if nothing is escaped, the word is; it is 1 more. */
const NONE = 0
/** In several places, or there is more than one word of that hash. */
const SEVERAL = 254
/** Nowhere: all words of that hash have something of an escape in them. */
const ESCAPED = 255

/**
 * @typedef {(buf: Buffer, start: number, end: number) => number} Search  a position inside the first place where the
 *   string may be; -1 only when it is not there
 */

/**
 * @param {string} text
 * @returns {Search | null}  null when it is too short, or has too few characters that need no escape
 */
function createSearch (text) {
  const run = chooseRun(text)
  const literal = Buffer.from(run.join(''))
  if (literal.length < SIZE_MIN) return null
  const marks = new Uint8Array(2 ** HASH_BITS)
  /** @type {Map<number, number[]>} */
  const offsets = new Map()
  forEachWord(run, (word, offset) => {
    const hash = hashOf(word)
    const places = offsets.get(hash) ?? []
    offsets.set(hash, offset < 0 ? places : [...places, offset])
  })
  for (const [hash, places] of offsets) {
    marks[hash] = places.length === 0 ? ESCAPED : places.length === 1 ? places[0] + 1 : SEVERAL
  }
  return searchFor(literal, marks, offsets)
}

/**
 * @param {string} text
 * @returns {string[]}  characters of its longest run, or so many of it as are searched for
 */
function chooseRun (text) {
  const runs = splitRuns(text).map((run) => {
    let size = 0
    return run.filter((character) => (size += Buffer.byteLength(character)) <= SIZE_MAX)
  })
  const sizeOf = (/** @type {string[]} */ run) => Buffer.byteLength(run.join(''))
  return runs.reduce((best, run) => sizeOf(run) > sizeOf(best) ? run : best)
}

/**
 * @param {Buffer} literal  the string where nothing of it is escaped, which is the shortest that it can be
 * @param {Uint8Array} marks
 * @param {Map<number, number[]>} offsets  by the hashes of the words
 * @returns {Search}
 */
function searchFor (literal, marks, offsets) {
  const stride = literal.length - WORD_SIZE + 1
  /** @type {Buffer} */
  let known = Buffer.alloc(0)
  /** @type {DataView} */
  let view = new DataView(new ArrayBuffer(0))

  const isThere = (/** @type {number} */ pos, /** @type {number} */ start, /** @type {number} */ end,
    /** @type {number} */ mark) => {
    if (hasBackslash(known, Math.max(start, pos - ESCAPE_REACH), pos + WORD_SIZE)) return true
    if (mark === ESCAPED) return false
    if (mark !== SEVERAL) return mayBeAround(known, start, end, pos - mark + 1, literal, mark - 1)
    const places = offsets.get(hashOf(view.getInt32(pos, true))) ?? []
    return places.some((offset) => mayBeAround(known, start, end, pos - offset, literal, offset))
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
      if (mark !== NONE && isThere(pos, start, end, mark)) return pos
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
 * @param {number} first  where the string begins, if what is at `offset` of it is in its place
 * @param {Buffer} literal
 * @param {number} offset
 * @returns {boolean}  whether it is there, up to an escape on either side
 */
function mayBeAround (buf, start, end, first, literal, offset) {
  for (let i = offset; i < literal.length; i++) {
    const at = first + i
    if (at >= end) return false
    // Another spelling begins with a backslash.
    if (buf[at] !== literal[i]) return buf[at] === BACKSLASH
  }
  for (let i = offset - 1; i >= 0; i--) {
    const at = first + i
    if (at < start) return false
    // An escape that ends here, or further on in bytes that are the same, as those of \/ are.
    if (buf[at] !== literal[i]) return hasBackslash(buf, Math.max(start, at - ESCAPE_REACH), at + 1)
  }
  return true
}

/**
 * @param {Buffer} buf
 * @param {number} from
 * @param {number} to
 */
function hasBackslash (buf, from, to) {
  for (let at = from; at < to; at++) if (buf[at] === BACKSLASH) return true
  return false
}

/**
 * @param {string[]} run
 * @param {(word: number, offset: number) => void} onWord  every four bytes that may stand in the run, some more than
 *   once: where they do when nothing is escaped, or -1 when they have something of an escape in them
 */
function forEachWord (run, onWord) {
  const spellings = run.map(listSpellings)
  /** Goes on from some bytes in every way, until there are enough of them. */
  const extend = (/** @type {Buffer} */ bytes, /** @type {number} */ next, /** @type {number} */ offset) => {
    if (bytes.length >= WORD_SIZE) return onWord(bytes.readInt32LE(0), offset)
    if (next === spellings.length) return
    for (const [index, more] of spellings[next].entries()) {
      extend(Buffer.concat([bytes, more]), next + 1, index === 0 ? offset : -1)
    }
  }
  let position = 0
  for (const [index, [literal, ...escapes]] of spellings.entries()) {
    for (let i = 0; i < literal.length; i++) extend(literal.subarray(i), index + 1, position + i)
    for (const escape of escapes) {
      for (let i = 0; i < escape.length; i++) extend(escape.subarray(i), index + 1, -1)
    }
    position += literal.length
  }
}

exports.createSearch = createSearch
