'use strict'
// Checks the options of reading and of converting, and fills in their defaults.

const { fileStorage, resolvePath } = require('@millrace/block-file')
const { asError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { parseCodecName } = require('@millrace/offset-log')
const { formats } = require('./formats')

const BLOCK_SIZE = 64 * 1024
// More than any block size in use: the sizes of records have 16 bits.
const BLOCK_SIZE_MAX = 2 ** 24
const BATCH_SIZE = 1000
const BATCH_SIZE_MAX = 2 ** 20
const SOURCE_NAMES = ['format', 'blockSize', 'onCorrupt', 'storage']
const FRAMINGS = ['checked', 'lines']
const CONVERT_NAMES = [...SOURCE_NAMES, 'framing', 'fromCodec', 'toCodec', 'batchSize', 'resume', 'verify', 'signal', 'onProgress', 'onRecord',
  'onBadRecord', 'onVerified']

/** @typedef {import('./formats').Format} Format */

/**
 * @typedef {object} SourceOptions
 * @property {Format} [format]  the format of the log, one of `formats`; detected by default. Give it if the log has
 *   only one block, or if its first blocks are damaged
 * @property {number} [blockSize]  bytes in a block of flumelog-aligned-offset or async-append-only-log; 64 KiB by
 *   default
 * @property {'error' | 'skip'} [onCorrupt]  at damage, `'error'` (the default) fails with `ERR_LOG_CORRUPT`, and
 *   `'skip'` leaves the lost ranges out and counts them. After damage, a checked log goes on at the next sound chunk,
 *   flumelog-aligned-offset at the next frame of the block or the next block, async-append-only-log at the next
 *   block, and the offset framings do not go on
 * @property {import('@millrace/block-file').Storage} [storage]  replaces the file system
 */

/** @typedef {import('@millrace/offset-log').Codec} Codec */

/**
 * @typedef {object} Progress
 * @property {'resume' | 'convert' | 'verify'} phase  what is done now
 * @property {number} records  done in this phase
 * @property {number} bytesDone  of the source
 * @property {number} bytesTotal  of the source
 */

/**
 * Gets a record that the codecs refuse. True leaves the record out; otherwise the conversion fails with the error.
 * @typedef {(err: LogError, record: { seq: number, bytes: Buffer }) => unknown} OnBadRecord
 * @typedef {InstanceType<typeof import('@millrace/errors').LogError>} LogError
 */

/**
 * @typedef {object} OwnOptions
 * @property {'checked' | 'lines'} [framing]  of the new log; `checked` by default. Each record of a log of lines is one
 *   line of text, as a JSON codec makes it; another one fails with `ERR_RECORD_UNREPRESENTABLE`. Such a log does not
 *   store the name of its codec
 * @property {Codec} [fromCodec]  decodes each record of the old log. Without codecs, or if both are the same, bytes
 *   are copied unchanged
 * @property {Codec} [toCodec]  encodes each record for the new log, which stores its name. Without it, the name in
 *   the old log is kept
 * @property {number} [batchSize]  at most so many records, and at most 4 MiB, are one commit; 1,000 by default
 * @property {boolean} [resume]  false removes what an interrupted conversion left; true, the default, goes on with it
 * @property {boolean} [verify]  false does not read both files again at the end, and accepts values that the new
 *   codec changes; true by default
 * @property {AbortSignal} [signal]  ends the conversion with `ABORT_ERR` after the batch
 * @property {(progress: Progress) => void} [onProgress]  gets how far the conversion is, once for each batch
 * @property {(oldSeq: number, newSeq: number) => void} [onRecord]  gets the old and the new seq of every record, in
 *   order, before the new log appears. After an interruption it begins again with the first record
 * @property {() => unknown} [onVerified]  is called, and awaited, when the new log is whole and verified, before it
 *   gets its name: here what `onRecord` got can be put on the disk. If it fails, the conversion does, and the same call
 *   goes on with it
 * @property {OnBadRecord} [onBadRecord]  gets each record that the codecs refuse. If it returns true, the record is
 *   left out; otherwise the conversion ends with the error, which is the default
 * @typedef {SourceOptions & OwnOptions} ConvertOptions
 */

/**
 * @param {string} name  of the function
 * @param {unknown} path
 * @param {SourceOptions} [options]
 * @throws {TypeError}  ERR_INVALID_ARGUMENT
 */
function parseSourceOptions (name, path, options = {}, names = SOURCE_NAMES) {
  if (!isPath(path)) throw misuse(`${name}: expected a path, got ${reasonOf(path)}`)
  checkOptions(name, options, names)
  const { format, blockSize = BLOCK_SIZE, onCorrupt = 'error', storage = fileStorage } = options
  if (format !== undefined && !formats.includes(format)) {
    throw misuse(`${name}: format must be one of ${formats.join(', ')}, got ${reasonOf(format)}`)
  }
  checkWhole(name, 'blockSize', blockSize, 16, BLOCK_SIZE_MAX)
  checkOneOf(name, 'onCorrupt', onCorrupt, ['error', 'skip'])
  if (typeof storage?.open !== 'function') throw misuse(`${name}: storage must have the function open`)
  return { format, blockSize, onCorrupt, storage }
}

/** @param {unknown} path */
function isPath (path) {
  return path instanceof URL || (typeof path === 'string' && path !== '')
}

/**
 * @param {unknown} from
 * @param {unknown} to
 * @param {ConvertOptions} [options]
 * @throws {TypeError}  ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseConvertOptions (from, to, options = {}) {
  const source = parseSourceOptions('convert', from, options, CONVERT_NAMES)
  if (!isPath(to)) throw misuse(`convert: expected the path of a new log, got ${reasonOf(to)}`)
  const { framing = 'checked', fromCodec, toCodec, batchSize = BATCH_SIZE, resume = true, verify = true, signal } = options
  checkOneOf('convert', 'framing', framing, FRAMINGS)
  checkCodecs(fromCodec, toCodec)
  checkWhole('convert', 'batchSize', batchSize, 1, BATCH_SIZE_MAX)
  checkOneOf('convert', 'resume', resume, [true, false])
  checkOneOf('convert', 'verify', verify, [true, false])
  if (signal !== undefined && typeof signal?.aborted !== 'boolean') throw misuse('convert: signal must be an AbortSignal')
  const { onProgress = () => {}, onRecord, onBadRecord = () => false, onVerified = () => {} } = options
  for (const [name, value] of Object.entries({ onProgress, onRecord, onBadRecord, onVerified })) {
    if (value !== undefined && typeof value !== 'function') throw misuse(`convert: ${name} must be a function`)
  }
  return {
    from: resolvePath(from, source.storage),
    to: resolvePath(to, source.storage),
    source,
    framing,
    fromCodec,
    toCodec,
    batchSize,
    resume,
    verify,
    signal,
    onProgress: guarded('onProgress', onProgress),
    onRecord: onRecord && guarded('onRecord', onRecord),
    onBadRecord: guarded('onBadRecord', onBadRecord),
    onVerified
  }
}

/**
 * Converts what a listener throws into an error.
 * @template {(...args: any[]) => any} Listener
 * @param {string} name
 * @param {Listener} listener
 * @returns {Listener}
 */
function guarded (name, listener) {
  /** @type {any} */
  const guard = (/** @type {any[]} */ ...args) => {
    try {
      return listener(...args)
    } catch (err) {
      throw asError(err, `convert: ${name}`)
    }
  }
  return guard
}

/** @param {Codec | undefined} fromCodec @param {Codec | undefined} toCodec */
function checkCodecs (fromCodec, toCodec) {
  for (const [name, codec] of Object.entries({ fromCodec, toCodec })) {
    const isOne = typeof codec?.encode === 'function' && typeof codec.decode === 'function'
    if (codec !== undefined && !isOne) throw misuse(`convert: ${name} must have the functions encode and decode`)
    parseCodecName(codec?.name)
  }
  if ((fromCodec === undefined) !== (toCodec === undefined)) {
    throw misuse('convert: give both fromCodec and toCodec, or neither to copy the bytes as they are')
  }
}

/** @type {(name: string, option: string, value: unknown, least: number, most: number) => void} */
function checkWhole (name, option, value, least, most) {
  if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return
  throw misuse(`${name}: ${option} must be a whole number from ${least} to ${most}, got ${reasonOf(value)}`)
}

/** @param {string} name @param {string} option @param {unknown} value @param {unknown[]} choices */
function checkOneOf (name, option, value, choices) {
  if (choices.includes(value)) return
  throw misuse(`${name}: ${option} must be one of ${choices.join(', ')}, got ${reasonOf(value)}`)
}

exports.parseSourceOptions = parseSourceOptions
exports.parseConvertOptions = parseConvertOptions
