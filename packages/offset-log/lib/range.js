'use strict'
// A range of seqs: parses it from the options of a read, and reads it run by run from the store.

const { LogError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { loadWhere } = require('./codec')
const { isShortRead } = require('./errors')
const { UnpackedRun } = require('./file-words')
const { NO_RECORDS } = require('./record-run')

const COMMON = ['gt', 'gte', 'lt', 'lte', 'where', 'onCorrupt', 'onRetained', 'signal']
const STREAM = [...COMMON, 'limit', 'reverse', 'live', 'old', 'ref', 'unref', 'seqs', 'values', 'cache']
/** The options of each call. */
const KNOWN = {
  stream: STREAM,
  toReadable: [...STREAM, 'highWaterMark'],
  scan: [...COMMON, 'limit', 'reverse', 'cache'],
  count: [...COMMON, 'limit'],
  explain: [...COMMON, 'limit', 'reverse', 'live', 'old', 'seqs', 'values'],
  first: [...COMMON, 'seqs', 'values'],
  last: [...COMMON, 'seqs', 'values']
}
/** Without a lower bound these ask for what is there, whatever is dropped meanwhile. */
const OF_WHAT_IS_THERE = ['count', 'explain', 'first']
/** flumedb and its views call these with options of their own. */
const LENIENT = ['stream', 'scan']

/** @typedef {number | Date | string} Time  ms since 1970, or a text such as 2026-11-23T07:01:07Z */

/**
 * @typedef {object} Period
 * @property {Time} [gt]  Only times after this one.
 * @property {Time} [gte]  Only times at or after this one.
 * @property {Time} [lt]  Only times before this one.
 * @property {Time} [lte]  Only times at or before this one.
 */

/**
 * @typedef {object} RangeOptions
 * @property {number} [gt]  Only seqs above this one. A bound may be any number. After the end a live stream waits: that
 *   a power cut took the record there, it learns with the next append (`ERR_LOG_SEQ_LOST`) in the framing checked; the
 *   others give such a seq again.
 * @property {number} [gte]  Only seqs at or above this one.
 * @property {number} [lt]  Only seqs below this one.
 * @property {number} [lte]  Only seqs at or below this one.
 * @property {boolean} [reverse]  True delivers the last record first; false by default.
 * @property {number} [limit]  How many records to deliver at most; -1, the default, for no limit.
 * @property {boolean} [live]  True continues with records that are appended later; false by default. Streams only.
 * @property {boolean} [old]  False begins with the first record that is appended after the call, and implies `live`;
 *   true by default. Streams only.
 * @property {boolean} [ref]  True keeps the process running while a live pull-stream waits for an append. Async
 *   iterators, a live `toReadable`, and all streams of a log that was opened with `strict: true` or `flags: 'r'` do so
 *   without `ref`, as a socket does. Other pull-streams do not: programs on flumedb would never end.
 * @property {boolean} [unref]  True lets the process end while the live stream waits; false by default.
 * @property {boolean} [cache]  It has no effect: streams do not use the cache. Accepted for flume.
 * @property {'error' | 'skip'} [onCorrupt]  What to do at damage: end with ERR_LOG_CORRUPT, or continue after it and
 *   count what was lost, in `lost`. By default as the log was opened. Reading continues at the next chunk that is
 *   surely in its place; in a compacted log this may be the next page, so that up to 16 KiB of good records are skipped
 *   too. A stream also skips records whose bytes are sound but do not decode, and counts them in `undecodable`; `count`
 *   and `scan` decode nothing, so they count and deliver such records.
 * @property {'error' | 'skip'} [onRetained]  What to do if the range begins at a seq that a segmented log has dropped,
 *   `'error'` by default: end with ERR_LOG_SEQ_RETAINED. With `'skip'` begin at the next record that is kept. A
 *   reversed read fails only if its upper bound is before the first record that is left; if it reaches dropped records
 *   later, it ends. `count`, `first` and `explain` without a lower bound skip by default: what is dropped meanwhile is
 *   not missed. It has no effect on a log of one file.
 * @property {AbortSignal} [signal]  An abort ends the call or the stream with ABORT_ERR, whose `cause` is the signal's
 *   reason. Other calls and streams of the log continue. A `Readable` is destroyed at once, even if it is paused.
 * @property {Period} [time]  Only records of this period; of a segmented log
 *   that was opened with the option `time`. Each bound is optional. Records without a time are in no period.
 * @property {import('@millrace/where').Where} [where]  Only records that match this filter: a condition on a field, or
 *   several, combined with `any`, `all` and `not`, or in a list. A record that does not decode never matches.
 */

/**
 * Streams deliver `{ seq, value }`. `seqs: false` delivers values alone, `values: false` seqs alone. ReadOptions is a
 * union, so that the compiler can narrow a variable of this type to the shape that was assigned to it.
 * @typedef {object} EntryShape
 * @property {true | undefined} [seqs]  False delivers values alone; true by default.
 * @property {true | undefined} [values]  False delivers seqs alone; true by default.
 * @typedef {{ seqs: false, values?: boolean | undefined }} ValueShape
 * @typedef {{ seqs?: true | undefined, values: false }} SeqShape
 * @typedef {RangeOptions & (EntryShape | ValueShape | SeqShape)} ReadOptions
 */

/**
 * @typedef {object} Range
 * @property {number} from  the lowest seq
 * @property {number} stop  one above the highest seq
 * @property {boolean} reverse
 * @property {boolean} live
 * @property {boolean} old
 * @property {number} limit
 * @property {boolean | undefined} skipsDamage  undefined: as the log was opened
 * @property {boolean} skipsRetained
 * @property {import('@millrace/where').Filter[] | null} where
 * @property {AbortSignal | null} signal
 * @property {boolean} [keepsBytes]  whether the bytes of delivered records may be kept
 */

/**
 * @param {keyof KNOWN} call  for the error message too
 * @param {ReadOptions | undefined} options
 * @param {boolean} isStrict  whether lenient calls refuse unknown options too
 * @returns {Range}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseRange (call, options = {}, isStrict) {
  const known = isStrict || !LENIENT.includes(call) ? KNOWN[call] : undefined
  // A list has another tag.
  const isPlain = Object.prototype.toString.call(options) === '[object Object]'
  if (known !== undefined || !isPlain) checkOptions(call, options, known)
  const skipsDamage = parseSkipping(`${call}: onCorrupt`, options.onCorrupt)
  const skipsRetained = parseSkipping(`${call}: onRetained`, options.onRetained)
  const old = options.old !== false
  const live = Boolean(options.live) || !old
  const reverse = Boolean(options.reverse)
  if (live && reverse) throw misuse(`${call}: a live stream cannot be reversed; leave out live, old or reverse`)
  const where = options.where === undefined ? null : parseFilter(call, options.where)
  const signal = options.signal === undefined ? null : parseSignal(call, options.signal)
  const { from, stop, limit } = parseBounds(call, options)
  return {
    from, stop, reverse, live, old, limit, where, skipsDamage, signal,
    skipsRetained: skipsRetained ?? (from === 0 && OF_WHAT_IS_THERE.includes(call))
  }
}

/** @type {(what: string, value: unknown) => boolean | undefined} */
function parseSkipping (what, value) {
  if (value === undefined) return undefined
  if (value === 'error' || value === 'skip') return value === 'skip'
  throw misuse(`${what} must be "error" or "skip", got ${reasonOf(value)}`)
}

/** @type {(call: string, where: unknown) => import('@millrace/where').Filter[]} */
function parseFilter (call, where) {
  try {
    return loadWhere().parseWhere(where)
  } catch (err) {
    const isMisuse = err instanceof TypeError && 'code' in err && err.code === 'ERR_INVALID_ARGUMENT'
    throw isMisuse ? misuse(`${call}: ${err.message}`) : err
  }
}

/**
 * Seqs are integers, so each bound is rounded to an integer that means the same. An empty range never gets a record, so
 * even a live stream of it ends at once, and no file is read.
 * @type {(call: string, options: ReadOptions) => Pick<Range, 'from' | 'stop' | 'limit'>}
 */
function parseBounds (call, { gt, gte, lt, lte, limit }) {
  for (const [name, bound] of Object.entries({ gt, gte, lt, lte })) {
    const given = bound ?? 0
    if (typeof given === 'number' && !Number.isNaN(given)) continue
    throw misuse(`${call}: ${name} must be a number, got ${reasonOf(bound)}`)
  }
  const most = limit === -1 ? Infinity : limit ?? Infinity
  if (!(most === Infinity || Number.isInteger(most)) || most < 0) {
    throw misuse(`${call}: limit must be a whole number, or -1 for none, got ${reasonOf(limit)}`)
  }
  const from = Math.max(0, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1)
  const stop = Math.min(Math.ceil(lt ?? Infinity), Math.floor(lte ?? Infinity) + 1)
  return { from, stop, limit: from < stop ? most : 0 }
}

// A file that is still too short after so many more reads was cut or replaced.
const SHORT_COUNT_MAX = 3

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./read/offset-reader').OffsetReader} OffsetReader
 * @typedef {import('./read/checked-reader').ForwardReader} ForwardReader
 * @typedef {import('./read/checked-backward-reader').BackwardReader} BackwardReader
 * @typedef {import('./read/lines-reader').LinesReader} LinesReader
 * @typedef {OffsetReader | LinesReader | ForwardReader | BackwardReader} StoreReader  reads a range of one file
 * @typedef {import('./record-run').RecordRun} RecordRun
 * @typedef {(err: Error | null, records?: RecordRun) => void} NextCallback
 */

/**
 * Reads a range of seqs, run by run. If a compaction replaces the log's file, the reader continues in the new file from
 * the seq that it had reached.
 */
class RangeReader {
  #file
  /** What is left of the range; its bounds move with what is delivered. */
  #range
  #isWanted
  /** @type {import('./load').Store} */
  #store
  /** @type {StoreReader | null} */
  #reader = null
  /** What was lost to damage in the files before the current one. */
  #lost = { count: 0, size: 0 }
  /**
   * The end of the log when its file was replaced: a lower one may be amid a chunk of the new file. If the caller's
   * end is lower, also of a reader that was opened later, `stop` is lowered instead.
   */
  #endAtReplacement = 0
  /** How many reads in succession found the file too short. */
  #shortCount = 0
  /** Of a file with a dictionary: what is delivered. @type {UnpackedRun | null} */
  #unpacked = null
  /** What the reader delivered last, before it was unpacked. @type {RecordRun} */
  #read = NO_RECORDS
  /** Where records of it cannot be unpacked, and were counted. @type {number[]} */
  #lostIndexes = []
  // Of the call of `next` in progress; there is at most one.
  #logEnd = 0
  /** @type {NextCallback} */
  #cb = () => {}

  /**
   * @param {LogFile} file
   * @param {Range & { skipsDamage: boolean }} range  the reader's own
   * @param {import('./codec').RecordFilter | null} isWanted
   */
  constructor (file, range, isWanted) {
    this.#file = file
    this.#range = range
    this.#isWanted = isWanted
    this.#store = file.store
  }

  /** The ranges lost to damage so far, if damage is skipped. `size` is in bytes. */
  get lost () {
    const { count, size } = this.#reader?.lost ?? { count: 0, size: 0 }
    return { count: this.#lost.count + count, size: this.#lost.size + size }
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
      // If the file was replaced meanwhile, the result, even an error, may be that of the old file.
      if (store !== replacement.readable) return replacement.wait((err) => err ? cb(err) : this.open(cb))
      if (err && this.#awaitsBytes(err, cb, () => this.open(cb))) return
      if (err || !reader) return cb(err)
      this.#reader = reader
      cb(null, this)
    })
  }

  /**
   * @param {number} logEnd
   * @param {NextCallback} cb  may run before `next` returns. The run is valid until the next call, and empty only at
   *   the end. It is not filtered yet: see `applyFilter`
   */
  next (logEnd, cb) {
    this.#logEnd = logEnd
    this.#cb = cb
    const { replacement } = this.#file
    const end = Math.max(logEnd, this.#endAtReplacement)
    const failure = this.#unpacked?.failure ?? null
    if (failure !== null) cb(failure)
    else if (this.#store !== replacement.readable || end < replacement.logEnd) this.#goOnInNewFile()
    else /** @type {StoreReader} */ (this.#reader).next(end, this.#found)
  }

  /** @type {NextCallback} */
  #found = (err, records) => {
    if (this.#store !== this.#file.replacement.readable) return this.#goOnInNewFile()
    if (err !== null && this.#awaitsBytes(err, this.#cb, () => this.next(this.#logEnd, this.#cb))) return
    this.#shortCount = 0
    if (err || !records || records.count === 0) return this.#cb(err, records)
    const { words } = this.#store
    this.#read = records
    const last = records.seqs[records.count - 1]
    if (this.#range.reverse) this.#range.stop = last
    else this.#range.from = last + 1
    if (words === null) this.#cb(null, records)
    else this.#deliver(this.#unpack(records, words))
  }

  /** @type {(records: RecordRun, words: import('./file-words').FileWords) => UnpackedRun} */
  #unpack (records, words) {
    const { keepsBytes = false, skipsDamage } = this.#range
    const onLost = (/** @type {number} */ index) => {
      this.#lostIndexes.push(index)
      this.#countLost(index, 1)
    }
    const run = (this.#unpacked ??= new UnpackedRun())
    this.#lostIndexes = []
    const { maxRecordSize } = this.#file
    run.fill(records, words, { maxRecordSize, keepsBytes, onLost: skipsDamage ? onLost : null })
    return run
  }

  /** @type {(index: number, sign: 1 | -1) => void} `index`: of a record in `#read` */
  #countLost (index, sign) {
    const { starts, ends } = this.#read
    this.#lost.count += sign
    this.#lost.size += sign * (ends[index] - starts[index])
  }

  /** @param {UnpackedRun} run  an empty one is not the end: it had words only, or its first record fails */
  #deliver (run) {
    if (run.count > 0) this.#cb(null, run)
    else this.next(this.#logEnd, this.#cb)
  }

  /**
   * Looks again if the file was too short: the writer, in another process, may be writing the end of the file anew, or
   * the file is no longer the one that was read.
   * @type {(err: Error, cb: (err: Error) => void, goOn: () => void) => boolean} whether it looks
   */
  #awaitsBytes (err, cb, goOn) {
    const { follower, lifecycle } = this.#file
    if (follower === null || lifecycle.isClosed || !isShortRead(err)) return false
    if (this.#shortCount++ >= SHORT_COUNT_MAX) return false
    follower.lookAgain(0, (err) => err ? cb(err) : goOn())
    return true
  }

  #goOnInNewFile () {
    this.#file.replacement.wait((err) => {
      if (err) return this.#cb(err)
      const range = this.#range
      const { logEnd: end } = this.#file
      this.#lost = this.lost
      this.#reader = null
      // A live stream ends nowhere: what was appended meanwhile it reads too.
      if (this.#logEnd < end && !range.live) range.stop = Math.min(range.stop, this.#logEnd)
      this.#endAtReplacement = end
      this.open((err) => err ? this.#cb(err) : this.next(this.#logEnd, this.#cb))
    })
  }

  /**
   * Leaves only the records that match the filter, perhaps none.
   * @param {RecordRun} records  what `next` delivered
   * @param {import('./codec').RecordCodec} codec
   * @returns {LogError | null}  ERR_CODEC_DECODE
   */
  applyFilter (records, codec) {
    return this.#isWanted === null ? null : records.applyFilter(this.#isWanted, codec.name)
  }

  /** Continues from a delivered record, with bytes read again. @param {number} index  in the run */
  rewindTo (index) {
    const seq = (this.#unpacked ?? this.#read).seqs[index]
    if (this.#range.reverse) this.#range.stop = seq + 1
    else this.#range.from = seq
    if (this.#unpacked === null) return this.#reader?.rewindTo(index)
    this.#unpacked.failure = null
    const packedIndex = this.#read.seqs.indexOf(seq)
    // They are met again, and counted then.
    for (const lostIndex of this.#lostIndexes) if (lostIndex > packedIndex) this.#countLost(lostIndex, -1)
    this.#lostIndexes = []
    this.#reader?.rewindTo(packedIndex)
  }

  /** Called when a live stream has caught up. From then on the bytes of delivered records are not kept. */
  stopKeepingBytes () {
    this.#range.keepsBytes = false
    this.#reader?.stopKeepingBytes()
  }
}

/** @type {(file: LogFile, range: Range, cb: (err: Error | null, reader?: RangeReader) => void) => void} */
function openRange (file, range, cb) {
  range.skipsDamage ??= file.skipsDamage
  const refusal = range.skipsDamage ? skipError(file, range) : null
  if (refusal) return cb(refusal)
  let isWanted = null
  try {
    if (range.where !== null) isWanted = file.codec.compile(range.where)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  new RangeReader(file, /** @type {Range & { skipsDamage: boolean }} */ (range), isWanted).open(cb)
}

/**
 * Why a read may not skip damage: in some framings none can, also not with an index. Null if it may, or does not.
 * @param {LogFile} file  each of several files answers for itself
 * @param {Pick<Range, 'skipsDamage'>} range
 * @returns {LogError | null}  ERR_NOT_SUPPORTED
 */
function skipError ({ store, skipsDamage }, range) {
  if (!(range.skipsDamage ?? skipsDamage) || store.supports?.onCorrupt !== false) return null
  return new LogError('ERR_NOT_SUPPORTED', `onCorrupt: with damage in ${store.name}, the next record cannot be found; ` +
    'leave onCorrupt out')
}

exports.parseRange = parseRange
exports.RangeReader = RangeReader
exports.openRange = openRange
exports.skipError = skipError
