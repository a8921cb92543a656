'use strict'
// Notices that another process has changed the file. It listens to the system's change events and also looks at the
// file: rarely where events arrive, often where they do not. It never keeps the process running. The names in a folder
// are watched in a simpler way.

const fs = require('node:fs')
const { toCallback } = require('@millrace/flow')
const { nameOfLocal } = require('./lock/liveness')

// A change is noticed within this time even if there are no events.
const POLL_MS = 20
// If events arrive, looking only guards against a lost event.
const RARE_POLL_MS = 1000
// Events that arrive within this time count as one.
const GAP_MS = 3
// If a look finds the change first, its event may still arrive within this time.
const GRACE_MS = 100

/**
 * @typedef {import('./whole-io').OpenFile} OpenFile
 * @typedef {import('./storage').Watcher} Watcher
 */

class FileWatch {
  #file
  /** @type {NodeJS.Timeout | undefined} until the next look */
  #pollTimer
  /** @type {NodeJS.Timeout | undefined} until the next event may be reported */
  #gapTimer
  /** @type {NodeJS.Timeout | undefined} until a change without an event proves that events are missing */
  #graceTimer
  #isBusy = false
  #isAnnounced = false
  #isClosed = false
  /** How often it began to listen: only the last watcher counts, and an earlier one may come later. */
  #listenCount = 0
  #lastMs = 0
  /** The file's state at the last look. */
  #state = ''
  /** Whether the file had just been written at the last look, so that its time may hide another change. */
  #isFresh = false

  /** @param {OpenFile} file  @param {(done: () => void) => void} onChange  not called again before it calls `done` */
  constructor (file, onChange) {
    this.#file = file
    this._onChange = onChange
    /** @type {Watcher | null} */
    this._watcher = null
    this._pollMs = POLL_MS
    /** Whether a change came without an event. Events are then no longer trusted. */
    this._hasMissed = false
    this.#schedulePoll()
    this.#listen()
  }

  /** Call this when the name belongs to another file. */
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
    const count = ++this.#listenCount
    storage.watch?.(path, () => this.#hear(), (err, watcher) => {
      if (err || !watcher) return
      if (this.#isClosed || count !== this.#listenCount) return watcher.close()
      this._watcher = watcher
      if (watcher.isTrusted) this._pollMs = RARE_POLL_MS
      // The file may have changed before the watch began.
      this.#announce()
    })
  }

  /** Receives an event, which shows that events arrive. */
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

  /** Reports a change, unless one is being handled or was reported just now. */
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
    this.#readState(handle, (state) => {
      const hasChanged = state !== this.#state
      const wasFresh = this.#isFresh
      if (hasChanged && this.#state !== '') this.#suspect()
      this.#state = state
      // File system clocks tick every few ms: two changes within one tick give the same time. So a change that was seen
      // just now may hide another one.
      this.#isFresh = hasChanged
      if (hasChanged || wasFresh) this.#announce()
      this.#schedulePoll()
    })
  }

  /** Handles a change that a look found: if no event was reported lately and none follows soon, events are missing. */
  #suspect () {
    if (this._watcher === null || this._pollMs === POLL_MS || this.#graceTimer) return
    // An event was reported since the last look.
    if (performance.now() - this.#lastMs < RARE_POLL_MS) return
    this.#graceTimer = after(GRACE_MS, () => {
      this._hasMissed = true
      this._pollMs = POLL_MS
    })
  }

  // Gives an empty state if it is unknown.
  /** @type {(handle: import('./storage').StorageHandle, tell: (state: string) => void) => void} */
  #readState (handle, tell) {
    if (!handle.stat) return handle.size((err, size) => tell(err ? '' : String(size)))
    handle.stat((err, state) => {
      if (err || !state) return tell('')
      const { size, modifiedNs, nameCount } = state
      tell(`${size} ${modifiedNs} ${nameCount}`)
    })
  }
}

/** Starts a timer that does not keep the process running. @type {(ms: number, run: () => void) => NodeJS.Timeout} */
function after (ms, run) {
  const timer = setTimeout(run, ms)
  timer.unref?.()
  return timer
}

// Change events of the system.

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
      // For example, the system has no watches left.
      return cb(/** @type {Error} */ (err))
    }
    // A watcher that fails later sends no more events; FileWatch then polls.
    watcher.on('error', () => watcher.close())
    // On a local file system every change causes an event.
    cb(null, { isTrusted: process.platform === 'win32' || local !== null, close: () => watcher.close() })
  })
}

// The names in a folder.

// A new name is noticed within this time, even if the system sends no events.
const FOLDER_POLL_MS = 500
// Events that arrive within this time cause one look.
const FOLDER_GAP_MS = 10

/**
 * Calls a function again and again: soon after a name in the folder has changed, and from time to time. It never keeps
 * the process running.
 */
class FolderWatch {
  #look
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {Watcher | null} */
  #watcher = null
  /** @type {Promise<void> | null} */
  #looking = null
  #isClosed = false

  /**
   * @param {string} folder
   * @param {import('./storage').Storage} storage
   * @param {() => Promise<void>} look  not called again before it has ended; its failures are ignored
   */
  constructor (folder, storage, look) {
    this.#look = look
    this.#schedule(FOLDER_POLL_MS)
    storage.watch?.(folder, () => this.#schedule(FOLDER_GAP_MS), (err, watcher) => {
      if (err || !watcher) return
      if (this.#isClosed) watcher.close()
      else this.#watcher = watcher
    })
  }

  /** @param {number} ms */
  #schedule (ms) {
    if (this.#isClosed || this.#looking !== null) return
    clearTimeout(this.#timer)
    this.#timer = after(ms, () => {
      this.#looking = this.#look().catch(() => {}).finally(() => {
        this.#looking = null
        this.#schedule(FOLDER_POLL_MS)
      })
    })
  }

  /** @returns {Promise<void>}  once no look is under way */
  async close () {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#watcher?.close()
    await this.#looking
  }
}

exports.FileWatch = FileWatch
exports.FolderWatch = FolderWatch
exports.watchFile = watchFile
