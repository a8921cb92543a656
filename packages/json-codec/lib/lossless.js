'use strict'
// Finds what JSON.stringify would leave out or change without a word: a Map becomes {}, NaN becomes null.

const { isDate, ...types } = require('node:util').types

/** What is in them is in no field. */
const OPAQUE = [types.isMap, types.isSet, types.isNativeError, types.isArrayBufferView, types.isAnyArrayBuffer,
  types.isPromise, types.isRegExp, types.isWeakMap, types.isWeakSet, types.isSymbolObject]

/** @param {object} value */
function isOpaque (value) {
  return OPAQUE.some((isOfKind) => isOfKind(value))
}

/**
 * Whether the JSON text of a value has all of it. It was made before, so the value has no cycles.
 * @param {any} value
 * @returns {boolean}
 */
function isLossless (value) {
  const type = typeof value
  if (type === 'string' || type === 'boolean' || value === null) return true
  if (type === 'number') return value - value === 0
  if (type !== 'object') return type === 'bigint'
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isLossless(value[index])) return false
    return true
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype || typeof value.toJSON === 'function') return isObjectLossless(value, prototype)
  for (const key in value) {
    const member = value[key]
    if (member !== undefined && !isLossless(member)) return false
  }
  return true
}

/** What is not a plain object of this realm. @type {(value: any, prototype: any) => boolean} */
function isObjectLossless (value, prototype) {
  if (typeof value.toJSON === 'function') return !isDate(value) || !Number.isNaN(value.getTime())
  if (value instanceof Number) return Number.isFinite(Number(value))
  if (value instanceof String || value instanceof Boolean) return true
  if (isOpaque(value)) return false
  const keys = Object.keys(value)
  // The prototype of plain objects, of any realm, has none itself.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return (isPlain || keys.length > 0) && keys.every((key) => value[key] === undefined || isLossless(value[key]))
}

/**
 * Where the first such part is.
 * @param {any} value  that is not lossless
 * @returns {{ path: Array<string | number>, what: string }}
 */
function findLoss (value) {
  if (typeof value === 'object' && value !== null && typeof value.toJSON !== 'function' && !isOpaque(value)) {
    const isList = Array.isArray(value)
    for (const key of isList ? value.keys() : Object.keys(value)) {
      const member = value[key]
      if ((member === undefined && !isList) || isLossless(member)) continue
      const { path, what } = findLoss(member)
      return { path: [key, ...path], what }
    }
  }
  return { path: [], what: describe(value) }
}

/** @param {any} value @returns {string} */
function describe (value) {
  if (typeof value === 'number' || value instanceof Number) return `${value} becomes null`
  if (value === undefined) return 'undefined in an array becomes null'
  if (typeof value !== 'object') return `a ${typeof value} is left out, or becomes null`
  if (isDate(value)) return 'a date without a time becomes null'
  const name = value.constructor?.name || 'object without a class'
  if (types.isArrayBufferView(value)) return `a ${name} becomes an object of its elements or {}`
  return `what is in a ${name} is left out`
}

exports.isLossless = isLossless
exports.findLoss = findLoss
