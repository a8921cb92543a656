'use strict'
// Values as JSON text, also those that JSON has no word for, and back.

/**
 * Bytes, big integers and what else binary records may hold become objects with one key that begins with a dollar sign.
 * @param {unknown} value
 * @returns {string}
 */
function toJson (value) {
  if (typeof value === 'object' && value !== null && !Buffer.isBuffer(value)) {
    return isPlain(value) ? JSON.stringify(value) : JSON.stringify(value, replace)
  }
  return JSON.stringify(replaceScalar(value))
}

/**
 * Whether JSON says all of it.
 * @param {any} value
 * @returns {boolean}
 */
function isPlain (value) {
  switch (typeof value) {
    case 'string': case 'boolean': return true
    case 'number': return Number.isFinite(value)
    case 'object': break
    default: return false
  }
  if (value === null) return true
  if (Array.isArray(value)) return value.every(isPlain)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const key in value) {
    if (!isPlain(value[key])) return false
  }
  return true
}

/**
 * @this {any}
 * @param {string} key
 */
function replace (key) {
  // Before toJSON: a Buffer has one.
  return replaceScalar(this[key])
}

/** @param {any} value */
function replaceScalar (value) {
  switch (typeof value) {
    case 'bigint': return { $bigint: String(value) }
    case 'undefined': return { $undefined: true }
    case 'number': return Number.isFinite(value) ? value : { $number: String(value) }
    case 'object': break
    default: return value
  }
  if (ArrayBuffer.isView(value)) {
    return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') }
  }
  if (value instanceof Date) return { $date: value.toJSON() }
  return value
}

/** @type {Record<string, (detail: any) => unknown>} */
const revivers = {
  $bigint: (digits) => BigInt(digits),
  $bytes: (base64) => Buffer.from(base64, 'base64'),
  $date: (date) => new Date(date ?? NaN),
  $number: (digits) => Number(digits),
  $undefined: () => undefined
}

/**
 * The value that `toJson` has made a JSON value of.
 * @param {any} value  parsed
 * @returns {any}
 */
function fromJson (value) {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(fromJson)
  const keys = Object.keys(value)
  if (keys.length === 1 && Object.hasOwn(revivers, keys[0])) return revivers[keys[0]](value[keys[0]])
  for (const key of keys) {
    // `__proto__` is a key as any other.
    if (typeof value[key] === 'object') Object.defineProperty(value, key, { ...WRITABLE, value: fromJson(value[key]) })
  }
  return value
}

const WRITABLE = { configurable: true, enumerable: true, writable: true }

exports.fromJson = fromJson
exports.toJson = toJson
