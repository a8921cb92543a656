'use strict'
// The two codecs that a log takes: one that decodes, and one that hands out the bytes.

const { LogError, misuse } = require('@millrace/errors')
const { compile } = require('./compile')
const { decodeWhole } = require('./decode')
const { encode } = require('./encode')

/** @typedef {import('./compile').Test} Test */

/** Values in the binary format. A record is one value and nothing behind it. */
const binaryCodec = Object.freeze({
  name: 'binary',
  /** Decode takes bytes: flumecodec's convention. */
  buffer: /** @type {const} */ (true),

  /**
   * @param {unknown} value
   * @returns {Buffer}
   */
  encode: (value) => encode(value),

  /**
   * @param {Uint8Array} buf  Buffers in the result are views of it
   * @returns {any}
   */
  decode: (buf) => decodeWhole(buf, false),

  /**
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   * @returns {any}  keeps no reference to `buf`. Offsets of errors count from `start`
   */
  decodeRange: (buf, start, end) => decodeWhole(takeRange(buf, start, end), true),

  compile
})

/** Bytes that are left as they are, whatever they mean. */
const rawCodec = Object.freeze({
  name: 'raw',
  buffer: /** @type {const} */ (true),

  /**
   * @param {unknown} value
   * @returns {Buffer}  the same memory
   */
  encode (value) {
    if (Buffer.isBuffer(value)) return value
    if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length)
    throw new LogError('ERR_CODEC_ENCODE', `the raw codec takes a Buffer or a Uint8Array, got ${typeof value}`, { path: [] })
  },

  /**
   * @param {Buffer} buf
   * @returns {Buffer}  the same buffer
   */
  decode: (buf) => buf,

  /**
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   * @returns {Buffer}  a copy
   */
  decodeRange: (buf, start, end) => Buffer.from(takeRange(buf, start, end))
})

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} end
 * @returns {Uint8Array}  a view
 */
function takeRange (buf, start, end) {
  if (!(buf instanceof Uint8Array)) throw misuse(`expected a Buffer, got ${typeof buf}`)
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end || end > buf.length) {
    throw misuse(`expected a range inside a buffer of ${buf.length} bytes, got ${String(start)} to ${String(end)}`)
  }
  return buf.subarray(start, end)
}

exports.binaryCodec = binaryCodec
exports.rawCodec = rawCodec
