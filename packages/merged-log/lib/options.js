'use strict'
// Checks the options of both logs and of a merged read, and fills in the defaults.

const { fileStorage, parseFileMode } = require('@millrace/block-file')
const { checkOptions, misuse, parseNumber, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { checkIndex } = require('@millrace/offset-log/composing')
const { checkSegmentedOptions, optionNames } = require('@millrace/segmented-log')
const { toInstant } = require('@millrace/where')

const SLOTS = 64
const SEGMENT_SIZE = 64 * 1024 * 1024
/** With so many bytes for each slot, the files that every log has beside its records stay a small part. */
const QUOTA_PER_SLOT_MIN = 1024 * 1024
/** A quota has room for so many segments of each slot: one that grows, one that is begun, and others to keep. */
const SEGMENTS_PER_SLOT = 4
const CACHE_SIZE = 1024 * 1024
const LATENESS_MS = 500
const KEY = /^(\d{1,6}):(\d{1,16})$/

/** Given to each slot's log as they are. */
const OF_WRITER = ['codec', 'framing', 'fsync', 'verify', 'maxRecordSize', 'maxPendingSize', 'cache', 'segmentAge', 'segmentDay',
  'openSegments', 'maxAge', 'index', 'storage', 'mode', 'signal']
/** The names of all options of a slot. */
const slotOptionNames = Object.freeze([...OF_WRITER, 'slots', 'segmentSize', 'maxSize', 'maxHeldSize'])
const OF_READER = ['codec', 'verify', 'onCorrupt', 'maxRecordSize', 'index', 'storage', 'signal']
const OF_READ = ['where', 'onCorrupt', 'onRetained', 'signal', 'limit', 'reverse', 'live', 'old', 'seqs', 'values', 'after',
  'upTo', 'unref']

/** @typedef {import('@millrace/segmented-log').SegmentedLogOptions} SegmentedLogOptions */

/**
 * @typedef {object} OwnSlotOptions
 * @property {number} [slots]  How many processes may write at the same time; 64 by default. A rolling restart needs
 *   twice as many slots as workers. If all are taken, opening fails with ERR_LOG_LOCKED.
 * @property {number} [segmentSize]  Of a segment, in bytes; 64 MiB by default. With `maxSize` at most
 *   `maxSize / slots / 4`, which is then the default if it is less.
 * @property {number} [maxSize]  Of the files of all slots together, in bytes; at least 1 MiB for each of `slots`, so 64
 *   MiB unless you lower `slots`. By default the log may grow without a bound. The oldest segments of all slots go when
 *   the files, with room for two more segments in each slot, would exceed it. Each process looks every two seconds, and
 *   whenever it has written half a segment. It drops segments of its own slot, of slots that no process has, and more
 *   of its own if others are slow to drop theirs. Between two looks a slot fills at most what the others had left, so
 *   all slots together may exceed the limit for a while if several processes write much: by at most that room, once for
 *   each further process. Usually it is far less, since each looks again after half a segment. The newest segment of
 *   each slot stays.
 * @property {number} [maxHeldSize]  What holds may keep in each slot although a limit would drop it, in bytes. With
 *   `maxSize` it is the size of a segment by default, else unlimited.
 */

/**
 * @typedef {Pick<SegmentedLogOptions, 'codec' | 'framing' | 'fsync' | 'verify' | 'maxRecordSize' | 'maxPendingSize' |
 *   'cache' | 'segmentAge' | 'segmentDay' | 'openSegments' | 'maxAge' | 'index' | 'storage' | 'mode' | 'signal'> &
 *   OwnSlotOptions} SlotLogOptions
 */

/**
 * @typedef {object} OwnMergeOptions
 * @property {string | string[] | ((value: any) => number)} [time]  Where a record's time is: `'time'`, `'a.b'` or
 *   `['a', 'b']`, or a function that gets the value and returns ms since 1970. `'time'` by default. A time may be
 *   spelled in any way that [times in filters](packages/where/README.md) may.
 * @property {number} [latenessMs]  How many ms a live stream waits for older records of other slots; 500 by default. It
 *   delivers a record at once if all other slots have a later one. What becomes readable later than that is delivered
 *   all the same, after newer records. It never waits longer for one record, also while the wall clock stands still,
 *   and does not wait for a record whose time is further in the future.
 * @property {number} [cache]  In bytes, for `get`, in each slot; 1 MiB by default.
 * @property {SegmentedLogOptions['index']} [index]  For each slot. Give the writers the same: then it uses their files.
 */

/**
 * @typedef {Pick<SegmentedLogOptions, 'codec' | 'verify' | 'onCorrupt' | 'maxRecordSize' | 'storage' | 'signal'> &
 *   OwnMergeOptions} MergedLogOptions
 */

/**
 * A place between records: by the number of a slot, the seq that its last record before the place has, or a seq between
 * that and the next one. Plain JSON. All records of a slot that it does not name come after it.
 * @typedef {Record<string, number>} Position
 */

/**
 * @typedef {object} MergedReadOptions
 * @property {Position} [after]  Only records after this place. To go on where a stream ended, hand it the `position` of
 *   that stream. There are no bounds such as `gt`: slots have no seqs in common.
 * @property {Position} [upTo]  Only records before this place. The `position` of a reversed stream is there to go on
 *   backwards. A live stream cannot have it.
 * @property {import('@millrace/where').Where} [where]  Only records that match this filter.
 * @property {boolean} [reverse]  True delivers the newest record first; false by default.
 * @property {number} [limit]  How many records to deliver at most; -1, the default, for no limit.
 * @property {boolean} [live]  True continues with records that are appended later, also in new slots; false by default.
 * @property {boolean} [old]  False leaves out the records present at the call, and implies `live`; true by default.
 * @property {boolean} [unref]  True lets the process end while a live stream waits; false by default.
 * @property {boolean} [seqs]  False delivers values alone; true by default.
 * @property {boolean} [values]  False delivers seqs alone; true by default.
 * @property {'error' | 'skip'} [onCorrupt]  What to do at damage: end with ERR_LOG_CORRUPT, or continue after it. By
 *   default as the log was opened.
 * @property {'error' | 'skip'} [onRetained]  What to do if records after `after` were dropped: end with
 *   ERR_LOG_SEQ_RETAINED, the default, or go on at the next record that is kept.
 * @property {AbortSignal} [signal]  An abort ends the call or the stream with ABORT_ERR.
 */

/**
 * @param {SlotLogOptions & Record<string, any>} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSlotOptions (options = {}) {
  checkOptions('SlotLog', options, slotOptionNames, { MergedLog: ['time', 'latenessMs', 'onCorrupt'], SegmentedLog: optionNames })
  const slotCount = parseNumber('SlotLog: slots', options.slots, SLOTS, 1)
  const quotaMin = slotCount * QUOTA_PER_SLOT_MIN
  const { maxSize = Infinity, storage = fileStorage, mode } = options
  if (mode !== undefined) parseFileMode('SlotLog', mode)
  if (options.index !== undefined) checkIndex('SlotLog', options.index)
  if (!(typeof maxSize === 'number' && maxSize >= quotaMin)) {
    throw misuse(`SlotLog: maxSize must be at least ${quotaMin} (1 MiB for each of ${slotCount} slots), got ${reasonOf(maxSize)}; ` +
      'raise it, or lower slots')
  }
  const segmentSizeMax = Math.floor(maxSize / slotCount / SEGMENTS_PER_SLOT)
  const byDefault = Math.min(SEGMENT_SIZE, segmentSizeMax)
  const segmentSize = parseNumber('SlotLog: segmentSize', options.segmentSize, byDefault, 1)
  if (segmentSize > segmentSizeMax) {
    throw misuse(`SlotLog: segmentSize (${segmentSize}) must be at most ${segmentSizeMax}, so that ${SEGMENTS_PER_SLOT} ` +
      `segments of each of ${slotCount} slots fit into maxSize`)
  }
  const maxHeldSize = options.maxHeldSize ?? (maxSize < Infinity ? segmentSize : undefined)
  /** @type {SegmentedLogOptions} */
  const segmented = { ...pick(options, OF_WRITER), segmentSize, maxHeldSize }
  // A program that never yields lets nobody look at the other slots, but its own one must not exceed the quota.
  if (maxSize < Infinity) segmented.maxSize = maxSize
  checkSegmentedOptions(segmented)
  return { slotCount, maxSize, segmentSize, storage, segmented }
}

/**
 * @param {MergedLogOptions & Record<string, any>} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseMergedOptions (options = {}) {
  checkOptions('MergedLog', options, [...OF_READER, 'time', 'latenessMs', 'cache'], { SlotLog: slotOptionNames })
  if (options.index !== undefined) checkIndex('MergedLog', options.index)
  /** @type {SegmentedLogOptions} */
  const segmented = {
    ...pick(options, OF_READER),
    cache: parseNumber('MergedLog: cache', options.cache, CACHE_SIZE, 0),
    flags: /** @type {const} */ ('r'),
    openSegments: 1
  }
  checkSegmentedOptions(segmented)
  return {
    timeOf: parseTime(options.time),
    latenessMs: parseNumber('MergedLog: latenessMs', options.latenessMs, LATENESS_MS, 0),
    storage: options.storage ?? fileStorage,
    segmented
  }
}

/**
 * @param {string} call
 * @param {MergedReadOptions & Record<string, any>} [options]
 * @param {string[]} [known]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseRead (call, options = {}, known = OF_READ) {
  checkOptions(call, options)
  const bound = ['gt', 'gte', 'lt', 'lte'].find((name) => options[name] !== undefined)
  if (bound !== undefined) throw misuse(`${call}: slots have no seqs in common, so there is no bound ${bound}; use after`)
  checkOptions(call, options, known)
  const { where, onCorrupt, onRetained } = options
  const reverse = Boolean(options.reverse)
  const old = options.old !== false
  const live = Boolean(options.live) || !old
  if (live && reverse) throw misuse(`${call}: a live stream cannot be reversed; leave out live, old or reverse`)
  if (live && options.upTo !== undefined) throw misuse(`${call}: a live stream has no end; leave out live, old or upTo`)
  return {
    /** For the streams of the slots. */
    of: { where, onCorrupt, onRetained, reverse },
    after: parsePosition(call, 'after', options.after ?? {}),
    /** Null for no bound. */
    upTo: options.upTo === undefined ? null : parsePosition(call, 'upTo', options.upTo),
    limit: parseLimit(call, options.limit),
    reverse,
    live,
    old,
    unref: Boolean(options.unref),
    hasSeqs: options.seqs !== false,
    hasValues: options.values !== false,
    signal: parseSignal(call, options.signal)
  }
}

/** @type {(call: string, limit?: unknown) => number} throws ERR_INVALID_ARGUMENT */
function parseLimit (call, limit = -1) {
  if (limit === -1) return Infinity
  if (typeof limit === 'number' && limit >= 0) return limit
  throw misuse(`${call}: limit must be a whole number, or -1 for none, got ${reasonOf(limit)}`)
}

/** @type {(call: string, name: string, position: unknown) => Position} throws ERR_INVALID_ARGUMENT */
function parsePosition (call, name, position) {
  if (position === null || typeof position !== 'object') {
    throw misuse(`${call}: ${name} must be a position, got ${reasonOf(position)}`)
  }
  for (const [slot, seq] of Object.entries(position)) {
    if (!/^\d+$/.test(slot) || typeof seq !== 'number') {
      throw misuse(`${call}: ${name} must have a seq for each slot, as the position of a stream has; got ${slot}: ${reasonOf(seq)}`)
    }
  }
  return /** @type {Position} */ (position)
}

/** @type {(call: string, key: unknown) => { slot: number, seq: number }} throws ERR_INVALID_ARGUMENT */
function parseKey (call, key) {
  const found = typeof key === 'string' ? KEY.exec(key) : null
  if (found !== null) return { slot: Number(found[1]), seq: Number(found[2]) }
  const { slot, seq } = /** @type {any} */ (key ?? {})
  if (Number.isInteger(slot) && typeof seq === 'number') return { slot, seq }
  throw misuse(`${call}: expected { slot, seq } or a text such as '0:4096', got ${reasonOf(key)}`)
}

/** @type {(time?: unknown) => (value: any) => number} NaN if the record has no time */
function parseTime (time = 'time') {
  if (typeof time === 'function') return (value) => Number(time(value))
  const path = typeof time === 'string' ? time.split('.') : time
  if (!Array.isArray(path)) throw misuse(`MergedLog: time must be a path or a function, got ${reasonOf(time)}`)
  return (value) => {
    let found = value
    for (const name of path) found = found?.[name]
    // A small number is ms of a clock that began at 1970.
    return toInstant(found)?.ms ?? (typeof found === 'number' ? found : NaN)
  }
}

/** @type {(options: Record<string, any>, names: string[]) => any} */
function pick (options, names) {
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]))
}

exports.slotOptionNames = slotOptionNames
exports.parseSlotOptions = parseSlotOptions
exports.parseMergedOptions = parseMergedOptions
exports.parseRead = parseRead
exports.parseKey = parseKey
