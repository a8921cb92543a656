'use strict'
// Where two decoded values differ.

const { isDeepStrictEqual } = require('node:util')

/** @typedef {Array<string | number>} Path  keys and indexes, from the root inwards */

/**
 * Values are equal as `util.isDeepStrictEqual` has it: -0 is not 0, and NaN is NaN.
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

/**
 * @param {unknown[]} a
 * @param {unknown[]} b
 * @param {Path} path
 */
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

/**
 * @param {Record<string, unknown>} a
 * @param {Record<string, unknown>} b
 * @param {Path} path
 */
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

exports.findDifference = findDifference
