'use strict'
// Bytes: Buffers that are cut fast, memory that is shared or used again, and the integers of the log's formats.

const { Buffer } = require('node:buffer')
const { markAsUntransferable } = require('node:worker_threads')
const { LogError } = require('@millrace/errors')

const TWO_32 = 2 ** 32
// Larger ones are not kept: there are few.
const SCRATCH_SIZE_MAX = 1024 * 1024
const SCRATCH_SIZE_MIN = 4 * 1024

/**
 * The class that Node makes Buffers of: `new Piece(memory, byteOffset, length)` shares the memory, as `subarray` does,
 * in a third of the time.
 * @type {new (memory: ArrayBufferLike, byteOffset: number, length: number) => Buffer}
 */
const Piece = /** @type {any} */ (Buffer)[Symbol.species]

/**
 * Memory that many have a part of. As Node's own pool, it stays where it is: whoever transfers a part to another thread
 * gives it a copy, or gets an error, from Node.js 21 on. Otherwise all other parts would be empty from then on.
 * @param {number} size  in bytes
 * @returns {Buffer<ArrayBuffer>}  not filled with zeros
 */
function allocateShared (size) {
  const bytes = Buffer.allocUnsafeSlow(size)
  markAsUntransferable(bytes.buffer)
  return bytes
}

/** Memory that is used again and again: what is new to the process is slow. */
class ScratchBuffer {
  constructor () {
    this._buffer = Buffer.alloc(0)
  }

  /**
   * @param {number} size
   * @returns {Buffer}  at least as large; the same one as before unless more is asked for
   */
  ofSize (size) {
    if (size > SCRATCH_SIZE_MAX) return Buffer.allocUnsafeSlow(size)
    if (size > this._buffer.length) {
      const larger = Math.max(size, 2 * this._buffer.length, SCRATCH_SIZE_MIN)
      this._buffer = Buffer.allocUnsafeSlow(Math.min(larger, SCRATCH_SIZE_MAX))
    }
    return this._buffer
  }
}

// Big-endian integers put into bytes one by one: the compiler makes plain stores of it, where a method of Buffer is a
// call that looks at its arguments. Nothing is checked: who frames records knows what fits, and where.

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

// Big-endian unsigned integers of 32, 48 and 53 bits, as the flume family writes them. 53 bits take eight bytes.

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

exports.Piece = Piece
exports.allocateShared = allocateShared
exports.ScratchBuffer = ScratchBuffer
exports.putUint16 = putUint16
exports.putUint32 = putUint32
exports.putUint48 = putUint48
exports.putUint53 = putUint53
exports.readUInt32BE = readUInt32BE
exports.readUInt48BE = readUInt48BE
exports.readUInt53BE = readUInt53BE
exports.writeUInt53BE = writeUInt53BE
