'use strict'
// Checks the options of an offset log and fills in the defaults.

const { fileStorage, parseFileMode, withFileMode } = require('@millrace/block-file')
const { checkNames, misuse } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { RecordCodec } = require('./codec')
const { createFileHeader, encodeHead, offsetFramings } = require('@millrace/framing')

const RECORD_SIZE_MAX = 2 ** 30
const CACHE_SIZE = 16 * 1024 * 1024
const FRAMINGS = ['checked', ...Object.keys(offsetFramings)]
const FSYNC_MODES = ['always', 'interval', 'never']
const CORRUPT_MODES = ['error', 'skip']
const ID = /^[0-9a-f]{32}$/
const KNOWN = ['codec', 'framing', 'id', 'blockSize', 'flags', 'cache', 'fsync', 'verify', 'maxRecordSize', 'maxPendingSize',
  'onCorrupt',
  'lock', 'lockTimeout', 'mustExist', 'errorIfExists', 'strict', 'signal', 'storage', 'mode']

/** @typedef {'checked' | 'offset32' | 'offset48' | 'offset53'} FramingName */

/**
 * @template [T=any]
 * @typedef {object} OffsetLogOptions
 * @property {import('./codec').Codec<T>} [codec]  by default values are Buffers
 * @property {FramingName} [framing]  of a new file, checked by default; that of an existing file is detected
 * @property {string} [id]  of a new file in the checked framing, 32 hex digits; random by default. The files of one
 *   segmented log share it
 * @property {number} [blockSize]  unit of caching in the offset framings, in bytes; 64 KiB by default
 * @property {'r' | 'r+'} [flags]  `r+`, the default, creates the file and its folder; `r` never writes anything
 * @property {number | import('@millrace/block-file').SharedCacheHandle} [cache]  memory for cached pages or blocks, in
 *   bytes; 16 MiB by default. Or a SharedCache, for all logs that get it
 * @property {import('./durability').FsyncMode} [fsync]  when appends go to stable storage: before each calls back
 *   (always), within a second (interval, the default), or only with `sync` and `close` (never)
 * @property {boolean} [verify]  false skips the checksums of the checked framing; true by default
 * @property {boolean} [lock]  false takes no lock, for a caller that keeps other writers out itself; true by default
 * @property {number} [lockTimeout]  ms to wait for another writer to close the log; 0, the default, fails at once
 * @property {number} [maxRecordSize]  in bytes; 2^30 by default
 * @property {number} [maxPendingSize]  in bytes; Infinity by default. While this much waits to be appended, further
 *   appends fail with ERR_LOG_OVERLOADED
 * @property {'error' | 'skip'} [onCorrupt]  what streams and scans do at damage: end with ERR_LOG_CORRUPT, the default,
 *   or continue behind it and count what was lost. The offset framings cannot skip
 * @property {boolean} [mustExist]  true fails with ENOENT if there is no file, and creates none; false by default
 * @property {boolean} [errorIfExists]  true fails with EEXIST if there is a file; false by default
 * @property {boolean} [strict]  true refuses unknown options of `stream`, `scan` and `get`, and lets every waiting live
 *   stream keep the process running; false by default, as flumedb and its views expect
 * @property {AbortSignal} [signal]  an abort fails opening with ABORT_ERR, and does nothing to an open log
 * @property {import('@millrace/block-file').Storage} [storage]  the file system by default
 * @property {number | string} [mode]  of the files that are made, such as 0o640 or '640', less the bits of the umask;
 *   0o600 by default
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
    codec, id, framing = 'checked', maxRecordSize = RECORD_SIZE_MAX, maxPendingSize = Infinity, blockSize, flags, cache = CACHE_SIZE,
    fsync = 'interval', verify = true, onCorrupt = 'error', lock = true, lockTimeout, mustExist, errorIfExists, strict = false,
    signal
  } = options
  const { storage: given = fileStorage, mode } = options
  const storage = mode === undefined ? given : withFileMode(given, parseFileMode('OffsetLog', mode))
  checkOneOf('framing', framing, FRAMINGS)
  checkOneOf('fsync', fsync, FSYNC_MODES)
  checkOneOf('onCorrupt', onCorrupt, CORRUPT_MODES)
  checkOneOf('verify', verify, [true, false])
  checkOneOf('strict', strict, [true, false])
  // Or the lock of an open `Folder` of @millrace/block-file, which covers the file.
  if (typeof lock !== 'object' || lock === null) checkOneOf('lock', lock, [true, false])
  if (id !== undefined && !(typeof id === 'string' && ID.test(id))) throw misuse(`OffsetLog: id must be 32 hex digits, got ${String(id)}`)
  if (!Number.isSafeInteger(maxRecordSize) || maxRecordSize < 1 || maxRecordSize > RECORD_SIZE_MAX) {
    throw misuse(`OffsetLog: maxRecordSize must be from 1 to ${RECORD_SIZE_MAX} bytes, got ${String(maxRecordSize)}`)
  }
  if (typeof maxPendingSize !== 'number' || !(maxPendingSize > 0)) {
    throw misuse(`OffsetLog: maxPendingSize must be a number of bytes above 0, got ${String(maxPendingSize)}`)
  }
  const recordCodec = new RecordCodec(codec)
  if (recordCodec.hasDictionary && framing !== 'checked') throw misuse(`OffsetLog: ${framing} cannot store a dictionary; give a codec without one`)
  const createHead = () => encodeHead(createFileHeader(recordCodec.name, id ? Buffer.from(id, 'hex') : null, recordCodec.hasDictionary))
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
    storage,
    isOnFileSystem: given === fileStorage,
    blocks: {
      flags,
      mustExist,
      errorIfExists,
      createFolder: true,
      initial: framing === 'checked' ? createHead : null,
      lock,
      lockTimeout,
      signal,
      blockSize,
      cache,
      storage
    }
  }
}

/**
 * @param {string} call  `flushSync` or `appendSync`
 * @param {{ sync?: boolean | undefined }} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFlush (call, options) {
  if (options === null || typeof options !== 'object') throw misuse(`${call}: expected options, got ${String(options)}`)
  for (const name in options) if (name !== 'sync') checkNames(call, options, ['sync'])
  const { sync = true } = options
  if (typeof sync !== 'boolean') throw misuse(`${call}: sync must be true or false, got ${String(sync)}`)
  return sync
}

/** @type {(name: string, value: unknown, choices: unknown[]) => void} throws ERR_INVALID_ARGUMENT */
function checkOneOf (name, value, choices) {
  if (!choices.includes(value)) throw misuse(`OffsetLog: ${name} must be one of ${choices.join(', ')}, got ${String(value)}`)
}

exports.parseOptions = parseOptions
exports.parseFlush = parseFlush
