'use strict'
// Values without children: read and checked in one place, so that decode and validate cannot disagree.

const { checkBinary, readBinary } = require('./binary')
const { damaged } = require('./damage')
const { DATE, BIGINT, FIRST_BINARY, BIGINT_SIZE_MAX } = require('./types')

const doubles = new Float64Array(1)
const doubleBytes = new Uint8Array(doubles.buffer)

/**
 * @param {Uint8Array} buf
 * @param {number} pos  of 4 bytes that are there
 * @returns {number}
 */
function readInt32 (buf, pos) {
  return buf[pos] | buf[pos + 1] << 8 | buf[pos + 2] << 16 | buf[pos + 3] << 24
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos  of 8 bytes that are there
 * @returns {number}
 */
function readFloat64 (buf, pos) {
  for (let i = 0; i < 8; i++) doubleBytes[i] = buf[pos + i]
  return doubles[0]
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos  where the payload begins
 * @param {number} end  where it ends
 * @returns {number}
 */
function readInt (buf, pos, end) {
  if (end - pos !== 4) throw damaged(pos, `an int of ${end - pos} bytes; it must have 4`)
  return readInt32(buf, pos)
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}
 */
function readDouble (buf, pos, end) {
  if (end - pos !== 8) throw damaged(pos, `a double of ${end - pos} bytes; it must have 8`)
  return readFloat64(buf, pos)
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {boolean | null | undefined}
 */
function readBoolnull (buf, pos, end) {
  if (end === pos) return null
  if (end - pos !== 1) throw damaged(pos, `a boolnull of ${end - pos} bytes; it must have 0 or 1`)
  if (buf[pos] > 2) throw damaged(pos, `a boolnull of value ${buf[pos]}; it must be 0, 1 or 2`)
  return buf[pos] === 2 ? undefined : buf[pos] === 1
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {any}
 */
function readExtension (buf, pos, end) {
  if (end === pos) throw damaged(pos, 'an extension without a subtype')
  if (buf[pos] === DATE) return readDate(buf, pos + 1, end)
  if (buf[pos] === BIGINT) return readBigInt(buf, pos + 1, end)
  return readBinary(buf, pos, end)
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {Date | bigint | Uint8Array}  of a typed array and the like only a view of its payload, checked: for who
 *   does not want the value
 */
function inspectExtension (buf, pos, end) {
  if (pos === end || buf[pos] < FIRST_BINARY) return readExtension(buf, pos, end)
  checkBinary(buf, pos, end)
  return buf.subarray(pos, end)
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {Date}
 */
function readDate (buf, pos, end) {
  if (end - pos !== 8) throw damaged(pos, `a date of ${end - pos} bytes; it must have 8`)
  const ms = readFloat64(buf, pos)
  const date = new Date(ms)
  // Only NaN, the invalid date, may differ from what the Date keeps: fractions and far years would change silently.
  if (date.getTime() !== ms && !Number.isNaN(ms)) throw damaged(pos, `a date of ${ms} ms, which no Date can hold`)
  return date
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos  of the sign byte
 * @param {number} end
 * @returns {bigint}
 */
function readBigInt (buf, pos, end) {
  const size = end - pos - 1
  if (size < 0 || size > BIGINT_SIZE_MAX) {
    throw damaged(pos, `a BigInt of ${size} bytes; it may have 0 to ${BIGINT_SIZE_MAX} behind its sign`)
  }
  const sign = buf[pos]
  if (sign > 1 || (sign === 1 && size === 0)) throw damaged(pos, `a BigInt of ${size} bytes with the sign ${sign}`)
  if (size === 0) return 0n
  if (buf[end - 1] === 0) throw damaged(end - 1, 'a BigInt written with more bytes than it needs')
  // Hexadecimal is the one way in that is linear for large numbers.
  const magnitude = BigInt(`0x${Buffer.from(buf.subarray(pos + 1, end)).reverse().toString('hex')}`)
  return sign === 1 ? -magnitude : magnitude
}

exports.readInt32 = readInt32
exports.readFloat64 = readFloat64
exports.readInt = readInt
exports.readDouble = readDouble
exports.readBoolnull = readBoolnull
exports.readExtension = readExtension
exports.inspectExtension = inspectExtension
