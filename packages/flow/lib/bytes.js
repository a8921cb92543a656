'use strict'
// Bytes: fast slices of Buffers, memory that is shared or reused, zeros, and the integers of the log's formats.

const { Buffer } = require('node:buffer')
const { LogError } = require('@millrace/errors')

/** Up to so many bytes a loop is faster than a call of native code. */
const LOOP_SIZE_MAX = 48
const TWO_32 = 2 ** 32
// Larger buffers are rare, so they are not kept.
const SCRATCH_SIZE_MAX = 1024 * 1024
const SCRATCH_SIZE_MIN = 4 * 1024
const ZEROS = Buffer.alloc(16 * 1024)

/**
 * The class of Node's Buffers. `new Piece(memory, byteOffset, length)` shares the memory as `subarray` does, in a third
 * of the time.
 * @type {new (memory: ArrayBufferLike, byteOffset: number, length: number) => Buffer}
 */
const Piece = /** @type {any} */ (Buffer)[Symbol.species]

/** Whether there are only zeros in a range. @type {(bytes: Buffer, start: number, end: number) => boolean} */
function isZero (bytes, start, end) {
  for (let from = start; from < end; from += ZEROS.length) {
    const to = Math.min(end, from + ZEROS.length)
    if (bytes.compare(ZEROS, 0, to - from, from, to) !== 0) return false
  }
  return true
}

/**
 * Allocates memory that many values share, not filled with zeros. It cannot be transferred to another thread, because
 * all other parts would then be empty. `postMessage` copies a part instead, or throws from Node.js 21 on.
 * @param {number} size  in bytes
 * @returns {Buffer<ArrayBuffer>}
 */
function allocateShared (size) {
  const bytes = Buffer.allocUnsafeSlow(size)
  // Loaded late: a program that only frames or packs bytes has no use for threads.
  require('node:worker_threads').markAsUntransferable(bytes.buffer)
  return bytes
}

/**
 * Copies bytes.
 * @type {(from: Uint8Array, begin: number, end: number, to: Uint8Array, at: number) => number} where the copy ends
 */
function copyBytes (from, begin, end, to, at) {
  const size = end - begin
  if (size > LOOP_SIZE_MAX) to.set(from.subarray(begin, end), at)
  else for (let index = 0; index < size; index++) to[at + index] = from[begin + index]
  return at + size
}

/** Memory that is reused: the first write to new memory is slow. */
class ScratchBuffer {
  constructor () {
    this._buffer = Buffer.alloc(0)
  }

  /** Returns at least `size` bytes; two calls may return the same memory. @type {(size: number) => Buffer} */
  ofSize (size) {
    if (size > SCRATCH_SIZE_MAX) return Buffer.allocUnsafeSlow(size)
    if (size > this._buffer.length) {
      const larger = Math.max(size, 2 * this._buffer.length, SCRATCH_SIZE_MIN)
      this._buffer = Buffer.allocUnsafeSlow(Math.min(larger, SCRATCH_SIZE_MAX))
    }
    return this._buffer
  }
}

// Big-endian integers, written byte by byte: the compiler turns that into plain stores, whereas a method of Buffer
// checks its arguments. Nothing is checked here: the framing knows that value and position fit.

/**
 * Writes two bytes, big-endian. Nothing is checked.
 * @type {(bytes: Uint8Array, value: number, offset: number) => void} `value` is below 2^16
 */
function putUint16 (bytes, value, offset) {
  bytes[offset] = value >>> 8
  bytes[offset + 1] = value
}

/**
 * Writes four bytes, big-endian. Nothing is checked.
 * @type {(bytes: Uint8Array, value: number, offset: number) => void} writes the low 32 bits of a larger `value`
 */
function putUint32 (bytes, value, offset) {
  bytes[offset] = value >>> 24
  bytes[offset + 1] = value >>> 16
  bytes[offset + 2] = value >>> 8
  bytes[offset + 3] = value
}

/**
 * Writes six bytes, big-endian. Nothing is checked.
 * @type {(bytes: Uint8Array, value: number, offset: number) => void} `value` is below 2^48
 */
function putUint48 (bytes, value, offset) {
  putUint16(bytes, Math.floor(value / TWO_32), offset)
  putUint32(bytes, value, offset + 2)
}

/** Writes eight bytes. @type {(bytes: Uint8Array, value: number, offset: number) => void} `value` is below 2^53 */
function putUint53 (bytes, value, offset) {
  putUint32(bytes, Math.floor(value / TWO_32), offset)
  putUint32(bytes, value, offset + 4)
}

// Big-endian unsigned integers of 32, 48 and 53 bits, as the flume family writes them. 53 bits take eight bytes.

/**
 * Reads a big-endian integer of four bytes.
 * @type {(buf: Buffer, offset: number) => number}
 */
function readUInt32BE (buf, offset) {
  return buf.readUInt32BE(offset)
}

/**
 * Reads a big-endian integer of six bytes.
 * @type {(buf: Buffer, offset: number) => number}
 */
function readUInt48BE (buf, offset) {
  return buf.readUIntBE(offset, 6)
}

/** Throws ERR_FILE_NUMBER_TOO_LARGE, with the offset in `buf`. @type {(buf: Buffer, offset: number) => number} */
function readUInt53BE (buf, offset) {
  const number = buf.readUInt32BE(offset) * TWO_32 + buf.readUInt32BE(offset + 4)
  if (number <= Number.MAX_SAFE_INTEGER) return number
  const found = buf.toString('hex', offset, offset + 8)
  throw new LogError('ERR_FILE_NUMBER_TOO_LARGE', `expected an integer of at most 53 bits, found 0x${found}`, { offset })
}

/**
 * Writes a big-endian integer of eight bytes.
 * @type {(buf: Buffer, value: number, offset: number) => void} `value` is an integer from 0 to 2^53 - 1
 */
function writeUInt53BE (buf, value, offset) {
  buf.writeUInt32BE(Math.floor(value / TWO_32), offset)
  buf.writeUInt32BE(value % TWO_32, offset + 4)
}

exports.Piece = Piece
exports.isZero = isZero
exports.copyBytes = copyBytes
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
