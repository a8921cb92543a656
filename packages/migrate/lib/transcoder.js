'use strict'
// Turns a record of one codec into the same record of another without loss, or copies the bytes.

const { isUint8Array } = require('node:util').types
const { LogError, reasonOf } = require('@millrace/errors')
const { findDifference, findJsonLoss } = require('./value-loss')

/** @typedef {import('./options').Codec} Codec */

/**
 * @typedef {object} Transcoder
 * @property {string} from  the name of the codec; empty if bytes are copied
 * @property {string | null} to  null if the new log is to name the codec that the old one names
 * @property {(bytes: Buffer, seq: number) => Buffer} encode  throws a LogError: ERR_CODEC_DECODE or ERR_CODEC_ENCODE
 * @property {(bytes: Buffer, targetBytes: Buffer) => boolean} isSame  whether they are the same record; never throws
 */

/** @type {(options: { fromCodec?: Codec, toCodec?: Codec, verify: boolean }) => Transcoder} */
function createTranscoder ({ fromCodec, toCodec, verify }) {
  const to = toCodec ? toCodec.name ?? '' : null
  if (!fromCodec || !toCodec || fromCodec === toCodec) {
    return { from: '', to, encode: asTheyAre, isSame: (bytes, targetBytes) => bytes.equals(targetBytes) }
  }
  return {
    from: nameOf(fromCodec),
    to,
    encode (bytes, seq) {
      const value = decode(fromCodec, bytes, seq)
      if (verify) checkDecoded(fromCodec, bytes, value, seq)
      const encoded = encode(toCodec, value, seq)
      if (verify) checkLossless(toCodec, value, encoded, seq)
      return encoded
    },
    isSame (bytes, targetBytes) {
      try {
        const value = decodeWith(fromCodec, bytes)
        // If losses were accepted, the decoded value may differ from the one that was encoded.
        if (!verify && encode(toCodec, value, 0).equals(targetBytes)) return true
        return findDifference(value, decodeWith(toCodec, targetBytes)) === null
      } catch {
        return false
      }
    }
  }
}

/** A codec of this name that takes and gives the bytes of records. @type {(name?: string) => Codec} */
function bytesOf (name) {
  return { name, buffer: true, encode: asTheyAre, decode: asTheyAre }
}

/** @param {Buffer} bytes */
function asTheyAre (bytes) {
  return bytes
}

/** @param {Codec} codec */
function nameOf (codec) {
  return codec.name ?? 'unnamed'
}

/** @param {Codec} codec @param {Buffer} bytes */
function decodeWith (codec, bytes) {
  return codec.decode(codec.buffer ? bytes : bytes.toString())
}

/** @param {Codec} codec @param {Buffer} bytes @param {number} seq */
function decode (codec, bytes, seq) {
  try {
    return decodeWith(codec, bytes)
  } catch (err) {
    throw badRecord('ERR_CODEC_DECODE', `the codec ${nameOf(codec)} cannot decode the record at ${seq}`, seq, err)
  }
}

// The value does not show what reading JSON lost.
/** @type {(codec: Codec, bytes: Buffer, value: unknown, seq: number) => void} */
function checkDecoded (codec, bytes, value, seq) {
  if (givesBack(codec, value, bytes)) return
  const loss = findJsonLoss(bytes, value)
  if (loss === null) return
  throw new LogError('ERR_CODEC_DECODE', `convert: the codec ${nameOf(codec)} loses part of the record at ${seq}${at(loss.path)}: ` +
    `${loss.what}; copy the bytes unchanged, leave the record out with onBadRecord, or accept such losses with verify: false`,
  { offset: seq, path: loss.path })
}

// Whether encoding makes the same bytes again: then nothing was lost.
/** @type {(codec: Codec, value: unknown, bytes: Buffer) => boolean} */
function givesBack (codec, value, bytes) {
  try {
    return encode(codec, value, 0).equals(bytes)
  } catch {
    return false
  }
}

/** @type {(codec: Codec, value: unknown, seq: number) => Buffer} */
function encode (codec, value, seq) {
  let encoded
  try {
    encoded = codec.encode(value)
  } catch (err) {
    throw badRecord('ERR_CODEC_ENCODE', `the codec ${nameOf(codec)} cannot encode the record at ${seq}`, seq, err)
  }
  if (Buffer.isBuffer(encoded)) return encoded
  if (typeof encoded === 'string') return Buffer.from(encoded)
  if (isUint8Array(encoded)) return Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength)
  throw new LogError('ERR_CODEC_ENCODE', `convert: the codec ${nameOf(codec)} returned ${typeof encoded} for the record at ${seq}; ` +
    'it must return a Buffer or a string', { offset: seq })
}

// Reports a value that comes back changed now, not after the whole conversion.
/** @type {(codec: Codec, value: unknown, encoded: Buffer, seq: number) => void} */
function checkLossless (codec, value, encoded, seq) {
  let path
  try {
    path = findDifference(value, decodeWith(codec, encoded))
  } catch (err) {
    throw badRecord('ERR_CODEC_ENCODE', `the codec ${nameOf(codec)} does not give back the record at ${seq}`, seq, err)
  }
  if (path === null) return
  throw new LogError('ERR_CODEC_ENCODE', `convert: the codec ${nameOf(codec)} changes the record at ${seq}${at(path)}; use another ` +
    'codec, leave the record out with onBadRecord, or accept such losses with verify: false', { offset: seq, path })
}

/** @type {(code: 'ERR_CODEC_DECODE' | 'ERR_CODEC_ENCODE', what: string, seq: number, cause: any) => LogError} */
function badRecord (code, what, seq, cause) {
  const path = Array.isArray(cause?.path) ? cause.path : undefined
  return new LogError(code, `convert: ${what}${path ? at(path) : ''}: ${reasonOf(cause)}`, { cause, offset: seq, path })
}

/** @param {Array<string | number>} path */
function at (path) {
  return path.length === 0 ? '' : `, at ${JSON.stringify(path)}`
}

exports.bytesOf = bytesOf
exports.createTranscoder = createTranscoder
