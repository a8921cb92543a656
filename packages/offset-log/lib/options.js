'use strict'
// The options of an offset log, checked, with their defaults.

const { misuse } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { RecordCodec } = require('./codec')
const { createFileHeader, encodeHead, offsetFramings } = require('@millrace/framing')

const RECORD_SIZE_MAX = 2 ** 30
const CACHE_SIZE = 16 * 1024 * 1024
const FRAMINGS = ['checked', ...Object.keys(offsetFramings)]
const FSYNC_MODES = ['always', 'interval', 'never']
const CORRUPT_MODES = ['error', 'skip']
const KNOWN = ['codec', 'framing', 'blockSize', 'flags', 'cache', 'fsync', 'verify', 'maxRecordSize', 'maxPendingSize',
  'onCorrupt',
  'lockTimeout', 'mustExist', 'errorIfExists', 'strict', 'signal', 'storage']

/** @typedef {'checked' | 'offset32' | 'offset48' | 'offset53'} FramingName */

/**
 * @template [T=any]
 * @typedef {object} OffsetLogOptions
 * @property {import('./codec').Codec<T>} [codec]  bytes as they are by default
 * @property {FramingName} [framing]  of a new file: checked (the default), offset32, offset48 or offset53; an old
 *   file's is detected
 * @property {number} [blockSize]  bytes: the unit of caching of the offset framings; 64 KiB by default
 * @property {'r' | 'r+'} [flags]  `r+`, the default, creates the file and its folder; `r` never writes anything
 * @property {number} [cache]  bytes that records may be kept in; 16 MiB by default
 * @property {import('./durability').FsyncMode} [fsync]  when appends go to stable storage: before each calls back
 *   (always), within a second (interval, the default), or only with `sync` and `close` (never)
 * @property {boolean} [verify]  false skips the checksums of the checked framing; true by default
 * @property {number} [lockTimeout]  ms to wait for another writer to close the log; 0, the default, fails at once
 * @property {number} [maxRecordSize]  bytes; 2^30 by default
 * @property {number} [maxPendingSize]  bytes: while so many wait to be appended, further appends fail with
 *   ERR_LOG_OVERLOADED; Infinity by default
 * @property {'error' | 'skip'} [onCorrupt]  what streams and scans do where the log is damaged: end with
 *   ERR_LOG_CORRUPT, the default, or go on behind it and count what was lost. Not for the offset framings
 * @property {boolean} [mustExist]  true fails with ENOENT if there is no file, and makes none; false by default
 * @property {boolean} [errorIfExists]  true fails with EEXIST if there is a file; false by default
 * @property {boolean} [strict]  true refuses options of `stream`, `scan` and `get` that there are not, and lets every
 *   waiting live stream keep the process running; false by default, as flumedb and its views expect it
 * @property {AbortSignal} [signal]  ends opening, with ABORT_ERR; an open log it does not touch
 * @property {import('@millrace/block-file').Storage} [storage]  the file system by default
 */

/**
 * @param {OffsetLogOptions & Record<string, unknown>} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`OffsetLog: expected options, got ${String(options)}`)
  checkNames('OffsetLog', options, KNOWN)
  const {
    codec, framing = 'checked', maxRecordSize = RECORD_SIZE_MAX, maxPendingSize = Infinity, blockSize, flags, cache = CACHE_SIZE,
    fsync = 'interval', verify = true, onCorrupt = 'error', lockTimeout, mustExist, errorIfExists, strict = false,
    signal, storage
  } = options
  checkOneOf('framing', framing, FRAMINGS)
  checkOneOf('fsync', fsync, FSYNC_MODES)
  checkOneOf('onCorrupt', onCorrupt, CORRUPT_MODES)
  checkOneOf('verify', verify, [true, false])
  checkOneOf('strict', strict, [true, false])
  if (!Number.isSafeInteger(maxRecordSize) || maxRecordSize < 1 || maxRecordSize > RECORD_SIZE_MAX) {
    throw misuse(`OffsetLog: maxRecordSize must be from 1 to ${RECORD_SIZE_MAX} bytes, got ${String(maxRecordSize)}`)
  }
  if (typeof maxPendingSize !== 'number' || !(maxPendingSize > 0)) {
    throw misuse(`OffsetLog: maxPendingSize must be a number of bytes above 0, got ${String(maxPendingSize)}`)
  }
  const recordCodec = new RecordCodec(codec)
  const initial = framing === 'checked' ? () => encodeHead(createFileHeader(recordCodec.name)) : null
  return {
    codec: recordCodec,
    framing,
    fsync,
    verify,
    skipsDamage: onCorrupt === 'skip',
    isStrict: strict,
    signal: signal === undefined ? null : parseSignal('OffsetLog', signal),
    maxRecordSize,
    maxPendingSize,
    cacheSize: cache,
    storage,
    blocks: {
      flags,
      mustExist,
      errorIfExists,
      createFolder: true,
      initial,
      lock: true,
      lockTimeout,
      signal,
      blockSize,
      cache,
      storage
    }
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {unknown[]} choices
 */
function checkOneOf (name, value, choices) {
  if (!choices.includes(value)) throw misuse(`OffsetLog: ${name} must be one of ${choices.join(', ')}, got ${String(value)}`)
}

/**
 * @param {string} call  that was given them
 * @param {object} options
 * @param {string[]} known
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function checkNames (call, options, known) {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue
    throw misuse(`${call}: there is no option ${name}; there are ${known.join(', ')}`)
  }
}

exports.parseOptions = parseOptions
exports.checkNames = checkNames
