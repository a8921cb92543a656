'use strict'
// Big-endian unsigned integers of 32, 48 and 53 bits, as the flume family writes them. 53 bits take eight bytes.

const { LogError } = require('@millrace/errors')

const TWO_32 = 2 ** 32

/**
 * @param {Buffer} buf
 * @param {number} offset
 */
function readUInt32BE (buf, offset) {
  return buf.readUInt32BE(offset)
}

/**
 * @param {Buffer} buf
 * @param {number} offset
 */
function readUInt48BE (buf, offset) {
  return buf.readUIntBE(offset, 6)
}

/**
 * @param {Buffer} buf
 * @param {number} offset
 * @throws {LogError} ERR_FILE_NUMBER_TOO_LARGE, with the offset in `buf`
 */
function readUInt53BE (buf, offset) {
  const number = buf.readUInt32BE(offset) * TWO_32 + buf.readUInt32BE(offset + 4)
  if (number <= Number.MAX_SAFE_INTEGER) return number
  const found = buf.toString('hex', offset, offset + 8)
  throw new LogError('ERR_FILE_NUMBER_TOO_LARGE', `expected an integer of at most 53 bits, found 0x${found}`, { offset })
}

/**
 * @param {Buffer} buf
 * @param {number} value  an integer from 0 to 2^53 - 1
 * @param {number} offset
 */
function writeUInt53BE (buf, value, offset) {
  buf.writeUInt32BE(Math.floor(value / TWO_32), offset)
  buf.writeUInt32BE(value % TWO_32, offset + 4)
}

exports.readUInt32BE = readUInt32BE
exports.readUInt48BE = readUInt48BE
exports.readUInt53BE = readUInt53BE
exports.writeUInt53BE = writeUInt53BE
