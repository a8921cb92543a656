'use strict'
// The options of a stream or a scan, checked, as one half-open range of seqs.

const { LogError, misuse } = require('@millrace/errors')
const { parseWhere } = require('@millrace/where')
const { isShortRead } = require('./errors')

/**
 * @typedef {object} ReadOptions
 * @property {number} [gt]  seqs above; any number, not only a record's seq
 * @property {number} [gte]  seqs at or above
 * @property {number} [lt]  seqs below
 * @property {number} [lte]  seqs at or below
 * @property {boolean} [reverse]  last record first
 * @property {number} [limit]  how many records at most; -1 for no limit
 * @property {boolean} [live]  go on with records that are appended later
 * @property {boolean} [old]  false leaves out what was there at the call, and means live
 * @property {boolean} [ref]  true keeps the process running while a live pull-stream waits for an append, as async
 *   iterators do by themselves, and all streams of a log that was opened with `flags: 'r'`
 * @property {boolean} [unref]  true lets the process end meanwhile
 * @property {boolean} [seqs]  false leaves the seq out of the items
 * @property {boolean} [values]  false leaves the value out of the items
 * @property {boolean} [cache]  accepted for flume's sake: streams never go through the cache
 * @property {'error' | 'skip'} [onCorrupt]  what to do at damage, if not what the log was opened with: end with
 *   ERR_LOG_CORRUPT, or go on behind it and count what was lost
 * @property {import('@millrace/where').Where} [where]  only records of which this holds, see @millrace/where
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
 * @property {import('@millrace/where').Condition[] | null} where
 * @property {boolean} [isKept]  whether the bytes of its records may be kept
 * @property {number} [at]  where in the file to begin, going forward, if a record of `from` would be there
 */

/**
 * @param {'stream' | 'scan'} call  that was given them
 * @param {ReadOptions} [options]
 * @returns {Range}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseRange (call, options) {
  try {
    return parse(options)
  } catch (err) {
    throw isMisuse(err) ? misuse(`${call}: ${err.message}`) : err
  }
}

/**
 * @param {unknown} err
 * @returns {err is Error}
 */
function isMisuse (err) {
  return err instanceof TypeError && /** @type {any} */ (err).code === 'ERR_INVALID_ARGUMENT'
}

/** @param {ReadOptions} [options] */
function parse (options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`expected options, got ${typeof options}`)
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
  const { from, stop } = parseBounds(options)
  // Nothing can be in it, now or later: it ends at once, though it be live, and no file is read for it.
  const limit = Math.min(parseLimit(options.limit), from < stop ? Infinity : 0)
  return { from, stop, reverse, live, old, limit, where, skipsDamage }
}

/**
 * Seqs are whole, so each bound has one whole number that says the same.
 * @param {ReadOptions} options
 */
function parseBounds (options) {
  const { gt, gte, lt, lte } = options
  checkBound('gt', gt)
  checkBound('gte', gte)
  checkBound('lt', lt)
  checkBound('lte', lte)
  return {
    from: Math.max(0, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1),
    stop: Math.min(Math.ceil(lt ?? Infinity), Math.floor(lte ?? Infinity) + 1)
  }
}

/**
 * @param {string} name
 * @param {unknown} bound
 */
function checkBound (name, bound) {
  if (bound !== undefined && bound !== null && (typeof bound !== 'number' || Number.isNaN(bound))) {
    throw misuse(`${name} must be a number, got ${String(bound)}`)
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
  /**
   * @param {LogFile} file
   * @param {Range & { skipsDamage: boolean }} range
   * @param {import('./codec').RecordFilter | null} isWanted
   */
  constructor (file, range, isWanted) {
    this._file = file
    this._range = { ...range }
    this._wasReplaced = false
    this._isWanted = isWanted
    /** @type {import('./load').Store} */
    this._store = file.store
    /** @type {StoreReader | null} */
    this._reader = null
    this._lost = { count: 0, size: 0 }
    /** How far the log reached when its file was replaced: who asks for less wants no more than that file had. */
    this._endAtReplacement = 0
    // Of the call that is under way: there is one at a time.
    this._leftBefore = { lowest: 0, stop: 0 }
    this._logEnd = 0
    /** @type {NextCallback} */
    this._cb = () => {}
    /** How often the file was found too short, one time after the other. */
    this._shortCount = 0
    /** @type {NextCallback} */
    this._found = (err, records) => {
      const { _cb: cb, _leftBefore: left, _logEnd: logEnd } = this
      if (!this._store.isReplaced) {
        if (err !== null && this._mayReadAgain(err)) return this._readAgain(logEnd, cb)
        this._shortCount = 0
        return cb(err, records)
      }
      // Whatever was found may have been looked for in the wrong file.
      this._settle(() => this._goOn(left, logEnd, cb), () => cb(err, records))
    }
  }

  /** What damage took so far, where it is skipped. */
  get lost () {
    const { count, size } = this._reader?.lost ?? { count: 0, size: 0 }
    return { count: this._lost.count + count, size: this._lost.size + size }
  }

  /**
   * What those who read the ranges before and behind this one, in other threads, must know, for all to be as one.
   * @param {number} stop  the seq where the next one begins
   * @param {boolean} isLast  whether there is no next one, and that is the end of the log
   * @returns {Seam}
   */
  describeSeam (stop, isLast) {
    const reader = this._reader
    if (this._wasReplaced || reader === null || !('hasMet' in reader)) {
      return { begunAt: -1, hasMet: false, erasedCount: null }
    }
    return { begunAt: reader.begunAt, hasMet: reader.hasMet(stop), erasedCount: reader.countErasedBefore(stop, isLast) }
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    return this._reader !== null && this._reader.isDone
  }

  /** @param {(err: Error | null, reader?: RangeReader) => void} cb */
  open (cb) {
    this._store = this._file.store
    this._store.openReader(this._range, this._isWanted, (err, reader) => {
      this._settle(() => this.open(cb), () => {
        if (err || !reader) return cb(err)
        this._reader = reader
        cb(null, this)
      })
    })
  }

  /**
   * @param {number} logEnd  how far the log reaches
   * @param {NextCallback} cb  the run is good until the next call, and empty only when nothing is left. May run
   *   before `next` returns
   */
  next (logEnd, cb) {
    const reader = /** @type {StoreReader} */ (this._reader)
    const { left } = reader
    if (this._store.isReplaced) return this._settle(() => this._goOn(left, logEnd, cb), () => this.next(logEnd, cb))
    this._leftBefore = left
    this._logEnd = logEnd
    this._cb = cb
    reader.next(Math.max(logEnd, this._endAtReplacement), this._found)
  }

  /**
   * The writer in another process may be writing the end of the file anew.
   * @param {Error} err
   */
  _mayReadAgain (err) {
    const { follower, lifecycle } = this._file
    return follower !== null && !lifecycle.isClosed && isShortRead(err) && this._shortCount++ < SHORT_COUNT_MAX
  }

  /**
   * @param {number} logEnd
   * @param {NextCallback} cb
   */
  _readAgain (logEnd, cb) {
    this._file.follower?.lookAgain(0, (err) => err ? cb(err) : this.next(logEnd, cb))
  }

  /**
   * @param {() => void} replaced  runs if the file was replaced
   * @param {() => void} kept  runs, as a rule at once, if it is the same
   */
  _settle (replaced, kept) {
    if (!this._store.isReplaced) return kept()
    this._file.replacement.wait(() => this._store.isReplaced ? replaced() : kept())
  }

  /**
   * Goes on from a record that `next` delivered, with its bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    this._reader?.rewindTo(index)
  }

  /** It has come to the end, and will wait there. From now on the bytes of runs may not be kept. */
  settleAtEnd () {
    this._range.isKept = false
    this._reader?.settleAtEnd()
  }

  /**
   * Leaves only the records that the filter wants, perhaps none, in the run that `next` delivered.
   * @throws what decoding throws, when the codec cannot compile the filter
   */
  applyFilter () {
    this._reader?.applyFilter()
  }

  /**
   * In the file that the log has now.
   * @param {{ lowest: number, stop: number }} left  of the range
   * @param {number} logEnd
   * @param {NextCallback} cb
   */
  _goOn (left, logEnd, cb) {
    const range = this._range
    const { end } = this._file
    this._lost = this.lost
    this._reader = null
    this._wasReplaced = true
    range.at = undefined
    range.from = Math.max(range.from, left.lowest)
    range.stop = Math.min(range.stop, left.stop)
    if (logEnd < end) range.stop = Math.min(range.stop, logEnd)
    this._endAtReplacement = end
    this.open((err) => err ? cb(err) : this.next(logEnd, cb))
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
  return new LogError('ERR_NOT_SUPPORTED', `onCorrupt: ${store.name} does not say where the next record begins; ` +
    'leave it out')
}

exports.parseRange = parseRange
exports.RangeReader = RangeReader
exports.checkSkipping = checkSkipping
exports.openRange = openRange
