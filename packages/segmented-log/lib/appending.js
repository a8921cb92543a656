'use strict'
// Appends to the newest segment, and makes the next one when that is full, old, or of another day.
//
// While the next segment is made, appends wait in a queue. The segment before is on stable storage before the next one
// exists, so a crash takes only the end of the log, never its middle. If the next segment cannot be made, appends go on
// in the segment before.

const { nextTick } = require('node:process')
const { LogError } = require('@millrace/errors')
const { atExit, call, laterTime } = require('@millrace/flow')
const { errors } = require('@millrace/offset-log/composing')
const { SLACK, makeSegment, nameAt } = require('./opening')

/** The end of a segment that never had a record. */
const HEAD_SIZE = 32 * 1024
/** Room for a last session and its unclean end, in a segment and in the log. */
const LOCAL_END_MAX = 2 ** 47
const BASE_MAX = Number.MAX_SAFE_INTEGER - 2 ** 48
const RETRY_MS = 1000
/** More than the framing adds to a record. */
const FRAMED_MAX = 1.01
const FRAME_OVERHEAD_MAX = 100
const WRITTEN = Object.freeze({ sync: false })
/** More than this need not wait, as in a log of one file. */
const DRAIN_SIZE = 2 ** 20

/**
 * @typedef {import('./core').Core} Core
 * @typedef {(err: Error | null, seq?: number) => void} Done
 * @typedef {{ records: Buffer | Buffer[], size: number, cb: Done }} Waiting
 */

class Appending {
  #core
  #retention
  #upkeep
  /** Appends that wait for the next segment. @type {Waiting[]} */
  #queue = []
  #queuedSize = 0
  /** @type {Promise<void> | null} */
  #rolling = null
  /** The base of the next segment, while that is being made. @type {number | null} */
  #nextBase = null
  /** By the steady clock; 0 if no roll has failed. */
  #retryAtMs = 0
  #hasWarned = false
  /** @type {Array<() => void>} */
  #draining = []

  /**
   * @param {Core} core
   * @param {import('./retention').Retention} retention
   * @param {import('./upkeep').Upkeep} upkeep
   */
  constructor (core, retention, upkeep) {
    this.#core = core
    this.#retention = retention
    this.#upkeep = upkeep
  }

  get pendingSize () {
    return this.#queuedSize + (this.#core.segments.last?.log?.pendingSize ?? 0)
  }

  get needsDrain () {
    const { segments: { last }, options: { maxPendingSize } } = this.#core
    return this.pendingSize > Math.min(DRAIN_SIZE, maxPendingSize / 2) || Boolean(last?.log?.needsDrain)
  }

  get overload () {
    const { folder, options: { maxPendingSize } } = this.#core
    const { pendingSize } = this
    return pendingSize < maxPendingSize ? null : errors.overloaded(folder, pendingSize, maxPendingSize)
  }

  /** Counts records that wait for the log to open. @param {number} size */
  reserve (size) {
    this.#queuedSize += size
  }

  /** @param {number} size  of records that wait no more */
  free (size) {
    this.#queuedSize -= size
  }

  /** Closing waits until it has called back. @type {(records: Buffer | Buffer[], size: number, cb: Done) => void} */
  append (records, size, cb) {
    this.#core.lifecycle.enter()
    this.#place(records, size, cb)
  }

  /** @type {(records: Buffer | Buffer[], size: number, cb: Done) => void} */
  #place (records, size, cb) {
    const { segments, lifecycle } = this.#core
    if (segments.failure !== null) {
      lifecycle.leave()
      return nextTick(cb, segments.failure)
    }
    if (this.#rolling === null && !this.#isFull(size)) {
      if (this.#fits(records, size)) return this.#appendTo(segments.last, records, cb)
      // If the next segment could not be made, it is tried again later.
      if (this.#retryAtMs > 0) {
        lifecycle.leave()
        return nextTick(cb, this.#noRoom('append'))
      }
    }
    this.#queue.push({ records, size, cb })
    this.#queuedSize += size
    if (this.#rolling === null) this.roll().catch(() => {})
  }

  /** @type {(segment: import('./segments').Segment, records: Buffer | Buffer[], cb: Done) => void} */
  #appendTo (segment, records, cb) {
    segment.log._appendRecords(records, (/** @type {Error | null} */ err, /** @type {number} */ seq) => {
      this.#core.lifecycle.leave()
      if (err) cb(err)
      else cb(null, this.#seqOf(segment, seq))
    })
  }

  /** @type {(segment: import('./segments').Segment, local: number) => number} */
  #seqOf ({ base }, local) {
    // Nothing was appended if a batch is empty, and there is nothing in the segment.
    return local === -1 ? this.#core.since.value : base + local
  }

  /** Whether the newest segment must not get these records. @param {number} size  of their bytes */
  #isFull (size) {
    const { segments, options: { segmentSize } } = this.#core
    const { last } = segments
    const { log, file } = last
    const { store, end } = /** @type {import('./core').LogFile} */ (file)
    const pendingSize = log.pendingSize
    // A segment without records is never full.
    if (end <= HEAD_SIZE && pendingSize === 0) return false
    if (this.#retryAtMs > 0 && performance.now() < this.#retryAtMs) return false
    if (log._writeError('append') !== null || log._foreignError !== null) return false
    return store.end + pendingSize + size > segmentSize || end > LOCAL_END_MAX || this.#isOver(last)
  }

  /** Whether the age or the day of a segment has ended. @param {import('./segments').Segment} last */
  #isOver (last) {
    const { segmentAge, calendar } = this.#core.options
    if (segmentAge === Infinity && calendar === null) return false
    const { createdMs } = last
    // A clock that is a few seconds back at midnight does not go back to yesterday.
    const now = laterTime(createdMs, Date.now())
    // A clock that was set back, or stands still, must not keep a segment for years.
    return (segmentAge < Infinity && Math.abs(now - createdMs) >= segmentAge) ||
      performance.now() - last.activeSinceMs >= segmentAge ||
      (calendar !== null && calendar.today(now) !== (last.day ??= calendar.dayOf(createdMs)))
  }

  /**
   * Whether the quota lets the newest segment take records. That drops the oldest segments, if it must.
   * @type {(records: Buffer | Buffer[], size: number) => boolean}
   */
  #fits (records, size) {
    const { segments: { last: { log, file } }, options: { limits: { maxSize } } } = this.#core
    if (maxSize === Infinity) return true
    const { store, end } = /** @type {any} */ (file)
    const { pendingSize } = log
    const framed = pendingSize + size + (Array.isArray(records) ? records.length : 1) * store.frameOverhead
    const isRolling = this.#rolling !== null || this.#retryAtMs > 0
    // A batch that is too large for any segment gets one of its own.
    const isEmpty = end <= HEAD_SIZE && pendingSize === 0
    return this.#retention.fitsNow(store.end + store.writeSizeMax(framed), isRolling) || isEmpty
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
    const core = this.#core
    const { segments, folder, options } = core
    const before = segments.last
    const file = /** @type {import('./core').LogFile} */ (before.file)
    // The end of the process flushes what the newest segment has, but does not know the queue.
    const forget = atExit(() => this.#flushAtExit())
    try {
      await call(before.log, 'sync')
      await this.#retention.makeRoom()
      const base = before.base + Math.max(file.end, /** @type {any} */ (file.store).nextPosition) + SLACK
      if (base > BASE_MAX) throw new LogError('ERR_LOG_FULL', `append: the seqs of ${folder} are used up; convert the log into a new one`, { path: folder })
      this.#nextBase = base
      const name = nameAt(base)
      const log = await makeSegment(folder, name, options, before.log)
      // What was appended meanwhile without waiting must be durable too. Somebody may do that all the time.
      const isDurable = () => (before.log.durable.value ?? -1) === file.writtenSince
      if (!isDurable()) await call(before.log, 'sync')
      if (!isDurable()) before.log.flushSync()
      core.activate(segments.add(name), log)
      this.#nextBase = null
      this.#hasWarned = false
      this.#retryAtMs = 0
    } catch (err) {
      this.#retryAtMs = performance.now() + RETRY_MS
      this.#warn(/** @type {Error} */ (err))
      throw err
    } finally {
      this.#nextBase = null
      forget()
    }
    before.size = file.store.end
    segments.retire(before)
    this.#retention.run().catch(() => {})
    this.#upkeep.schedule()
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
    for (const { records, size, cb } of queue) {
      this.#queuedSize -= size
      this.#place(records, size, cb)
    }
    if (this.#queuedSize > 0) return
    for (const run of this.#draining.splice(0)) run()
  }

  /**
   * Writes what waits before it returns. While the next segment is made, it goes into the one before.
   * @param {{ sync?: boolean | undefined }} [options]
   */
  flushSync (options) {
    const { last } = this.#core.segments
    this.#checkRoom('flushSync', [])
    let isWhole = true
    while (isWhole && this.#queue.length > 0) {
      const [{ records, size }] = this.#queue
      isWhole = this.#fits(records, size)
      if (isWhole) this.#takeFirst()
    }
    last.log.flushSync(options)
    if (!isWhole) throw this.#noRoom('flushSync')
  }

  /** Hands the first append that waits to the newest segment, full or not. */
  #takeFirst () {
    const { records, size, cb } = /** @type {Waiting} */ (this.#queue.shift())
    this.#queuedSize -= size
    this.#appendTo(this.#core.segments.last, records, cb)
  }

  /**
   * Appends before it returns. If a segment must begin, that begins in the background, and the records go into the one
   * before.
   * @type {(records: Buffer | Buffer[], size: number, isSynced: boolean) => number}
   */
  appendNow (records, size, isSynced) {
    const { last } = this.#core.segments
    if (this.#queue.length > 0) this.flushSync(WRITTEN)
    this.#checkRoom('appendSync', records)
    if (this.#rolling === null && this.#isFull(size)) this.roll().catch(() => {})
    if (!this.#fits(records, size)) throw this.#noRoom('appendSync')
    return this.#seqOf(last, last.log._appendRecordsNow(records, isSynced))
  }

  /**
   * What goes into the segment before must not reach the base of the next one.
   * @type {(name: string, records: Buffer | Buffer[]) => void} throws ERR_LOG_NOT_READY
   */
  #checkRoom (name, records) {
    if (this.#nextBase === null) return
    const { segments: { last: { base, file } }, folder } = this.#core
    const room = this.#nextBase - base - /** @type {any} */ (file).store.nextPosition
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

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.#queuedSize > 0) this.#draining.push(() => this.whenDrained(cb))
    else call(this.#core.segments.last.log, 'drained').then(cb, cb)
  }

  /** @returns {Promise<void>}  once nothing waits for a segment */
  async settled () {
    while (this.#rolling !== null) await this.#rolling.catch(() => {})
  }
}

/** At most: the size of the frames, pages and commits that hold the records. @param {Buffer | Buffer[]} records */
function framedSize (records) {
  const list = Array.isArray(records) ? records : [records]
  return list.reduce((sum, { length }) => sum + FRAMED_MAX * length + FRAME_OVERHEAD_MAX, 0)
}

exports.Appending = Appending
