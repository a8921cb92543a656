'use strict'
// Notices that a file changes which another process writes: by what the system announces, and by looking now and then,
// often where announcements do not come. It never keeps the process running.

const fs = require('node:fs')
const { toCallback } = require('@millrace/flow')
const { nameOfLocal } = require('./lock/liveness')

// A change is noticed within this time even where nothing announces it.
const POLL_MS = 20
// Where changes are announced, looking is only a precaution against an announcement that was lost.
const RARE_POLL_MS = 1000
// A storm of announcements is one every so often.
const GAP_MS = 3
// An announcement may still be under way when a look has found the change already.
const GRACE_MS = 100

/**
 * @typedef {import('./whole-io').OpenFile} OpenFile
 * @typedef {import('./storage').Watcher} Watcher
 */

class FileWatch {
  #file
  /** @type {NodeJS.Timeout | undefined} when to look next */
  #pollTimer
  /** @type {NodeJS.Timeout | undefined} when the announcement counts that came too soon after the one before */
  #gapTimer
  /** @type {NodeJS.Timeout | undefined} when a change that was not announced proves that they are not */
  #graceTimer
  #isBusy = false
  #isAnnounced = false
  #isClosed = false
  #lastMs = 0
  /** What the file was like when it was looked at last. */
  #state = ''
  /** Whether it had changed just before. */
  #isFresh = false

  /**
   * @param {OpenFile} file  open
   * @param {(done: () => void) => void} onChange  the file may have changed; not called again before it calls `done`
   */
  constructor (file, onChange) {
    this.#file = file
    this._onChange = onChange
    /** @type {Watcher | null} */
    this._watcher = null
    this._pollMs = POLL_MS
    /** Whether a change was found that nothing had announced: then announcements are not trusted any more. */
    this._hasMissed = false
    this.#schedulePoll()
    this.#listen()
  }

  /** The name belongs to another file now. */
  restart () {
    this._watcher?.close()
    this._watcher = null
    this.#listen()
  }

  close () {
    this.#isClosed = true
    this._watcher?.close()
    for (const timer of [this.#pollTimer, this.#gapTimer, this.#graceTimer]) clearTimeout(timer)
  }

  #listen () {
    const { storage, path } = this.#file
    storage.watch?.(path, () => this.#hear(), (err, watcher) => {
      if (err || !watcher) return
      if (this.#isClosed) return watcher.close()
      this._watcher = watcher
      if (watcher.isTrusted) this._pollMs = RARE_POLL_MS
      // What changed before the watch began.
      this.#announce()
    })
  }

  /** An announcement: so they come. */
  #hear () {
    clearTimeout(this.#graceTimer)
    this.#graceTimer = undefined
    if (!this._hasMissed) this._pollMs = RARE_POLL_MS
    this.#announce()
  }

  #announce () {
    this.#isAnnounced = true
    this.#run()
  }

  /** Hands an announcement on, unless one is being dealt with, or just was. */
  #run () {
    if (this.#isBusy || this.#isClosed || !this.#isAnnounced || this.#gapTimer) return
    const waitMs = this.#lastMs + GAP_MS - performance.now()
    if (waitMs > 0) {
      this.#gapTimer = after(waitMs, () => {
        this.#gapTimer = undefined
        this.#run()
      })
      return
    }
    this.#isAnnounced = false
    this.#isBusy = true
    this.#lastMs = performance.now()
    this._onChange(() => {
      this.#isBusy = false
      this.#run()
    })
  }

  #schedulePoll () {
    if (!this.#isClosed) this.#pollTimer = after(this._pollMs, () => this.#poll())
  }

  #poll () {
    const { handle } = this.#file
    if (handle === null || this.#isBusy) return this.#schedulePoll()
    this.#readState(handle, (state, isFresh) => {
      const hasChanged = state !== this.#state
      const wasFresh = this.#isFresh
      if (hasChanged && this.#state !== '') this.#suspect()
      this.#state = state
      this.#isFresh = isFresh
      if (hasChanged || wasFresh) this.#announce()
      this.#schedulePoll()
    })
  }

  /** A change was found: if it was announced, or is so soon, all is well. */
  #suspect () {
    if (this._watcher === null || this._pollMs === POLL_MS || this.#graceTimer) return
    // Announced since the last look.
    if (performance.now() - this.#lastMs < RARE_POLL_MS) return
    this.#graceTimer = after(GRACE_MS, () => {
      this._hasMissed = true
      this._pollMs = POLL_MS
    })
  }

  /**
   * @param {import('./storage').StorageHandle} handle
   * @param {(state: string, isFresh: boolean) => void} tell  '' when it cannot be told
   */
  #readState (handle, tell) {
    if (!handle.stat) return handle.size((err, size) => tell(err ? '' : String(size), false))
    handle.stat((err, state) => {
      if (err || !state) return tell('', false)
      const { size, modifiedNs, nameCount } = state
      // Clocks of file systems tick every few ms: what changes twice within a tick looks the same.
      tell(`${size} ${modifiedNs} ${nameCount}`, Date.now() - Number(modifiedNs / 1_000_000n) < POLL_MS)
    })
  }
}

/** @type {(ms: number, run: () => void) => NodeJS.Timeout} a timer that does not keep the process running */
function after (ms, run) {
  const timer = setTimeout(run, ms)
  timer.unref?.()
  return timer
}

// Asks the system to tell when a file changes, and whether it can be relied on to.

/**
 * @param {string} path
 * @param {() => void} onEvent  the file may have changed
 * @param {(err: Error | null, watcher?: import('./storage').Watcher) => void} cb
 */
function watchFile (path, onEvent, cb) {
  toCallback(nameOfLocal(path), (_, local) => {
    /** @type {fs.FSWatcher} */
    let watcher
    try {
      watcher = fs.watch(path, { persistent: false }, onEvent)
    } catch (err) {
      // Among others when the system has no watch left to give.
      return cb(/** @type {Error} */ (err))
    }
    // One that breaks later tells nothing any more: then polling does.
    watcher.on('error', () => watcher.close())
    // Where files lie on this machine, every change is announced.
    cb(null, { isTrusted: process.platform === 'win32' || local !== null, close: () => watcher.close() })
  })
}

exports.FileWatch = FileWatch
exports.watchFile = watchFile
