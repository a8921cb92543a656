'use strict'
// Threads that read, and deletions, take turns: nobody shares with another thread what says that bytes are just being
// changed. A deletion waits for the parts that are being read, not for whole scans.

/** @typedef {'part' | 'deletion'} Kind  those of one kind may be under way together */

class Gate {
  constructor () {
    /** @type {Kind} of what is under way */
    this._kind = 'deletion'
    this._count = 0
    /** @type {Array<{ kind: Kind, run: () => void }>} in order: so neither kind waits for ever */
    this._waiting = []
  }

  /**
   * @param {Kind} kind
   * @param {() => void} run  at once, as a rule; must see to it that `leave` is called once
   */
  enter (kind, run) {
    this._waiting.push({ kind, run })
    this._advance()
  }

  leave () {
    this._count--
    this._advance()
  }

  _advance () {
    while (this._waiting.length > 0) {
      const [{ kind, run }] = this._waiting
      if (this._count > 0 && kind !== this._kind) return
      this._waiting.shift()
      this._kind = kind
      this._count++
      run()
    }
  }
}

exports.Gate = Gate
