'use strict'
// What JSON.parse loses without a word: digits of an integer that no JavaScript number has, all but the last of the
// keys that come twice in an object, and bytes that are no UTF-8.

const { isUtf8 } = require('node:buffer')

const TOKEN = /"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[{}[\]:,]|true|false|null/gs
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

/** @typedef {{ what: string, path: Array<string | number> }} Loss */

/**
 * @typedef {object} Level  of nesting
 * @property {Set<string> | null} keys  of an object so far; null in an array
 * @property {string | number} key  of the value in hand
 * @property {boolean} isKeyNext
 */

/**
 * @param {Buffer} bytes  a JSON text that JSON.parse takes
 * @returns {Loss | null}  the first
 */
function findJsonLoss (bytes) {
  if (!isUtf8(bytes)) return { what: 'bytes that are no UTF-8, which become U+FFFD', path: [] }
  /** @type {Level[]} */
  const levels = []
  for (const [token] of bytes.toString().matchAll(TOKEN)) {
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
    case '"': return level?.isKeyNext ? noteKey(level, JSON.parse(token)) : null
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

/**
 * @param {Level} level
 * @param {string} key
 */
function noteKey (level, key) {
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

exports.findJsonLoss = findJsonLoss
