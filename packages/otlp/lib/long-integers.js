'use strict'
// Finds integers in JSON text that a number of JavaScript would round, and makes strings of them, which OTLP takes in
// their place.

/** A number with fewer digits is exact. */
const LONG_DIGITS = 16
const LONG_INTEGER = /^-?\d{16,}$/

/**
 * Whether there are so many digits that do not follow a quote, as those of a time do. So many digits cannot lie between
 * two of the places that are looked at.
 * @param {string} text
 */
function hasLongNumber (text) {
  for (let at = LONG_DIGITS - 1; at < text.length; at += LONG_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue
    let begin = at
    while (begin > 0 && isDigit(text.charCodeAt(begin - 1))) begin--
    while (isDigit(text.charCodeAt(at))) at++
    if (at - begin >= LONG_DIGITS && text[begin - 1] !== '"') return true
  }
  return false
}

/** @param {number} unit */
function isDigit (unit) {
  return unit >= 0x30 && unit <= 0x39
}

/** @param {string} text */
function quoteLongIntegers (text) {
  let quoted = ''
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at)
    const begin = quote === -1 ? text.length : quote
    quoted += text.slice(at, begin).replace(/-?\d[\d.eE+-]*/g, (number) => LONG_INTEGER.test(number) ? `"${number}"` : number)
    at = endOfString(text, begin)
    quoted += text.slice(begin, at)
  }
  return quoted
}

/** @type {(text: string, at: number) => number} the position after the string that begins at `at` */
function endOfString (text, at) {
  for (let end = at; end < text.length;) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return text.length
}

exports.LONG_DIGITS = LONG_DIGITS
exports.hasLongNumber = hasLongNumber
exports.quoteLongIntegers = quoteLongIntegers
