'use strict'
// How to read without making others wait: synchronously while the page cache answers at once, asynchronously after a
// read that had to wait for a disk. Bytes that a thread has read change cores, which costs more than the read itself.

const { performance } = require('node:perf_hooks')

// From the page cache 256 KiB take some 0.03 ms. A read that took this long was answered by something slower.
const SLOW_READ_MS = 1
// After a slow read this many go through the thread pool before a synchronous one is tried again.
const ASYNC_READ_COUNT = 32

class Pace {
  constructor () {
    this._asyncLeft = 0
  }

  /** Whether the next read may block. Counts the ones that may not. */
  mayBlock () {
    if (this._asyncLeft === 0) return true
    this._asyncLeft--
    return false
  }

  /**
   * @template T
   * @param {() => T} read  a synchronous read, timed
   * @returns {T}
   */
  time (read) {
    const started = performance.now()
    const result = read()
    if (performance.now() - started > SLOW_READ_MS) this._asyncLeft = ASYNC_READ_COUNT
    return result
  }
}

exports.Pace = Pace
