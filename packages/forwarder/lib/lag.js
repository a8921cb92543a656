'use strict'
// Counts what the sink has not got yet. Each record is counted once: when the forwarder reads it, or before that, by a
// scan that runs ahead and decodes nothing.

/** @typedef {{ records: number, size: number }} Amount  `size` is in bytes of the log */

class LagCounter {
  #log
  #records = 0
  #size = 0
  /** How often counting began anew. */
  #resetCount = 0

  /**
   * @param {any} log  loaded
   * @param {number} after  the seq of the last record that is done with
   */
  constructor (log, after) {
    this.#log = log
    /** The seq up to which records were counted. */
    this.end = after
  }

  /** @returns {Amount} */
  get behind () {
    return { records: this.#records, size: this.#size }
  }

  /** @type {(seq: number, size: number) => void} in the order of the log; a record may be noted twice */
  note (seq, size) {
    if (seq <= this.end) return
    this.end = seq
    this.#records++
    this.#size += size
  }

  /** @type {(records: number, size: number) => void} */
  forget (records, size) {
    this.#records = Math.max(0, this.#records - records)
    this.#size = Math.max(0, this.#size - size)
  }

  /** Counts anew: the log is not what it was. @param {number} after */
  reset (after) {
    this.end = after
    this.#records = this.#size = 0
    this.#resetCount++
  }

  /** Counts what was appended since. @param {AbortSignal} signal */
  async measure (signal) {
    if (this.#log.since.value <= this.end) return
    const onCorrupt = this.#log.supports.onCorrupt ? 'skip' : undefined
    const resetCount = this.#resetCount
    await this.#log.scan({ gt: this.end, onCorrupt, signal }, (/** @type {any} */ { count, seqs, starts, ends }) => {
      if (this.#resetCount !== resetCount) return false
      for (let i = 0; i < count; i++) this.note(seqs[i], ends[i] - starts[i])
    })
  }
}

exports.LagCounter = LagCounter
