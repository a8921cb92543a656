'use strict'
// Wraps a codec: its errors get a code, and no value shares memory with bytes that the codec does not own.

// The global one is behind a getter. Reading it for each `Buffer.isBuffer` takes longer than to frame the record.
const { Buffer } = require('node:buffer')
const { isUint8Array } = require('node:util').types
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { ofBatch } = require('./errors')

/**
 * @template [T=any]
 * @typedef {object} Codec
 * @property {string} [name]  At most 20 bytes of UTF-8. A checked log stores it, and opens with no codec of another
 *   name: one log must not have records of two codecs. A codec without a name opens any log; any codec opens a log that
 *   stores no name. Without a codec, or with one named `bytes`, the records of any log can be read as bytes and
 *   deleted, and the log can be compacted; appending then fails with ERR_CODEC_MISMATCH.
 * @property {(value: T) => Buffer | Uint8Array | string} encode  Makes the bytes of a value; text becomes UTF-8. If it
 *   throws, the append fails with ERR_CODEC_ENCODE. If it passes bytes through, the caller must not change them until
 *   the append has called back.
 * @property {(bytes: any) => T} decode  Gets a Buffer that it may keep if `buffer` is true, else a string. If it
 *   throws, the read fails with ERR_CODEC_DECODE.
 * @property {boolean} [buffer]  True gives `decode` Buffers in place of strings; false by default.
 * @property {(buf: Buffer, start: number, end: number) => T} [decodeRange]  Like `decode`, for a range of a larger
 *   Buffer. It must not keep bytes of `buf`.
 * @property {(where: import('@millrace/where').Filter[]) => RecordFilter} [compile]  Makes a filter that works on the
 *   bytes, so that records that do not match need not be decoded.
 * @property {boolean} [dictionary]  True gives new files a dictionary, in which texts that repeat are stored once: see
 *   `withDictionary` of `@millrace/dictionary`.
 */

/**
 * @typedef {((buf: Buffer, start: number, end: number) => boolean) & { select?: Select }} RecordFilter  if there is a
 *   `select`, it is called for many records at once instead
 * @typedef {(records: import('@millrace/where').Records, picked: Uint32Array) => number} Select  writes the indexes of
 *   the matching records into `picked`, ascending, and returns how many there are
 */

// The header of a checked log has room for no more.
const NAME_SIZE_MAX = 20
const BYTES = 'bytes'

/** Leaves bytes as they are. The default, as in flumelog-offset. @type {Codec} */
const bytesCodec = {
  name: BYTES,
  buffer: true,
  encode: (value) => value,
  decode: (bytes) => bytes
}

class RecordCodec {
  /**
   * @param {Codec} [codec]
   * @param {string} [call]  the name of the call that got the codec, for the message
   */
  constructor (codec = bytesCodec, call = 'OffsetLog') {
    if (!codec || typeof codec.encode !== 'function' || typeof codec.decode !== 'function') {
      throw misuse(`${call}: codec must be an object with the functions encode and decode, such as jsonCodec of ` +
        `@millrace/json-codec, got ${codec === null ? 'null' : typeof codec === 'string' ? `'${codec}'` : typeof codec}`)
    }
    this.codec = codec
    /** The name that logs store and compare; empty if there is none. */
    this.name = parseCodecName(codec.name)
    this._label = this.name === '' ? 'without a name' : this.name
    /** Whether new files have a dictionary. Any codec of the same name reads them. */
    this.hasDictionary = codec.dictionary === true
    /** Whether `decode` gets a Buffer that it may keep. */
    this.keepsBytes = Boolean(codec.buffer) && !codec.decodeRange
  }

  /**
   * Whether this codec may be used with a log. The codec `bytes` may read any log, but append only to its own.
   * @param {string | null} stored  the name in the log; null or empty if there is none
   * @param {string} path  of the log
   * @param {'open' | 'append'} call
   * @returns {LogError | null}  ERR_CODEC_MISMATCH
   */
  compareName (stored, path, call) {
    const isSame = !stored || this.name === '' || stored === this.name
    if (isSame || (call === 'open' && this.name === BYTES)) return null
    return new LogError('ERR_CODEC_MISMATCH', `${call}: ${path} has records of the codec ${stored}, and the codec given is ` +
      `${this.name}; give the codec ${stored}, or convert the log`, { path })
  }

  /**
   * @param {unknown} value
   * @returns {Buffer}
   * @throws {LogError} ERR_CODEC_ENCODE
   */
  encode (value) {
    let bytes
    try {
      bytes = this.codec.encode(value)
    } catch (err) {
      if (err instanceof LogError) throw err
      throw new LogError('ERR_CODEC_ENCODE', `append: the codec ${this._label} cannot encode the value: ${reasonOf(err)}`,
        { cause: err })
    }
    if (Buffer.isBuffer(bytes)) return bytes
    if (typeof bytes === 'string') return Buffer.from(bytes)
    if (bytes instanceof Uint8Array || isUint8Array(bytes)) {
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    throw new LogError('ERR_CODEC_ENCODE', `append: the codec ${this._label} returned ${typeof bytes} for the value; ` +
      'it must return a Buffer or a string')
  }

  /**
   * @param {unknown} values  of an `append`: an array is a batch
   * @returns {Buffer | Buffer[]}
   * @throws {LogError} ERR_CODEC_ENCODE, of a batch with the index of the value
   */
  encodeAll (values) {
    if (!Array.isArray(values)) return this.encode(values)
    // The length is read once, because a codec may change the array.
    const { length } = values
    const records = new Array(length)
    let index = 0
    try {
      for (; index < length; index++) records[index] = this.encode(values[index])
    } catch (err) {
      throw ofBatch(err, index)
    }
    return records
  }

  /**
   * @param {Buffer} buf  its owner may reuse it afterwards
   * @param {number} start
   * @param {number} end
   * @param {number} seq
   * @throws {LogError} ERR_CODEC_DECODE, with the seq as its offset
   */
  decode (buf, start, end, seq) {
    const { codec } = this
    try {
      if (codec.decodeRange) return codec.decodeRange(buf, start, end)
      if (!codec.buffer) return codec.decode(buf.toString('utf8', start, end))
      return codec.decode(Buffer.from(buf.subarray(start, end)))
    } catch (err) {
      throw this._decodeError(err, seq)
    }
  }

  /**
   * @param {Buffer} bytes  the value may keep them
   * @param {number} seq
   * @throws {LogError} ERR_CODEC_DECODE, with the seq as its offset
   */
  decodeKept (bytes, seq) {
    try {
      return this.codec.decode(bytes)
    } catch (err) {
      throw this._decodeError(err, seq)
    }
  }

  /** @type {(err: unknown, seq: number) => LogError} */
  _decodeError (err, seq) {
    return new LogError('ERR_CODEC_DECODE', `the codec ${this._label} cannot decode the record at ${seq}: ${reasonOf(err)}`,
      { cause: err, offset: seq })
  }

  /**
   * A record that cannot be decoded matches no filter, unless the codec compiles filters: a compiled filter does not
   * read the whole record.
   * @param {import('./range').Range['where']} where
   * @returns {RecordFilter | null}  null if every record matches
   * @throws {LogError} ERR_CODEC_DECODE if the codec cannot compile it
   */
  compile (where) {
    if (where === null) return null
    const { compile } = this.codec
    if (compile) {
      try {
        return compile(where)
      } catch (err) {
        const message = `the codec ${this._label} cannot compile the filter: ${reasonOf(err)}`
        throw new LogError('ERR_CODEC_DECODE', message, { cause: err })
      }
    }
    const isMatch = loadWhere().createMatch(where)
    return (buf, start, end) => {
      let value
      try {
        value = this.decode(buf, start, end, -1)
      } catch {
        return false
      }
      return isMatch(value)
    }
  }
}

/**
 * Checks the name of a codec.
 * @param {unknown} [name]
 * @returns {string}  empty if there is none
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseCodecName (name = '') {
  const isName = typeof name === 'string' && Buffer.byteLength(name) <= NAME_SIZE_MAX && Buffer.from(name).toString() === name
  if (isName) return name
  throw misuse(`OffsetLog: a codec's name must be a text of at most ${NAME_SIZE_MAX} bytes of UTF-8, got ${describe(name)}`)
}

/** @type {typeof import('@millrace/where') | null} */
let where = null

/** Filters are loaded by the first one. Each `require` would look for the package again, which takes a read's time. */
function loadWhere () {
  return (where ??= require('@millrace/where'))
}

/** @param {unknown} name */
function describe (name) {
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : typeof name
}

exports.loadWhere = loadWhere
exports.parseCodecName = parseCodecName
exports.RecordCodec = RecordCodec
