'use strict'
// Big-endian integers put into bytes one by one: the compiler makes plain stores of it, where a method of Buffer is a
// call that looks at its arguments. Nothing is checked: who frames records knows what fits, and where.

const TWO_32 = 2 ** 32

/**
 * @param {Uint8Array} bytes
 * @param {number} value  below 2^16
 * @param {number} offset
 */
function putUint16 (bytes, value, offset) {
  bytes[offset] = value >>> 8
  bytes[offset + 1] = value
}

/**
 * @param {Uint8Array} bytes
 * @param {number} value  below 2^32; of a larger integer the low 32 bits
 * @param {number} offset
 */
function putUint32 (bytes, value, offset) {
  bytes[offset] = value >>> 24
  bytes[offset + 1] = value >>> 16
  bytes[offset + 2] = value >>> 8
  bytes[offset + 3] = value
}

/**
 * @param {Uint8Array} bytes
 * @param {number} value  below 2^48
 * @param {number} offset
 */
function putUint48 (bytes, value, offset) {
  putUint16(bytes, Math.floor(value / TWO_32), offset)
  putUint32(bytes, value, offset + 2)
}

/**
 * @param {Uint8Array} bytes
 * @param {number} value  below 2^53
 * @param {number} offset  of eight bytes
 */
function putUint53 (bytes, value, offset) {
  putUint32(bytes, Math.floor(value / TWO_32), offset)
  putUint32(bytes, value, offset + 4)
}

exports.putUint16 = putUint16
exports.putUint32 = putUint32
exports.putUint48 = putUint48
exports.putUint53 = putUint53
