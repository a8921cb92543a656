'use strict'
// While a log's file is being replaced, readers wait; afterwards they go on in the one that it is.

class Replacement {
  constructor () {
    /** @type {Array<() => void> | null} who waits; null when nothing is being replaced */
    this._waiting = null
  }

  /** @param {{ isReplaced: boolean }} store  that nobody may rely on from now on */
  begin (store) {
    store.isReplaced = true
    this._waiting = []
  }

  /** @param {{ isReplaced: boolean }} store  to go on with: another one, or the same */
  end (store) {
    store.isReplaced = false
    const waiting = this._waiting ?? []
    this._waiting = null
    for (const run of waiting) process.nextTick(run)
  }

  /** @param {() => void} run  at once, unless something is being replaced */
  wait (run) {
    if (this._waiting) this._waiting.push(run)
    else run()
  }
}

exports.Replacement = Replacement
