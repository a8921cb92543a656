'use strict'
// Checks the options of a segmented log, and divides them into those of the log and those of each segment.

const { basename } = require('node:path')
const { callbackify } = require('node:util')
const { Folder, SEGMENT_NAME, SharedCache, fileStorage, parseFileMode, resolvePath, withFileMode } = require('@millrace/block-file')
const { LogError, checkNames, misuse } = require('@millrace/errors')
const { call, parseSignal } = require('@millrace/flow')
const { RecordCodec } = require('@millrace/offset-log/composing')
const { Calendar } = require('./calendar')
const { formats, isSupported } = require('./compressed/formats')
const { createPlainStorage } = require('./compressed/storage')
const { parseKeep } = require('./keeping')
const { parseTime } = require('./times')

const SEGMENT_SIZE = 64 * 1024 * 1024
const SEGMENT_SIZE_MAX = 2 ** 40
const CACHE_SIZE = 16 * 1024 * 1024
const CACHE_SIZE_MIN = 256 * 1024
const OPEN_SEGMENTS = 8
/** A quota is divided into at least so many segments, so that one drop does not take much of the log. */
const SEGMENTS_PER_QUOTA = 8
const SEGMENTS_PER_QUOTA_MIN = 4
/** A segment without records takes 32 KiB, and a writer may reserve 64 KiB behind its end. */
const QUOTA_MIN = 1024 * 1024

/** Options that every segment gets as they are. */
const PASSED_ON = /** @type {const} */ (['codec', 'fsync', 'verify', 'onCorrupt', 'strict', 'maxRecordSize', 'blockSize'])
/** The names of all options. */
const optionNames = Object.freeze([...PASSED_ON, 'storage', 'mode', 'flags', 'cache', 'maxPendingSize', 'lockTimeout', 'mustExist', 'errorIfExists', 'signal',
  'segmentSize', 'segmentAge', 'segmentDay', 'compress', 'time', 'openSegments', 'maxSize', 'maxAge', 'maxCount', 'maxHeldSize', 'keep'])

/**
 * @template [T=any]
 * @typedef {import('@millrace/offset-log').OffsetLogOptions<T>} OffsetLogOptions
 */

/**
 * @typedef {object} SegmentOptions
 * @property {number} [segmentSize]  bytes; a segment that would become larger is sealed. 64 MiB by default, or an
 *   eighth of `maxSize` if that is less
 * @property {number} [segmentAge]  ms; a segment that is older is sealed at the next append
 * @property {string} [segmentDay]  a time zone, such as `UTC` or `Europe/Berlin`: a segment that was made on another
 *   day there is sealed at the next append
 * @property {string[] | ((value: any) => number | string | Date | undefined)} [time]  where the time of a record is:
 *   the path of a field, or a function. Reads with time bounds skip segments by it
 * @property {'gzip' | 'zstd' | false} [compress]  how sealed segments are compressed in the background. `zstd` needs
 *   Node.js 22.15. False, the default, compresses nothing; what was compressed stays so, and is read
 * @property {number} [openSegments]  how many sealed segments may stay open; 8 by default
 * @property {number} [maxSize]  bytes of all files in the folder. The oldest segments are dropped to stay below it
 * @property {number} [maxAge]  ms; segments are dropped once all their records are older
 * @property {number} [maxCount]  how many segments there may be
 * @property {number} [maxHeldSize]  bytes of segments that holds may keep although `maxAge`, `maxCount` or `dropBefore`
 *   would drop them
 * @property {import('./keeping').KeepOptions} [keep]  records that stay longer than their segments
 */

/**
 * @template [T=any]
 * @typedef {Omit<OffsetLogOptions<T>, 'framing' | 'lock'> & SegmentOptions} SegmentedLogOptions
 */

/**
 * @param {string | URL} givenPath
 * @param {SegmentedLogOptions & Record<string, unknown>} [options]
 * @param {(err: Error) => void} [onMoved]  called once, when it is found that the path leads to another folder
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (givenPath, options = {}, onMoved = () => {}) {
  if (options === null || typeof options !== 'object') throw misuse(`SegmentedLog: expected options, got ${String(options)}`)
  checkNames('SegmentedLog', options, optionNames, { keep: ['where'] })
  const {
    flags = 'r+', cache = CACHE_SIZE, maxPendingSize = Infinity, onCorrupt = 'error', strict = false, signal,
    segmentDay
  } = options
  if (flags !== 'r+' && flags !== 'r') throw misuse(`SegmentedLog: flags must be r or r+, got ${String(flags)}`)
  const maxSize = parseNumber('maxSize', options.maxSize, Infinity, QUOTA_MIN)
  const maxAge = parseNumber('maxAge', options.maxAge, Infinity, 1)
  const sizeByDefault = Math.min(SEGMENT_SIZE, Math.floor(maxSize / SEGMENTS_PER_QUOTA))
  const segmentSize = parseNumber('segmentSize', options.segmentSize, sizeByDefault, 1)
  if (segmentSize > maxSize / SEGMENTS_PER_QUOTA_MIN) {
    throw misuse(`SegmentedLog: segmentSize (${segmentSize}) must be at most a quarter of maxSize (${maxSize}), so that ` +
      'enough is left when the oldest segment is dropped')
  }
  const codec = new RecordCodec(options.codec)
  const openSegments = parseNumber('openSegments', options.openSegments, OPEN_SEGMENTS, 1)
  const shared = typeof cache === 'number' && cache > 0 ? new SharedCache(Math.max(cache, CACHE_SIZE_MIN)) : cache
  const place = createFolder(givenPath, parseStorage(options), onMoved)
  const { storage } = place
  /** @type {any} */
  const passedOn = { storage: refuseEmptySegments(createPlainStorage(storage)) }
  for (const name of PASSED_ON) if (options[name] !== undefined) passedOn[name] = options[name]
  return {
    isWriter: flags === 'r+',
    codec,
    skipsDamage: onCorrupt === 'skip',
    isStrict: strict,
    maxPendingSize: parseNumber('maxPendingSize', maxPendingSize, Infinity, Number.MIN_VALUE),
    lockTimeout: parseNumber('lockTimeout', options.lockTimeout, 0, 0),
    mustExist: Boolean(options.mustExist),
    errorIfExists: Boolean(options.errorIfExists),
    signal: signal === undefined ? null : parseSignal('SegmentedLog', signal),
    place,
    storage,
    segmentSize: Math.min(segmentSize, SEGMENT_SIZE_MAX),
    segmentAge: parseNumber('segmentAge', options.segmentAge, Infinity, 1),
    calendar: segmentDay === undefined ? null : new Calendar(segmentDay),
    compress: parseCompress(options.compress),
    time: parseTime(options.time),
    openSegments,
    keep: parseKeep(options.keep, { maxSize, maxAge }, codec),
    limits: {
      maxSize,
      maxAge,
      maxCount: parseNumber('maxCount', options.maxCount, Infinity, 1),
      maxHeldSize: parseNumber('maxHeldSize', options.maxHeldSize, Infinity, 0)
    },
    active: { ...passedOn, flags, cache: shared },
    sealed: { ...passedOn, flags, cache: shared, lock: false, mustExist: true }
  }
}

/**
 * @param {string | URL} givenPath
 * @param {import('@millrace/block-file').Storage} storage
 * @param {(err: Error) => void} onMoved
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createFolder (givenPath, storage, onMoved) {
  const folder = resolvePath(givenPath, storage)
  if (typeof folder !== 'string' || folder === '') throw misuse(`SegmentedLog: expected the path of a folder, got ${String(givenPath)}`)
  return new Folder(storage, folder, onMoved)
}

/** @param {SegmentedLogOptions} options @throws {TypeError} ERR_INVALID_ARGUMENT */
function parseStorage ({ storage = fileStorage, mode }) {
  return mode === undefined ? storage : withFileMode(storage, parseFileMode('SegmentedLog', mode))
}

/**
 * A segment gets its first bytes before it gets its name, so an empty one has lost its records. It must not pass for a
 * new file, which a log would begin.
 * @param {import('@millrace/block-file').Storage} storage
 * @returns {import('@millrace/block-file').Storage}
 */
function refuseEmptySegments (storage) {
  const open = async (/** @type {string} */ path, /** @type {any} */ options) => {
    const handle = await call(storage, 'open', path, options)
    if (!SEGMENT_NAME.test(basename(path)) || await call(handle, 'size') > 0) return handle
    await call(handle, 'close')
    throw new LogError('ERR_LOG_CORRUPT', `open: ${path} has no bytes: its records are lost. Put a copy from a backup in its place`, { path })
  }
  return { ...storage, open: callbackify(open) }
}

/** @param {unknown} compress @throws {TypeError} ERR_INVALID_ARGUMENT */
function parseCompress (compress) {
  if (compress === undefined || compress === false) return null
  const format = formats.find(({ name }) => name === compress)
  if (format === undefined) throw misuse(`SegmentedLog: compress must be gzip, zstd or false, got ${String(compress)}`)
  if (isSupported(format)) return format
  throw misuse(`SegmentedLog: this Node.js (${process.version}) has no zstd; use 22.15 or later, or gzip`)
}

/** @type {(name: string, value: unknown, byDefault: number, least: number) => number} throws ERR_INVALID_ARGUMENT */
function parseNumber (name, value, byDefault, least) {
  if (value === undefined) return byDefault
  if (typeof value === 'number' && value >= least) return value
  throw misuse(`SegmentedLog: ${name} must be a number, at least ${least}, got ${String(value)}`)
}

exports.optionNames = optionNames
exports.parseOptions = parseOptions
