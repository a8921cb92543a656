'use strict'
// Back-pressure: how many bytes are pending, when callers should wait, and when they are refused.

const { nextTick } = require('node:process')

class BackPressure {
  /** Bytes that are pending. */
  size = 0
  #sizeMax
  #drainSize
  #createOverload
  /** @type {import('@millrace/errors').LogError | null} */
  #overload = null
  /** Callbacks of `whenDrained`. @type {Array<() => void>} */
  #draining = []

  /**
   * @param {number} sizeMax  from here on, more is refused
   * @param {number} drainSize  above it, callers should wait
   * @param {(size: number) => import('@millrace/errors').LogError} createOverload
   */
  constructor (sizeMax, drainSize, createOverload) {
    this.#sizeMax = sizeMax
    this.#drainSize = Math.min(drainSize, sizeMax / 2)
    this.#createOverload = createOverload
  }

  /** Whether callers should wait before they append more. */
  get needsDrain () {
    return this.size > this.#drainSize
  }

  /**
   * Why more is refused; null while it is accepted. All that are refused share one error: a caller who never waits
   * would fill the memory with errors instead of records.
   */
  get overload () {
    return this.size < this.#sizeMax ? null : (this.#overload ??= this.#createOverload(this.size))
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  /** @param {number} size  in bytes, of what is pending from now on */
  reserve (size) {
    this.size += size
  }

  /** @param {number} size  in bytes, of what is no longer pending */
  free (size) {
    this.size -= size
    this.#overload = null
    if (this.#draining.length === 0 || this.needsDrain) return
    for (const cb of this.#draining) nextTick(cb)
    this.#draining = []
  }
}

exports.BackPressure = BackPressure
