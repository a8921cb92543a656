'use strict'
// The options of an offset log, checked, with their defaults.

const { misuse } = require('@millrace/errors')
const { RecordCodec } = require('./codec')
const { createFileHeader, encodeHead, offsetFramings } = require('@millrace/framing')

const RECORD_SIZE_MAX = 2 ** 30
const CACHE_SIZE = 16 * 1024 * 1024
const FRAMINGS = ['checked', ...Object.keys(offsetFramings)]
const FSYNC_MODES = ['always', 'interval', 'never']
const CORRUPT_MODES = ['error', 'skip']
const KNOWN = ['codec', 'framing', 'blockSize', 'flags', 'cache', 'fsync', 'verify', 'maxRecordSize', 'onCorrupt',
  'lockTimeout', 'storage']

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
 * @property {'error' | 'skip'} [onCorrupt]  what streams and scans do where the log is damaged: end with
 *   ERR_LOG_CORRUPT, the default, or go on behind it and count what was lost. Not for the offset framings
 * @property {import('@millrace/block-file').Storage} [storage]  the file system by default
 */

/**
 * @param {OffsetLogOptions & Record<string, unknown>} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (options = {}) {
  checkNames(options)
  const {
    codec, framing = 'checked', maxRecordSize = RECORD_SIZE_MAX, blockSize, flags, cache = CACHE_SIZE,
    fsync = 'interval', verify = true, onCorrupt = 'error', lockTimeout, storage
  } = options
  checkOneOf('framing', framing, FRAMINGS)
  checkOneOf('fsync', fsync, FSYNC_MODES)
  checkOneOf('onCorrupt', onCorrupt, CORRUPT_MODES)
  checkOneOf('verify', verify, [true, false])
  if (!Number.isSafeInteger(maxRecordSize) || maxRecordSize < 1 || maxRecordSize > RECORD_SIZE_MAX) {
    throw misuse(`OffsetLog: maxRecordSize must be from 1 to ${RECORD_SIZE_MAX} bytes, got ${String(maxRecordSize)}`)
  }
  const recordCodec = new RecordCodec(codec)
  const initial = framing === 'checked' ? () => encodeHead(createFileHeader(recordCodec.name)) : null
  return {
    codec: recordCodec,
    framing,
    fsync,
    verify,
    skipsDamage: onCorrupt === 'skip',
    maxRecordSize,
    cacheSize: cache,
    storage,
    blocks: { blockSize, flags, cache, initial, storage, createFolder: true, lock: true, lockTimeout }
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

/** @param {Record<string, unknown>} options */
function checkNames (options) {
  if (options === null || typeof options !== 'object') throw misuse(`OffsetLog: expected options, got ${String(options)}`)
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || KNOWN.includes(name)) continue
    throw misuse(`OffsetLog: there is no option ${name}; there are ${KNOWN.join(', ')}`)
  }
}

exports.parseOptions = parseOptions
