'use strict'
// The log that a command reads: what its file is, which codec its records need, and the log itself, open for reading.
// Reading takes no lock: another process may be writing.

const fs = require('node:fs')
const { validate } = require('@millrace/binary-codec')
const { BlockFile } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { HEADER_POSITIONS, HEADER_SIZE, decodeFileHeader } = require('@millrace/framing')
const { OffsetLog } = require('@millrace/offset-log')
const { detectFraming } = require('@millrace/offset-log/copies')
const { codecs, framingOf } = require('../open')
const { createLineCodec, createTally } = require('./line-codecs')
const { kindOf } = require('./file-kinds')
const { findIndex } = require('./log-index')
const { spool } = require('./spool')

// Of the first line of a text, in bytes.
const LINE_SIZE_MAX = 64 * 1024

/**
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {ReturnType<typeof OffsetLog>} Log
 */

/**
 * @typedef {object} Identity
 * @property {string} path  absolute
 * @property {number} size  of the file, or of all segments in a folder, in bytes
 * @property {import('@millrace/offset-log').FramingName | null} framing  null of an empty file
 * @property {string | null} codec  the name that the file has stored; null if it has none
 * @property {string[]} [segments]  of a folder: the paths of its files, in order
 */

/**
 * @param {string} path
 * @returns {Promise<Identity>}
 * @throws ERR_LOG_UNKNOWN_FORMAT; ERR_NOT_SUPPORTED if it can be converted; what opening a file fails with
 */
async function identify (path) {
  try {
    return await readIdentity(path)
  } catch (/** @type {any} */ err) {
    throw err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? await explainUnknown(path, err) : err
  }
}

/** @type {(path: string) => Promise<Identity>} */
async function readIdentity (path) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage: storageOf(path) })
  await promisesOf(blocks).ready()
  try {
    const size = blocks.size.value
    const identity = { path: blocks.path, size, framing: null, codec: null }
    if (size === 0) return identity
    const framing = await new Promise((resolve, reject) => {
      detectFraming(blocks, storageOf(path), framingOf(path), (err, found) => err ? reject(err) : resolve(found))
    })
    if (framing === 'checked') return { ...identity, framing, codec: await readCodecName(blocks) }
    return { ...identity, framing: framing === 'lines' ? framing : framing.name }
  } finally {
    await promisesOf(blocks).close()
  }
}

/**
 * A compressed segment is read as the plain one.
 * @param {string} path
 * @returns {import('@millrace/block-file').Storage | undefined}  undefined for the file system as it is
 */
function storageOf (path) {
  return /\.(gz|zst)$/.test(path) ? require('@millrace/segmented-log').createPlainStorage() : undefined
}

/** @param {ReturnType<typeof BlockFile>} blocks  of a checked log */
async function readCodecName (blocks) {
  for (const position of HEADER_POSITIONS) {
    if (blocks.size.value < position + HEADER_SIZE) break
    const bytes = Buffer.alloc(HEADER_SIZE)
    await promisesOf(blocks).readInto(bytes, position)
    const header = decodeFileHeader(bytes)
    if (header !== null && 'codec' in header) return header.codec || null
  }
  return null
}

/**
 * @param {import('./shell').Shell} shell
 * @param {string} file  `-` for standard input
 * @returns {Promise<{ path: string, remove: () => void }>}  a path that leads to the log until `remove`
 */
async function findLog (shell, file) {
  return file === '-' ? spool(shell) : { path: file, remove: () => {} }
}

/**
 * @typedef {object} OpenedSource
 * @property {Log} log  its values are lines of JSON; with `raw` the bytes of the records
 * @property {Identity} identity
 * @property {CodecName} codec  what the records are decoded with
 * @property {Part[]} parts  the log itself, or those of the slots
 * @property {import('./log-index').CommandIndex | null} [index]  that lies beside the log; only looked for if there is
 *   a filter
 * @property {import('./line-codecs').Tally} tally  what filters have met that the user must be told
 * @property {() => End} end  what the log has now
 * @property {() => Promise<void>} close
 *
 * @typedef {{ slot: number | null, log: Log }} Part
 *
 * @typedef {object} End
 * @property {Record<string, any>} before  options of a stream of the records until then
 * @property {Record<string, any>} behind  options of a stream of those that come later
 * @property {(behind: Record<string, any>, seq: any) => Record<string, any>} note  `behind`, after a record
 *
 * @typedef {{ codec?: CodecName, raw?: boolean } & Record<string, any>} SourceOptions
 */

/**
 * @param {import('./shell').Shell} shell
 * @param {string} file  `-` for standard input
 * @param {SourceOptions} [options]
 * @returns {Promise<OpenedSource>}
 */
async function openSource (shell, file, options = {}) {
  const { isAddress, openStream } = require('./stream')
  if (isAddress(file)) return openStream(file, options)
  if (isFolder(file)) return require('./folder').openFolder(file, options)
  const { codec, raw = false } = options
  const { path, remove } = await findLog(shell, file)
  try {
    const identity = await identify(path)
    const chosen = codec ?? await chooseCodec(identity)
    const tally = createTally()
    const index = hasFilter(options) ? await findIndex(identity.path, chosen) : null
    const log = openIdentified(identity, createLineCodec(chosen, raw, tally), index)
    await log.ready()
    await index?.loaded()
    return { ...whole(log), tally, identity, codec: chosen, index, close: () => log.close().finally(remove) }
  } catch (err) {
    remove()
    throw err
  }
}

/** @param {SourceOptions} options */
function hasFilter ({ where, since, until, level, explain }) {
  return [where, since, until, level, explain].some((given) => given !== undefined)
}

/**
 * Opens a log for reading.
 * @param {Identity} identity
 * @param {import('../open').Codec} [codec]
 * @param {import('./log-index').CommandIndex | null} [index]
 * @returns {Log}
 */
function openIdentified ({ path, framing, segments }, codec, index = null) {
  const options = { flags: /** @type {const} */ ('r'), codec, ...(index && { index }) }
  if (segments !== undefined) return /** @type {any} */ (require('@millrace/segmented-log').SegmentedLog(path, options))
  return OffsetLog(path, { ...options, framing: framing ?? framingOf(path), storage: storageOf(path) })
}

/** What is the same of all logs with one order of seqs. @param {Log} log */
function whole (log) {
  const end = () => {
    const since = Number(log.since.value)
    const note = (/** @type {object} */ behind, /** @type {number} */ gt) => ({ ...behind, gt })
    return { before: { lte: since }, behind: { gt: since }, note }
  }
  return { log, parts: [{ slot: null, log }], end }
}

/** @param {string} path */
function isFolder (path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/**
 * What is no log of ours may be one that can be converted, or a text to import.
 * @param {string} path
 * @param {Error} cause  ERR_LOG_UNKNOWN_FORMAT
 */
async function explainUnknown (path, cause) {
  const { openSource } = require('@millrace/migrate')
  const source = openSource(path)
  const format = await source.ready().then(() => source.format, () => undefined)
  await source.close().catch(() => {})
  if (format !== undefined) {
    return new LogError('ERR_NOT_SUPPORTED', `${path} is a log of ${format}; run millrace convert to make a log of Millrace ` +
      'from it', { cause, path })
  }
  const what = beginsWithJson(path)
    ? 'not a log, but begins with a line of JSON; run millrace import to make a log of its lines'
    : describeForeign(path) ?? 'not a log, or its beginning is lost; check the path, or run millrace verify on it'
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} is ${what}`, { cause, path })
}

/**
 * What verify and repair were given if it is not even a damaged log.
 * @type {(path: string, err: any) => Error}
 */
function explainForeign (path, err) {
  const what = err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? describeForeign(path) : null
  return what === null ? err : new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} is ${what}`, { cause: err, path })
}

/** @param {string} path @returns {string | null}  null if nothing is known */
function describeForeign (path) {
  const kind = kindOf(readStart(path))
  if (kind !== null && !kind.isLog) return `${kind.what}; if a log is in it: ${kind.command} FILE | millrace cat -`
  return beginsWithText(path) ? 'a text file, not a log; check the path' : null
}

/** @param {string} path */
function beginsWithText (path) {
  const text = readStart(path).toString()
  // A character may be cut off at the end.
  // eslint-disable-next-line no-control-regex -- what no text has
  return text !== '' && !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\ufffd]/.test(text.slice(0, -1))
}

/** @param {string} path @returns {Buffer}  its first bytes */
function readStart (path) {
  const file = fs.openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(LINE_SIZE_MAX)
    return bytes.subarray(0, fs.readSync(file, bytes, 0, LINE_SIZE_MAX, 0))
  } finally {
    fs.closeSync(file)
  }
}

/** @param {string} path */
function beginsWithJson (path) {
  try {
    return typeof JSON.parse(readStart(path).toString().split('\n', 1)[0]) === 'object'
  } catch {
    return false
  }
}

/**
 * The codec that the file names; if it names none, the one that the first record fits.
 * @param {Identity} identity
 * @returns {Promise<CodecName>}
 */
async function chooseCodec (identity) {
  const { path, framing, codec } = identity
  if (codec !== null && Object.hasOwn(codecs, codec)) return /** @type {CodecName} */ (codec)
  if (codec !== null) {
    throw misuse(`${path} has records of the codec ${codec}, which this command does not know; read them as bytes with ` +
      '--codec bytes')
  }
  if (framing === null || framing === 'lines') return 'json'
  const log = openIdentified(identity)
  try {
    const { value: first } = await log.stream({ limit: 1 })[Symbol.asyncIterator]().next()
    if (first !== undefined) return guessCodec(first.value)
  } catch (/** @type {any} */ err) {
    // What is wrong with the log is told by who reads it.
    if (err.code !== 'ERR_LOG_CORRUPT') throw err
  } finally {
    await log.close()
  }
  return 'json'
}

/**
 * @param {Buffer} bytes  of a record
 * @returns {CodecName}
 */
function guessCodec (bytes) {
  try {
    codecs.json.decode(bytes)
    return 'json'
  } catch {
    return isBinary(bytes) ? 'binary' : 'bytes'
  }
}

/** @param {Buffer} bytes */
function isBinary (bytes) {
  try {
    return validate(bytes) === bytes.length
  } catch {
    return false
  }
}

exports.explainForeign = explainForeign
exports.chooseCodec = chooseCodec
exports.isFolder = isFolder
exports.storageOf = storageOf
exports.findLog = findLog
exports.guessCodec = guessCodec
exports.hasFilter = hasFilter
exports.identify = identify
exports.openIdentified = openIdentified
exports.openSource = openSource
exports.whole = whole
