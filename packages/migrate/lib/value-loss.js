'use strict'
// What a conversion of values may lose: where two values differ, and what JSON.parse drops silently.

const { isUtf8 } = require('node:buffer')
const { isDeepStrictEqual } = require('node:util')
const { parseText } = require('@millrace/json-codec')

const TOKEN = /"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[{}[\]:,]|true|false|null/gs
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

/** @typedef {Array<string | number>} Path  keys and indexes, from the root inwards */

/**
 * Values are equal if `util.isDeepStrictEqual` says so: -0 is not 0, and NaN is NaN.
 * @param {unknown} a
 * @param {unknown} b
 * @returns {Path | null}  the way to the first difference; null when there is none
 */
function findDifference (a, b) {
  /** @type {Path} */
  const path = []
  return isEqual(a, b, path) ? null : path.reverse()
}

/**
 * @param {any} a
 * @param {any} b
 * @param {Path} path  gets the keys to the difference, innermost first
 * @returns {boolean}
 */
function isEqual (a, b, path) {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) && Array.isArray(b)) return hasEqualItems(a, b, path)
  if (isPlain(a) && isPlain(b)) return hasEqualFields(a, b, path)
  return isDeepStrictEqual(a, b)
}

/** @param {unknown[]} a @param {unknown[]} b @param {Path} path */
function hasEqualItems (a, b, path) {
  const count = Math.min(a.length, b.length)
  for (let index = 0; index < count; index++) {
    if (isEqual(a[index], b[index], path)) continue
    path.push(index)
    return false
  }
  if (a.length !== b.length) path.push(count)
  return a.length === b.length
}

/** @param {Record<string, unknown>} a @param {Record<string, unknown>} b @param {Path} path */
function hasEqualFields (a, b, path) {
  const keys = Object.keys(a)
  for (const key of keys) {
    if (Object.hasOwn(b, key) && isEqual(a[key], b[key], path)) continue
    path.push(key)
    return false
  }
  const others = Object.keys(b)
  if (others.length === keys.length) return true
  path.push(/** @type {string} */ (others.find((key) => !Object.hasOwn(a, key))))
  return false
}

/** @param {object} value */
function isPlain (value) {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** @typedef {{ what: string, path: Path }} Loss */

/**
 * @typedef {object} Level  of nesting
 * @property {Set<string> | null} keys  of an object so far; null in an array
 * @property {string | number} key  of the value in hand
 * @property {boolean} isKeyNext
 */

/**
 * Digits of an integer that no JavaScript number has, all but the last of the keys that come twice in an object, bytes
 * that are no UTF-8; and keys with an escape where the engine mistakes them.
 * @param {Buffer} bytes
 * @param {unknown} value  that a codec made of them
 * @returns {Loss | null}  the first; null if there is none, or if the bytes are not read as JSON, whatever the codec is
 *   called
 */
function findJsonLoss (bytes, value) {
  const text = bytes.toString()
  let path
  try {
    path = findDifference(parseText(text), value)
    // A codec that calls JSON.parse itself gets the keys that the engine takes for others.
    if (path !== null && findDifference(JSON.parse(text), value) !== null) return null
  } catch {
    return null
  }
  if (path !== null) return { what: 'a key with an escape, which JSON.parse of this Node.js takes for another one', path }
  if (!isUtf8(bytes)) return { what: 'bytes that are no UTF-8, which become U+FFFD', path: [] }
  /** @type {Level[]} */
  const levels = []
  for (const [token] of text.matchAll(TOKEN)) {
    const what = lossOf(token, levels)
    if (what !== null) return { what, path: levels.map(({ key }) => key) }
  }
  return null
}

/**
 * @param {string} token
 * @param {Level[]} levels  that it is in; is brought up to date
 * @returns {string | null}
 */
function lossOf (token, levels) {
  const level = levels[levels.length - 1]
  switch (token[0]) {
    case '{': levels.push({ keys: new Set(), key: '', isKeyNext: true }); return null
    case '[': levels.push({ keys: null, key: 0, isKeyNext: false }); return null
    case '}': case ']': levels.pop(); return null
    case ':': level.isKeyNext = false; return null
    case ',': return beginNext(level)
    case '"': return level?.isKeyNext ? addKey(level, JSON.parse(token)) : null
    case 't': case 'f': case 'n': return null
    default: return isKept(token) ? null : `the number ${token.slice(0, 80)}, which becomes ${Number(token)}`
  }
}

/** @param {Level} level */
function beginNext (level) {
  if (level.keys) level.isKeyNext = true
  else level.key = Number(level.key) + 1
  return null
}

/** @param {Level} level @param {string} key */
function addKey (level, key) {
  const isSecond = level.keys?.has(key)
  level.keys?.add(key)
  level.key = key
  return isSecond ? 'a key for the second time in one object, of which only the last is kept' : null
}

/**
 * Of a fraction the nearest double is kept, as everywhere. An integer must be the double's value, or what the double is
 * written as.
 * @param {string} token  a number
 * @returns {boolean}
 */
function isKept (token) {
  const number = Number(token)
  const { digits, zeros } = decimalOf(token)
  if (digits === '') return number === 0
  if (!Number.isFinite(number) || number === 0) return false
  if (zeros < 0) return true
  const again = decimalOf(String(number))
  if (again.digits === digits && again.zeros === zeros) return true
  return BigInt(digits + '0'.repeat(zeros)) === BigInt(Math.abs(number))
}

/**
 * @param {string} token  a number
 * @returns {{ digits: string, zeros: number }}  without zeros around them; how many zeros follow, below 0 of a fraction
 */
function decimalOf (token) {
  const [, whole, fraction = '', exponent = '0'] = /** @type {RegExpExecArray} */ (NUMBER.exec(token))
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return { digits, zeros: Number(exponent) - fraction.length + all.length - digits.length }
}

exports.findDifference = findDifference
exports.findJsonLoss = findJsonLoss
