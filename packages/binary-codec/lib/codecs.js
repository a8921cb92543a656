'use strict'
// The codecs that a log takes: one that decodes, one that also writes canonically, and one that hands out the bytes.

const { isUint8Array } = require('node:util').types
const { LogError } = require('@millrace/errors')
const { decodeWhole } = require('./decode')
const { encode, encodeCanonical } = require('./encode')
const { sliceRange } = require('./wire-format')

/** @typedef {import('./compile').Test} Test */

/** Each `require` would look for the module again. @type {typeof import('./compile').compile | null} */
let compile = null

/**
 * The codec of a log for values in the binary format: `OffsetLog(path, { codec: binaryCodec })`. A record is one value
 * and nothing after it. `compile(where)` makes a function `(buf, start, end) => boolean` that says whether the record
 * in these bytes fulfils a filter. It decodes nothing, reads nothing outside the range and never throws. For bytes that
 * `decode` would refuse, it may answer true or false, but always the same.
 */
const binaryCodec = Object.freeze({
  name: 'binary',
  /** Decode takes bytes: flumecodec's convention. */
  buffer: /** @type {const} */ (true),

  /**
   * Gives the bytes of a value.
   * @param {any} value
   * @returns {Buffer}
   */
  encode: (value) => encode(value),

  /**
   * Gives the value of a record; bytes after it are refused.
   * @param {Uint8Array} buf  Buffers in the result are views of it
   * @returns {any}
   */
  decode: (buf) => decodeWhole(buf, false),

  /**
   * Gives the value of a record in a part of a buffer.
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   * @returns {any}  keeps no reference to `buf`. Offsets of errors count from `start`
   */
  decodeRange: (buf, start, end) => decodeWhole(sliceRange(buf, start, end), true),

  /**
   * Makes a function that says whether the record in a range of bytes fulfils a filter. The module that compiles
   * filters is loaded with the first one.
   * @param {import('@millrace/where').Where} where
   */
  compile: (where) => (compile ??= require('./compile').compile)(where)
})

/**
 * `binaryCodec`, but it encodes as `encodeCanonical` does: equal values get equal bytes. They are records like all
 * others, and it reads all others, so it has the same name: a log may be opened with either.
 */
const canonicalCodec = Object.freeze({
  ...binaryCodec,

  /**
   * Gives the canonical bytes of a value.
   * @param {any} value
   * @returns {Buffer}
   */
  encode: (value) => encodeCanonical(value)
})

/** Bytes that are left as they are, whatever they mean: its name is that of the codec that a log has without one. */
const rawCodec = Object.freeze({
  name: 'bytes',
  buffer: /** @type {const} */ (true),

  /**
   * @param {Uint8Array} value
   * @returns {Buffer}  the same memory
   */
  encode (value) {
    if (Buffer.isBuffer(value)) return value
    if (isUint8Array(value)) return Buffer.from(value.buffer, value.byteOffset, value.length)
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
  decodeRange: (buf, start, end) => Buffer.from(sliceRange(buf, start, end))
})

exports.binaryCodec = binaryCodec
exports.canonicalCodec = canonicalCodec
exports.rawCodec = rawCodec
