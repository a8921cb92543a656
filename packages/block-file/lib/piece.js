'use strict'
// Parts of memory as Buffers: what `subarray` gives, in a third of the time. And memory that many have a part of.

const { Buffer } = require('node:buffer')
const { markAsUntransferable } = require('node:worker_threads')

/**
 * The class that Node makes Buffers of: `new Piece(memory, byteOffset, length)` shares the memory.
 * @type {new (memory: ArrayBufferLike, byteOffset: number, length: number) => Buffer}
 */
const Piece = /** @type {any} */ (Buffer)[Symbol.species]

/**
 * As Node's own pool, it stays where it is: whoever transfers a part to another thread gives it a copy, or gets an
 * error, from Node.js 21 on. Otherwise all other parts would be empty from then on.
 * @param {number} size  in bytes
 * @returns {Buffer<ArrayBuffer>}  not filled with zeros
 */
function allocateShared (size) {
  const bytes = Buffer.allocUnsafeSlow(size)
  markAsUntransferable(bytes.buffer)
  return bytes
}

exports.Piece = Piece
exports.allocateShared = allocateShared
