'use strict'
// The codec itself: a value to the UTF-8 bytes of its JSON text, and back; and what to say when there is no such text.

const { isUtf8 } = require('node:buffer')
const { isBigIntObject, isUint8Array } = require('node:util').types
const { LogError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { DEPTH_MAX } = require('./json-check')
const { findLoss, isLossless } = require('./lossless')
const { parseText } = require('./parse-text')

const KEYS_SHOWN_MAX = 10

/**
 * The codec of a log for JSON: `OffsetLog(path, { codec: jsonCodec })`. `compile(where)` makes a function `(buf, start,
 * end) => boolean` that says whether the record in these bytes fulfils a filter. It reads nothing outside the range and
 * never throws; a record that is not a JSON text matches no filter.
 */
const jsonCodec = Object.freeze({
  name: 'json',
  /** Decode takes bytes: flumecodec's convention. */
  buffer: /** @type {const} */ (true),

  /**
   * Gives the UTF-8 bytes of `JSON.stringify(value)`. A value without a JSON text, one that JSON.stringify refuses and
   * one that is nested deeper than 1,000 levels are refused, and nothing is written.
   * @param {any} value
   * @returns {Buffer}
   * @throws {LogError} ERR_CODEC_ENCODE with `path`, the keys and indexes that lead to the refused part, and with
   *   what JSON.stringify threw as its cause
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
   * Gives the value.
   * @param {Uint8Array} buf  one JSON text and nothing else
   * @returns {any}
   * @throws {LogError} ERR_CODEC_DECODE, with what JSON.parse threw as its cause, and with `offset` if that tells the
   *   position
   */
  decode (buf) {
    if (!(buf instanceof Uint8Array || isUint8Array(buf))) throw misuse(`expected a Buffer, got ${typeof buf}`)
    return parse(buf, 0, buf.length)
  },

  /**
   * Gives the value in a part of a buffer.
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   * @returns {any}  keeps no reference to `buf`. Offsets of errors count from `start`
   * @throws {LogError} ERR_CODEC_DECODE
   */
  decodeRange (buf, start, end) {
    if (!(buf instanceof Uint8Array || isUint8Array(buf))) throw misuse(`expected a Buffer, got ${typeof buf}`)
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end || end > buf.length) {
      throw misuse(`expected a range inside a buffer of ${buf.length} bytes, got ${reasonOf(start)} to ${reasonOf(end)}`)
    }
    return parse(buf, start, end)
  },

  /**
   * Makes a function that says whether the record in a range of bytes fulfils a filter. The module that compiles
   * filters is loaded with the first one.
   * @param {import('@millrace/where').Where} where
   */
  compile: (where) => require('./compile').compile(where)
})

/**
 * Refuses what JSON would leave out or change without a word.
 * @type {typeof jsonCodec}
 */
const strictJsonCodec = Object.freeze({
  ...jsonCodec,
  encode (/** @type {any} */ value) {
    const bytes = jsonCodec.encode(value)
    if (isLossless(value)) return bytes
    const { path, what } = findLoss(value)
    throw new LogError('ERR_CODEC_ENCODE', `JSON would lose a part of the value, at /${show(path)}: ${what}. Give what JSON ` +
      'has, or a toJSON; jsonCodec of @millrace/json-codec writes what JSON.stringify makes of it', { path })
  }
})

/**
 * @typedef {object} JsonCodecOptions
 * @property {boolean} [strict]  True refuses, with ERR_CODEC_ENCODE and the `path` in the value, what JSON.stringify
 *   would leave out or change without a word: Map, Set, RegExp, Error, Promise, typed arrays, ArrayBuffer, objects of a
 *   class that have no fields, functions, symbols, NaN and infinite numbers, invalid dates, and undefined in an array.
 *   Dates and whatever has a `toJSON` are taken, and what that returns is not looked into. Members that are undefined,
 *   and members whose key is a symbol, are left out, as JSON does. An append takes about a tenth longer. False by
 *   default; the codec `'json'` of `open` of `millrace` is strict.
 */

/**
 * Makes a codec of JSON records. All of them have the same name, and read each other's records.
 * @param {JsonCodecOptions} [options]
 * @returns {typeof jsonCodec}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createJsonCodec (options = {}) {
  checkOptions('createJsonCodec', options, ['strict'])
  const { strict = false } = options
  if (typeof strict !== 'boolean') throw misuse(`createJsonCodec: strict must be true or false, got ${reasonOf(strict)}`)
  return strict ? strictJsonCodec : jsonCodec
}

/** @type {(value: unknown) => string | undefined} */
function stringify (value) {
  try {
    return JSON.stringify(value)
  } catch (err) {
    throw refused(value, err)
  }
}

/** @param {unknown} value @param {unknown} cause */
function refused (value, cause) {
  const path = findRefused(value)
  return new LogError('ERR_CODEC_ENCODE', `the value has no JSON text, at /${show(path)}: ${reasonOf(cause)}`, { cause, path })
}

/** @param {Array<string | number>} path */
function show (path) {
  return (path.length > KEYS_SHOWN_MAX ? [...path.slice(0, KEYS_SHOWN_MAX), '...'] : path).join('/')
}

/** @type {(bytes: Uint8Array, start: number, end: number) => any} */
function parse (bytes, start, end) {
  const buf = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    return parseText(buf.toString('utf8', start, end))
  } catch (err) {
    const reason = reasonOf(err)
    const offset = findOffset(buf.subarray(start, end), reason)
    const where = offset === undefined ? '' : ` (at byte ${offset} of ${end - start})`
    throw new LogError('ERR_CODEC_DECODE', `the record is no JSON text${where}: ${reason}`, { cause: err, offset })
  }
}

/**
 * JSON.stringify does not say where it failed, so this walks the value as it does.
 * @param {unknown} root  that JSON.stringify refuses, or that is nested too deep
 * @returns {Array<string | number>}  the keys and indexes that lead to the refused part; empty if it is all of it
 */
function findRefused (root) {
  /** @type {Array<string | number>} to the value in hand, or to the one that was found */
  const path = []
  /** @type {object[]} */
  const ancestors = []
  const visit = (/** @type {any} */ holder, /** @type {string | number} */ key) => {
    let value
    let keys
    try {
      value = resolve(holder[key], key)
      if (typeof value === 'bigint' || isBigIntObject(value)) return true
      if (typeof value !== 'object' || value === null) return false
      keys = Array.isArray(value) ? value.keys() : Object.keys(value)
    } catch {
      return true
    }
    if (ancestors.includes(value) || ancestors.length === DEPTH_MAX) return true
    ancestors.push(value)
    for (const key of keys) {
      path.push(key)
      if (visit(value, key)) return true
      path.pop()
    }
    ancestors.pop()
    return false
  }
  visit({ '': root }, '')
  return path
}

/** @param {any} value @param {string | number} key */
function resolve (value, key) {
  const mayConvert = (typeof value === 'object' && value !== null) || typeof value === 'bigint'
  return mayConvert && typeof value.toJSON === 'function' ? value.toJSON(String(key)) : value
}

/**
 * @param {string} text  a JSON text
 * @returns {boolean}  whether something in it is nested deeper than DEPTH_MAX
 */
function isTooDeep (text) {
  // Nearly always there are too few brackets for that, and the engine finds them faster.
  if (text.length <= 2 * DEPTH_MAX || !hasManyBrackets(text)) return false
  let depth = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (isString && unit === '\\') at++
    else if (unit === '"') isString = !isString
    else if (isString) continue
    else if (unit === '[' || unit === '{') depth++
    else if (unit === ']' || unit === '}') depth--
    if (depth > DEPTH_MAX) return true
  }
  return false
}

/**
 * @param {string} text
 * @returns {boolean}  whether there are more than DEPTH_MAX that open something
 */
function hasManyBrackets (text) {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++count > DEPTH_MAX) return true
    }
  }
  return false
}

/**
 * The engine tells a position in UTF-16 units, and in some messages only. It is a byte offset where all before it is
 * ASCII, and can be turned into one in valid UTF-8; after invalid bytes it is unknown.
 * @type {(bytes: Buffer, reason: string) => number | undefined}
 */
function findOffset (bytes, reason) {
  if (/^Unexpected end /.test(reason)) return bytes.length
  const position = / at position (\d+)/.exec(reason)
  if (position === null || !isUtf8(bytes)) return undefined
  return Buffer.byteLength(bytes.toString().slice(0, Number(position[1])))
}

exports.jsonCodec = jsonCodec
exports.createJsonCodec = createJsonCodec
