'use strict'
// Whether the value after a key may fulfil a condition, by its bytes. Numbers and plain texts are read; whatever is
// spelled in another way may be anything.

const { createValueMatch } = require('@millrace/where')
const { SEARCHED_LENGTH_MAX } = require('./string-search')

/** @typedef {import('@millrace/where').Condition} Condition */
/** @typedef {(buf: Buffer, start: number, end: number) => boolean} Check  of the bytes from `start` on, up to `end` */

const [QUOTE, BACKSLASH, BRACKET, COLON, MINUS, PLUS, DOT, ZERO, NINE] = Buffer.from('"\\[:-+.09')
const [SMALL_E, LARGE_E, SMALL_T, SMALL_F, SMALL_N] = Buffer.from('eEtfn')
const [SPACE, TAB, LINE_FEED, RETURN] = Buffer.from(' \t\n\r')
const FIRST_NON_ASCII = 0x80
/** A whole number of more digits may not be what its digits add up to. */
const DIGITS_MAX = 15

/**
 * @param {Condition} condition
 * @returns {Check | undefined}  gets the bytes after a key; undefined if any value will do
 */
function createMemberCheck (condition) {
  const mayHold = createValueCheck(condition)
  if (mayHold === undefined) return undefined
  return (buf, start, end) => {
    const colon = skipSpace(buf, start, end)
    if (colon === end || buf[colon] !== COLON) return false
    const value = skipSpace(buf, colon + 1, end)
    return value < end && mayHold(buf, value, end)
  }
}

/** @type {(buf: Buffer, start: number, end: number) => number} */
function skipSpace (buf, start, end) {
  let at = start
  while (at < end && (buf[at] === SPACE || buf[at] === TAB || buf[at] === LINE_FEED || buf[at] === RETURN)) at++
  return at
}

/** @type {(condition: Condition) => Check | undefined} */
function createValueCheck (condition) {
  if (condition.exists !== undefined || condition.time !== undefined || condition.level !== undefined) return undefined
  if (condition.includes !== undefined) return (buf, start) => buf[start] === BRACKET
  const isMatch = createValueMatch(condition)
  const mayTextMatch = createTextCheck(condition, isMatch)
  return (buf, start, end) => {
    const first = buf[start]
    if (first === QUOTE) return mayTextMatch(buf, start + 1, end)
    if (isDigit(first) || first === MINUS) return isMatch(readNumber(buf, start, end))
    if (first === SMALL_T || first === SMALL_F) return isMatch(first === SMALL_T)
    return first === SMALL_N && isMatch(null)
  }
}

/** @type {(condition: Condition, isMatch: (text: string) => boolean) => Check} */
function createTextCheck (condition, isMatch) {
  const { equals, in: values = [], gt, gte, lt, lte, prefix } = condition
  // With one character more than the longest of the texts it is known how a text compares with all of them.
  const sizes = [equals, gt, gte, lt, lte, prefix, ...values].map((asked) => typeof asked === 'string' ? asked.length + 1 : 0)
  const sizeMax = sizes.reduce((largest, size) => Math.max(largest, size), 0)
  const isAllRead = sizeMax <= SEARCHED_LENGTH_MAX
  return (buf, start, end) => {
    const stop = Math.min(end, start + Math.min(sizeMax, SEARCHED_LENGTH_MAX))
    let at = start
    for (; at < stop && buf[at] !== QUOTE; at++) {
      if (buf[at] === BACKSLASH || buf[at] >= FIRST_NON_ASCII) return true
    }
    return (at === stop && !isAllRead) || isMatch(buf.toString('latin1', start, at))
  }
}

/** @param {number} byte */
function isDigit (byte) {
  return byte >= ZERO && byte <= NINE
}

/**
 * @param {Buffer} buf
 * @param {number} start  of a digit or a minus
 * @param {number} end
 * @returns {number}  what JSON.parse makes of it; anything for what is no number
 */
function readNumber (buf, start, end) {
  const isNegative = buf[start] === MINUS
  const first = isNegative ? start + 1 : start
  let at = first
  let value = 0
  for (; at < end && isDigit(buf[at]); at++) value = value * 10 + buf[at] - ZERO
  const next = at < end ? buf[at] : 0
  const isPlain = at - first <= DIGITS_MAX && next !== DOT && next !== SMALL_E && next !== LARGE_E
  if (isPlain) return isNegative ? -value : value
  while (at < end && isOfNumber(buf[at])) at++
  return Number(buf.toString('latin1', start, at))
}

/** @param {number} byte */
function isOfNumber (byte) {
  return isDigit(byte) || byte === DOT || byte === SMALL_E || byte === LARGE_E || byte === MINUS || byte === PLUS
}

exports.createMemberCheck = createMemberCheck
