'use strict'
// Appends to the newest segment, and makes the next one when that is full, old, or of another day.
//
// While the next segment is made, appends wait in a queue. The segment before is on stable storage before the next one
// exists, so a crash takes only the end of the log, never its middle. If the next segment cannot be made, appends go on
// in the segment before.
//
// The file of the next segment is prepared under another name. Then it gets its name, is opened, and is the newest one,
// all in one turn. So a caller that cannot wait may do the same at any moment: see `#switchNow`. What is under way then
// finds that there is another segment, and ends. Where the storage has no calls for that, all of it takes waiting.

const { nextTick } = require('node:process')
const { setImmediate: nextTurn } = require('node:timers/promises')
const { removeFiles } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { atExit, laterTime } = require('@millrace/flow')
const { BackPressure, errors } = require('@millrace/offset-log/composing')
const { SLACK } = require('./missing')
const { createNext, makeSegment, nameAt, openSegment } = require('./opening')

/** Room for a last session and its unclean end, in a segment and in the log. */
const LOCAL_END_MAX = 2 ** 47
const BASE_MAX = Number.MAX_SAFE_INTEGER - 2 ** 48
const RETRY_MS = 1000
/** More than the framing adds to a record. */
const FRAMED_MAX = 1.01
const FRAME_OVERHEAD_MAX = 100
/** Segments of this size are synced without waiting if they get appends without waiting. */
const QUICK_SIZE = 1024 * 1024
/** A segment that is so many times as large as it should be is sealed before the next append without waiting. */
const LATE_SIZE = 3
const WRITTEN = Object.freeze({ sync: false })
/** Who has not appended for so long looks first whether the folder is still its own. */
const PROVE_MS = 1000
/** Among appends that are under way, one of so many looks at the clock for that: each took a tenth longer. */
const LOOK_COUNT = 256

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/offset-log/composing').Sink} Sink
 * @typedef {import('./names').SegmentName} SegmentName
 * @typedef {import('@millrace/block-file').NewFile} NewFile
 * @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them
 * @typedef {{ records: Buffer | Buffer[], size: number, cb: Done, givesSeqs: boolean }} Waiting
 */

class Appending {
  #core
  #retention
  #upkeep
  /** Appends that wait for the next segment. @type {Waiting[]} */
  #queue = []
  /** @type {Promise<void> | null} */
  #rolling = null
  /** The base of the next segment, while that is being made. @type {number | null} */
  #nextBase = null
  /** By the steady clock; 0 if no roll has failed. */
  #retryAtMs = 0
  #hasWarned = false
  /** The file of the next segment, while that is being made. @type {NewFile | null} */
  #next = null
  /** A next segment that could not be used, and not be removed. @type {SegmentName | null} */
  #left = null
  /** The newest segment, if it has got records without waiting. @type {Segment | null} */
  #eager = null
  /** When it was last seen that the folder is its own. */
  #provenMs = performance.now()
  #untilLook = LOOK_COUNT

  /**
   * @param {Core} core
   * @param {import('./retention').Retention} retention
   * @param {import('./upkeep').Upkeep} upkeep
   */
  constructor (core, retention, upkeep) {
    this.#core = core
    this.#retention = retention
    this.#upkeep = upkeep
    const { folder, options: { maxPendingSize } } = core
    this.backPressure = new BackPressure(maxPendingSize, folder)
  }

  /**
   * Closing waits until it has called back.
   * @type {(records: Buffer | Buffer[], size: number, cb: Done, givesSeqs: boolean) => void}
   */
  append (records, size, cb, givesSeqs) {
    this.#core.lifecycle.enter()
    if (this.backPressure.size === 0 || --this.#untilLook === 0) this.#prove()
    this.backPressure.reserve(size)
    this.#place(records, size, cb, givesSeqs)
  }

  /**
   * @type {(records: Buffer | Buffer[], size: number, cb: Done, givesSeqs: boolean, waiting?: Waiting | null) => void}
   *   `waiting`: the same, if it has waited before
   */
  #place (records, size, cb, givesSeqs, waiting = null) {
    const { segments } = this.#core
    if (segments.opened.failure !== null) return this.#refuse(size, cb, segments.opened.failure)
    if (this.#rolling === null && !this.#isFull(size)) {
      if (this.#fits(records, size)) return this.#appendTo(segments.last, records, size, cb, givesSeqs)
      // If the next segment could not be made, it is tried again later.
      if (performance.now() < this.#retryAtMs) return this.#refuse(size, cb, this.#noRoom('append'))
    }
    this.#queue.push(waiting ?? { records, size, cb, givesSeqs })
    if (this.#rolling === null) this.roll().catch(() => {})
  }

  /** Another process may have the folder by now: what it has appended must not be overwritten. */
  #prove () {
    const nowMs = performance.now()
    this.#untilLook = LOOK_COUNT
    if (nowMs - this.#provenMs < PROVE_MS) return
    this.#provenMs = nowMs
    try {
      this.#core.options.place.proveSync()
    } catch {
      // The log is poisoned if the folder is not its own.
    }
  }

  /** @type {(size: number, cb: Done, err: Error) => void} */
  #refuse (size, cb, err) {
    this.#leave(size)
    nextTick(cb, err)
  }

  /** An append is no longer under way: its callback is next. @param {number} size  of its records */
  #leave (size) {
    this.#core.lifecycle.leave()
    this.backPressure.free(size)
  }

  /** @type {(segment: Segment, records: Buffer | Buffer[], size: number, cb: Done, givesSeqs: boolean) => void} */
  #appendTo (segment, records, size, cb, givesSeqs) {
    sinkOf(segment).append(records, (err, local) => {
      this.#leave(size)
      if (err) cb(err)
      else cb(null, this.#inLog(segment, local))
    }, givesSeqs)
  }

  /** @type {(segment: Segment, local: any) => any} what an append to a segment gives: a seq, or a list of them */
  #inLog (segment, local) {
    return Array.isArray(local) ? local.map((seq) => this.#seqOf(segment, seq)) : this.#seqOf(segment, local)
  }

  /** @type {(segment: Segment, local: number) => number} */
  #seqOf ({ base }, local) {
    // Nothing was appended if a batch is empty, and there is nothing in the segment.
    return local === -1 ? this.#core.since.value : base + local
  }

  /** Whether the newest segment must not get these records. @param {number} size  of their bytes */
  #isFull (size) {
    const { segments, options: { segmentSize } } = this.#core
    const { last } = segments
    const source = sourceOf(last)
    const sink = sinkOf(last)
    // A segment without records is never full.
    if (isEmpty(last)) return false
    if (this.#retryAtMs > 0 && performance.now() < this.#retryAtMs) return false
    if (sink.appendError('append') !== null) return false
    return source.size + sink.pendingSize + size > segmentSize || source.end > LOCAL_END_MAX || this.#isOver(last)
  }

  /** Whether the age or the day of a segment has ended. @param {Segment} last */
  #isOver (last) {
    const { segmentAge, calendar } = this.#core.options
    if (segmentAge === Infinity && calendar === null) return false
    const { createdMs } = last
    // A clock that is a few seconds back at midnight does not go back to yesterday.
    const now = laterTime(createdMs, Date.now())
    // A clock that was set back, or stands still, must not keep a segment for years.
    if (segmentAge < Infinity) {
      if (Math.abs(now - createdMs) >= segmentAge || performance.now() - last.activeSinceMs >= segmentAge) return true
    }
    return calendar !== null && calendar.today(now) !== (last.day ??= calendar.dayOf(createdMs))
  }

  /**
   * Whether the quota lets the newest segment take records. That drops the oldest segments, if it must.
   * @type {(records: Buffer | Buffer[], size: number) => boolean}
   */
  #fits (records, size) {
    const { segments: { last }, options: { limits: { maxSize } } } = this.#core
    if (maxSize === Infinity) return true
    const isRolling = this.#rolling !== null || this.#retryAtMs > 0
    const sizeWith = sinkOf(last).sizeWith(size, Array.isArray(records) ? records.length : 1)
    // A batch that is too large for any segment gets one of its own.
    const isAlone = isEmpty(last)
    return this.#retention.fitsNow(sizeWith, isRolling) || isAlone
  }

  /**
   * The same for a caller that cannot wait. That begins the next segment at once, if the newest one is too large.
   * @type {(records: Buffer | Buffer[], size: number) => boolean}
   */
  #fitsNow (records, size) {
    const { segments: { last }, options: { segmentSize, limits: { maxSize } } } = this.#core
    if (maxSize === Infinity) return true
    const isLate = sourceOf(last).size > LATE_SIZE * segmentSize
    if (isLate) this.#switchNow()
    return this.#fits(records, size) || (this.#switchNow() && this.#fits(records, size))
  }

  /** @param {string} name */
  #noRoom (name) {
    const { folder, options: { limits: { maxSize } } } = this.#core
    return errors.notReady(folder, `has no room left in its maxSize (${maxSize}) until the next segment is made`, name)
  }

  /** Seals the newest segment and makes the next one. @returns {Promise<void>} */
  roll () {
    this.#rolling ??= this.#roll().finally(() => {
      this.#rolling = null
      this.#flush()
    })
    return this.#rolling
  }

  async #roll () {
    const { segments, options } = this.#core
    const before = segments.last
    const next = this.#next = createNext(options, before, '')
    // The end of the process flushes what the newest segment has, but does not know the queue.
    const forget = atExit(() => this.#flushAtExit())
    try {
      if (next === null) await this.#makeNext(before)
      else await this.#prepareNext(before, next)
    } catch (err) {
      if (segments.last !== before) return
      this.#noteFailure(/** @type {Error} */ (err))
      throw err
    } finally {
      this.#next = this.#nextBase = null
      forget()
      await next?.discard().catch(() => {})
    }
  }

  /** @type {(before: Segment, next: NewFile) => Promise<void>} */
  async #prepareNext (before, next) {
    const { segments, folder, options } = this.#core
    const sink = sinkOf(before)
    // While a sync is under way, nobody knows what is durable, and `#switchNow` is not possible. A program that appends
    // without waiting could fill the quota in that time.
    const isQuick = this.#eager === before && options.segmentSize <= QUICK_SIZE
    if (this.#eager === before) await nextTurn()
    if (!isQuick && segments.last === before) await sink.sync()
    if (segments.last === before) await this.#retention.makeRoom()
    if (segments.last === before) await next.prepare()
    // What was appended meanwhile without waiting must be durable too. Somebody may do that all the time, so nothing
    // waits in between.
    await sink.betweenSyncs(() => {
      if (segments.last !== before || !this.#seal(before)) return
      const file = { made: next, id: sourceOf(before).id }
      this.#beginNext(before, (name) => openSegment(folder, name, options, file))
    })
  }

  /** The same if the storage can neither name nor open a file without waiting. @param {Segment} before */
  async #makeNext (before) {
    const { segments, folder, options } = this.#core
    const sink = sinkOf(before)
    await sink.sync()
    await this.#retention.makeRoom()
    await this.#removeLeft()
    const name = nameAt(this.#nextBase = this.#baseAfter(before), options)
    /** @type {any} */
    let log = null
    try {
      log = await makeSegment(folder, name, options, sourceOf(before).id)
      if (!sink.isDurable) await sink.sync()
      if (!sink.isDurable) sink.flushNow()
      this.#beginNext(before, () => log, name)
    } catch (/** @type {any} */ err) {
      if (segments.last === before && err.code !== 'EEXIST') {
        await log?.close().catch(() => {})
        this.#left = name
        await this.#removeLeft().catch(() => {})
      }
      throw err
    }
  }

  /** A next segment that has its name, but could not be used: with it, a second one would get the same base. */
  async #removeLeft () {
    const left = this.#left
    if (left === null) return
    const { folder, options: { storage } } = this.#core
    await removeFiles(storage, folder, (file) => file === left.name || file.startsWith(`${left.name}.`))
    this.#left = null
  }

  /**
   * Puts all that the newest segment has on stable storage.
   * @param {Segment} before
   * @returns {boolean}  false if a sync is under way: then nobody knows what is durable
   */
  #seal (before) {
    const sink = sinkOf(before)
    if (sink.pendingSize > 0 || !sink.isDurable) sink.flushNow()
    return sink.isDurable
  }

  /** @param {Segment} before @returns {number} the base of the next segment */
  #baseAfter (before) {
    const base = before.base + sourceOf(before).reservedEnd + SLACK
    if (base <= BASE_MAX) return base
    const { folder } = this.#core
    throw new LogError('ERR_LOG_FULL', `append: the seqs of ${folder} are used up; convert the log into a new one`, { path: folder })
  }

  /** @type {(before: Segment, open: (name: SegmentName) => any, name?: SegmentName) => void} `before` is durable */
  #beginNext (before, open, name = nameAt(this.#baseAfter(before), this.#core.options)) {
    const { segments } = this.#core
    const source = sourceOf(before)
    const sink = sinkOf(before)
    const log = open(name)
    this.#core.activate(segments.add(name), log)
    this.#nextBase = null
    this.#hasWarned = false
    this.#retryAtMs = 0
    try {
      sink.trimNow()
    } catch {
      // Closing it tries again.
    }
    before.size = source.size
    segments.opened.retire(before)
    this.#retention.run().catch(() => {})
    this.#upkeep.schedule()
  }

  /**
   * Seals the newest segment and begins the next one, before it returns.
   * @returns {boolean}  false if that takes waiting, or fails
   */
  #switchNow () {
    const { segments: { last }, folder, options } = this.#core
    const sink = sinkOf(last)
    if (isEmpty(last) || performance.now() < this.#retryAtMs || !sink.canSealNow) return false
    // A segment without records takes any. So there must be room for it.
    if (!this.#retention.fitsNow(sourceOf(last).size, true)) return false
    const next = this.#next?.isPrepared ? this.#next : createNext(options, last, '.now')
    if (next === null) return false
    try {
      if (!this.#seal(last)) return false
      this.#beginNext(last, (name) => openSegment(folder, name, options, { made: next, id: sourceOf(last).id }))
      return true
    } catch (/** @type {any} */ err) {
      if (next !== this.#next) next.discard().catch(() => {})
      if (sink.poison !== null) throw err
      this.#noteFailure(err)
      return false
    }
  }

  /** @param {Error} err  why the next segment could not be made */
  #noteFailure (err) {
    this.#retryAtMs = performance.now() + RETRY_MS
    this.#warn(err)
  }

  /** @param {Error} err */
  #warn (err) {
    if (this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(`${this.#core.folder}: the next segment could not be made (${err.message}); the one before goes on`, 'SegmentedLogWarning')
  }

  /** Appends what has waited, as far as it fits. */
  #flush () {
    const queue = this.#queue
    this.#queue = []
    for (const one of queue) this.#place(one.records, one.size, one.cb, one.givesSeqs, one)
  }

  /**
   * Writes what waits before it returns. While the next segment is made, it goes into the one before.
   * @param {{ sync?: boolean | undefined }} [options]
   */
  flushSync (options) {
    const { segments } = this.#core
    this.#checkRoom('flushSync', [])
    let isWhole = true
    while (isWhole && this.#queue.length > 0) {
      const [{ records, size }] = this.#queue
      isWhole = this.#fitsNow(records, size)
      if (isWhole) this.#takeFirst()
    }
    sinkOf(segments.last).flushNow(options)
    if (!isWhole) throw this.#noRoom('flushSync')
  }

  /** Hands the first append that waits to the newest segment, full or not. */
  #takeFirst () {
    const { records, size, cb, givesSeqs } = /** @type {Waiting} */ (this.#queue.shift())
    this.#appendTo(this.#core.segments.last, records, size, cb, givesSeqs)
  }

  /**
   * Appends before it returns. If a segment must begin, that begins in the background, and the records go into the one
   * before.
   * @type {(records: Buffer | Buffer[], size: number, isSynced: boolean, givesSeqs: boolean) => any}
   */
  appendNow (records, size, isSynced, givesSeqs) {
    const { segments } = this.#core
    this.#prove()
    if (segments.opened.failure !== null) throw segments.opened.failure
    if (this.#queue.length > 0) this.flushSync(WRITTEN)
    this.#checkRoom('appendSync', records)
    this.#eager = segments.last
    if (this.#rolling === null && this.#isFull(size)) this.roll().catch(() => {})
    if (!this.#fitsNow(records, size)) throw this.#noRoom('appendSync')
    const { last } = segments
    return this.#inLog(last, sinkOf(last).appendNow(records, isSynced, givesSeqs))
  }

  /**
   * What goes into the segment before must not reach the base of the next one.
   * @type {(name: string, records: Buffer | Buffer[]) => void} throws ERR_LOG_NOT_READY
   */
  #checkRoom (name, records) {
    if (this.#nextBase === null) return
    const { segments: { last }, folder } = this.#core
    const room = this.#nextBase - last.base - sourceOf(last).reservedEnd
    const wanted = this.#queue.reduce((sum, { records }) => sum + framedSize(records), framedSize(records))
    if (wanted > room) throw errors.notReady(folder, 'is beginning a segment', name)
  }

  #flushAtExit () {
    try {
      // Rather too large than lost: the next opening makes room.
      this.#checkRoom('flushSync', [])
      while (this.#queue.length > 0) this.#takeFirst()
      this.flushSync()
    } catch {
      // Nobody is left to report to.
    }
  }

  /**
   * Whether a record that was appended matches, of those that cannot be read yet.
   * @param {(record: Buffer) => boolean} isMatch
   */
  hasUnread (isMatch) {
    const isWaiting = this.#queue.some(({ records }) => [records].flat().some(isMatch))
    // The segments before the newest one are durable.
    return isWaiting || sinkOf(this.#core.segments.last).hasUnread(isMatch)
  }

  /** Calls back once all earlier appends are written or have failed. @param {() => void} cb */
  flush (cb) {
    if (this.#queue.length === 0) sinkOf(this.#core.segments.last).flush(cb)
    else this.placed().then(() => sinkOf(this.#core.segments.last).flush(cb))
  }

  /**
   * Waits for the roll under way, and until what waits for a segment is in one. A program may append faster than
   * segments begin, so what comes later does not count.
   */
  async placed () {
    const waiting = new Set(this.#queue)
    do await this.#rolling?.catch(() => {})
    while (this.#rolling !== null && this.#queue.some((one) => waiting.has(one)))
  }

  /** Waits until nothing waits for a segment. Nothing is appended any more. */
  async settled () {
    while (this.#rolling !== null) await this.#rolling.catch(() => {})
  }
}

/** Of the newest segment, which is always open. @param {Segment} segment @returns {Source} */
function sourceOf ({ source }) {
  return /** @type {Source} */ (source)
}

/** @param {Segment} segment @returns {Sink} */
function sinkOf ({ sink }) {
  return /** @type {Sink} */ (sink)
}

/** Whether a segment has no record, and none waits. @param {Segment} segment */
function isEmpty (segment) {
  return sourceOf(segment).isEmpty && sinkOf(segment).pendingSize === 0
}

/** At most: the size of the frames, pages and commits that hold the records. @param {Buffer | Buffer[]} records */
function framedSize (records) {
  const list = Array.isArray(records) ? records : [records]
  return list.reduce((sum, { length }) => sum + FRAMED_MAX * length + FRAME_OVERHEAD_MAX, 0)
}

exports.Appending = Appending
