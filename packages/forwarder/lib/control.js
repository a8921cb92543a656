'use strict'
// What a forwarder is doing, and how it is stopped: waits that anything may end, pausing, closing, and trying again.

const { performance } = require('node:perf_hooks')
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers')
const { timerMs } = require('@millrace/errors')
const { createObservable, onAbort } = require('@millrace/flow')
const { classify, delayOf } = require('./outcomes')

/**
 * What a forwarder does. `waiting`: for the next try.
 * @typedef {'opening' | 'idle' | 'sending' | 'waiting' | 'paused' | 'closed'} State
 */

/** An interval of any length keeps the process running. */
const ALIVE_MS = 2 ** 30

class Control {
  /** @type {import('@millrace/flow').Obz<State>} */
  state = createObservable()
  isPaused = false
  isClosing = false
  /** Whether nothing more is to be begun. */
  isOver = false
  #abort = new AbortController()
  /** Ends the wait in progress. */
  #wake = () => {}
  /** @type {Array<() => void>} callers of `pause` */
  #whenPaused = []
  /** @type {NodeJS.Timeout | undefined} */
  #deadline
  #keepAlive

  /** @param {boolean} unref  whether the process may end while the forwarder waits */
  constructor (unref) {
    this.state.set('opening')
    this.#keepAlive = unref ? undefined : setInterval(() => {}, ALIVE_MS)
  }

  /** Aborted when the forwarder is over. @returns {AbortSignal} */
  get signal () {
    return this.#abort.signal
  }

  /** @param {State} state */
  show (state) {
    if (this.state.value !== state) this.state.set(state)
  }

  /** Waits until `poke` is called, at most for some time. Look at what you wait for before you call it again. */
  async wait (/** @type {number} */ ms = Infinity) {
    if (ms <= 0) return
    await new Promise((resolve) => {
      // The interval keeps the process running, not this.
      const timer = ms === Infinity ? undefined : setTimeout(resolve, timerMs(Math.ceil(ms))).unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve(undefined)
      }
    })
    this.#wake = () => {}
  }

  poke () {
    this.#wake()
  }

  /**
   * Keeps the process running meanwhile, also if the forwarder does not: somebody waits for it.
   * @template Result
   * @param {() => Promise<Result>} action
   * @param {boolean} [unref]
   * @returns {Promise<Result>}
   */
  async awaited (action, unref = false) {
    const alive = unref ? undefined : setInterval(() => {}, ALIVE_MS)
    try {
      return await action()
    } finally {
      clearInterval(alive)
    }
  }

  /** @returns {Promise<boolean>}  whether to go on; waits as long as the forwarder is paused */
  async mayGoOn () {
    while (this.isPaused && !this.isClosing && !this.isOver) {
      this.show('paused')
      this.#tellPaused()
      await this.wait()
    }
    return !this.isOver
  }

  /** @returns {Promise<void>}  resolves when nothing is being sent */
  pause () {
    this.isPaused = true
    if (this.isOver) return Promise.resolve()
    const paused = new Promise((resolve) => this.#whenPaused.push(() => resolve(undefined)))
    this.poke()
    return paused
  }

  resume () {
    this.isPaused = false
    this.poke()
  }

  /** @param {number} drainMs  how long to go on */
  close (drainMs) {
    this.isClosing = true
    if (drainMs <= 0 || this.isPaused) return this.end()
    // A process that closes a forwarder waits for it.
    this.#deadline = setTimeout(() => this.end(), timerMs(drainMs))
    this.poke()
  }

  /** Waits for something, but not when all is over. @param {Promise<unknown>} waiting  may fail */
  async unlessOver (waiting) {
    let forget = () => {}
    const over = new Promise((resolve) => {
      if (this.isOver) resolve(undefined)
      else forget = onAbort(this.signal, () => resolve(undefined))
    })
    await Promise.race([over, waiting]).catch(() => {})
    forget()
  }

  /** Begins nothing more, and aborts what is in progress. */
  end () {
    this.isOver = true
    clearTimeout(this.#deadline)
    clearInterval(this.#keepAlive)
    this.#abort.abort()
    this.#tellPaused()
    this.poke()
  }

  #tellPaused () {
    for (const resolve of this.#whenPaused.splice(0)) resolve()
  }
}

/** Thrown after so many failed tries as the caller wanted. */
class GaveUp extends Error {
  /** @param {number} attempts  @param {Error} cause */
  constructor (attempts, cause) {
    super(`given up after ${attempts} ${attempts === 1 ? 'try' : 'tries'}: ${cause.message}`, { cause })
  }
}

class Retrier {
  /** Tries that failed. */
  failureCount = 0
  /** @type {Error | null} */
  lastError = null
  #control
  #backoff
  #reporter

  /**
   * @param {Control} control
   * @param {{ minMs: number, maxMs: number }} backoff
   * @param {import('./reports').Reporter} reporter
   */
  constructor (control, backoff, reporter) {
    this.#control = control
    this.#backoff = backoff
    this.#reporter = reporter
  }

  /**
   * Runs an action again and again until it succeeds.
   * @template Result
   * @param {() => Promise<Result>} action
   * @param {{ isUrgent?: boolean, isFatal?: (err: any) => boolean, attempts?: number }} [options]  urgent: it is tried
   *   at least once, and does not wait while the forwarder is paused. A fatal error is thrown. After so many failed
   *   `attempts` it throws GaveUp
   * @returns {Promise<{ result: Result } | null>}  null if the forwarder ended first
   */
  async until (action, { isUrgent = false, isFatal = () => false, attempts = Infinity } = {}) {
    const control = this.#control
    const beganMs = performance.now()
    for (let failures = 0; ;) {
      if (!isUrgent && !await control.mayGoOn()) return null
      try {
        const result = await action()
        this.lastError = null
        if (failures > 0) this.#tellRecovered(failures, performance.now() - beganMs)
        return { result }
      } catch (thrown) {
        if (isFatal(thrown)) throw thrown
        if (control.isOver) return null
        const { error, retryAfterMs } = classify(thrown)
        const delayMs = Math.ceil(delayOf(this.#backoff, ++failures, retryAfterMs))
        this.failureCount++
        this.lastError = error
        if (failures >= attempts) throw new GaveUp(attempts, error)
        const message = `try ${failures} failed: ${error.message}; the next one is in ${delayMs} ms`
        this.#reporter.tell({ what: 'retry', message, error, attempt: failures, delayMs })
        await this.rest(delayMs)
        if (control.isOver) return null
      }
    }
  }

  /** Waits as after some failures in a row. @param {number} failures */
  async slowDown (failures) {
    await this.rest(delayOf(this.#backoff, failures))
  }

  /** @param {number} delayMs */
  async rest (delayMs) {
    const control = this.#control
    const endMs = performance.now() + delayMs
    control.show('waiting')
    while (!control.isOver && !(control.isPaused && !control.isClosing) && performance.now() < endMs) {
      await control.wait(endMs - performance.now())
    }
  }

  /** @type {(attempts: number, downMs: number) => void} */
  #tellRecovered (attempts, downMs) {
    const message = `works again after ${attempts} failed tries in ${Math.round(downMs)} ms`
    this.#reporter.tell({ what: 'recovered', message, attempts, downMs })
  }
}

exports.Control = Control
exports.GaveUp = GaveUp
exports.Retrier = Retrier
