'use strict'
// The codec itself: a value to the UTF-8 bytes of its JSON text, and back.

const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { compile } = require('./compile')
const { explainParseError } = require('./explain-parse-error')
const { DEPTH_MAX, findRefused, isTooDeep } = require('./find-refused')
const { parseText } = require('./parse-text')

const KEYS_SHOWN_MAX = 10

const jsonCodec = Object.freeze({
  name: 'json',
  /** Decode takes bytes: flumecodec's convention. */
  buffer: /** @type {const} */ (true),

  /**
   * @param {any} value
   * @returns {Buffer}
   * @throws {LogError} ERR_CODEC_ENCODE with `path`, and with what JSON.stringify threw as its cause
   */
  encode (value) {
    const text = stringify(value)
    if (text === undefined) {
      throw new LogError('ERR_CODEC_ENCODE', `a value of type ${typeof value} has no JSON text`, { path: [] })
    }
    if (isTooDeep(text)) throw refused(value, new RangeError(`nested deeper than ${DEPTH_MAX} levels`))
    return Buffer.from(text)
  },

  /**
   * @param {Uint8Array} buf  one JSON text and nothing else
   * @returns {any}
   * @throws {LogError} ERR_CODEC_DECODE, with what JSON.parse threw as its cause, and with `offset` where that tells it
   */
  decode (buf) {
    if (!(buf instanceof Uint8Array)) throw misuse(`expected a Buffer, got ${typeof buf}`)
    return parse(buf, 0, buf.length)
  },

  /**
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   * @returns {any}  keeps no reference to `buf`. Offsets of errors count from `start`
   * @throws {LogError} ERR_CODEC_DECODE
   */
  decodeRange (buf, start, end) {
    if (!(buf instanceof Uint8Array)) throw misuse(`expected a Buffer, got ${typeof buf}`)
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end || end > buf.length) {
      throw misuse(`expected a range inside a buffer of ${buf.length} bytes, got ${String(start)} to ${String(end)}`)
    }
    return parse(buf, start, end)
  },

  compile
})

/**
 * @param {unknown} value
 * @returns {string | undefined}
 */
function stringify (value) {
  try {
    return JSON.stringify(value)
  } catch (err) {
    throw refused(value, err)
  }
}

/**
 * @param {unknown} value
 * @param {unknown} cause
 */
function refused (value, cause) {
  const path = findRefused(value)
  const shown = path.length > KEYS_SHOWN_MAX ? [...path.slice(0, KEYS_SHOWN_MAX), '...'] : path
  return new LogError('ERR_CODEC_ENCODE', `the value has no JSON text, at /${shown.join('/')}: ${reasonOf(cause)}`, { cause, path })
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {any}
 */
function parse (bytes, start, end) {
  const buf = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    return parseText(buf.toString('utf8', start, end))
  } catch (err) {
    throw explainParseError(buf.subarray(start, end), err)
  }
}

exports.jsonCodec = jsonCodec
