'use strict'
// Logs that are open for writing when their process ends. When the event loop has nothing more to do they are synced
// and marked clean, as `close` would do, and can still be used. When the process exits, that is done at once, for those
// where nothing is under way; the others are left to the next open, as after a crash. The kernel drops their locks.

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./appender').Appender} Appender
 * @typedef {import('./compaction').Compactions} Compactions
 * @typedef {import('./threads/gate').Gate} Gate
 */

class OpenLog {
  /**
   * @param {LogFile} file  loaded, and not damaged
   * @param {{ appender: Appender, compactions: Compactions, gate: Gate }} parts
   */
  constructor (file, { appender, compactions, gate }) {
    this._file = file
    this._appender = appender
    this._compactions = compactions
    this._gate = gate
    /** How many changes there were when it was finished last, or was to be: a failure is not tried again and again. */
    this._finishedCount = -1
  }

  get _isInUse () {
    const { lifecycle, durability } = this._file
    return lifecycle.isOpen && durability.error === null && this._compactions.isIdle
  }

  /** Begins to leave the log as it should be. The event loop goes on until that is done. */
  finish () {
    const { durability } = this._file
    const { changeCount, isFinished } = durability
    if (!this._isInUse || isFinished || changeCount === this._finishedCount) return
    this._finishedCount = changeCount
    // No deletion and no append may come between. Who appends meanwhile waits, and has the log finished once more.
    this._gate.enter('deletion', () => this._appender.hold(() => durability.finish(() => {
      this._appender.release()
      this._gate.leave()
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

exports.finishAtProcessEnd = finishAtProcessEnd
