'use strict'
// Values without children that a call into the engine makes dear anyway: doubles, and all that the extension holds.

const { bytesOf, subtypeOf } = require('./binary')
const { writeTag } = require('./varint')
const { EXTENSION, DATE, BIGINT, TYPE_BITS, TAG_SIZE_MAX, BIGINT_SIZE_MAX } = require('./types')

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

/**
 * @param {Writer} writer
 * @param {Date} date
 */
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

/**
 * @param {Writer} writer
 * @param {bigint} value
 */
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
 * @param {number} size  of what is behind the subtype
 * @returns {number}  where that belongs; it counts as written
 */
function openExtension (writer, subtype, size) {
  writer.checkSize(1 + size)
  writer.reserve(TAG_SIZE_MAX + 1 + size)
  const pos = writeTag(writer.buf, writer.pos, (1 + size) << TYPE_BITS | EXTENSION)
  writer.buf[pos] = subtype
  writer.pos = pos + 1 + size
  return pos + 1
}

exports.clearNaN = clearNaN
exports.writeDate = writeDate
exports.writeBigInt = writeBigInt
exports.writeBinary = writeBinary
