'use strict'
// What is on stable storage, and what to do when that cannot be known any more. Syncs that are asked for while one is
// under way are done together.

const { LogError } = require('@millrace/errors')

// What may be lost with the power, in time, under `fsync: 'interval'`.
const INTERVAL_MS = 1000

/**
 * @typedef {'always' | 'interval' | 'never'} FsyncMode
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {(err: Error | null) => void} Done
 */

class Durability {
  /**
   * @param {LogFile} file
   * @param {FsyncMode} mode
   * @param {import('@millrace/flow').Obz<number>} durable
   */
  constructor (file, mode, durable) {
    this.mode = mode
    /** @type {LogError | null} why nothing is promised any more */
    this.error = null
    this._file = file
    this._durable = durable
    /** @type {Array<{ settle: () => void, cb: Done }>} */
    this._waiting = []
    /** @type {Array<(done: () => void) => void>} */
    this._exclusive = []
    this._isBusy = false
    this._isDirty = false
    /** How many changes there were. */
    this.changeCount = 0
    this._isTimely = false
    /** @type {NodeJS.Timeout | null} */
    this._timer = null
  }

  /** @param {number} seq  what is on stable storage when the log is opened */
  begin (seq) {
    this._durable.set(seq)
  }

  /** Something was written: unless nobody wants it, it will be synced, and a checkpoint made, within an interval. */
  noteWritten () {
    this._isDirty = true
    this.changeCount++
    if (this.mode === 'never' || this._timer !== null || this.error) return
    this._timer = setTimeout(() => {
      this._timer = null
      if (!this._isDirty && this._file.store.isClean) return
      this._isTimely = true
      this.sync(() => {})
    }, INTERVAL_MS)
    this._timer.unref?.()
  }

  /**
   * @param {Done} cb  all that was written before the call is on stable storage
   * @param {() => void} [settle]  runs before, so that `durable` is not ahead of what can be read
   */
  sync (cb, settle = () => {}) {
    if (this.error) return process.nextTick(cb, this.error)
    this._waiting.push({ settle, cb })
    if (!this._isBusy) this._run()
  }

  /** @param {(done: () => void) => void} action  runs when nothing is being synced; nothing is until it is done */
  runExclusive (action) {
    this._exclusive.push(action)
    if (!this._isBusy) this._run()
  }

  /**
   * Nothing can be promised any more: what is in the page cache may never reach the disk.
   * @param {Error} cause
   * @returns {LogError}
   */
  poison (cause) {
    const { path } = this._file.blocks
    this._file.blocks.markIntact(false, () => {})
    this.error ??= new LogError('ERR_LOG_POISONED', `${path} could not be written to stable storage (${cause.message}); ` +
      'nothing more is promised or taken. Records before can be read; close the log, check the disk, open it again',
    { cause, path })
    this.stop()
    return this.error
  }

  /** No timer fires any more. */
  stop () {
    if (this._timer !== null) clearTimeout(this._timer)
    this._timer = null
  }

  /** Whether nothing is being synced, or about to be. */
  get isIdle () {
    return !this._isBusy
  }

  /** Whether there is nothing to sync, and nothing to note for the next open. */
  get isFinished () {
    return !this._isDirty && this._file.store.isFinished
  }

  /**
   * Leaves the log as it should be when nothing more is written. Nothing may be, until it calls back.
   * @param {Done} cb
   */
  finish (cb) {
    this.stop()
    if (this.error) return cb(this.error)
    const { blocks, store } = this._file
    blocks.trim((err) => {
      if (err) return cb(err)
      if (this.isFinished) return cb(null)
      this.sync((err) => {
        if (err) return cb(err)
        this.runExclusive((done) => store.finish((err) => {
          const failure = err && this.poison(err)
          done()
          cb(failure)
        }))
      })
    })
  }

  _run () {
    const action = this._exclusive.shift()
    this._isBusy = action !== undefined || this._waiting.length > 0
    if (action) return action(() => this._run())
    if (!this._isBusy) return
    const { store, blocks } = this._file
    const waiting = this._waiting.splice(0)
    const mark = store.mark()
    const isTimely = this._isTimely || this.mode !== 'always'
    this._isTimely = false
    this._isDirty = false
    blocks.sync((err) => {
      if (err || this.error) return this._end(waiting, err ?? this.error)
      for (const { settle } of waiting) settle()
      store.synced(mark, isTimely)
      this._durable.set(mark.since)
      this._end(waiting, null)
    })
  }

  /**
   * @param {Array<{ cb: Done }>} waiting
   * @param {Error | null} err
   */
  _end (waiting, err) {
    const error = err ? this.poison(err) : null
    for (const { cb } of waiting) process.nextTick(cb, error)
    this._run()
  }
}

// Logs that are open for writing when their process ends. When the event loop has nothing more to do they are synced
// and marked clean, as `close` would do, and can still be used. When the process exits, that is done at once, for those
// where nothing is under way; the others are left to the next open, as after a crash. The kernel drops their locks.

class OpenLog {
  /**
   * @param {LogFile} file  loaded, and not damaged
   * @param {import('./appender').Appender} appender
   * @param {import('./maintenance').Maintenance} maintenance
   */
  constructor (file, appender, maintenance) {
    this._file = file
    this._appender = appender
    this._maintenance = maintenance
    /** How many changes there were when it was finished last, or was to be: a failure is not tried again and again. */
    this._finishedCount = -1
  }

  get _isInUse () {
    const { lifecycle, durability } = this._file
    return lifecycle.isOpen && durability.error === null && this._maintenance.isIdle
  }

  /** Begins to leave the log as it should be. The event loop goes on until that is done. */
  finish () {
    const { durability } = this._file
    const { changeCount, isFinished } = durability
    if (!this._isInUse || isFinished || changeCount === this._finishedCount) return
    this._finishedCount = changeCount
    // No deletion and no append may come between. Who appends meanwhile waits, and has the log finished once more.
    this._maintenance.gate.enter('deletion', () => this._appender.hold(() => durability.finish(() => {
      this._appender.release()
      this._maintenance.gate.leave()
    })))
  }

  /** Leaves it as it should be, if that can be done at once. */
  finishNow () {
    const { blocks, durability, store } = this._file
    if (!this._isInUse || !durability.isIdle || !blocks.canEndNow || !store.canFinishNow) return
    try {
      if (!durability.isFinished) store.finishNow()
      blocks.unlockNow()
    } catch {
      // Nobody is left to be told. The next open finds what a crash would have left.
    }
  }
}

/** @type {Set<OpenLog>} of this thread */
const openLogs = new Set()

function finishAll () {
  for (const log of openLogs) log.finish()
}

function finishAllNow () {
  for (const log of openLogs) log.finishNow()
}

/**
 * @param {ConstructorParameters<typeof OpenLog>} args
 * @returns {() => void}  call it when the log is closed
 */
function finishAtProcessEnd (...args) {
  const log = new OpenLog(...args)
  if (openLogs.size === 0) process.on('beforeExit', finishAll).on('exit', finishAllNow)
  openLogs.add(log)
  return () => {
    openLogs.delete(log)
    if (openLogs.size === 0) process.off('beforeExit', finishAll).off('exit', finishAllNow)
  }
}

exports.Durability = Durability
exports.finishAtProcessEnd = finishAtProcessEnd
