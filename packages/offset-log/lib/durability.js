'use strict'
// Syncs a log, and poisons it if a sync fails: then nobody knows what is durable. Calls that arrive during a sync share
// the next one.

const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { LogError } = require('@millrace/errors')

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
 * @typedef {(err: Error | null) => void} Done
 */

class Durability {
  /** Set once the log is poisoned. @type {LogError | null} */
  error = null
  /** How many changes were written. */
  changeCount = 0
  #file
  #durable
  /** @type {Array<{ show: () => void, cb: Done }>} */
  #waiting = []
  /** Called back when the running sync ends. @type {Array<{ show: () => void, cb: Done }>} */
  #running = []
  #isSyncing = false
  /** The records up to this one were synced by `syncNow` while another sync was running. */
  #syncedSince = -1
  /** @type {Array<(done: () => void) => void>} */
  #exclusive = []
  #isBusy = false
  #isDirty = false
  #isTimely = false
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
   * @param {import('@millrace/flow').Obz<number>} durable
   */
  constructor (file, mode, durable) {
    this.mode = mode
    this.#file = file
    this.#durable = durable
  }

  /** @param {number} seq  the records up to this one were durable when the log was opened */
  begin (seq) {
    this.#durable.set(seq)
  }

  /** Something was written. Unless the mode is 'never', it is synced and a checkpoint written within the interval. */
  noteWritten () {
    this.#isDirty = true
    this.changeCount++
    if (this.mode === 'never' || this.#timer !== null || this.error) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (!this.#isDirty && this.#file.store.checkpoints.isClean) return
      this.#isTimely = true
      this.sync(() => {})
    }, INTERVAL_MS)
    this.#timer.unref?.()
  }

  /**
   * @param {Done} cb  everything written before the call is durable
   * @param {() => void} [show]  makes records readable, before `durable` advances to them
   */
  sync (cb, show = () => {}) {
    if (this.error) return nextTick(cb, this.error)
    this.join(cb, show)
    this.start()
  }

  /** Waits for the next sync, which `start` or `syncNow` begins. @type {(cb: Done, show: () => void) => void} */
  join (cb, show) {
    this.#waiting.push({ show, cb })
  }

  start () {
    if (!this.#isBusy) this.#run()
  }

  /** @param {(done: () => void) => void} action  runs between syncs; the next sync waits until it calls `done` */
  runExclusive (action) {
    this.#exclusive.push(action)
    this.start()
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

  /** Syncs everything and writes the closing slot. Nothing may be written meanwhile. @type {(cb: Done) => void} */
  finish (cb) {
    this.#stop()
    if (this.error) return cb(this.error)
    const { blocks, store } = this.#file
    blocks.trim((err) => {
      if (err) return cb(err)
      if (this.isFinished) return cb(null)
      this.sync((err) => {
        if (err) return cb(err)
        this.runExclusive((done) => store.checkpoints.finish((err) => {
          const failure = err && this.poison(err)
          done()
          cb(failure)
        }))
      })
    })
  }

  /** The same without waiting. Only if `isIdle`. @throws errors of the file system */
  finishNow () {
    this.#file.store.checkpoints.finishNow()
    this.#isDirty = false
  }

  #run () {
    const action = this.#exclusive.shift()
    this.#isBusy = action !== undefined || this.#waiting.length > 0
    if (action) return action(() => this.#run())
    if (!this.#isBusy) return
    const { store: { checkpoints }, blocks } = this.#file
    const waiting = this.#running = this.#waiting.splice(0)
    const mark = checkpoints.mark()
    const needsSlot = this.#isTimely || this.mode === 'never' || (this.mode === 'interval' && !this.#adaptToRate(mark.end))
    this.#isTimely = false
    this.#isDirty = false
    this.#isSyncing = true
    blocks.sync((err) => {
      this.#isSyncing = false
      this.#running = []
      const cause = err ?? this.error
      const error = cause ? this.poison(cause) : null
      if (error === null) {
        for (const { show } of waiting) show()
        checkpoints.synced(mark, needsSlot)
        this.#durable.set(Math.max(mark.since, this.#syncedSince))
      }
      for (const { cb } of waiting) nextTick(cb, error)
      this.#run()
    })
  }

  /**
   * With `fsync: 'interval'`, frequent syncs get what all syncs get with 'always': room behind the end, and few slots.
   * The next chunk says how far the file was durable; behind the last one, the timer writes a slot.
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
   * Syncs without waiting. What waits for a sync is then shown; it is called back later.
   * @throws ERR_LOG_POISONED
   */
  syncNow () {
    if (this.error) throw this.error
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
    const waiting = this.#waiting.splice(0)
    for (const one of [...this.#running, ...waiting]) {
      one.show()
      one.show = ignore
    }
    this.#syncedSince = mark.since
    if (this.#isSyncing) {
      // The kernel reports a failure to one sync only. So while a sync is running, nothing is promised.
      this.#running.push(...waiting)
    } else {
      this.#durable.set(mark.since)
      for (const { cb } of waiting) nextTick(cb, null)
    }
  }
}

function ignore () {}

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
  #maintenance
  /** `changeCount` at the last attempt to finish, so that a failure is not tried again for ever. */
  #finishedCount = -1

  /**
   * @param {LogFile} file  loaded and undamaged
   * @param {import('./appender').Appender} appender
   * @param {import('./maintenance').Maintenance} maintenance
   */
  constructor (file, appender, maintenance) {
    this.#file = file
    this.#appender = appender
    this.#maintenance = maintenance
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
    const isInUse = lifecycle.isOpen && durability.error === null && this.#maintenance.isIdle
    if (!isInUse || isFinished || changeCount === this.#finishedCount) return
    this.#finishedCount = changeCount
    // Deletions and appends wait meanwhile. Afterwards they may run, and the log is finished again.
    this.#maintenance.gate.enter('deletion', () => this.#appender.hold(() => durability.finish(() => {
      this.#appender.release()
      this.#maintenance.gate.leave()
    })))
  }

  /** Finishes a log again after an `exit` handler has written it. */
  finishAgain () {
    if (isExiting) this.finishNow()
  }

  /** Writes and syncs what waits, and finishes the log if nothing else is in progress. */
  finishNow () {
    const { blocks, durability } = this.#file
    try {
      if (this.#appender.pendingSize > 0 && this.#appender.canFlushNow) this.#appender.flushNow(true)
      if (!this.#canFinishNow) return
      if (!durability.isFinished) durability.finishNow()
      blocks.unlockNow()
    } catch {
      // Nobody is left to report to. The next open treats the log as after a crash.
    }
  }

  get #canFinishNow () {
    const { blocks, durability, lifecycle, store: { checkpoints } } = this.#file
    if (!lifecycle.isOpen || durability.error !== null || !durability.isIdle || !this.#maintenance.isIdle) return false
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
