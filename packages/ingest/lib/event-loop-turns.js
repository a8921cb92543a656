'use strict'
// Shares the event loop: requests say how many bytes they are about to work on, and those for which a turn has no more
// room wait for a later one, in the order in which they came. So no body, however it is made, holds up the others.

const { setImmediate } = require('node:timers')

/** So many bytes are worked on between two turns of the event loop. */
const TURN_SIZE = 2 ** 20

/** @typedef {{ size: number, go: () => void }} Waiter */

class EventLoopTurns {
  /** The most that was worked on in one turn. */
  peakSize = 0
  #sizeMax
  #size = 0
  #isCounting = false
  /** @type {Waiter[]} */
  #waiting = []

  /** @param {number} [sizeMax]  bytes of a turn */
  constructor (sizeMax = TURN_SIZE) {
    this.#sizeMax = sizeMax
  }

  /**
   * Asks for room in this turn.
   * @param {number} size  bytes. More than a turn has room for get a turn of their own
   * @returns {boolean}  false: wait
   */
  take (size) {
    if (this.#waiting.length > 0 || !this.#hasRoom(size)) return false
    this.#add(size)
    return true
  }

  /** Calls `go` in a turn that has room, which it has taken. @type {(size: number, go: () => void) => void} */
  wait (size, go) {
    this.#waiting.push({ size, go })
    this.#count()
  }

  /** @param {number} size */
  #hasRoom (size) {
    return this.#size === 0 || this.#size + size <= this.#sizeMax
  }

  /** @param {number} size */
  #add (size) {
    this.#size += size
    if (this.#size > this.peakSize) this.peakSize = this.#size
    this.#count()
  }

  #count () {
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(this.#begin)
  }

  /** A turn begins. */
  #begin = () => {
    this.#isCounting = false
    this.#size = 0
    // Whoever asks again meanwhile waits behind the others.
    for (let left = this.#waiting.length; left > 0 && this.#hasRoom(this.#waiting[0].size); left--) {
      const { size, go } = /** @type {Waiter} */ (this.#waiting.shift())
      this.#add(size)
      go()
    }
    if (this.#waiting.length > 0) this.#count()
  }
}

exports.EventLoopTurns = EventLoopTurns
exports.TURN_SIZE = TURN_SIZE
