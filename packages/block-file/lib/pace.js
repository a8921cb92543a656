'use strict'
// How to read, write or sync without making others wait: synchronously while that is answered at once, asynchronously
// after a call that had to wait for a disk. Bytes that a thread has read change cores, which costs more than the read
// itself; and a small write, or a sync on a fast disk, takes less time than asking a thread for it.

const { performance } = require('node:perf_hooks')

// From the page cache 256 KiB take some 0.03 ms. A call that took this long was answered by something slower.
const SLOW_MS = 1
// After a slow call this many go through the thread pool before a synchronous one is tried again.
const ASYNC_COUNT = 32

class Pace {
  constructor () {
    this._asyncLeft = 0
  }

  /** Whether the next call may block. Counts the ones that may not. */
  mayBlock () {
    if (this._asyncLeft === 0) return true
    this._asyncLeft--
    return false
  }

  /**
   * @template T
   * @param {() => T} call  a synchronous one, timed
   * @returns {T}
   */
  time (call) {
    const started = performance.now()
    const result = call()
    if (performance.now() - started > SLOW_MS) this._asyncLeft = ASYNC_COUNT
    return result
  }
}

exports.Pace = Pace
