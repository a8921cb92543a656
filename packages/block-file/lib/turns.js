'use strict'
// Lets callbacks run before their call returns, but only so many in one turn of the event loop; then one waits for the
// next. So a caller who recurses cannot overflow the stack, and one who awaits in a loop cannot starve timers.

const SYNC_COUNT_MAX = 200

class Turns {
  constructor () {
    this._syncCount = 0
  }

  /**
   * @template T
   * @param {(err: null, result: T) => void} cb
   * @param {T} result
   */
  deliver (cb, result) {
    if (this._syncCount === 0) setImmediate(() => { this._syncCount = 0 })
    if (this._syncCount++ < SYNC_COUNT_MAX) cb(null, result)
    else setImmediate(cb, null, result)
  }
}

exports.Turns = Turns
