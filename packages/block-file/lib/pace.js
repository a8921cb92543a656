'use strict'
// How to read, write or sync without making others wait: synchronously while that is answered at once, asynchronously
// after a call that had to wait for a disk. Bytes that a thread has read change cores, which costs more than the read
// itself; and a small write, or a sync on a fast disk, takes less time than asking a thread for it.

const { performance } = require('node:perf_hooks')

// From the page cache 256 KiB take some 0.03 ms. A call that took this long was answered by something slower.
const SLOW_MS = 1
// After a slow call so many go through the thread pool before a synchronous one is tried again.
const ASYNC_COUNT_MAX = 32
// Calls that may be timed together are so again after so many quick ones, and then so many are.
const TIMED_COUNT = 64
const TOGETHER_COUNT = 4

class Pace {
  /**
   * @param {object} [options]
   * @param {number} [options.slowMs]  how long a call may take
   * @param {number} [options.asyncCountMin]  how many go through the pool after one slow call; twice as many after each
   *   that follows soon, so that a disk which is slow now and then is not taken for one that always is
   * @param {number} [options.quickCountMin]  how many quick calls it takes until the next slow one is not soon
   */
  constructor ({ slowMs = SLOW_MS, asyncCountMin = ASYNC_COUNT_MAX, quickCountMin = 1 } = {}) {
    this._slowMs = slowMs
    this._asyncCountMin = asyncCountMin
    this._quickCountMin = quickCountMin
    this._asyncCount = asyncCountMin
    this._asyncLeft = 0
    this._quickCount = 0
    this._timedLeft = TIMED_COUNT
    this._togetherLeft = 0
    this._lookedAt = 0
  }

  /** Whether the next call may block. */
  mayBlock () {
    return this._asyncLeft === 0
  }

  /** One goes through the pool. */
  noteAsync () {
    if (this._asyncLeft > 0) this._asyncLeft--
  }

  /**
   * @template T
   * @param {() => T} call  a synchronous one, timed
   * @returns {T}
   */
  time (call) {
    const started = performance.now()
    const result = call()
    this.note(performance.now() - started)
    return result
  }

  /**
   * For calls so short that two looks at the clock for each would show. While all are quick, a few of them are timed
   * together, with what lies between them. If that took long, nobody can tell what did: so the next ones are timed one
   * by one, and what is slow is seen then.
   * @returns {number}  to be given to `end`, right after the call
   */
  begin () {
    return this._timedLeft > 0 ? performance.now() : this._lookedAt
  }

  /** @param {number} started  what `begin` gave */
  end (started) {
    const isAlone = this._timedLeft > 0
    if (!isAlone && --this._togetherLeft > 0) return
    const now = performance.now()
    const ms = now - started
    this._lookedAt = now
    this._togetherLeft = TOGETHER_COUNT
    if (isAlone) this.note(ms)
    if (ms > this._slowMs) this._timedLeft = TIMED_COUNT
    else if (isAlone) this._timedLeft--
  }

  /** @param {number} ms  that a synchronous call took */
  note (ms) {
    if (ms > this._slowMs) {
      this._asyncLeft = this._asyncCount
      this._asyncCount = Math.min(2 * this._asyncCount, ASYNC_COUNT_MAX)
      this._quickCount = 0
    } else if (++this._quickCount >= this._quickCountMin) {
      this._asyncCount = this._asyncCountMin
      this._quickCount = 0
    }
  }
}

exports.Pace = Pace
