'use strict'
// From a value to its bytes: a buffer of their own, or a place in one of the caller's.

const { misuse } = require('@millrace/errors')
const { markIdempotent } = require('./splice')
const { Writer } = require('./writer')

/** @type {Writer | null} null while a value is being written, since its toJSON may encode another */
let idleWriter = new Writer({ isCanonical: false })

/**
 * @template T
 * @param {unknown} value
 * @param {(scratch: Buffer, size: number) => T} take  gets the bytes, which are overwritten afterwards
 * @returns {T}
 */
function withEncoded (value, take) {
  const writer = idleWriter ?? new Writer({ isCanonical: false })
  idleWriter = null
  try {
    const size = writer.write(value)
    return take(writer.buf, size)
  } finally {
    idleWriter = writer
  }
}

/**
 * @overload
 * @param {unknown} value
 * @returns {Buffer}  of exactly the size needed
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * @overload
 * @param {unknown} value
 * @param {Uint8Array} buf  gets the bytes; untouched when they do not fit
 * @param {number} [start]
 * @returns {number}  how many bytes were written
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * @param {unknown} value
 * @param {Uint8Array} [buf]
 * @param {number} [start]
 * @returns {Buffer | number}
 */
function encode (value, buf, start = 0) {
  if (buf === undefined) return withEncoded(value, copyOut)
  if (!(buf instanceof Uint8Array)) throw misuse(`encode: expected a Buffer to write to, got ${typeof buf}`)
  return withEncoded(value, (scratch, size) => {
    if (!Number.isInteger(start) || start < 0 || start + size > buf.length) {
      throw misuse(`encode: ${size} bytes from ${String(start)} do not fit into a buffer of ${buf.length}`)
    }
    buf.set(scratch.subarray(0, size), start)
    return size
  })
}

/**
 * @param {Buffer} scratch
 * @param {number} size
 * @returns {Buffer}
 */
function copyOut (scratch, size) {
  const out = Buffer.allocUnsafe(size)
  out.set(new Uint8Array(scratch.buffer, scratch.byteOffset, size)) // as `copy` does, which takes longer
  return out
}

/**
 * @param {unknown} value
 * @returns {number}  the size of its bytes; found by encoding it, so `encode(value)` alone is half the work of both
 */
function encodingLength (value) {
  return withEncoded(value, (scratch, size) => size)
}

/**
 * @param {unknown} value
 * @returns {Buffer}  its bytes, marked: encoded as part of another value they are copied in as they are
 */
function encodeIdempotent (value) {
  return markIdempotent(encode(value))
}

exports.encode = encode
exports.encodingLength = encodingLength
exports.encodeIdempotent = encodeIdempotent
