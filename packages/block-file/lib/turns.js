'use strict'
// Lets callbacks run before their call returns, but only so many in one turn of the event loop; then one waits for the
// next. So a caller who recurses cannot overflow the stack, and one who awaits in a loop cannot starve timers.

const SYNC_COUNT_MAX = 200

class Turns {
  constructor () {
    this._syncCount = 0
  }

  /** Whether one more answer may come before its call returns. Counts it. */
  mayAnswer () {
    if (this._syncCount === 0) setImmediate(() => { this._syncCount = 0 })
    return this._syncCount++ < SYNC_COUNT_MAX
  }

  /**
   * @template T
   * @param {(err: null, result: T) => void} cb
   * @param {T} result
   */
  deliver (cb, result) {
    if (this.mayAnswer()) cb(null, result)
    else setImmediate(cb, null, result)
  }
}

exports.Turns = Turns
