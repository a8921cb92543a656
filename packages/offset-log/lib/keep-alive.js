'use strict'
// Keeps the process running while somebody waits for a record that is yet to be appended, as an open socket would.

// Node.js knows no longer intervals.
const INTERVAL_MS = 2 ** 31 - 1

class KeepAlive {
  constructor () {
    this._count = 0
    /** @type {NodeJS.Timeout | undefined} */
    this._timer = undefined
  }

  /** One more waits. */
  hold () {
    if (this._count++ === 0) this._timer = setInterval(() => {}, INTERVAL_MS)
  }

  /** One waits no more. */
  release () {
    if (--this._count === 0) clearInterval(this._timer)
  }
}

exports.KeepAlive = KeepAlive
