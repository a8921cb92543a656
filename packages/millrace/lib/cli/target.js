'use strict'
// The log that a command writes: an old one with the codec of its records, or a new one; and lines of JSON to records.

const { isUint8Array } = require('node:util').types
const { jsonCodec, parseText } = require('@millrace/json-codec')
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { codecs, open } = require('../open')
const { fromJson } = require('./json')
const { chooseCodec, identify, isFolder } = require('./source')

// jsonCodec refuses what is nested too deep. A shorter text is not.
const FLAT_SIZE_MAX = 2000
const OF_PROGRAMS = 'this command changes logs of one file. Programs change this one, with SegmentedLog or SlotLog'

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
    if (isUint8Array(value)) return Buffer.from(value.buffer, value.byteOffset, value.length)
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
 * Opens a log, or makes one when its first record comes: a refused one leaves no file.
 * @param {string} path
 * @param {object} [options]
 * @param {CodecName} [options.codec]  of a new log; an old one must have the same
 * @param {import('@millrace/offset-log').FsyncMode} [options.fsync]
 * @param {boolean} [options.mustExist]
 * @param {string} [options.advice]  for who gives a folder of segments
 * @returns {Promise<any>}
 */
async function openTarget (path, { codec, fsync, mustExist = false, advice = OF_PROGRAMS } = {}) {
  if (path === '-') {
    throw misuse('a log on standard input can only be read; give the path of the log (./- if that is its name)')
  }
  if (isFolder(path)) await require('./folder').refuseFolder(path, advice)
  const identity = await identify(path).catch((/** @type {any} */ err) => {
    if (err.code === 'ENOENT' && !mustExist) return null
    throw err
  })
  const chosen = codec ?? (identity === null ? 'json' : await chooseCodec(identity))
  const codecOfLog = createWriteCodec(chosen)
  const openLog = async () => {
    const log = open(path, { codec: codecOfLog, fsync, mustExist })
    await log.ready()
    return log
  }
  return identity === null ? new NewLog(codecOfLog, openLog) : openLog()
}

/** A log that is made by its first append. */
class NewLog {
  #openLog
  /** @type {Promise<any> | null} */
  #opening = null

  /** @param {Codec} codec @param {() => Promise<any>} openLog */
  constructor (codec, openLog) {
    this.codec = codec
    this.since = { value: -1 }
    this.#openLog = openLog
  }

  /** @type {(texts: string[], options?: { seqs: boolean }) => Promise<any>} */
  async append (texts, options) {
    if (this.#opening === null && texts.length > 0) {
      try {
        this.codec.encode(texts[0])
      } catch (err) {
        throw new LogError('ERR_CODEC_ENCODE', reasonOf(err), { cause: err, index: 0 })
      }
    }
    return (await this.make()).append(texts, options)
  }

  /** @returns {Promise<any>} */
  make () {
    this.#opening ??= this.#openLog().then((log) => {
      this.since = log.since
      return log
    })
    return this.#opening
  }

  async close () {
    // That it could not be opened was told by the append.
    const log = await this.#opening?.catch(() => null)
    await log?.close()
  }
}

exports.openTarget = openTarget
