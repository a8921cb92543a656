'use strict'
// Runs one thing at a time, and notices when it never answers or throws where nobody catches it.

const { Violation } = require('./violation')

const LOOK_MS = 500
// Nothing here waits for anything outside of the process, so a task that lasts this long waits for what never comes.
const TASK_MS_MAX = 4000
// Timers and sockets get their turn after this many tasks.
const TASKS_PER_TURN = 32

class Guard {
  constructor () {
    this._taskCount = 0
    /** @type {((err: Error) => void) | null} */
    this._reject = null
    this._stuck = { task: 0, ms: 0 }
    this._onThrown = (/** @type {any} */ err) => this._reject?.(new Violation('thrown', `thrown where nobody can catch it: ${err?.stack ?? err}`))
  }

  install () {
    this._interval = setInterval(() => this._look(), LOOK_MS)
    process.on('uncaughtException', this._onThrown)
    process.on('unhandledRejection', this._onThrown)
  }

  restore () {
    clearInterval(this._interval)
    process.off('uncaughtException', this._onThrown)
    process.off('unhandledRejection', this._onThrown)
  }

  /**
   * @template T
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   * @throws {Violation}
   */
  async run (task) {
    if (++this._taskCount % TASKS_PER_TURN === 0) await new Promise(setImmediate)
    return new Promise((resolve, reject) => {
      this._reject = reject
      task().then(resolve, reject)
    })
  }

  _look () {
    if (this._stuck.task !== this._taskCount) this._stuck = { task: this._taskCount, ms: 0 }
    this._stuck.ms += LOOK_MS
    if (this._stuck.ms < TASK_MS_MAX) return
    this._stuck.ms = 0
    this._reject?.(new Violation('no answer', 'a callback or a promise of the log is never answered'))
  }
}

exports.Guard = Guard
