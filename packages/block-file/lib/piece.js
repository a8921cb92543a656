'use strict'
// Parts of memory as Buffers: what `subarray` gives, in a third of the time.

const { Buffer } = require('node:buffer')

/**
 * The class that Node makes Buffers of: `new Piece(memory, byteOffset, length)` shares the memory.
 * @type {new (memory: ArrayBufferLike, byteOffset: number, length: number) => Buffer}
 */
const Piece = /** @type {any} */ (Buffer)[Symbol.species]

exports.Piece = Piece
