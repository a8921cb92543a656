'use strict'
// Whether a long string may stand in a record, however it is spelled, without looking at most of its bytes. A character
// is spelled as it is, or in an escape.

const { WORD_SIZE, createTextSearch } = require('@millrace/where')

/** Only the beginning of a longer text is searched for: the rest would be copied, and hardly narrows the search. */
const SEARCHED_LENGTH_MAX = 4096
/** For a shorter string a plain search is as fast: too many words would have to be looked up. */
const SIZE_MIN = 12
/** Only so much of a longer string is searched for: more makes a search no faster. */
const SIZE_MAX = 64
/** The words of more texts are so many that one of them is found everywhere. */
const TEXTS_MAX = 16
const BACKSLASH = 0x5c
/** @type {Beginning[]} */
const NO_BYTES = [{ bits: 0, isPlain: true }]
/** How far before its last byte an escape, \uXXXX, begins. */
const ESCAPE_REACH = 5

/**
 * @param {string[]} texts
 * @param {boolean} areWhole  whether each is all of a string of the record, or how one begins
 * @returns {import('@millrace/where').Search | null}  for any of them; null if there are none or too many, or one is
 *   too short or has too few characters that need no escape
 */
function createStringSearch (texts, areWhole) {
  if (texts.length === 0 || texts.length > TEXTS_MAX) return null
  const runs = texts.map((text) => chooseRun(text, areWhole))
  if (runs.some((run) => sizeOf(run) < SIZE_MIN)) return null
  return createTextSearch(runs.map((run) => {
    return { size: sizeOf(run), part: (from, to) => cutRun(run, from, to), isAround: mayBeAround, mayBeSpelled }
  }))
}

/**
 * @param {string} text
 * @param {boolean} isWhole
 * @returns {string[]}  characters of its longest run, or so many of it as are searched for
 */
function chooseRun (text, isWhole) {
  const hasEnd = isWhole && text.length <= SEARCHED_LENGTH_MAX
  const runs = splitRuns(text.slice(0, SEARCHED_LENGTH_MAX), hasEnd).map((run) => {
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
  /** @type {import('@millrace/where').Part['eachWord']} */
  const eachWord = (onWord) => forEachWord(characters, onWord)
  return { from: before, literal: Buffer.from(characters.join('')), eachWord }
}

/**
 * Whether an escape may end in the word there, or begin in it.
 * @type {(buf: Buffer, start: number, pos: number) => boolean}
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
 * @param {Buffer} literal  the string without escapes, its shortest spelling
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

/** @param {Buffer} buf @param {number} from @param {number} to */
function hasBackslash (buf, from, to) {
  for (let at = from; at < to; at++) if (buf[at] === BACKSLASH) return true
  return false
}

/**
 * @param {string[]} run
 * @param {(word: number, offset: number) => void} onWord  every four bytes that may stand in the run, some more than
 *   once: the offset in the run without escapes, or -1 if a part of an escape is among them
 */
function forEachWord (run, onWord) {
  const spellings = run.map(listSpellings)
  const beginnings = createBeginnings(spellings)
  let position = 0
  for (const [index, ofCharacter] of spellings.entries()) {
    for (const [spelling, bytes] of ofCharacter.entries()) {
      for (let start = 0; start < bytes.length; start++) {
        const count = Math.min(WORD_SIZE, bytes.length - start)
        const bits = readBits(bytes, start, count)
        for (const more of beginnings(index + 1, WORD_SIZE - count)) {
          const isPlain = spelling === 0 && more.isPlain
          onWord(bits | more.bits << 8 * count, isPlain ? position + start : -1)
        }
      }
    }
    position += ofCharacter[0].length
  }
}

/**
 * Some bytes, the first one lowest, and whether there is nothing of an escape in them.
 * @typedef {{ bits: number, isPlain: boolean }} Beginning
 */

/**
 * @param {ReadonlyArray<readonly Buffer[]>} spellings
 * @returns {(index: number, count: number) => Beginning[]}  what so many bytes may be, up to 3, from a character on
 */
function createBeginnings (spellings) {
  /** @type {Map<number, Beginning[]>} */
  const known = new Map()
  /** @type {ReturnType<typeof createBeginnings>} */
  const list = (index, count) => {
    if (count === 0) return NO_BYTES
    const key = index * WORD_SIZE + count
    const before = known.get(key)
    if (before) return before
    /** Most escapes begin alike. @type {Map<number, Beginning>} */
    const found = new Map()
    for (const [spelling, bytes] of (spellings[index] ?? []).entries()) {
      const size = Math.min(count, bytes.length)
      const own = readBits(bytes, 0, size)
      for (const more of list(index + 1, count - size)) {
        const bits = own | more.bits << 8 * size
        const isPlain = spelling === 0 && more.isPlain
        found.set(2 * bits + Number(isPlain), { bits, isPlain })
      }
    }
    const all = [...found.values()]
    known.set(key, all)
    return all
  }
  return list
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} count  at most 4
 * @returns {number}
 */
function readBits (bytes, start, count) {
  let bits = 0
  for (let i = 0; i < count; i++) bits |= bytes[start + i] << 8 * i
  return bits
}

/** What JSON has to escape, and what stands for other bytes than its own: it takes no part in a search. */
const UNSEARCHABLE = /["\\\u0000-\u001f\ufffd\p{Surrogate}]/u // eslint-disable-line no-control-regex

/**
 * Runs of characters that stand for themselves, with the quotes that they adjoin.
 * @param {string} text  a string of a record, or the beginning of one
 * @param {boolean} isWhole
 * @returns {string[][]}  the characters of each run
 */
function splitRuns (text, isWhole) {
  const runs = [['"']]
  for (const character of text) {
    if (UNSEARCHABLE.test(character)) runs.push([])
    else runs[runs.length - 1].push(character)
  }
  if (isWhole) runs[runs.length - 1].push('"')
  return runs
}

/** Of the characters that were asked for, which are few in most logs. @type {Map<string, Buffer[]>} */
const kept = new Map()
const KEPT_MAX = 1000

/**
 * @param {string} character  of a run
 * @returns {readonly Buffer[]}  what it may be in the bytes, first as it is. None is shorter than that
 */
function listSpellings (character) {
  let spellings = kept.get(character)
  if (spellings === undefined) {
    if (kept.size === KEPT_MAX) kept.clear()
    spellings = makeSpellings(character)
    kept.set(character, spellings)
  }
  return spellings
}

/** @param {string} character */
function makeSpellings (character) {
  const literal = Buffer.from(character)
  // In a run it is the end of the string.
  if (character === '"') return [literal]
  const escapes = Array.from(character.split(''), (unit) => listEscapes(unit.charCodeAt(0)))
  const [first, second = ['']] = escapes
  const texts = first.flatMap((a) => second.map((b) => a + b))
  if (character === '/') texts.push('\\/')
  return [literal, ...texts.map((text) => Buffer.from(text))]
}

/**
 * @param {number} unit  of UTF-16
 * @returns {string[]}  its escapes: each letter of its digits in either case
 */
function listEscapes (unit) {
  let texts = ['\\u']
  for (const digit of unit.toString(16).padStart(4, '0')) {
    const cases = digit < 'a' ? [digit] : [digit, digit.toUpperCase()]
    texts = texts.flatMap((text) => cases.map((one) => text + one))
  }
  return texts
}

exports.SEARCHED_LENGTH_MAX = SEARCHED_LENGTH_MAX
exports.createStringSearch = createStringSearch
