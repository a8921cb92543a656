'use strict'
// The worker threads of one log: made when they are needed, kept for the next scan, ended when they are idle for long.

const { Thread } = require('./thread')

// Starting a thread takes longer than scanning a small log: whoever scans again and again should do it once.
const IDLE_MS = 10000

class Pool {
  /** @param {() => import('./worker').Setting} describe  asked when the first thread is made */
  constructor (describe) {
    this._describe = describe
    /** @type {Set<Thread>} */
    this._threads = new Set()
    /** @type {Thread[]} those with nothing to do, the one that worked last at the end */
    this._idle = []
    /** @type {NodeJS.Timeout | null} */
    this._timer = null
  }

  /**
   * @returns {{ thread: Thread, isNew: boolean }}  nobody else's until it is given back
   * @throws where no thread may be made
   */
  take () {
    this._forgetDead()
    const idle = this._idle.pop()
    if (idle) return { thread: idle, isNew: false }
    const thread = new Thread(this._describe())
    this._threads.add(thread)
    return { thread, isNew: true }
  }

  /** @param {Thread} thread  with nothing to do, or dead */
  giveBack (thread) {
    this._idle.push(thread)
    this._forgetDead()
    if (this._timer) clearTimeout(this._timer)
    this._timer = setTimeout(() => this._endIdle(), IDLE_MS)
    this._timer.unref()
  }

  /** @param {() => void} cb  all of them have ended */
  close (cb) {
    if (this._timer) clearTimeout(this._timer)
    let left = this._threads.size
    if (left === 0) return cb()
    for (const thread of this._threads) {
      thread.stop(() => {
        if (--left === 0) cb()
      })
    }
  }

  _endIdle () {
    for (const thread of this._idle) thread.stop()
    this._idle = []
  }

  _forgetDead () {
    for (const thread of this._threads) if (thread.hasEnded) this._threads.delete(thread)
    this._idle = this._idle.filter((thread) => !thread.isDead)
  }
}

exports.Pool = Pool
