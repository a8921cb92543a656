'use strict'
// Syncs a log, and poisons it if a sync fails: then nobody knows what is durable. Calls that arrive during a sync share
// the next one.

const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')
const { toPromise } = require('@millrace/flow')

// With `fsync: 'interval'`, a power cut may take what was appended in this time.
const INTERVAL_MS = 1000
// Syncs that are asked for are frequent once so many have followed one another, each within this time.
const FREQUENT_COUNT = 8
const FREQUENT_MS = 50
// If a sync covers more than this part of the room that can be reserved, the room is soon used up.
const RESERVE_SHARE = 0.25

/**
 * @typedef {'always' | 'interval' | 'never'} FsyncMode
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {{ promise: Promise<void>, resolve: (value?: Promise<void>) => void, reject: (err: Error) => void }} Turn
 *   of a sync: those who wait for it share the promise
 */

class Durability {
  /** Set once the log is poisoned. @type {LogError | null} */
  error = null
  /** How many changes were written. */
  changeCount = 0
  /** Called when records up to a seq are synced, before `durable` says so. @type {(since: number) => void} */
  onSynced = () => {}
  #file
  #durable
  /** The running sync. @type {Turn | null} */
  #running = null
  /** The sync after it, if somebody waits for one. @type {Turn | null} */
  #next = null
  /** The records up to this one were synced by `syncNow` while another sync was running. */
  #syncedSince = -1
  /** Actions that wait for their turn between two syncs. @type {Array<() => Promise<void>>} */
  #exclusive = []
  /** Whether a sync or an action is running. */
  #isBusy = false
  #isDirty = false
  #mustWriteSlot = false
  /** When the last sync was asked for, and what it covers: a position in the file. */
  #askedMs = -Infinity
  #askedEnd = 0
  /** How many have followed one another quickly. */
  #quickCount = 0
  /** @type {NodeJS.Timeout | null} */
  #timer = null

  /**
   * @param {LogFile} file
   * @param {FsyncMode} mode
   */
  constructor (file, mode) {
    this.mode = mode
    this.#file = file
    this.#durable = file.durable
  }

  /** Something was written. Unless the mode is 'never', it is synced and a checkpoint written within the interval. */
  noteWritten () {
    this.#isDirty = true
    this.changeCount++
    if (this.mode === 'never' || this.#timer !== null || this.error) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (!this.#isDirty && this.#file.store.checkpoints.isClean) return
      this.#mustWriteSlot = true
      this.sync().catch(() => {})
    }, INTERVAL_MS)
    this.#timer.unref?.()
  }

  /**
   * Puts everything that was written before the call on stable storage. Calls that are made during a sync share the
   * next one.
   * @returns {Promise<void>}  rejects with ERR_LOG_POISONED
   */
  async sync () {
    if (this.error !== null) throw this.error
    const { promise } = (this.#next ??= createTurn())
    if (!this.#isBusy) this.#run()
    return promise
  }

  /**
   * Makes the written records up to `seq` durable.
   * @param {number} seq
   * @returns {Promise<void> | null}  null if they are durable already
   * @throws ERR_LOG_POISONED, as the promise rejects with
   */
  syncUpTo (seq) {
    if (this.#durable.value >= seq) return null
    if (this.error !== null) throw this.error
    if (!this.#isBusy && this.#trySync()) return null
    // The kernel reports a failure to one sync only. So what `syncNow` has synced beside a running sync waits for that.
    return this.#running !== null && this.#syncedSince >= seq ? this.#running.promise : this.sync()
  }

  /** Syncs before it returns, if the disk answers at once. @returns {boolean}  whether it has */
  #trySync () {
    const { store, store: { checkpoints }, blocks } = this.#file
    // What is beside a log of lines is synced too.
    if (store.isLines) return false
    const mark = checkpoints.mark()
    try {
      if (!blocks.trySync()) return false
    } catch (err) {
      throw this.poison(/** @type {Error} */ (err))
    }
    this.#isDirty = false
    // Who is told of the records may ask for the next sync.
    this.#isBusy = true
    this.#noteSynced(mark, false)
    this.#isBusy = false
    if (this.#next !== null || this.#exclusive.length > 0) this.#run()
    return true
  }

  /** @type {(mark: import('./load').Mark, needsSlot: boolean) => void} */
  #noteSynced (mark, needsSlot) {
    this.onSynced(mark.since)
    this.#file.store.checkpoints.synced(mark, needsSlot)
    this.#durable.set(Math.max(mark.since, this.#syncedSince))
  }

  /**
   * Runs between two syncs. If it syncs the file, then by `syncBetween`.
   * @type {<T>(action: () => Promise<T>) => Promise<T>}
   */
  runExclusive (action) {
    return new Promise((resolve, reject) => {
      this.#exclusive.push(() => action().then(resolve, reject))
      if (!this.#isBusy) this.#run()
    })
  }

  /**
   * Syncs the file from within such an action. What was written before the call can then be read.
   * @throws ERR_LOG_POISONED
   */
  async syncBetween () {
    const { writtenSince } = this.#file
    const running = this.#running = createTurn()
    // Perhaps nobody waits for it but the action.
    running.promise.catch(() => {})
    try {
      const syncing = this.#file.blocks.beginSync()
      if (syncing !== null) await syncing
    } catch (err) {
      this.poison(/** @type {Error} */ (err))
    }
    this.#running = null
    if (this.error !== null) {
      running.reject(this.error)
      throw this.error
    }
    this.onSynced(writtenSince)
    const since = Math.max(writtenSince, this.#syncedSince)
    if (since > this.#durable.value) this.#durable.set(since)
    running.resolve()
  }

  async #run () {
    this.#isBusy = true
    while (this.#exclusive.length > 0 || this.#next !== null) {
      const action = this.#exclusive.shift()
      if (action !== undefined) await action()
      else await this.#runSync()
    }
    this.#isBusy = false
  }

  /**
   * After a failed write or sync, bytes in the page cache may never reach the disk. So the log promises nothing more.
   * @param {Error} cause
   * @returns {LogError}
   */
  poison (cause) {
    const { path } = this.#file.blocks
    this.#file.blocks.markIntact(false, () => {})
    this.error ??= new LogError('ERR_LOG_POISONED', `${path} could not be written to stable storage (${cause.message}); ` +
      'the log takes no more changes. Earlier records can be read; close the log, check the disk, open it again',
    { cause, path })
    this.#stop()
    return this.error
  }

  /**
   * A failed write that was undone may be tried again. If part of it stayed in the file, no write may follow.
   * @param {Error} err
   * @returns {Error}  for the callers
   */
  noteFailedWrite (err) {
    return err instanceof LogError && err.code === 'ERR_FILE_NOT_UNDONE' ? this.poison(err) : err
  }

  #stop () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Whether no sync is running or waiting. */
  get isIdle () {
    return !this.#isBusy
  }

  /** Whether everything is synced and noted for the next open. */
  get isFinished () {
    return !this.#isDirty && this.#file.store.checkpoints.isFinished
  }

  /** Syncs everything and writes the closing slot. Nothing may be written meanwhile. */
  async finish () {
    this.#stop()
    if (this.error !== null) throw this.error
    const { blocks, store } = this.#file
    await toPromise((cb) => blocks.trim(cb))
    if (this.isFinished) return
    await this.sync()
    await this.runExclusive(() => store.checkpoints.finish().catch((err) => { throw this.noteFailedWrite(err) }))
  }

  /** The same without waiting. Only if `isIdle`. @throws errors of the file system */
  finishNow () {
    this.#file.store.checkpoints.finishNow()
    this.#isDirty = false
  }

  async #runSync () {
    const { store, store: { checkpoints }, blocks } = this.#file
    const running = this.#running = /** @type {Turn} */ (this.#next)
    this.#next = null
    const mark = checkpoints.mark()
    const needsSlot = this.#mustWriteSlot || this.mode === 'never' || (this.mode === 'interval' && !this.#adaptToRate(mark.end))
    this.#mustWriteSlot = false
    this.#isDirty = false
    try {
      const besides = store.isLines ? store.syncBeside() : null
      // If the other one fails first, this failure must be no unhandled rejection.
      besides?.catch(() => {})
      const syncing = blocks.beginSync()
      if (syncing !== null) await syncing
      if (besides !== null) await besides
    } catch (err) {
      this.poison(/** @type {Error} */ (err))
    }
    this.#running = null
    if (this.error !== null) return running.reject(this.error)
    this.#noteSynced(mark, needsSlot)
    running.resolve()
  }

  /**
   * With `fsync: 'interval'`, frequent syncs get what all syncs get with 'always': room after the end, and few slots.
   * The next chunk says how far the file was durable; after the last one, the timer writes a slot.
   * @param {number} end  of what the sync that begins now covers
   * @returns {boolean}  whether they are frequent
   */
  #adaptToRate (end) {
    const { blocks, store: { reserveSize } } = this.#file
    const nowMs = performance.now()
    this.#quickCount = nowMs - this.#askedMs < FREQUENT_MS ? this.#quickCount + 1 : 0
    const isFrequent = this.#quickCount >= FREQUENT_COUNT
    const isSmall = end - this.#askedEnd <= RESERVE_SHARE * reserveSize
    blocks.reserve(isFrequent && isSmall ? reserveSize : 0)
    this.#askedMs = nowMs
    this.#askedEnd = end
    return isFrequent
  }

  /**
   * Syncs without waiting. What was written can then be read.
   * @throws ERR_LOG_POISONED
   */
  syncNow () {
    if (this.error !== null) throw this.error
    const { store: { checkpoints }, blocks } = this.#file
    const mark = checkpoints.mark()
    if (this.mode === 'interval') this.#adaptToRate(mark.end)
    try {
      checkpoints.completeNow()
      blocks.syncNow()
    } catch (err) {
      throw this.poison(/** @type {Error} */ (err))
    }
    this.#isDirty = false
    checkpoints.noteSynced(mark)
    this.onSynced(mark.since)
    this.#syncedSince = mark.since
    // While another sync is running, nothing is promised: see `syncUpTo`.
    if (this.#running === null) this.#durable.set(mark.since)
    this.#next?.resolve(this.#running?.promise)
    this.#next = null
  }
}

/** @returns {Turn} */
function createTurn () {
  const turn = /** @type {Turn} */ ({})
  turn.promise = new Promise((resolve, reject) => Object.assign(turn, { resolve, reject }))
  return turn
}

// Finishes logs that are still open when their process ends.
//
// - When the event loop is empty, they are synced and marked clean, as `close` does it. They can still be used.
// - When the process exits, what waits to be appended is written and synced without waiting. A log with nothing else in
//   progress is also marked clean. The next open recovers the others.
//
// The kernel releases their locks.

class OpenLog {
  #file
  #appender
  #isCompacting
  /** `changeCount` at the last attempt to finish, so that a failure is not tried again for ever. */
  #finishedCount = -1

  /**
   * @param {LogFile} file  loaded and undamaged
   * @param {import('./appender').Appender} appender
   * @param {() => boolean} isCompacting
   */
  constructor (file, appender, isCompacting) {
    this.#file = file
    this.#appender = appender
    this.#isCompacting = isCompacting
    if (openLogs.size === 0) process.on('beforeExit', finishAll).on('exit', finishAllNow)
    openLogs.add(this)
  }

  /** The log is closed. */
  forget () {
    openLogs.delete(this)
    if (openLogs.size === 0) process.off('beforeExit', finishAll).off('exit', finishAllNow)
  }

  /** Keeps the event loop running until the log is finished. */
  finish () {
    const { durability, lifecycle } = this.#file
    const { changeCount, isFinished } = durability
    const isInUse = lifecycle.isOpen && durability.error === null && !this.#isCompacting()
    if (!isInUse || isFinished || changeCount === this.#finishedCount) return
    this.#finishedCount = changeCount
    // Appends wait meanwhile. Afterwards they may run, and the log is finished again.
    const finish = async () => {
      await this.#appender.pause()
      // The next open treats the log as after a crash.
      await durability.finish().catch(() => {})
      this.#appender.resume()
    }
    finish()
  }

  /** Finishes a log again after an `exit` handler has written it. */
  finishAgain () {
    if (isExiting) this.finishNow()
  }

  /** Writes and syncs what waits, and finishes the log if nothing else is in progress. */
  finishNow () {
    const { blocks, durability } = this.#file
    try {
      if (this.#appender.backPressure.size > 0 && this.#appender.canFlushNow) this.#appender.flushNow(true)
      if (!this.#canFinishNow) return
      if (!durability.isFinished) durability.finishNow()
      blocks.unlockNow()
    } catch {
      // Nobody is left to report to. The next open treats the log as after a crash.
    }
  }

  get #canFinishNow () {
    const { blocks, durability, lifecycle, store: { checkpoints } } = this.#file
    if (!lifecycle.isOpen || durability.error !== null || !durability.isIdle || this.#isCompacting()) return false
    return blocks.canWriteNow && blocks.isIdle && checkpoints.canFinishNow
  }
}

/** Of this thread. @type {Set<OpenLog>} */
const openLogs = new Set()
let isExiting = false

function finishAll () {
  for (const log of openLogs) log.finish()
}

function finishAllNow () {
  isExiting = true
  for (const log of openLogs) log.finishNow()
}

exports.Durability = Durability
exports.OpenLog = OpenLog
