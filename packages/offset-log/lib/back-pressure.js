'use strict'
// Back-pressure: counts the bytes that wait, tells callers when to wait, and refuses more at the limit.

const { nextTick } = require('node:process')
const { overloaded } = require('./errors')

/** More than this need not wait: two full writes keep a writer busy. */
const DRAIN_SIZE = 2 ** 20

class BackPressure {
  /** Bytes of the appends that were accepted and have not called back. */
  size = 0
  #maxPendingSize
  #drainSize
  #path
  /** @type {import('@millrace/errors').LogError | null} */
  #overload = null
  /** Callbacks of `whenDrained`. @type {Array<() => void>} */
  #draining = []

  /**
   * @param {number} maxPendingSize  from here on, more is refused
   * @param {string} path  of the log, for the error of what is refused
   * @param {number} [drainSize]  above it, or above half of `maxPendingSize`, callers should wait
   */
  constructor (maxPendingSize, path, drainSize = DRAIN_SIZE) {
    this.#maxPendingSize = maxPendingSize
    this.#drainSize = Math.min(drainSize, maxPendingSize / 2)
    this.#path = path
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
    if (this.size < this.#maxPendingSize) return null
    return (this.#overload ??= overloaded(this.#path, this.size, this.#maxPendingSize))
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

exports.BackPressure = BackPressure
