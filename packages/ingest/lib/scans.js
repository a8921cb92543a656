'use strict'
// Reading requests take turns, with one another and with writes: one piece of a log is read at a time, and so much in a
// turn of the event loop. Their number is bounded.

const { unavailable } = require('./problem')
const { EventLoopTurns } = require('./event-loop-turns')

/** So many bytes of logs are read between two turns of the event loop. */
const SCAN_SIZE = 256 * 1024
/** Of a log that is read with a long filter, which takes many times as long. */
const HEAVY_SIZE = 64 * 1024

class Scans {
  turns = new EventLoopTurns(SCAN_SIZE)
  /** Requests that read now. */
  count = 0
  /** Pieces that are read now, and the most so far. */
  active = 0
  peakActive = 0
  #countMax
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /** @param {number} countMax */
  constructor (countMax) {
    this.#countMax = countMax
  }

  /** @returns {() => void}  to be called when the request has ended @throws {Problem} 503 */
  enter () {
    if (this.count >= this.#countMax) throw unavailable(`${this.count} requests are reading`)
    this.count++
    let isOver = false
    return () => {
      if (!isOver) this.count--
      isOver = true
    }
  }

  /**
   * Reads a piece when it is its turn.
   * @template T
   * @param {number} share  of what may be read in a turn
   * @param {() => Promise<T>} read
   * @returns {Promise<T>}
   */
  run (share, read) {
    const size = Math.ceil(share * SCAN_SIZE)
    const piece = this.#last.then(async () => {
      if (!this.turns.take(size)) await new Promise((resolve) => this.turns.wait(size, () => resolve(null)))
      this.peakActive = Math.max(this.peakActive, ++this.active)
      try {
        return await read()
      } finally {
        this.active--
      }
    })
    this.#last = piece.catch(() => {})
    return piece
  }
}

exports.Scans = Scans
exports.SCAN_SIZE = SCAN_SIZE
exports.HEAVY_SIZE = HEAVY_SIZE
