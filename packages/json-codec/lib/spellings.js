'use strict'
// The ways in which JSON may spell a character: as it is, and in escapes. Only of characters that need no escape.

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

exports.listSpellings = listSpellings
exports.splitRuns = splitRuns
