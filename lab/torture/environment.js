'use strict'
// What a log takes from the process around it, replaced so that the same workload runs the same way every time: random
// bytes, timers, and clocks.

const crypto = require('node:crypto')
const { performance } = require('node:perf_hooks')
const { createRandom } = require('@millrace/testkit')

const NOW = Date.UTC(2025, 0, 1)

class Environment {
  constructor () {
    this._random = createRandom(1)
    this._readMs = 0
    this._nowMs = 0
    /** @type {Set<Timer>} */
    this._timers = new Set()
    /** What was there before, for the harness itself. */
    this.real = { setTimeout, clearTimeout, dateNow: Date.now, randomBytes: crypto.randomBytes }
  }

  /**
   * @param {number} salt  of the random bytes
   * @param {number} readMs  how long every synchronous read seems to take: slow ones make a log read asynchronously
   */
  reset (salt, readMs) {
    this._random = createRandom(salt)
    this._readMs = readMs
    this._nowMs = 0
    this._timers = new Set()
  }

  install () {
    const setTimer = (/** @type {Function} */ run, /** @type {number} */ ms, /** @type {any[]} */ ...args) => {
      return new Timer(this._timers, () => run(...args))
    }
    globalThis.setTimeout = /** @type {any} */ (setTimer)
    globalThis.clearTimeout = (timer) => { if (timer instanceof Timer) timer.close() }
    crypto.randomBytes = (size) => {
      const bytes = Buffer.allocUnsafe(size)
      for (let index = 0; index < size; index++) bytes[index] = this._random(256)
      return bytes
    }
    Date.now = () => NOW
    // An own property, over the one of the prototype.
    performance.now = () => (this._nowMs += this._readMs)
  }

  restore () {
    globalThis.setTimeout = this.real.setTimeout
    globalThis.clearTimeout = this.real.clearTimeout
    crypto.randomBytes = this.real.randomBytes
    Date.now = this.real.dateNow
    Reflect.deleteProperty(performance, 'now')
  }

  /** The time of every timer has come. */
  fireTimers () {
    for (const timer of [...this._timers]) timer.fire()
  }

  /** Timers of a process that is gone never fire. */
  forgetTimers () {
    this._timers = new Set()
  }
}

class Timer {
  /**
   * @param {Set<Timer>} pending
   * @param {() => void} run
   */
  constructor (pending, run) {
    this._pending = pending
    this._run = run
    pending.add(this)
  }

  fire () {
    if (this._pending.delete(this)) this._run()
  }

  close () {
    this._pending.delete(this)
    return this
  }

  refresh () {
    this._pending.add(this)
    return this
  }

  ref () {
    return this
  }

  unref () {
    return this
  }

  hasRef () {
    return false
  }
}

exports.Environment = Environment
