'use strict'
// The log that a command writes: an old one with the codec of its records, or a new one; and lines of JSON to records.

const { jsonCodec, parseText } = require('@millrace/json-codec')
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { codecs, open } = require('../open')
const { fromJson } = require('./json')
const { chooseCodec, identify } = require('./source')

// jsonCodec refuses what is nested too deep. A shorter text is not.
const FLAT_SIZE_MAX = 2000

/**
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {import('@millrace/offset-log').Codec<any>} Codec
 */

/**
 * A codec whose values are lines of JSON.
 * @param {CodecName} name
 * @returns {Codec}
 */
function createWriteCodec (name) {
  const codec = codecs[name]
  return { name, buffer: true, encode: encoders[name], decode: codec ? codec.decode : (bytes) => bytes }
}

/** @type {Record<CodecName, (line: string) => Buffer>} */
const encoders = {
  // As it is: digits that no JavaScript number can hold stay.
  json (line) {
    const value = parseLine(line)
    if (line.length > FLAT_SIZE_MAX) jsonCodec.encode(value)
    return Buffer.from(line.trim())
  },
  binary: (line) => codecs.binary.encode(fromJson(parseLine(line))),
  bytes (line) {
    const value = fromJson(parseLine(line))
    if (typeof value === 'string') return Buffer.from(value)
    if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length)
    throw new LogError('ERR_CODEC_ENCODE', 'the log holds bytes: a record is a JSON string, or {"$bytes":"<base64>"}')
  }
}

/** @param {string} line */
function parseLine (line) {
  try {
    return parseText(line)
  } catch (err) {
    throw new LogError('ERR_CODEC_ENCODE', `it is no JSON: ${reasonOf(err)}`, { cause: err })
  }
}

/**
 * @param {string} path
 * @param {{ codec?: CodecName, fsync?: import('@millrace/offset-log').FsyncMode, mustExist?: boolean }} [options]
 *   `codec`: of a new log; an old one must have the same
 */
async function openTarget (path, { codec, fsync, mustExist = false } = {}) {
  if (path === '-') {
    throw misuse('a log on standard input can only be read; give the path of the log (./- if that is its name)')
  }
  const identity = await identify(path).catch((/** @type {any} */ err) => {
    if (err.code === 'ENOENT' && !mustExist) return null
    throw err
  })
  const chosen = codec ?? (identity === null ? 'json' : await chooseCodec(identity))
  const log = open(path, { codec: createWriteCodec(chosen), fsync, mustExist })
  await log.ready()
  return log
}

exports.openTarget = openTarget
