'use strict'
// From a value to its bytes: a buffer of their own, or a place in one of the caller's.

const { misuse } = require('@millrace/errors')
const { markIdempotent } = require('./splice')
const { createWithWritten } = require('./writers')

const withWritten = createWithWritten({ isCanonical: false })

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
  if (buf === undefined) return withWritten(value, take)
  if (!(buf instanceof Uint8Array)) throw misuse(`encode: expected a Buffer to write to, got ${typeof buf}`)
  return withWritten(value, (writer, size) => {
    if (!Number.isInteger(start) || start < 0 || start + size > buf.length) {
      throw misuse(`encode: ${size} bytes from ${String(start)} do not fit into a buffer of ${buf.length}`)
    }
    writer.copyTo(buf, start)
    return size
  })
}

/** @param {import('./writer').Writer} writer */
function take (writer) {
  return writer.take()
}

/**
 * @param {unknown} value
 * @returns {number}  the size of its bytes; found by encoding it, so `encode(value)` alone is half the work of both
 */
function encodingLength (value) {
  return withWritten(value, (writer, size) => size)
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
