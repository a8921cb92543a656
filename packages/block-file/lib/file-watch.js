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
  /**
   * @param {OpenFile} file  open
   * @param {(done: () => void) => void} onChange  the file may have changed; not called again before it calls `done`
   */
  constructor (file, onChange) {
    this._file = file
    this._onChange = onChange
    /** @type {Watcher | null} */
    this._watcher = null
    this._pollMs = POLL_MS
    /** Whether a change was found that nothing had announced: then announcements are not trusted any more. */
    this._hasMissed = false
    /** @type {NodeJS.Timeout | null} when to look next */
    this._pollTimer = null
    /** @type {NodeJS.Timeout | null} when the announcement counts that came too soon after the one before */
    this._gapTimer = null
    /** @type {NodeJS.Timeout | null} when a change that was not announced proves that they are not */
    this._graceTimer = null
    this._isBusy = false
    this._isAnnounced = false
    this._isClosed = false
    this._lastMs = 0
    /** What the file was like when it was looked at last. */
    this._state = ''
    /** Whether it had changed just before. */
    this._isFresh = false
    this._schedulePoll()
    this._listen()
  }

  /** The name belongs to another file now. */
  restart () {
    this._watcher?.close()
    this._watcher = null
    this._listen()
  }

  close () {
    this._isClosed = true
    this._watcher?.close()
    for (const timer of [this._pollTimer, this._gapTimer, this._graceTimer]) if (timer) clearTimeout(timer)
  }

  _listen () {
    const { storage, path } = this._file
    storage.watch?.(path, () => this._hear(), (err, watcher) => {
      if (err || !watcher) return
      if (this._isClosed) return watcher.close()
      this._watcher = watcher
      if (watcher.isTrusted) this._pollMs = RARE_POLL_MS
      // What changed before the watch began.
      this._announce()
    })
  }

  /** An announcement: so they come. */
  _hear () {
    if (this._graceTimer) clearTimeout(this._graceTimer)
    this._graceTimer = null
    if (!this._hasMissed) this._pollMs = RARE_POLL_MS
    this._announce()
  }

  _announce () {
    this._isAnnounced = true
    this._run()
  }

  /** Hands an announcement on, unless one is being dealt with, or just was. */
  _run () {
    if (this._isBusy || this._isClosed || !this._isAnnounced || this._gapTimer) return
    const waitMs = this._lastMs + GAP_MS - performance.now()
    if (waitMs > 0) {
      this._gapTimer = setTimeout(() => {
        this._gapTimer = null
        this._run()
      }, waitMs)
      this._gapTimer.unref?.()
      return
    }
    this._isAnnounced = false
    this._isBusy = true
    this._lastMs = performance.now()
    this._onChange(() => {
      this._isBusy = false
      this._run()
    })
  }

  _schedulePoll () {
    if (this._isClosed) return
    this._pollTimer = setTimeout(() => this._poll(), this._pollMs)
    this._pollTimer.unref?.()
  }

  _poll () {
    const { handle } = this._file
    if (handle === null || this._isBusy) return this._schedulePoll()
    this._readState(handle, (state, isFresh) => {
      const hasChanged = state !== this._state
      const wasFresh = this._isFresh
      if (hasChanged && this._state !== '') this._suspect()
      this._state = state
      this._isFresh = isFresh
      if (hasChanged || wasFresh) this._announce()
      this._schedulePoll()
    })
  }

  /** A change was found: if it was announced, or is so soon, all is well. */
  _suspect () {
    if (this._watcher === null || this._pollMs === POLL_MS || this._graceTimer) return
    // Announced since the last look.
    if (performance.now() - this._lastMs < RARE_POLL_MS) return
    this._graceTimer = setTimeout(() => {
      this._hasMissed = true
      this._pollMs = POLL_MS
    }, GRACE_MS)
    this._graceTimer.unref?.()
  }

  /**
   * @param {import('./storage').StorageHandle} handle
   * @param {(state: string, isFresh: boolean) => void} tell  '' when it cannot be told
   */
  _readState (handle, tell) {
    if (!handle.stat) return handle.size((err, size) => tell(err ? '' : String(size), false))
    handle.stat((err, state) => {
      if (err || !state) return tell('', false)
      const { size, modifiedNs, nameCount } = state
      // Clocks of file systems tick every few ms: what changes twice within a tick looks the same.
      tell(`${size} ${modifiedNs} ${nameCount}`, Date.now() - Number(modifiedNs / 1_000_000n) < POLL_MS)
    })
  }
}

// Asks the system to tell when a file changes, and whether it can be relied on to.

/**
 * @param {string} path
 * @param {() => void} onEvent  the file may have changed
 * @param {(err: Error | null, watcher?: import('./storage').Watcher) => void} cb
 */
function watchFile (path, onEvent, cb) {
  toCallback(nameOfLocal(path), (_, local) => {
    let watcher
    try {
      watcher = fs.watch(path, { persistent: false }, onEvent)
    } catch (err) {
      // Among others when the system has no watch left to give.
      return cb(/** @type {Error} */ (err))
    }
    const handle = watcher
    // One that breaks later tells nothing any more: then polling does.
    handle.on('error', () => handle.close())
    cb(null, {
      // Where files lie on this machine, every change is announced.
      isTrusted: process.platform === 'win32' || local !== null,
      close: () => handle.close()
    })
  })
}

exports.FileWatch = FileWatch
exports.watchFile = watchFile
