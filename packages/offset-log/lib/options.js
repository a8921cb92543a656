'use strict'
// The options of an offset log, checked, with their defaults.

const { LogError, misuse } = require('@millrace/errors')
const { RecordCodec } = require('./codec')
const { offsetFramings } = require('./framing/offset-framing')

const RECORD_SIZE_MAX = 2 ** 30
// What the contract has and this version does not: better refused than believed.
const KNOWN = ['codec', 'framing', 'blockSize', 'flags', 'cache', 'maxRecordSize', 'storage']
const NOT_YET = ['fsync', 'verify', 'onCorrupt']

/**
 * @typedef {object} OffsetLogOptions
 * @property {import('./codec').Codec} [codec]  bytes as they are by default
 * @property {string} [framing]  of a new file: offset32 (the default), offset48 or offset53; an old file's is detected
 * @property {number} [blockSize]  bytes: the unit of caching; 64 KiB by default
 * @property {'r' | 'r+'} [flags]  `r+`, the default, creates the file and its folder; `r` never writes anything
 * @property {number} [cache]  bytes that the block cache may hold; 16 MiB by default
 * @property {number} [maxRecordSize]  bytes; 2^30 by default
 * @property {import('@millrace/block-file/lib/storage').Storage} [storage]  the file system by default
 */

/**
 * @param {OffsetLogOptions & Record<string, unknown>} [options]
 * @throws {TypeError | LogError} ERR_INVALID_ARGUMENT, ERR_NOT_SUPPORTED
 */
function parseOptions (options = {}) {
  checkNames(options)
  const { codec, framing = 'offset32', maxRecordSize = RECORD_SIZE_MAX, blockSize, flags, cache, storage } = options
  if (!Object.hasOwn(offsetFramings, framing)) {
    throw misuse(`OffsetLog: framing must be one of ${Object.keys(offsetFramings).join(', ')}, got ${String(framing)}`)
  }
  if (!Number.isSafeInteger(maxRecordSize) || maxRecordSize < 1 || maxRecordSize > RECORD_SIZE_MAX) {
    throw misuse(`OffsetLog: maxRecordSize must be from 1 to ${RECORD_SIZE_MAX} bytes, got ${String(maxRecordSize)}`)
  }
  return {
    codec: new RecordCodec(codec),
    framing: offsetFramings[framing],
    maxRecordSize,
    blocks: { blockSize, flags, cache, storage, createFolder: true }
  }
}

/** @param {Record<string, unknown>} options */
function checkNames (options) {
  if (options === null || typeof options !== 'object') throw misuse(`OffsetLog: expected options, got ${String(options)}`)
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || KNOWN.includes(name)) continue
    if (!NOT_YET.includes(name)) throw misuse(`OffsetLog: there is no option ${name}; there are ${KNOWN.join(', ')}`)
    throw new LogError('ERR_NOT_SUPPORTED', `OffsetLog: ${name} is not supported yet; leave it out`)
  }
}

exports.parseOptions = parseOptions
