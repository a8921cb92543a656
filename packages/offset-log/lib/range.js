'use strict'
// The options of a stream or a scan, checked, as one half-open range of seqs.

const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { parseWhere } = require('@millrace/where')
const { isShortRead } = require('./errors')
const { checkNames } = require('./options')

const COMMON = ['gt', 'gte', 'lt', 'lte', 'where', 'onCorrupt', 'signal']
const STREAM = [...COMMON, 'limit', 'reverse', 'live', 'old', 'ref', 'unref', 'seqs', 'values', 'cache']
/** The options of each call. */
const KNOWN = {
  stream: STREAM,
  toReadable: [...STREAM, 'highWaterMark'],
  scan: [...COMMON, 'limit', 'reverse', 'cache', 'threads', 'parameters'],
  count: [...COMMON, 'limit'],
  first: [...COMMON, 'seqs', 'values'],
  last: [...COMMON, 'seqs', 'values']
}
/** The calls of flumedb and its views, which pass options of their own. */
const LENIENT = ['stream', 'scan']

/**
 * @typedef {object} RangeOptions
 * @property {number} [gt]  seqs above; any number, not only a record's seq
 * @property {number} [gte]  seqs at or above
 * @property {number} [lt]  seqs below
 * @property {number} [lte]  seqs at or below
 * @property {boolean} [reverse]  last record first
 * @property {number} [limit]  how many records at most; -1 for no limit
 * @property {boolean} [live]  go on with records that are appended later
 * @property {boolean} [old]  false leaves out what was there at the call, and means live
 * @property {boolean} [ref]  true keeps the process running while a live pull-stream waits for an append, as async
 *   iterators do by themselves, and all streams of a log that was opened with `strict: true` or `flags: 'r'`
 * @property {boolean} [unref]  true lets the process end meanwhile
 * @property {boolean} [cache]  accepted for flume's sake: streams never go through the cache
 * @property {'error' | 'skip'} [onCorrupt]  what to do at damage, if not what the log was opened with: end with
 *   ERR_LOG_CORRUPT, or go on behind it and count what was lost
 * @property {AbortSignal} [signal]  ends it with ABORT_ERR
 * @property {import('@millrace/where').Where} [where]  only records of which this holds, see @millrace/where
 */

/**
 * What the items are: with `seqs: false` values, with `values: false` seqs. A union, so that of a variable of this type
 * the compiler remembers which one it was given.
 * @typedef {{ seqs?: true | undefined, values?: true | undefined }} EntryShape
 * @typedef {{ seqs: false, values?: boolean | undefined }} ValueShape
 * @typedef {{ seqs?: true | undefined, values: false }} SeqShape
 * @typedef {RangeOptions & (EntryShape | ValueShape | SeqShape)} ReadOptions
 */

/**
 * @typedef {object} Range
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {boolean} reverse
 * @property {boolean} live
 * @property {boolean} old
 * @property {number} limit
 * @property {boolean | undefined} skipsDamage  undefined for what the log does by default
 * @property {import('@millrace/where').Filter[] | null} where
 * @property {AbortSignal | null} signal
 * @property {boolean} [keepsBytes]  whether whoever reads may keep the bytes of the records
 * @property {number} [at]  where in the file to begin, going forward, if a record of `from` would be there
 */

/**
 * @param {keyof KNOWN} call  that was given them
 * @param {ReadOptions | undefined} options
 * @param {boolean} isStrict  whether every call refuses options that it does not have
 * @returns {Range}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseRange (call, options, isStrict) {
  try {
    return parse(options, isStrict || !LENIENT.includes(call) ? KNOWN[call] : null)
  } catch (err) {
    const isMisuse = err instanceof TypeError && 'code' in err && err.code === 'ERR_INVALID_ARGUMENT'
    throw isMisuse ? misuse(`${call}: ${err.message.replace(/^options: /, '')}`) : err
  }
}

/**
 * @param {ReadOptions | undefined} options
 * @param {string[] | null} known  null if all names may be given
 */
function parse (options = {}, known) {
  if (options === null || typeof options !== 'object') throw misuse(`expected options, got ${typeof options}`)
  if (known !== null) checkNames('options', options, known)
  const { onCorrupt } = options
  if (onCorrupt !== undefined && onCorrupt !== 'error' && onCorrupt !== 'skip') {
    throw misuse(`onCorrupt must be "error" or "skip", got ${String(onCorrupt)}`)
  }
  const old = options.old !== false
  const live = Boolean(options.live) || !old
  const reverse = Boolean(options.reverse)
  if (live && reverse) throw misuse('a live stream cannot be reversed; leave out live, old or reverse')
  const skipsDamage = onCorrupt === undefined ? undefined : onCorrupt === 'skip'
  const where = options.where === undefined ? null : parseWhere(options.where)
  const signal = options.signal === undefined ? null : parseSignal('options', options.signal)
  const { from, stop } = parseBounds(options)
  // Nothing can be in it, now or later: it ends at once, though it be live, and no file is read for it.
  const limit = Math.min(parseLimit(options.limit), from < stop ? Infinity : 0)
  return { from, stop, reverse, live, old, limit, where, skipsDamage, signal }
}

/**
 * Seqs are whole, so each bound has one whole number that says the same.
 * @param {ReadOptions} options
 */
function parseBounds ({ gt, gte, lt, lte }) {
  for (const [name, bound] of Object.entries({ gt, gte, lt, lte })) {
    if (bound === undefined || bound === null || (typeof bound === 'number' && !Number.isNaN(bound))) continue
    throw misuse(`${name} must be a number, got ${String(bound)}`)
  }
  return {
    from: Math.max(0, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1),
    stop: Math.min(Math.ceil(lt ?? Infinity), Math.floor(lte ?? Infinity) + 1)
  }
}

/** @param {unknown} limit */
function parseLimit (limit) {
  if (limit === undefined || limit === null || limit === -1) return Infinity
  if (typeof limit === 'number' && limit >= 0 && (Number.isInteger(limit) || limit === Infinity)) return limit
  throw misuse(`limit must be a whole number, or -1 for none, got ${String(limit)}`)
}

// A reader for a range of seqs, set on the frame where it begins. When the log's file is replaced by a compacted one,
// it goes on there from the seq that it had come to.

// A file that stays too short is no longer the one that was read.
const SHORT_COUNT_MAX = 3

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./record-run').RecordRun} RecordRun
 * @typedef {import('./read/offset-reader').OffsetReader} OffsetReader
 * @typedef {import('./read/forward-reader').ForwardReader} ForwardReader
 * @typedef {import('./read/backward-reader').BackwardReader} BackwardReader
 * @typedef {OffsetReader | ForwardReader | BackwardReader} StoreReader  goes through a range of one file
 * @typedef {(err: Error | null, records?: RecordRun) => void} NextCallback
 * @typedef {object} Seam
 * @property {number} begunAt  where in the file it began; -1 if it went on in another file
 * @property {boolean} hasMet  whether it has come to where the next one begins, and that one goes on as it would
 * @property {number | null} erasedCount  erased frames in it, where they are counted
 */

class RangeReader {
  #file
  #range
  #isWanted
  /** @type {import('./load').Store} */
  #store
  /** @type {StoreReader | null} */
  #reader = null
  /** What damage took of the files that were read before. */
  #lost = { count: 0, size: 0 }
  #wasReplaced = false
  /** How far the log reached when its file was replaced: who asks for less wants no more than that file had. */
  #endAtReplacement = 0
  /** How often the file was found too short, one time after the other. */
  #shortCount = 0
  // Of the call that is under way: there is one at a time.
  #leftBefore = { lowest: 0, stop: 0 }
  #logEnd = 0
  /** @type {NextCallback} */
  #cb = () => {}

  /**
   * @param {LogFile} file
   * @param {Range & { skipsDamage: boolean }} range
   * @param {import('./codec').RecordFilter | null} isWanted
   */
  constructor (file, range, isWanted) {
    this.#file = file
    this.#range = { ...range }
    this.#isWanted = isWanted
    this.#store = file.store
  }

  /** What damage took so far, where it is skipped. */
  get lost () {
    const { count, size } = this.#reader?.lost ?? { count: 0, size: 0 }
    return { count: this.#lost.count + count, size: this.#lost.size + size }
  }

  /**
   * What those who read the ranges before and behind this one, in other threads, must know, for all to be as one.
   * @param {number} stop  the seq where the next one begins
   * @param {boolean} isLast  whether there is no next one, and that is the end of the log
   * @returns {Seam}
   */
  describeSeam (stop, isLast) {
    const reader = this.#reader
    if (this.#wasReplaced || reader === null || !('hasMet' in reader)) {
      return { begunAt: -1, hasMet: false, erasedCount: null }
    }
    return { begunAt: reader.begunAt, hasMet: reader.hasMet(stop), erasedCount: reader.countErasedBefore(stop, isLast) }
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    return this.#reader !== null && this.#reader.isDone
  }

  /** @param {(err: Error | null, reader?: RangeReader) => void} cb */
  open (cb) {
    const { store, replacement } = this.#file
    this.#store = store
    store.openReader(this.#range, (err, reader) => {
      // Whatever was found may have been looked for in the wrong file.
      if (store.isReplaced) return replacement.wait(() => this.open(cb))
      if (err || !reader) return cb(err)
      this.#reader = reader
      cb(null, this)
    })
  }

  /**
   * @param {number} logEnd  how far the log reaches
   * @param {NextCallback} cb  the run is good until the next call, and empty only when nothing is left. May run
   *   before `next` returns
   */
  next (logEnd, cb) {
    const reader = /** @type {StoreReader} */ (this.#reader)
    this.#leftBefore = reader.left
    this.#logEnd = logEnd
    this.#cb = cb
    if (this.#store.isReplaced) this.#goOnInNewFile()
    else reader.next(Math.max(logEnd, this.#endAtReplacement), this.#found)
  }

  /** @type {NextCallback} */
  #found = (err, records) => {
    if (this.#store.isReplaced) return this.#goOnInNewFile()
    if (err !== null && this.#readsAgain(err)) return
    this.#shortCount = 0
    this.#cb(err, records)
  }

  /**
   * The writer in another process may be writing the end of the file anew.
   * @param {Error} err
   * @returns {boolean}  whether that is looked at again
   */
  #readsAgain (err) {
    const { follower, lifecycle } = this.#file
    if (follower === null || lifecycle.isClosed || !isShortRead(err)) return false
    if (this.#shortCount++ >= SHORT_COUNT_MAX) return false
    follower.lookAgain(0, (err) => err ? this.#cb(err) : this.next(this.#logEnd, this.#cb))
    return true
  }

  #goOnInNewFile () {
    const { lowest, stop } = this.#leftBefore
    this.#file.replacement.wait(() => {
      const range = this.#range
      const { end } = this.#file
      this.#lost = this.lost
      this.#reader = null
      this.#wasReplaced = true
      range.at = undefined
      range.from = Math.max(range.from, lowest)
      range.stop = Math.min(range.stop, stop)
      if (this.#logEnd < end) range.stop = Math.min(range.stop, this.#logEnd)
      this.#endAtReplacement = end
      this.open((err) => err ? this.#cb(err) : this.next(this.#logEnd, this.#cb))
    })
  }

  /**
   * Leaves only the records that the filter wants, perhaps none. What a codec compiled is not ours: whatever it throws
   * gets a code.
   * @param {RecordRun} records  what `next` delivered
   * @param {import('./codec').RecordCodec} codec
   * @returns {LogError | null}  ERR_CODEC_DECODE
   */
  applyFilter (records, codec) {
    if (this.#isWanted === null) return null
    try {
      records.filter(this.#isWanted)
      return null
    } catch (err) {
      if (err instanceof LogError) return err
      return new LogError('ERR_CODEC_DECODE', `the filter that the codec ${codec.name} compiled has failed: ${reasonOf(err)}`,
        { cause: err })
    }
  }

  /**
   * Goes on from a record that `next` delivered, with its bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    this.#reader?.rewindTo(index)
  }

  /** From now on the bytes of runs may not be kept: it has come to the end, and will wait there. */
  stopKeepingBytes () {
    this.#range.keepsBytes = false
    this.#reader?.stopKeepingBytes()
  }
}

/**
 * @param {LogFile} file
 * @param {Range} range
 * @param {(err: Error | null, reader?: RangeReader) => void} cb
 */
function openRange (file, range, cb) {
  const { codec } = file
  const skipsDamage = range.skipsDamage ?? file.skipsDamage
  const err = checkSkipping(file, skipsDamage)
  if (err) return cb(err)
  let isWanted
  try {
    isWanted = codec.compile(range.where)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  new RangeReader(file, { ...range, skipsDamage }, isWanted).open(cb)
}

/**
 * @param {LogFile} file
 * @param {boolean} skipsDamage
 */
function checkSkipping ({ store }, skipsDamage) {
  if (!skipsDamage || store.supports.onCorrupt) return null
  return new LogError('ERR_NOT_SUPPORTED', `onCorrupt: with damage in ${store.name}, the next record cannot be found; ` +
    'leave onCorrupt out')
}

exports.parseRange = parseRange
exports.RangeReader = RangeReader
exports.checkSkipping = checkSkipping
exports.openRange = openRange
