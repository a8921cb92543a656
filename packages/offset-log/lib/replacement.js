'use strict'
// Another file takes the place of a log's file: its compacted copy or, for a log that is only read, the file that its
// writer has made.
//
//     open ──> sealed ──> switching ──> renaming
//       └──────────────────^  └────────────┴──> failed ──> switching
//
// - open: the log is read and written
// - sealed: reads go on. `appendSync` and `flushSync` are refused, so that nothing is missing in the copy
// - switching: reads wait, too, so that each of them is in one file
// - renaming: the new file has the name, or may get it at any time
// - failed: the old file is closed, and the new one cannot be opened. Each read tries that again
//
// Each state ends in open, with the new file or with the old one; failed does once the new one could be opened. Only
// maintenance.js, for the log that writes, and follower.js, for one that is only read, change the state.

const { nextTick } = require('node:process')
const { atExit, toPromise } = require('@millrace/flow')

/** How often what must read one file alone begins again. */
const ATTEMPT_COUNT_MAX = 5

/** @typedef {import('./load').Store} Store */
/** @typedef {(err: Error | null) => void} Done */

class Replacement {
  /** @type {'open' | 'sealed' | 'switching' | 'renaming' | 'failed'} */
  #state = 'open'
  /** That of the file that is open. @type {Store | null} */
  #store = null
  /** What reads use now; null while they wait. What another one reads is of another file. @type {Store | null} */
  readable = null
  /** Where the log ended when its reads last waited: 0 if they never did. */
  logEnd = 0
  /** Reads that wait. @type {Done[]} */
  #waiting = []
  /** If it has failed: tries again to open the new file. @type {(cb: Done) => void} */
  #retry = (cb) => cb(null)
  #forgetExit = () => {}

  /** @param {Store} store  of the log, which was just loaded */
  loaded (store) {
    this.#store = this.readable = store
  }

  /** Whether `appendSync` and `flushSync` may write. */
  get takesWrites () {
    return this.#state === 'open'
  }

  /** Whether the old file is closed, and the new one could not be opened. */
  get hasFailed () {
    return this.#state === 'failed'
  }

  /**
   * Refuses what would be written without waiting. If the process exits meanwhile, that is written after all: to the
   * old file, because then nothing is renamed any more.
   */
  seal () {
    this.#state = 'sealed'
    this.#forgetExit = atExit(() => {
      if (this.#state === 'sealed' || this.#state === 'switching') this.end(/** @type {Store} */ (this.#store))
    })
  }

  /** Reads wait. */
  holdReads () {
    this.#state = 'switching'
    this.readable = null
  }

  /** @returns {boolean}  whether the new file may get the name: false after what looked like an exit */
  beginRenaming () {
    if (this.#state !== 'switching') return false
    this.#state = 'renaming'
    return true
  }

  /** @param {Store} store  the one to use: another one, or the same if the old file stays open */
  end (store) {
    this.#state = 'open'
    this.#store = this.readable = store
    this.logEnd = store.logEnd
    this.#forgetExit()
    this.#release(null)
  }

  /**
   * No store can be used.
   * @param {Error} err  why the new file cannot be opened, for the reads that wait
   * @param {(cb: Done) => void} retry  called for each read that comes later
   */
  fail (err, retry) {
    this.#state = 'failed'
    this.readable = null
    this.#retry = retry
    this.#forgetExit()
    this.#release(err)
  }

  /** @param {Error | null} err */
  #release (err) {
    for (const run of this.#waiting.splice(0)) nextTick(run, err)
  }

  /** @param {Done} run  called at once, unless reads wait. With an error, no store can be used */
  wait (run) {
    if (this.#state === 'switching' || this.#state === 'renaming') this.#waiting.push(run)
    else if (this.#state === 'failed') this.#retry(run)
    else run(null)
  }

  /**
   * Runs an action that must read one file alone: again, whatever came of it, if another one took its place meanwhile.
   * @template T
   * @param {(store: Store) => Promise<T>} action
   * @returns {Promise<T>}  rejected also if no store can be used
   */
  async withOneFile (action) {
    for (let attempt = 1; ; attempt++) {
      await toPromise((cb) => this.wait(cb))
      const store = /** @type {Store} */ (this.readable)
      try {
        const result = await action(store)
        if (store === this.readable || attempt === ATTEMPT_COUNT_MAX) return result
      } catch (err) {
        if (store === this.readable || attempt === ATTEMPT_COUNT_MAX) throw err
      }
    }
  }
}

exports.Replacement = Replacement
