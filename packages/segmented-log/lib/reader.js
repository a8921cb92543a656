'use strict'
// Reads a range of seqs from segment to segment. Each segment is read by the reader of its own log; the runs get the
// seqs of the whole log.
//
// A segment is pinned only while a read is under way. If it was closed since, the reader begins anew in it, after what
// it has delivered. So a reader that is never read to its end keeps no file open.
//
// A segment that cannot be opened, or is missing between two others, or lacks its end, is damage: the reader fails
// there, or counts what is lost and goes on in the next one.
//
// Retention may leave only chosen records of a segment while it is read. A reader that was to deliver every record then
// fails, as it does if the segment is gone.

const { setImmediate } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { toCallback } = require('@millrace/flow')
const { findMissing, lostError, sizeBetween } = require('./missing')

/**
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {import('@millrace/offset-log/composing').Reader} Reader
 * @typedef {import('@millrace/offset-log/composing').RecordRun} RecordRun
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('./segments').Segments} Segments
 * @typedef {(err: Error | null, records?: RecordRun) => void} NextCallback
 *
 * @typedef {object} Within  of a read of a period
 * @property {import('./record-times').RecordTimes} times
 * @property {import('./record-times').TimeBounds} bounds
 * @property {(buf: Buffer, start: number, end: number, seq: number) => boolean} filter
 */

/** @template T @typedef {(err: Error | null, result?: T) => void} Done */

/** A run of a segment, with the seqs of the log. The bytes and the other arrays are those of the segment's run. */
class GlobalRun {
  count = 0
  /** @type {Buffer} */
  buffer = Buffer.alloc(0)
  seqs = new Float64Array(16)
  starts = new Uint32Array(0)
  ends = new Uint32Array(0)

  /** @param {RecordRun} run  @param {number} base */
  take ({ count, buffer, seqs, starts, ends }, base) {
    if (this.seqs.length < count) this.seqs = new Float64Array(seqs.length)
    for (let index = 0; index < count; index++) this.seqs[index] = seqs[index] + base
    this.count = count
    this.buffer = buffer
    this.starts = starts
    this.ends = ends
  }
}

/** @implements {Reader} */
class SegmentedReader {
  #segments
  /** What is left of the range; its bounds move with what is delivered. */
  #range
  /** @type {Segment} */
  #segment
  /** The reader of `#segment`; null if it is not open yet. @type {Reader | null} */
  #inner = null
  /** The generation of `#segment` that `#inner` reads. */
  #generation = -1
  /** Where the range of `#inner` ends because the log ended there when it was opened; Infinity if it does not. */
  #boundedTo = Infinity
  #run = new GlobalRun()
  /** The run that `#run` shows. @type {RecordRun | null} */
  #innerRun = null
  /** The version of a file that was looked up. @type {object | null} */
  #confirmed = null
  /** Where every record was there when the reader began; it began at or after this seq, or where the log begins. */
  #wholeFrom
  /** What was lost in the readers before `#inner`. */
  #lostBefore = { count: 0, size: 0 }
  /** What is missing after `#segment`. @type {import('./missing').Missing | null} */
  #missing = null
  /** Segments that are lost, or have lost those after them. @type {Set<Segment>} */
  #lostSegments = new Set()
  #within

  /**
   * @param {Segments} segments
   * @param {Range} range
   * @param {Segment} segment  where the range begins
   * @param {Within | null} within
   */
  constructor (segments, range, segment, within) {
    this.#segments = segments
    this.#range = { ...range }
    this.#segment = segment
    this.#within = within
    this.#wholeFrom = segments.wholeFrom
    // Who resumes in a segment is told if it was lost or dropped.
    const isWhole = range.reverse ? range.stop >= (segment.next?.base ?? Infinity) : range.from <= segment.base
    if (isWhole && this.#isOutside(segment)) this.#segment = this.#follower() ?? segment
  }

  get lost () {
    const { count, size } = this.#inner?.lost ?? { count: 0, size: 0 }
    return { count: this.#lostBefore.count + count, size: this.#lostBefore.size + size }
  }

  get isDone () {
    const { from, stop } = this.#range
    if (from >= stop) return true
    if (this.#inner === null || this.#follower() !== null) return false
    // A sealed segment gets no records, so a range that ends before the next one is done.
    return this.#inner.isDone || this.#segment.next !== null
  }

  /** The segment to read after this one; null if the range ends in this one. */
  #follower () {
    let segment = this.#neighbour(this.#segment)
    while (segment !== null && this.#isOutside(segment)) segment = this.#neighbour(segment)
    return segment
  }

  /** @param {Segment} segment @returns {Segment | null}  the next one of the range */
  #neighbour (segment) {
    const { reverse, from, stop } = this.#range
    const { base, next } = segment
    if (reverse) return from >= base ? null : this.#segments.before(segment)
    return next !== null && next.base < stop ? next : null
  }

  /** @param {Segment} segment */
  #isOutside (segment) {
    return this.#within !== null && !segment.isActive && this.#within.times.isOutside(segment, this.#within.bounds)
  }

  /**
   * Opens the reader of the first segment, so that errors of the range arrive before the first record.
   * @param {(err: Error | null, reader?: SegmentedReader) => void} cb
   */
  open (cb) {
    this.#withSource((err, source, done) => {
      if (err || !source) done(err)
      else this.#openInner(source, done)
    }, (err) => err && !this.#skipsLost(err) ? cb(err) : cb(null, this))
  }

  /**
   * @param {number} logEnd
   * @param {NextCallback} cb  the run is empty only at the end
   */
  next (logEnd, cb) {
    this.#withSource((err, source, done) => {
      if (err || !source) return done(err)
      const isOpen = this.#inner !== null && this.#generation === this.#segment.generation
      // That of a live stream reads on: the rest of the segment was appended before it was sealed.
      if (isOpen && logEnd <= this.#boundedTo) this.#read(logEnd, done)
      else this.#openInner(source, (err) => err ? done(err) : this.#read(logEnd, done), logEnd)
    }, (err, run) => {
      const { reverse, skipsRetained } = this.#range
      if (err && (reverse || skipsRetained) && isRetained(err)) this.#resume(logEnd, cb)
      else if (err && this.#skipsLost(err)) this.#goOn(logEnd, cb)
      else if (err || !run || run.count > 0) cb(err, run)
      else this.#goOn(logEnd, cb)
    })
  }

  /** The segment was dropped, and the reader may miss its records. @type {Reader['next']} */
  #resume (logEnd, cb) {
    const segments = this.#segments
    const { reverse, from, stop } = this.#range
    const segment = reverse ? findBackwards(segments, stop) : segments.find(from)
    const isOver = reverse ? segments.retainedError('stream', stop) !== null : segment.base >= Math.min(logEnd, stop)
    this.#enter(segment)
    if (isOver) this.#end(cb)
    else this.next(logEnd, cb)
  }

  /** @param {Segment} segment  to read from now on */
  #enter (segment) {
    this.#lostBefore = this.lost
    this.#inner = null
    this.#segment = segment
    this.#generation = -1
  }

  /** @param {NextCallback} cb */
  #end (cb) {
    this.#run.count = 0
    cb(null, /** @type {any} */ (this.#run))
  }

  /**
   * Runs an action while the segment is open.
   * @template T
   * @param {(err: Error | null, source: Source | undefined, done: Done<T>) => void} action
   * @param {Done<T>} cb
   */
  #withSource (action, cb) {
    const segment = this.#segment
    this.#segments.opened.pin(segment, (err, source) => action(err, source, (err, result) => {
      this.#segments.opened.unpin(segment)
      cb(err, result)
    }))
  }

  /** @type {(source: Source, cb: (err: Error | null) => void, logEnd?: number) => void} */
  #openInner (source, cb, logEnd = Infinity) {
    const segment = this.#segment
    const { generation } = segment
    const { from, stop } = this.#range
    this.#lostBefore = this.lost
    this.#inner = null
    const missing = findMissing(segment, source, this.#segments)
    this.#missing = missing
    // A reader that comes from the front meets them after the records of this segment.
    const isNext = missing !== null && (this.#range.reverse ? stop > missing.from : from >= missing.from)
    const lostErr = isNext ? this.#meetMissing() : this.#findLost(source)
    if (lostErr) return cb(lostErr)
    // Its file may be another opening's by now, which knows no end amid what it has: then that is a bound of the range.
    const isBounded = segment.next !== null && logEnd < segment.base + source.end
    const end = isBounded ? Math.min(stop, logEnd) : stop
    const local = { from: Math.max(0, from - segment.base), stop: end - segment.base }
    source.openRange({ ...this.#range, ...local }, (err, reader) => {
      if (err || !reader) return cb(inSegment(err, segment))
      this.#inner = reader
      this.#generation = generation
      this.#boundedTo = isBounded ? logEnd : Infinity
      cb(null)
    })
  }

  /**
   * Whether the error is that of a segment that is lost, and the reader goes past it.
   * @param {Error} err
   */
  #skipsLost (err) {
    const segment = this.#segment
    if (err !== segment.brokenError || !this.#skipsDamage) return false
    if (!this.#lostSegments.has(segment)) this.#countLost(segment, sizeBetween(segment.base, segment.next))
    return true
  }

  get #skipsDamage () {
    return this.#range.skipsDamage ?? this.#segments.skipsDamage
  }

  /** @type {(segment: Segment, size: number) => void} */
  #countLost (segment, size) {
    this.#lostSegments.add(segment)
    this.#lostBefore.count++
    this.#lostBefore.size += size
  }

  /** Records are missing after those of this one, in the range. @returns {LogError | null}  null: they are skipped */
  #meetMissing () {
    const missing = this.#missing
    const { from, stop } = this.#range
    this.#missing = null
    const isInside = missing !== null && missing.stop > from && missing.from < stop
    if (!isInside || this.#lostSegments.has(this.#segment)) return null
    if (!this.#skipsDamage) return missing.error
    this.#countLost(this.#segment, missing.size)
    return null
  }

  /** @param {Source} source */
  #findLost (source) {
    const { reverse, from, stop } = this.#range
    if (this.#segments.wholeFrom > this.#segment.base || this.#lostSegments.has(this.#segment)) return null
    return lostError(this.#segment, source, reverse ? stop : from)
  }

  /** @type {(logEnd: number, cb: NextCallback) => void} */
  #read (logEnd, cb) {
    const inner = /** @type {Reader} */ (this.#inner)
    const segment = this.#segment
    const { end } = /** @type {Source} */ (segment.source)
    const localEnd = logEnd - segment.base
    // The end that the log had when the reader began may be amid a chunk of a file that was written anew.
    const isSealed = segment.next !== null
    const isEndKnown = segment.keptUntilMs === null && this.#boundedTo === Infinity
    const sealedEnd = isEndKnown ? Math.min(localEnd, end) : end
    inner.next(isSealed ? sealedEnd : localEnd, (err, run) => {
      if (err || !run) return cb(inSegment(err, segment))
      this.#whenConfirmed(segment, () => this.#deliver(segment, run, cb))
    })
  }

  /** @type {(segment: Segment, run: RecordRun, cb: NextCallback) => void} */
  #deliver (segment, run, cb) {
    const err = this.#findCut(segment)
    if (err) return cb(err)
    const last = run.count > 0 ? run.seqs[run.count - 1] + segment.base : -1
    if (last !== -1 && this.#range.reverse) this.#range.stop = last
    else if (last !== -1) this.#range.from = last + 1
    this.#innerRun = run
    this.#run.take(run, segment.base)
    cb(null, /** @type {any} */ (this.#run))
  }

  /**
   * If another process writes the log, it may have left out records of a file that lacks some. Each such file is looked
   * up in the folder once.
   * @type {(segment: Segment, action: () => void) => void}
   */
  #whenConfirmed ({ source }, action) {
    const { refresh } = this.#segments
    const { hasGaps, version } = /** @type {Source} */ (source)
    if (refresh === null || !hasGaps || version === this.#confirmed) return action()
    this.#confirmed = version
    toCallback(refresh(), action)
  }

  /**
   * Whether records of the segment were left out since the reader began.
   * @param {Segment} segment
   */
  #findCut ({ base }) {
    const { reverse, skipsRetained } = this.#range
    if (reverse || skipsRetained || base < this.#wholeFrom || base >= this.#segments.wholeFrom) return null
    return this.#segments.cutError('stream', base + 1)
  }

  /** Continues in the next segment, or ends. @type {(logEnd: number, cb: NextCallback) => void} */
  #goOn (logEnd, cb) {
    const missingErr = this.#range.reverse ? null : this.#meetMissing()
    if (missingErr) return cb(missingErr)
    const next = this.#follower()
    const isPastEnd = next === null || (!this.#range.reverse && logEnd <= next.base)
    if (isPastEnd) return this.#end(cb)
    // A reader that was slow must not step over segments that are gone.
    const { isOvertaken, base } = this.#segment
    const missed = isOvertaken ? base + 1 : next.base + 1
    const isCut = isOvertaken || next.isDropped
    const err = isCut && !this.#range.skipsRetained ? this.#segments.cutError('stream', missed) : null
    if (err) return cb(err)
    // So far it has delivered chosen records only.
    if (base < this.#wholeFrom) this.#wholeFrom = this.#segments.wholeFrom
    this.#missing = null
    this.#enter(next)
    setImmediate(() => this.next(logEnd, cb))
  }

  /** @type {Reader['applyFilter']} */
  applyFilter (records, codec) {
    const run = this.#innerRun
    if (run === null || this.#inner === null) return null
    const err = this.#inner.applyFilter(run, codec)
    const within = this.#within
    if (within !== null && !within.times.isInside(this.#segment, within.bounds)) run.filter(within.filter)
    this.#run.take(run, this.#segment.base)
    return err
  }

  /** @param {number} index  in the run */
  rewindTo (index) {
    const seq = this.#run.seqs[index]
    if (this.#range.reverse) this.#range.stop = seq + 1
    else this.#range.from = seq
    this.#inner?.rewindTo(index)
  }

  stopKeepingBytes () {
    this.#range.keepsBytes = false
    this.#inner?.stopKeepingBytes()
  }
}

/**
 * Gives the error of a segment's log the seqs of the whole log.
 * @type {<E extends Error | null>(err: E, segment: Segment) => E | LogError}
 */
function inSegment (err, { base, path }) {
  const isOfSeq = err instanceof LogError && ['ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_LOST', 'ERR_CODEC_DECODE', 'flumelog:deleted'].includes(err.code)
  if (!isOfSeq || base === 0 || err.offset === undefined) return err
  const { code, message, cause, offset, index } = err
  return new LogError(code, `${message} (seqs of the segment ${path}: those of the log are ${base} higher)`,
    { cause, offset: offset + base, path, index })
}

/**
 * Why a call has not got a record of a segment that is open, in the seqs of the log.
 * @type {(call: string, err: Error, place: { segments: Segments, segment: Segment, seq: number }) => Error}
 */
function explain (call, err, { segments, segment, seq }) {
  const { source } = segment
  if (!isMissing(err) || source === null) return inSegment(err, segment)
  // Nothing tells a deleted record from one that retention has left out.
  const cut = segments.cutError(call, seq)
  if (cut !== null) return cut
  const missing = findMissing(segment, source, segments)
  if (missing !== null && seq >= missing.from) return missing.error
  return lostError(segment, source, seq) ?? inSegment(err, segment)
}

/** The segment in which a range begins that is read backwards. @type {(segments: Segments, stop: number) => Segment} */
function findBackwards (segments, stop) {
  return segments.find(Math.max(0, Math.min(stop, Number.MAX_SAFE_INTEGER) - 1))
}

/** @param {any} err */
function isRetained (err) {
  return err.code === 'ERR_LOG_SEQ_RETAINED'
}

/** Whether the error says that there is no record at the seq. @param {any} err */
function isMissing (err) {
  return err?.code === 'ERR_RECORD_NOT_FOUND' || err?.code === 'ERR_LOG_SEQ_LOST'
}

/**
 * @param {Segments} segments
 * @param {Range} range
 * @param {Within | null} within
 * @param {(err: Error | null, reader?: SegmentedReader) => void} cb
 */
function openSegmentedRange (segments, range, within, cb) {
  const { from, stop, reverse, skipsRetained } = range
  const err = reverse ? segments.retainedError('stream', stop) : segments.cutError('stream', from)
  if (err && !skipsRetained) return cb(err)
  const start = reverse ? findBackwards(segments, stop) : segments.find(from)
  new SegmentedReader(segments, range, start, within).open((err, reader) => {
    // Another process has dropped it just now. Nothing was delivered, so the range may begin where the log begins now.
    if (err && isRetained(err)) openSegmentedRange(segments, range, within, cb)
    else cb(err, reader)
  })
}

/**
 * Watches a read that does not go from segment to segment: whether records were dropped that it was to deliver.
 * @type {(segments: Segments) => (from: number) => LogError | null} `from`: where the rest of the read begins
 */
function watchCuts (segments) {
  let { wholeFrom } = segments
  return (from) => {
    // So far it has delivered chosen records only.
    if (from < wholeFrom) wholeFrom = segments.wholeFrom
    return from >= wholeFrom && from < segments.wholeFrom ? segments.cutError('stream', from + 1) : null
  }
}

exports.watchCuts = watchCuts
exports.openSegmentedRange = openSegmentedRange
exports.explain = explain
