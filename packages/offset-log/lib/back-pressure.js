'use strict'
// Back-pressure: counts the bytes that wait, tells callers when to wait, and refuses more at the limit.

const { nextTick } = require('node:process')

/** More than this need not wait: two full writes keep a writer busy. */
const DRAIN_SIZE = 2 ** 20

/** @typedef {import('@millrace/errors').LogError} LogError */

class BackPressure {
  /** Bytes of the appends that were accepted and have not called back. */
  size = 0
  #maxPendingSize
  #drainSize
  #onOverload
  /** @type {LogError | null} */
  #overload = null
  /** Callbacks of `whenDrained`. @type {Array<() => void>} */
  #draining = []

  /**
   * @param {number} maxPendingSize  from here on, more is refused
   * @param {number} drainSize  above it, or above half of `maxPendingSize`, callers should wait
   * @param {(size: number) => LogError} onOverload  makes the error of what is refused
   */
  constructor (maxPendingSize, drainSize, onOverload) {
    this.#maxPendingSize = maxPendingSize
    this.#drainSize = Math.min(drainSize, maxPendingSize / 2)
    this.#onOverload = onOverload
  }

  /** Whether callers should wait before they append more. */
  get needsDrain () {
    return this.size > this.#drainSize
  }

  /**
   * Why further appends are refused; null while they are accepted. All refused appends share one error: a caller who
   * never waits would fill the memory with errors instead of records.
   */
  get overload () {
    return this.size < this.#maxPendingSize ? null : (this.#overload ??= this.#onOverload(this.size))
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  /** @param {number} size  in bytes, of what waits from now on */
  reserve (size) {
    this.size += size
  }

  /** @param {number} size  in bytes, of what waits no more */
  free (size) {
    this.size -= size
    this.#overload = null
    if (this.#draining.length === 0 || this.needsDrain) return
    for (const cb of this.#draining.splice(0)) nextTick(cb)
  }
}

exports.DRAIN_SIZE = DRAIN_SIZE
exports.BackPressure = BackPressure
