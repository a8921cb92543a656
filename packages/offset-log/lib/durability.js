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
  /** Why nothing is promised any more. @type {LogError | null} */
  error = null
  /** How many changes there were. */
  changeCount = 0
  #file
  #durable
  /** @type {Array<{ show: () => void, cb: Done }>} */
  #waiting = []
  /** @type {Array<(done: () => void) => void>} */
  #exclusive = []
  #isBusy = false
  #isDirty = false
  #isTimely = false
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

  /** @param {number} seq  what is on stable storage when the log is opened */
  begin (seq) {
    this.#durable.set(seq)
  }

  /** Something was written: unless nobody wants it, it will be synced, and a checkpoint made, within an interval. */
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
   * @param {Done} cb  all that was written before the call is on stable storage
   * @param {() => void} [show]  runs before, so that `durable` is not ahead of what can be read
   */
  sync (cb, show = () => {}) {
    if (this.error) return process.nextTick(cb, this.error)
    this.#waiting.push({ show, cb })
    if (!this.#isBusy) this.#run()
  }

  /** @param {(done: () => void) => void} action  runs when nothing is being synced; nothing is until it is done */
  runExclusive (action) {
    this.#exclusive.push(action)
    if (!this.#isBusy) this.#run()
  }

  /**
   * Nothing can be promised any more: what is in the page cache may never reach the disk.
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
   * A write that failed and was undone can be tried again; one that lies there in part must not be followed by another.
   * @param {Error} err
   * @returns {Error}  what whoever wanted it is told
   */
  noteFailedWrite (err) {
    return err instanceof LogError && err.code === 'ERR_FILE_NOT_UNDONE' ? this.poison(err) : err
  }

  /** No timer fires any more. */
  #stop () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Whether nothing is being synced, or about to be. */
  get isIdle () {
    return !this.#isBusy
  }

  /** Whether there is nothing to sync, and nothing to note for the next open. */
  get isFinished () {
    return !this.#isDirty && this.#file.store.checkpoints.isFinished
  }

  /**
   * Leaves the log as it should be when nothing more is written. Nothing may be, until it calls back.
   * @param {Done} cb
   */
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

  #run () {
    const action = this.#exclusive.shift()
    this.#isBusy = action !== undefined || this.#waiting.length > 0
    if (action) return action(() => this.#run())
    if (!this.#isBusy) return
    const { store: { checkpoints }, blocks } = this.#file
    const waiting = this.#waiting.splice(0)
    const mark = checkpoints.mark()
    const isTimely = this.#isTimely || this.mode !== 'always'
    this.#isTimely = false
    this.#isDirty = false
    blocks.sync((err) => {
      const cause = err ?? this.error
      const error = cause ? this.poison(cause) : null
      if (error === null) {
        for (const { show } of waiting) show()
        checkpoints.synced(mark, isTimely)
        this.#durable.set(mark.since)
      }
      for (const { cb } of waiting) process.nextTick(cb, error)
      this.#run()
    })
  }
}

// Logs that are open for writing when their process ends. When the event loop has nothing more to do they are synced
// and marked clean, as `close` would do, and can still be used. When the process exits, that is done at once, for those
// where nothing is under way; the others are left to the next open, as after a crash. The kernel drops their locks.

class OpenLog {
  #file
  #appender
  #maintenance
  /** How many changes there were when it was finished last, or was to be: a failure is not tried again and again. */
  #finishedCount = -1

  /**
   * @param {LogFile} file  loaded, and not damaged
   * @param {import('./appender').Appender} appender
   * @param {import('./maintenance').Maintenance} maintenance
   */
  constructor (file, appender, maintenance) {
    this.#file = file
    this.#appender = appender
    this.#maintenance = maintenance
  }

  get #isInUse () {
    const { lifecycle, durability } = this.#file
    return lifecycle.isOpen && durability.error === null && this.#maintenance.isIdle
  }

  /** Begins to leave the log as it should be. The event loop goes on until that is done. */
  finish () {
    const { durability } = this.#file
    const { changeCount, isFinished } = durability
    if (!this.#isInUse || isFinished || changeCount === this.#finishedCount) return
    this.#finishedCount = changeCount
    // No deletion and no append may come between. Who appends meanwhile waits, and has the log finished once more.
    this.#maintenance.gate.enter('deletion', () => this.#appender.hold(() => durability.finish(() => {
      this.#appender.release()
      this.#maintenance.gate.leave()
    })))
  }

  /** Leaves it as it should be, if that can be done at once. */
  finishNow () {
    const { blocks, durability, store: { checkpoints } } = this.#file
    if (!this.#isInUse || !durability.isIdle || !blocks.canEndNow || !checkpoints.canFinishNow) return
    try {
      if (!durability.isFinished) checkpoints.finishNow()
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
