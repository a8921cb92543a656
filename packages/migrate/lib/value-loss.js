'use strict'
// Finds what a conversion of values loses: where two values differ, and what JSON.parse drops silently.

const { isUtf8 } = require('node:buffer')
const { isDeepStrictEqual } = require('node:util')
const { parseText } = require('@millrace/json-codec')

const TOKEN = /"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[{}[\]:,]|true|false|null/gs
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

/** @typedef {Array<string | number>} Path  keys and indexes, from the root inwards */

// The way to the first difference; null if there is none. `util.isDeepStrictEqual` decides: -0 is not 0, and NaN is
// NaN.
/** @type {(a: unknown, b: unknown) => Path | null} */
function findDifference (a, b) {
  /** @type {Path} */
  const path = []
  return isEqual(a, b, path) ? null : path.reverse()
}

/** `path` gets the keys to the difference, innermost first. @type {(a: any, b: any, path: Path) => boolean} */
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
 * @property {string | number} key  of the current value
 * @property {boolean} isKeyNext
 */

// Finds the first loss: digits of an integer that no JavaScript number has, a key that comes twice in an object (only
// the last one is kept), bytes that are no UTF-8, and keys with an escape that the engine mistakes. `value` is what a
// codec made of the bytes. Null if there is none, or if the codec does not read the bytes as JSON.
/** @type {(bytes: Buffer, value: unknown) => Loss | null} */
function findJsonLoss (bytes, value) {
  const text = bytes.toString()
  let path
  try {
    path = findDifference(parseText(text), value)
    // A codec that calls JSON.parse itself gets the keys that the engine mistakes.
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

/** Brings `levels`, in which the token lies, up to date. @type {(token: string, levels: Level[]) => string | null} */
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

// Whether a number is kept. A fraction keeps its nearest double, as everywhere. An integer must be the double's value,
// or what the double is written as.
/** @type {(token: string) => boolean} */
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

// A number's digits without zeros around them, and how many zeros follow (below 0: of a fraction).
/** @type {(token: string) => { digits: string, zeros: number }} */
function decimalOf (token) {
  const [, whole, fraction = '', exponent = '0'] = /** @type {RegExpExecArray} */ (NUMBER.exec(token))
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return { digits, zeros: Number(exponent) - fraction.length + all.length - digits.length }
}

exports.findDifference = findDifference
exports.findJsonLoss = findJsonLoss
