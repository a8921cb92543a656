'use strict'
// Checks the options of a segmented log, and divides them into those of the log and those of each segment.

const { basename } = require('node:path')
const { callbackify } = require('node:util')
const {
  Folder, SEGMENT_NAME, SharedCache, fileStorage, parseFileMode, resolveFolder, withCalls, withFileMode, withRoom
} = require('@millrace/block-file')
const { LogError, checkOptions, misuse, parseNumber, reasonOf } = require('@millrace/errors')
const { parseSignal, promisesOf } = require('@millrace/flow')
const { RecordCodec, checkFileOptions, checkIndex } = require('@millrace/offset-log/composing')
const { Calendar } = require('./calendar')
const { formats, isSupported } = require('./compressed/formats')
const { createPlainStorage } = require('./compressed/storage')
const { parseKeep } = require('./keeping')
const { NO_KEEP } = require('./kind')
const { EXTENSIONS, framingOf } = require('./names')
const { parseTime } = require('./record-times')

const SEGMENT_SIZE = 64 * 1024 * 1024
const SEGMENT_SIZE_MAX = 2 ** 40
const CACHE_SIZE = 16 * 1024 * 1024
const CACHE_SIZE_MIN = 256 * 1024
const OPEN_SEGMENTS = 128
/** A quota is divided into at least so many segments, so that one drop does not take much of the log. */
const SEGMENTS_PER_QUOTA = 8
const SEGMENTS_PER_QUOTA_MIN = 4
/** A segment without records takes 32 KiB, and a writer may reserve 64 KiB after its end. */
const QUOTA_MIN = 1024 * 1024

/** Options that every segment gets as they are. */
const PASSED_ON = /** @type {const} */ (['codec', 'fsync', 'verify', 'onCorrupt', 'strict', 'maxRecordSize', 'blockSize'])
const FRAMINGS = Object.keys(EXTENSIONS)
/** The names of all options. */
const optionNames = Object.freeze([...PASSED_ON, 'framing', 'storage', 'mode', 'flags', 'cache', 'maxPendingSize', 'lockTimeout', 'mustExist', 'errorIfExists', 'signal',
  'segmentSize', 'segmentAge', 'segmentDay', 'compress', 'time', 'index', 'openSegments', 'maxSize', 'maxAge', 'maxCount', 'maxHeldSize', 'keep'])

/** @typedef {import('./names').Framing} Framing */
/**
 * @template [T=any]
 * @typedef {import('@millrace/offset-log').OffsetLogOptions<T>} OffsetLogOptions
 */

/**
 * @typedef {object} SegmentOptions
 * @property {'checked' | 'lines'} [framing]  The format of the segments of a new log, `checked` by default. Those of
 *   `lines` are plain text files, such as JSON Lines, whose names end in `.jsonl`: a deletion fails with
 *   ERR_NOT_SUPPORTED, and `keep` is refused. An existing log keeps its own: if another one is given, opening fails
 *   with ERR_LOG_UNKNOWN_FORMAT.
 * @property {number} [segmentSize]  In bytes: a new segment begins before an append that would make the newest one
 *   larger. 64 MiB by default, or an eighth of `maxSize` if that is less. A batch is never divided, so a segment may be
 *   larger if a single batch is. `flushSync` and `appendSync` do not wait for a segment that is being made: they write
 *   into the one before, and with `maxSize` begin the next one themselves once it is three times as large. On Windows,
 *   and on a storage without `openSync` and `renameSync`, they cannot: what goes beyond 64 MiB meanwhile fails with
 *   ERR_LOG_NOT_READY.
 * @property {number} [segmentAge]  In ms: a new segment begins at the first append after the newest one has reached
 *   this age, also if the wall clock stands still. A segment without records gets the next append, whatever its age. By
 *   default age begins none.
 * @property {string} [segmentDay]  A time zone, such as `UTC` or `Europe/Berlin`: a new segment begins at the first
 *   append on another calendar day there. The later one of the clock and the time in the newest segment's name counts,
 *   so a clock that is a few seconds back at midnight begins one segment. By default days begin none.
 * @property {string[] | ((value: any) => number | string | Date | undefined)} [time]  Where the time of a record is: a
 *   list of keys, such as `['time']`, or a function of the value. The time is a number, a Date or a text; a text
 *   without a zone is in UTC. Reads then take the option `time`, and skip segments outside of the period. The times
 *   need not be in order. The writer notes the earliest and latest time of each sealed segment in the file `times`, a
 *   cache: remove it if you change the function.
 * @property {import('@millrace/offset-log').OffsetLogOptions['index']} [index]  As of OffsetLog. Its files are in the
 *   folder `index`, one for each sealed segment; they do not count towards `maxSize`.
 * @property {'gzip' | 'zstd' | false} [compress]  Compresses sealed segments in the background, one at a time. `zstd`
 *   needs Node.js 22.15. False, the default, compresses nothing; what was compressed stays so, and is read. A segment
 *   that would not become at least 5% smaller stays plain, and so does a damaged one. `gunzip` or `zstd -d` gives the
 *   segment back, byte for byte. A deletion in a compressed segment inflates it, and it is compressed again later.
 *   While the new file is made it counts towards `maxSize`.
 * @property {number} [openSegments]  How many sealed segments may stay open; 128 by default. The newest one and those
 *   that are being read come on top.
 * @property {number} [maxSize]  In bytes, at least 1 MiB and four times `segmentSize`: the oldest segments go before
 *   all files of the log in the folder together become larger. By default the log may grow without a bound. Room for
 *   the next segment is set aside, and with `keep` for one more. `append` waits until a segment has begun and the
 *   oldest ones are gone. `appendSync` and `flushSync` sync the newest segment, begin the next one and drop the oldest
 *   ones themselves; where they would have to wait, they fail with ERR_LOG_NOT_READY and write nothing: while a sync
 *   that was begun before is under way, with `keep`, if the next segment cannot be made, and on Windows or a storage
 *   that lacks the synchronous calls. Then await `append`. Three things exceed the quota: a single batch that is larger
 *   than what it has room for; appends that still wait when the process ends; and a `maxSize` that was lowered, until
 *   opening has ended. A file that was removed takes room on the disk until its last reader closes it.
 * @property {number} [maxAge]  In ms: segments go once all their records are older, which is when the next segment was
 *   made that long ago. It is looked at after opening, whenever a segment begins, and from time to time. It begins no
 *   segments, so give `segmentDay` or `segmentAge` too. By default age drops nothing. A time counts only if it is
 *   plausible: not before 2021, and at most an hour ahead of the clock. A segment goes only if a plausible time after
 *   it is old too, so neither one boot in 1970 nor one segment from 2036 drops young records. After a pause of more
 *   than two days (or half of `maxAge`, if that is less) only the time since then counts, until the log has been in use
 *   for half of that time, at most a day. If the names of segments go back by more than an hour twice within eight
 *   segments, what is before them goes only once `maxAge` has surely passed since then. For that only the time between
 *   segments in a row counts, at most two days for each, so it may take about twice `maxAge`, and some ten segments
 *   longer.
 * @property {number} [maxCount]  How many segments there may be; the oldest go while there are more. By default any
 *   number.
 * @property {number} [maxHeldSize]  In bytes: the oldest segments that only a hold still keeps go until the others of
 *   that kind have at most this size together. By default holds keep any number of bytes, up to `maxSize`.
 * @property {import('./keeping').KeepOptions} [keep]  Chooses records that outlive the others, such as errors. When a
 *   limit would drop a segment, its matching records are copied into a smaller file that takes its place; if none
 *   matches, the segment is dropped. The copies keep their seqs, and can be read, deleted, compressed and verified as
 *   before. Of a damaged segment, what can be read is copied. If the copy cannot be made, for example because the disk
 *   is full, the process emits a `SegmentedLogWarning`, and the segment stays unless `maxSize` needs its room. If
 *   `maxSize` is still exceeded when nothing else can go, chosen records go.
 * @property {number | import('@millrace/block-file').SharedCacheHandle} [cache]  How much memory keeps pages for `get`,
 *   in bytes, of all segments together; 16 MiB by default. Or a `SharedCache(size)`, for many logs, which together stay
 *   below its size.
 * @property {number | string} [mode]  The mode of every file that the log makes in the folder, such as 0o640 or '640':
 *   segments, the files of the lock, holds, marks and `times`. 0o600 by default, and 0o644 for the record of the lock.
 *   The umask takes its bits away. Files that exist keep their mode. A compressed segment, and one with chosen records
 *   only, has the mode of the segment that it replaces.
 */

/**
 * The options of an offset log, but `lock` and `id`, and those of SegmentOptions.
 * @template [T=any]
 * @typedef {Omit<OffsetLogOptions<T>, 'framing' | 'index' | 'lock' | 'id' | 'cache' | 'mode'> & SegmentOptions
 *   } SegmentedLogOptions
 */

/**
 * @param {string | URL} givenPath
 * @param {SegmentedLogOptions & Record<string, unknown>} [options]
 * @param {(err: Error) => void} [onMoved]  called once, when it is found that the path leads to another folder
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (givenPath, options = {}, onMoved = () => {}) {
  checkOptions('SegmentedLog', options, optionNames, { keep: ['where'] })
  const {
    flags = 'r+', cache = CACHE_SIZE, maxPendingSize = Infinity, onCorrupt = 'error', strict = false, signal,
    segmentDay
  } = options
  if (flags !== 'r+' && flags !== 'r') throw misuse(`SegmentedLog: flags must be r or r+, got ${reasonOf(flags)}`)
  const maxSize = parseNumber('SegmentedLog: maxSize', options.maxSize, Infinity, QUOTA_MIN)
  const maxAge = parseNumber('SegmentedLog: maxAge', options.maxAge, Infinity, 1)
  const sizeByDefault = Math.min(SEGMENT_SIZE, Math.floor(maxSize / SEGMENTS_PER_QUOTA))
  const segmentSize = parseNumber('SegmentedLog: segmentSize', options.segmentSize, sizeByDefault, 1)
  if (segmentSize > maxSize / SEGMENTS_PER_QUOTA_MIN) {
    throw misuse(`SegmentedLog: segmentSize (${segmentSize}) must be at most a quarter of maxSize (${maxSize}), so that ` +
      'enough is left when the oldest segment is dropped')
  }
  if (options.index !== undefined) checkIndex('SegmentedLog', options.index)
  const codec = new RecordCodec(options.codec, 'SegmentedLog')
  const framing = parseFraming(options, codec)
  const openSegments = parseNumber('SegmentedLog: openSegments', options.openSegments, OPEN_SEGMENTS, 1)
  const shared = typeof cache === 'number' && cache > 0 ? new SharedCache(Math.max(cache, CACHE_SIZE_MIN)) : cache
  const given = withRoom(parseStorage(options))
  const place = new Folder(given, resolveFolder('SegmentedLog', givenPath, given), onMoved)
  const { storage } = place
  /** @type {any} */
  const passedOn = { storage: refuseEmptySegments(createPlainStorage(storage)) }
  for (const name of PASSED_ON) if (options[name] !== undefined) passedOn[name] = options[name]
  checkFileOptions(passedOn)
  return {
    isWriter: flags === 'r+',
    codec,
    /** As it was asked for; opening sets that of the segments in `active` and `sealed`. */
    framing,
    skipsDamage: onCorrupt === 'skip',
    isStrict: strict,
    maxPendingSize: parseNumber('SegmentedLog: maxPendingSize', maxPendingSize, Infinity, Number.MIN_VALUE),
    lockTimeout: parseNumber('SegmentedLog: lockTimeout', options.lockTimeout, 0, 0),
    mustExist: Boolean(options.mustExist),
    errorIfExists: Boolean(options.errorIfExists),
    signal: parseSignal('SegmentedLog', signal),
    place,
    storage,
    segmentSize: Math.min(segmentSize, SEGMENT_SIZE_MAX),
    segmentAge: parseNumber('SegmentedLog: segmentAge', options.segmentAge, Infinity, 1),
    calendar: segmentDay === undefined ? null : new Calendar(segmentDay),
    compress: parseCompress(options.compress),
    time: parseTime(options.time),
    index: options.index ?? null,
    openSegments,
    keep: parseKeep(options.keep, { maxSize, maxAge }, codec),
    limits: {
      maxSize,
      maxAge,
      maxCount: parseNumber('SegmentedLog: maxCount', options.maxCount, Infinity, 1),
      maxHeldSize: parseNumber('SegmentedLog: maxHeldSize', options.maxHeldSize, Infinity, 0)
    },
    active: { ...passedOn, flags, cache: shared },
    sealed: { ...passedOn, flags, cache: shared, lock: false, mustExist: true }
  }
}

/**
 * Refuses what `SegmentedLog` would refuse, and opens nothing: for a program that opens its logs later.
 * @param {SegmentedLogOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function checkSegmentedOptions (options) {
  parseOptions('.', options)
}

/** @param {SegmentedLogOptions} options @throws {TypeError} ERR_INVALID_ARGUMENT */
function parseStorage ({ storage = fileStorage, mode }) {
  return mode === undefined ? storage : withFileMode(storage, parseFileMode('SegmentedLog', mode))
}

/**
 * A checked segment gets its first bytes before it gets its name, so an empty one has lost its records. It must not
 * pass for a new file, which a log would begin.
 * @param {import('@millrace/block-file').Storage} storage
 * @returns {import('@millrace/block-file').Storage}
 */
function refuseEmptySegments (storage) {
  const open = async (/** @type {string} */ path, /** @type {any} */ options) => {
    const handle = await promisesOf(storage).open(path, options)
    const isSegment = SEGMENT_NAME.test(basename(path)) && framingOf(path) === 'checked'
    if (!isSegment) return handle
    const size = await promisesOf(handle).size().catch(async (err) => {
      await promisesOf(handle).close().catch(() => {})
      throw err
    })
    if (size > 0) return handle
    await promisesOf(handle).close()
    throw new LogError('ERR_LOG_CORRUPT', `open: ${path} has no bytes: its records are lost. Put a copy from a backup in its place`, { path })
  }
  return withCalls(storage, { open: callbackify(open) })
}

/**
 * @type {(options: SegmentedLogOptions, codec: InstanceType<typeof RecordCodec>) => Framing | undefined}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFraming ({ framing, keep }, { hasDictionary }) {
  if (framing === undefined) return undefined
  if (!FRAMINGS.includes(framing)) throw misuse(`SegmentedLog: framing must be one of ${FRAMINGS.join(', ')}, got ${reasonOf(framing)}`)
  if (framing === 'lines' && hasDictionary) throw misuse('SegmentedLog: lines cannot store a dictionary; give a codec without one')
  if (framing === 'lines' && keep !== undefined) throw misuse(`SegmentedLog: ${NO_KEEP}`)
  return framing
}

/** @param {unknown} compress @throws {TypeError} ERR_INVALID_ARGUMENT */
function parseCompress (compress) {
  if (compress === undefined || compress === false) return null
  const format = formats.find(({ name }) => name === compress)
  if (format === undefined) throw misuse(`SegmentedLog: compress must be gzip, zstd or false, got ${reasonOf(compress)}`)
  if (isSupported(format)) return format
  throw misuse(`SegmentedLog: this Node.js (${process.version}) has no zstd; use 22.15 or later, or gzip`)
}

exports.checkSegmentedOptions = checkSegmentedOptions
exports.optionNames = optionNames
exports.parseOptions = parseOptions
