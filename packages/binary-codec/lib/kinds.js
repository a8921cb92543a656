'use strict'
// Which type of the wire format a JavaScript value gets; and the buffers that hold an encoded value already.

const {
  isBoxedPrimitive, isDate, isUint8Array, isAnyArrayBuffer, isMap, isSet, isWeakMap, isWeakSet, isRegExp, isPromise,
  isNativeError
} = require('node:util').types
const { misuse } = require('@millrace/errors')
const { subtypeOf } = require('./scalars')
const { STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, EXTENSION, TYPE_MASK } = require('./wire-format')

/** What `kindOfObject` gives for a buffer whose bytes are an encoded value. Not a type of the wire format. */
const SPLICE = 8
/** The same of a typed array or the like, whose type is that of all extensions. */
const BINARY = 9

/**
 * Buffers whose bytes encode copies in as they are. Kept in a set beside them, so that marking leaves no property on
 * the buffer.
 * @type {WeakSet<Uint8Array>}
 */
const marked = new WeakSet()

const bufferPrototype = Buffer.prototype // looking up the global takes a while

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
 * @returns {number | undefined}  a type, or SPLICE, or BINARY; undefined for what would lose its contents as an object
 */
function kindOfObject (value) {
  if (value === null) return BOOLNULL
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return OBJECT
  if (Array.isArray(value)) return ARRAY
  if (isUint8Array(value)) return kindOfBytes(value, prototype)
  if (isDate(value)) return EXTENSION
  if (subtypeOf(value) !== undefined) return BINARY
  return isUnsupported(value) || isOpaque(value) ? undefined : OBJECT
}

/**
 * A buffer is what bipf has a type for. Any other Uint8Array comes back as what it was: its `slice` copies, where that
 * of a Buffer does not.
 * @param {Uint8Array} bytes
 * @param {object} prototype
 * @returns {number}
 */
function kindOfBytes (bytes, prototype) {
  if (isIdempotent(bytes)) return SPLICE
  return prototype === bufferPrototype || Buffer.isBuffer(bytes) ? BUFFER : BINARY
}

/**
 * Their contents are no properties: as an object each would be silently empty, or an Error without its message.
 * @param {object} value
 * @returns {boolean}
 */
function isUnsupported (value) {
  return isMap(value) || isSet(value) || isWeakMap(value) || isWeakSet(value) || isRegExp(value) || isPromise(value) ||
    isAnyArrayBuffer(value) || ArrayBuffer.isView(value) || isBoxedPrimitive(value) || isNativeError(value)
}

/**
 * @param {object} value  without enumerable keys
 * @returns {boolean}  whether it holds something all the same, whatever its prototype
 */
function holdsHidden (value) {
  return isDate(value) || isUnsupported(value) || subtypeOf(value) !== undefined
}

/**
 * @param {object} value
 * @returns {boolean}  whether it is empty to look at, and of a class with a tag: one of the platform's, such as
 *   WeakRef, a generator or URLSearchParams
 */
function isOpaque (value) {
  return Object.prototype.toString.call(value) !== '[object Object]' && Object.keys(value).length === 0
}

/**
 * As JSON.stringify does, except that Dates, buffers and all else that has a form of its own here are left alone.
 * @param {any} value
 * @param {string | number} key  under which the value stands
 * @returns {any}  what is to be encoded for it
 */
function resolve (value, key) {
  if (value === null || typeof value !== 'object' || typeof value.toJSON !== 'function') return value
  return isUint8Array(value) || isDate(value) || subtypeOf(value) !== undefined ? value : value.toJSON(String(key))
}

/**
 * Gives the type that a value has once it is encoded.
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
      if (kind === BINARY) return EXTENSION
      return kind === SPLICE ? /** @type {Uint8Array} */ (resolved)[0] & TYPE_MASK : kind
    }
  }
}

/**
 * Marks a buffer as one encoded value: `encode` checks its bytes and copies them in, instead of encoding it as a
 * Buffer.
 * @template {Uint8Array} T
 * @param {T} buf  holds exactly one encoded value by the time it is encoded into another; `encode` checks it then
 * @returns {T}  the same buffer
 */
function markIdempotent (buf) {
  if (!isUint8Array(buf)) throw misuse(`markIdempotent: expected a Buffer, got ${typeof buf}`)
  marked.add(buf)
  return buf
}

/**
 * Whether a buffer is marked.
 * @type {(buf: any) => boolean}
 */
function isIdempotent (buf) {
  return marked.has(buf)
}

exports.BINARY = BINARY
exports.SPLICE = SPLICE
exports.holdsHidden = holdsHidden
exports.isInt = isInt
exports.kindOfObject = kindOfObject
exports.resolve = resolve
exports.getValueType = getValueType
exports.markIdempotent = markIdempotent
exports.isIdempotent = isIdempotent
