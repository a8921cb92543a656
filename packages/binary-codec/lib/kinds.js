'use strict'
// Which type of the wire format a JavaScript value gets.

const {
  isBoxedPrimitive, isDate, isUint8Array, isAnyArrayBuffer, isMap, isSet, isWeakMap, isWeakSet, isRegExp, isPromise
} = require('node:util').types
const { isIdempotent } = require('./splice')
const { STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, EXTENSION, TYPE_MASK } = require('./types')

/** What `kindOfObject` says of a buffer whose bytes are an encoded value. Not a type of the wire format. */
const SPLICE = 8

/**
 * -0 would lose its sign as an int. -2^31 is a double because bipf writes it so, and equal values should have equal
 * bytes.
 * @param {number} value
 * @returns {boolean}
 */
function isInt (value) {
  return (value | 0) === value && value !== -0x80000000 && (value !== 0 || 1 / value > 0)
}

/**
 * @param {object | null} value
 * @returns {number | undefined}  a type, or SPLICE; undefined for what would lose its contents as an object
 */
function kindOfObject (value) {
  if (value === null) return BOOLNULL
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return OBJECT
  if (Array.isArray(value)) return ARRAY
  if (isUint8Array(value)) return isIdempotent(value) ? SPLICE : BUFFER
  if (isDate(value)) return EXTENSION
  return isUnsupported(value) ? undefined : OBJECT
}

/**
 * Their contents are no properties: as an object each would be silently empty.
 * @param {object} value
 * @returns {boolean}
 */
function isUnsupported (value) {
  return isMap(value) || isSet(value) || isWeakMap(value) || isWeakSet(value) || isRegExp(value) || isPromise(value) ||
    isAnyArrayBuffer(value) || ArrayBuffer.isView(value) || isBoxedPrimitive(value)
}

/**
 * As JSON.stringify does, except that Dates and buffers, which have a form of their own here, are left alone.
 * @param {any} value
 * @param {string | number} key  under which the value stands
 * @returns {any}  what is to be encoded for it
 */
function resolve (value, key) {
  if (value === null || typeof value !== 'object' || typeof value.toJSON !== 'function') return value
  return isDate(value) || isUint8Array(value) ? value : value.toJSON(String(key))
}

/**
 * @param {unknown} value
 * @returns {number | undefined}  the type in the tag that `encode` would write; undefined when it would refuse
 */
function getValueType (value) {
  const resolved = resolve(value, '')
  switch (typeof resolved) {
    case 'string': return STRING
    case 'number': return isInt(resolved) ? INT : DOUBLE
    case 'boolean': case 'undefined': return BOOLNULL
    case 'bigint': return EXTENSION
    case 'object': {
      const kind = kindOfObject(resolved)
      return kind === SPLICE ? /** @type {Uint8Array} */ (resolved)[0] & TYPE_MASK : kind
    }
  }
}

exports.SPLICE = SPLICE
exports.isInt = isInt
exports.kindOfObject = kindOfObject
exports.resolve = resolve
exports.getValueType = getValueType
