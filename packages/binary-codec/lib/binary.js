'use strict'
// Typed arrays, DataViews and ArrayBuffers: which subtype of the extension each has, and its bytes in both directions.
// Elements are little-endian in a record, whatever the machine's order.

const { endianness } = require('node:os')
const { isArrayBuffer } = require('node:util').types
const { damaged } = require('./damage')
const { FIRST_BINARY } = require('./types')

const IS_BIG_ENDIAN = endianness() === 'BE'

/**
 * @typedef {object} Kind
 * @property {string} name
 * @property {number} elementSize  in bytes
 * @property {any} Type  the constructor; undefined where this version of Node.js has none
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

/**
 * @param {string} name
 * @param {number} elementSize
 * @returns {Kind}
 */
function kindOf (name, elementSize) {
  return { name, elementSize, Type: /** @type {any} */ (globalThis)[name] }
}

// The getters themselves, since a property of the value's own must not make a record that lies about its size.
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype)
const typedArrayName = getterOf(typedArrays, Symbol.toStringTag)
const typedArrayGetters = gettersOf(typedArrays)
const typedArraySize = typedArrayGetters.byteLength // where each lookup counts
const dataViewGetters = gettersOf(DataView.prototype)

/** @param {object} prototype */
function gettersOf (prototype) {
  return {
    buffer: getterOf(prototype, 'buffer'),
    byteOffset: getterOf(prototype, 'byteOffset'),
    byteLength: getterOf(prototype, 'byteLength')
  }
}

/**
 * @param {object} prototype
 * @param {string | symbol} key
 * @returns {() => any}
 */
function getterOf (prototype, key) {
  const { get } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(prototype, key))
  return /** @type {() => any} */ (get)
}

/**
 * @param {object} value
 * @returns {number | undefined}  undefined for what has no bytes of its own, or shares them with other threads
 */
function subtypeOf (value) {
  if (isArrayBuffer(value)) return subtypes.get('ArrayBuffer')
  return ArrayBuffer.isView(value) ? subtypes.get(typedArrayName.call(value) ?? 'DataView') : undefined
}

/**
 * @param {Uint8Array} bytes
 * @returns {number}
 */
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
  const name = typedArrayName.call(value)
  const { buffer, byteOffset, byteLength } = name === undefined ? dataViewGetters : typedArrayGetters
  const bytes = new Uint8Array(buffer.call(value), byteOffset.call(value), byteLength.call(value))
  return IS_BIG_ENDIAN ? reverseElements(bytes.slice(), elementSizeOf(subtypeOf(value))) : bytes
}

/**
 * @param {number | undefined} subtype
 * @returns {number}
 */
function elementSizeOf (subtype = FIRST_BINARY) {
  return kinds[subtype - FIRST_BINARY].elementSize
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos  of the subtype
 * @param {number} end
 * @returns {Kind}
 * @throws {LogError} ERR_CODEC_DECODE
 */
function checkBinary (buf, pos, end) {
  const kind = kinds[buf[pos] - FIRST_BINARY]
  if (kind === undefined) throw damaged(pos, `an extension of the unknown subtype ${buf[pos]}`)
  const { name, elementSize, Type } = kind
  if (Type === undefined) throw damaged(pos, `a ${name}, which this version of Node.js does not have`)
  const size = end - pos - 1
  if (size % elementSize !== 0) throw damaged(pos + 1, `a ${name} of ${size} bytes; an element has ${elementSize}`)
  return kind
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos  of the subtype
 * @param {number} end
 * @returns {any}  in memory of its own: in a record nothing is aligned
 */
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

exports.subtypeOf = subtypeOf
exports.byteLengthOf = byteLengthOf
exports.bytesOf = bytesOf
exports.checkBinary = checkBinary
exports.readBinary = readBinary
exports.reverseElements = reverseElements
