'use strict'
// Values without children, in both directions: numbers, booleans and null, and all that the extension holds. They are
// read and checked in one place, so that decode and validate cannot disagree.

const { endianness } = require('node:os')
const { isArrayBuffer } = require('node:util').types
const {
  EXTENSION, DATE, BIGINT, FIRST_BINARY, TYPE_BITS, TAG_SIZE_MAX, BIGINT_SIZE_MAX, damaged, writeTag
} = require('./wire-format')

const doubles = new Float64Array(1)
const doubleBytes = new Uint8Array(doubles.buffer)

/**
 * Reads a payload, from `pos` to `end`. Throws ERR_CODEC_DECODE where there is no such value.
 * @template T
 * @typedef {(buf: Uint8Array, pos: number, end: number) => T} Read
 */

/** Of 4 bytes that are there. @type {(buf: Uint8Array, pos: number) => number} */
function readInt32 (buf, pos) {
  return buf[pos] | buf[pos + 1] << 8 | buf[pos + 2] << 16 | buf[pos + 3] << 24
}

/** Of 8 bytes that are there. @type {(buf: Uint8Array, pos: number) => number} */
function readFloat64 (buf, pos) {
  for (let i = 0; i < 8; i++) doubleBytes[i] = buf[pos + i]
  return doubles[0]
}

/** @type {Read<number>} */
function readInt (buf, pos, end) {
  if (end - pos !== 4) throw damaged(pos, `an int of ${end - pos} bytes; it must have 4`)
  return readInt32(buf, pos)
}

/** @type {Read<number>} */
function readDouble (buf, pos, end) {
  if (end - pos !== 8) throw damaged(pos, `a double of ${end - pos} bytes; it must have 8`)
  return readFloat64(buf, pos)
}

/** @type {Read<boolean | null | undefined>} */
function readBoolnull (buf, pos, end) {
  if (end === pos) return null
  if (end - pos !== 1) throw damaged(pos, `a boolnull of ${end - pos} bytes; it must have 0 or 1`)
  if (buf[pos] > 2) throw damaged(pos, `a boolnull of value ${buf[pos]}; it must be 0, 1 or 2`)
  return buf[pos] === 2 ? undefined : buf[pos] === 1
}

/** @type {Read<any>} */
function readExtension (buf, pos, end) {
  if (end === pos) throw damaged(pos, 'an extension without a subtype')
  if (buf[pos] === DATE) return readDate(buf, pos + 1, end)
  if (buf[pos] === BIGINT) return readBigInt(buf, pos + 1, end)
  return readBinary(buf, pos, end)
}

/**
 * For callers that do not need the value: of a typed array and the like only a view of its payload, checked.
 * @type {Read<Date | bigint | Uint8Array>}
 */
function inspectExtension (buf, pos, end) {
  if (pos === end || buf[pos] < FIRST_BINARY) return readExtension(buf, pos, end)
  checkBinary(buf, pos, end)
  return buf.subarray(pos, end)
}

/** @type {Read<Date>} */
function readDate (buf, pos, end) {
  if (end - pos !== 8) throw damaged(pos, `a date of ${end - pos} bytes; it must have 8`)
  const ms = readFloat64(buf, pos)
  const date = new Date(ms)
  // Only NaN, the invalid date, may differ from what the Date keeps: fractions and far years would change silently.
  if (date.getTime() !== ms && !Number.isNaN(ms)) throw damaged(pos, `a date of ${ms} ms, which no Date can hold`)
  return date
}

/** From the sign byte on. @type {Read<bigint>} */
function readBigInt (buf, pos, end) {
  const size = end - pos - 1
  if (size < 0 || size > BIGINT_SIZE_MAX) {
    throw damaged(pos, `a BigInt of ${size} bytes; it may have 0 to ${BIGINT_SIZE_MAX} after its sign`)
  }
  const sign = buf[pos]
  if (sign > 1 || (sign === 1 && size === 0)) throw damaged(pos, `a BigInt of ${size} bytes with the sign ${sign}`)
  if (size === 0) return 0n
  if (buf[end - 1] === 0) throw damaged(end - 1, 'a BigInt written with more bytes than it needs')
  // Hexadecimal is the one way in that is linear for large numbers.
  const magnitude = BigInt(`0x${Buffer.from(buf.subarray(pos + 1, end)).reverse().toString('hex')}`)
  return sign === 1 ? -magnitude : magnitude
}

// Typed arrays, DataViews and ArrayBuffers. Elements are little-endian in a record, whatever the machine's order.

const IS_BIG_ENDIAN = endianness() === 'BE'

/**
 * @typedef {object} Kind
 * @property {string} name
 * @property {number} elementSize  in bytes
 * @property {any} Type  the constructor; undefined if this version of Node.js has none
 */

/** The first has the subtype FIRST_BINARY. Their order is part of the wire format. @type {Kind[]} */
const kinds = [
  kindOf('Uint8Array', 1),
  kindOf('Uint8ClampedArray', 1),
  kindOf('Int8Array', 1),
  kindOf('Uint16Array', 2),
  kindOf('Int16Array', 2),
  kindOf('Uint32Array', 4),
  kindOf('Int32Array', 4),
  kindOf('Float16Array', 2),
  kindOf('Float32Array', 4),
  kindOf('Float64Array', 8),
  kindOf('BigUint64Array', 8),
  kindOf('BigInt64Array', 8),
  kindOf('DataView', 1),
  kindOf('ArrayBuffer', 1)
]
const subtypes = new Map(kinds.map(({ name }, index) => [name, FIRST_BINARY + index]))

/** @type {(name: string, elementSize: number) => Kind} */
function kindOf (name, elementSize) {
  return { name, elementSize, Type: /** @type {any} */ (globalThis)[name] }
}

// The getters of the prototype, since a property of the value's own must not make a record that lies about its size.
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype)
const typedArraySize = /** @type {() => number} */ (Object.getOwnPropertyDescriptor(typedArrays, 'byteLength')?.get)

/** @type {(value: object) => string | undefined}  undefined if it is no typed array */
const typedArrayName = (value) => Reflect.get(typedArrays, Symbol.toStringTag, value)

/**
 * @param {object} value
 * @returns {number | undefined}  undefined for what has no bytes of its own, or shares them with other threads
 */
function subtypeOf (value) {
  if (isArrayBuffer(value)) return subtypes.get('ArrayBuffer')
  return ArrayBuffer.isView(value) ? subtypes.get(typedArrayName(value) ?? 'DataView') : undefined
}

/** @param {Uint8Array} bytes */
function byteLengthOf (bytes) {
  return typedArraySize.call(bytes)
}

/**
 * @param {object} value  that has a subtype
 * @returns {Uint8Array}  its bytes as a record has them: a view of its memory, or a copy
 * @throws {TypeError} when its memory was transferred to another thread
 */
function bytesOf (value) {
  if (isArrayBuffer(value)) return new Uint8Array(value)
  const name = typedArrayName(value)
  const prototype = name === undefined ? DataView.prototype : typedArrays
  const get = (/** @type {string} */ key) => Reflect.get(prototype, key, value)
  const bytes = new Uint8Array(get('buffer'), get('byteOffset'), get('byteLength'))
  if (!IS_BIG_ENDIAN || name === undefined) return bytes
  const { elementSize } = /** @type {Kind} */ (kinds.find((kind) => kind.name === name))
  return reverseElements(bytes.slice(), elementSize)
}

/** @type {Read<Kind>} */
function checkBinary (buf, pos, end) {
  const kind = kinds[buf[pos] - FIRST_BINARY]
  if (kind === undefined) throw damaged(pos, `an extension of the unknown subtype ${buf[pos]}`)
  const { name, elementSize, Type } = kind
  if (Type === undefined) throw damaged(pos, `a ${name}, which this version of Node.js does not have`)
  const size = end - pos - 1
  if (size % elementSize !== 0) throw damaged(pos + 1, `a ${name} of ${size} bytes; an element has ${elementSize}`)
  return kind
}

/** Into memory of its own: in a record nothing is aligned. @type {Read<any>} */
function readBinary (buf, pos, end) {
  const { elementSize, Type } = checkBinary(buf, pos, end)
  const bytes = new Uint8Array(buf.subarray(pos + 1, end))
  if (IS_BIG_ENDIAN) reverseElements(bytes, elementSize)
  return Type === ArrayBuffer ? bytes.buffer : new Type(bytes.buffer)
}

/**
 * @param {Uint8Array} bytes  changed
 * @param {number} elementSize
 * @returns {Uint8Array}  the same, each element's bytes in the opposite order
 */
function reverseElements (bytes, elementSize) {
  if (elementSize === 1) return bytes
  for (let pos = 0; pos < bytes.length; pos += elementSize) bytes.subarray(pos, pos + elementSize).reverse()
  return bytes
}

// Writing those that cost a call into the engine anyway: doubles, and the extension.

/** @typedef {import('./writer').Writer} Writer */

/** The upper half of the NaN that carries nothing. */
const NAN_UPPER_BITS = 0x7ff80000

const { getTime } = Date.prototype

/**
 * A NaN has 2^53 - 2 forms. Which one comes out of a sum depends on the machine and on what the engine made of the
 * code.
 * @param {DataView} view
 * @param {number} pos  of a NaN; it gets the one form
 */
function clearNaN (view, pos) {
  view.setUint32(pos, 0, true)
  view.setUint32(pos + 4, NAN_UPPER_BITS, true)
}

/** @param {Writer} writer @param {Date} date */
function writeDate (writer, date) {
  writer.reserve(10)
  const { buf, pos } = writer
  buf[pos] = 9 << TYPE_BITS | EXTENSION
  buf[pos + 1] = DATE
  const time = getTime.call(date)
  writer.view.setFloat64(pos + 2, time, true)
  if (Number.isNaN(time)) clearNaN(writer.view, pos + 2)
  writer.pos += 10
}

/** @param {Writer} writer @param {bigint} value */
function writeBigInt (writer, value) {
  const hex = value === 0n ? '' : (value < 0n ? -value : value).toString(16)
  const magnitude = Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, 'hex').reverse()
  if (magnitude.length > BIGINT_SIZE_MAX) throw writer.refusal(`a BigInt of more than ${BIGINT_SIZE_MAX} bytes`)
  const pos = openExtension(writer, BIGINT, 1 + magnitude.length)
  writer.buf[pos] = value < 0n ? 1 : 0
  writer.buf.set(magnitude, pos + 1)
}

/**
 * @param {Writer} writer
 * @param {object} value  a typed array or the like
 */
function writeBinary (writer, value) {
  const bytes = bytesOf(value)
  const pos = openExtension(writer, /** @type {number} */ (subtypeOf(value)), bytes.length)
  writer.buf.set(bytes, pos)
}

/**
 * @param {Writer} writer
 * @param {number} subtype
 * @param {number} size  of what is after the subtype
 * @returns {number}  the position of what follows the subtype; it counts as written
 */
function openExtension (writer, subtype, size) {
  writer.checkSize(1 + size)
  writer.reserve(TAG_SIZE_MAX + 1 + size)
  const pos = writeTag(writer.buf, writer.pos, (1 + size) << TYPE_BITS | EXTENSION)
  writer.buf[pos] = subtype
  writer.pos = pos + 1 + size
  return pos + 1
}

exports.readInt32 = readInt32
exports.readFloat64 = readFloat64
exports.readInt = readInt
exports.readDouble = readDouble
exports.readBoolnull = readBoolnull
exports.readExtension = readExtension
exports.inspectExtension = inspectExtension
exports.subtypeOf = subtypeOf
exports.byteLengthOf = byteLengthOf
exports.reverseElements = reverseElements
exports.clearNaN = clearNaN
exports.writeDate = writeDate
exports.writeBigInt = writeBigInt
exports.writeBinary = writeBinary
