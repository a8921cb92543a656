'use strict'
// What all requests together hold in memory, in bytes, within one budget.

const { unavailable } = require('./problem')

class MemoryBudget {
  /** Now, and the most so far. */
  size = 0
  peakSize = 0
  #sizeMax

  /** @param {number} sizeMax */
  constructor (sizeMax) {
    this.#sizeMax = sizeMax
  }

  /** Of one request. */
  open () {
    return new HeldMemory(this)
  }

  /** @param {number} more  bytes @throws {Problem} 503 */
  change (more) {
    if (more > 0 && this.size + more > this.#sizeMax) {
      throw unavailable(`the requests that are being handled hold ${this.size} bytes; nothing was stored`)
    }
    this.size += more
    if (this.size > this.peakSize) this.peakSize = this.size
  }
}

class HeldMemory {
  size = 0
  #budget
  #isReleased = false

  /** @param {MemoryBudget} budget */
  constructor (budget) {
    this.#budget = budget
  }

  /** The request holds so many bytes now. @param {number} size @throws {Problem} 503 */
  set (size) {
    if (this.#isReleased) return
    this.#budget.change(size - this.size)
    this.size = size
  }

  release () {
    if (this.#isReleased) return
    this.set(0)
    this.#isReleased = true
  }
}

exports.HeldMemory = HeldMemory
exports.MemoryBudget = MemoryBudget
