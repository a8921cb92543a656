'use strict'
// Whether a long string may stand in a record, however it is spelled, without looking at most of its bytes.

const { WORD_SIZE, WordMarks, createTextSearch } = require('@millrace/where')
const { listSpellings, splitRuns } = require('./spellings')

/** Below this so many words have to be looked up that a plain search is as fast. */
const SIZE_MIN = 12
/** Of longer strings so much is searched for: what is beyond makes a search no faster. */
const SIZE_MAX = 64
const BACKSLASH = 0x5c
/** How far before its last byte an escape, \uXXXX, begins. */
const ESCAPE_REACH = 5

/**
 * @param {string} text
 * @returns {ReturnType<typeof createTextSearch> | null}  null when it is too short, or has too few characters that need
 *   no escape
 */
function createSearch (text) {
  const run = chooseRun(text)
  const size = sizeOf(run)
  if (size < SIZE_MIN) return null
  return createTextSearch({ size, part: (from, to) => cutRun(run, from, to), isAround: mayBeAround, mayBeSpelled })
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
  return runs.reduce((best, run) => sizeOf(run) > sizeOf(best) ? run : best)
}

/** @param {string[]} run */
function sizeOf (run) {
  return Buffer.byteLength(run.join(''))
}

/**
 * @param {string[]} run
 * @param {number} from  in bytes
 * @param {number} to
 */
function cutRun (run, from, to) {
  let [before, size] = [0, 0]
  const characters = run.filter((character) => {
    const start = size
    size += Buffer.byteLength(character)
    if (size <= from) before = size
    return size > from && start < to
  })
  const words = new WordMarks()
  forEachWord(characters, (word, offset) => words.add(word, offset))
  return { from: before, literal: Buffer.from(characters.join('')), words }
}

/**
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} pos
 * @returns {boolean}  whether an escape may end in the word there, or begin in it
 */
function mayBeSpelled (buf, start, pos) {
  return hasBackslash(buf, Math.max(start, pos - ESCAPE_REACH), pos + WORD_SIZE)
}

/**
 * @param {Buffer} buf
 * @param {number} start
 * @param {number} end
 * @param {number} first  where the string begins, if what is at `offset` of it is in its place
 * @param {number} offset
 * @param {Buffer} literal  the string where nothing of it is escaped, which is the shortest that it can be
 * @returns {boolean}  whether it is there, up to an escape on either side
 */
function mayBeAround (buf, start, end, first, offset, literal) {
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
