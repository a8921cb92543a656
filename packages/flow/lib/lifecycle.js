'use strict'
// The lifecycle of whatever opens, works and closes. Calls wait until it is open and fail once it is closed. Each call
// calls back exactly once. Closing waits for the calls that are running.

const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { misuse } = require('@millrace/errors')
const { rethrowAsync } = require('./callbacks')

/** @template T @typedef {import('./callbacks').Callback<T>} Callback */

/**
 * The stages of what is opened and closed: calls wait until it is open, fail once it is closed, and call back exactly
 * once.
 */
class Lifecycle {
  #closedError
  /** @type {Error | null} */
  #openError = null
  /** Whether a call has delivered `#openError`. */
  #isErrorTold = false
  /** @type {Array<(err: Error | null) => void> | null} null once opening has succeeded or failed */
  #whenOpen = []
  #runningCount = 0
  /** @type {(() => void) | null} */
  #whenIdle = null
  /** @type {Promise<Error | null> | null} null before `close`; resolves to the error of closing */
  #closing = null

  /** @param {(name: string) => Error} closedError  makes the error of a call after close; gets the call's name */
  constructor (closedError) {
    this.#closedError = closedError
    /** False again as soon as closing begins. */
    this.isOpen = false
    this.isClosed = false
  }

  /**
   * Ends the opening: the calls that wait are run, or fail.
   * @param {Error | null} err  why opening failed. Every call then fails with it. If no call does so before the next
   *   turn of the event loop, the process emits a warning: the user may be waiting forever
   */
  opened (err) {
    this.#openError = err
    this.isOpen = !err && !this.isClosed
    const waiting = this.#whenOpen ?? []
    this.#whenOpen = null
    for (const run of waiting) rethrowAsync(() => run(err))
    // Whoever has aborted it knows.
    if (err && err.name !== 'AbortError') setImmediate(() => this.#isErrorTold || warn(err))
  }

  /** Why opening failed; null if it has not. */
  get openError () {
    return this.#openError
  }

  /** Whether opening has ended, even if it was closed since. */
  get hasOpened () {
    return this.#whenOpen === null
  }

  /**
   * Runs a function once it is open, or at once if it is open already. If opening fails, `run` is never called. Closing
   * does not wait for `run`.
   * @param {() => void} run
   */
  whenOpen (run) {
    if (this.#whenOpen === null) return this.isOpen && run()
    this.#whenOpen.push((err) => err || run())
  }

  /**
   * Calls back once it is open, or with the reason why it is not.
   * @param {import('@millrace/errors').NodeCallback<void>} cb
   * @throws {TypeError} if `cb` is not a function
   */
  ready (cb) {
    if (typeof cb !== 'function') throw misuse(`ready: expected a callback, got ${typeof cb}`)
    if (this.isClosed) return nextTick(cb, this.#closedError('ready'))
    const answer = (/** @type {Error | null} */ err) => {
      if (err === null) return cb(null)
      this.#isErrorTold = true
      nextTick(cb, err)
    }
    if (this.#whenOpen === null) answer(this.#openError)
    else this.#whenOpen.push(answer)
  }

  /**
   * Runs an action once it is open. If the action throws before it has called back, the error goes to the callback.
   * @template T
   * @param {string} name  of the call
   * @param {import('@millrace/errors').NodeCallback<T>} cb
   * @param {(cb: Callback<T>) => void} action  must call back once
   * @throws {TypeError} if `cb` is not a function
   */
  run (name, cb, action) {
    if (typeof cb !== 'function') throw misuse(`${name}: expected a callback, got ${typeof cb}`)
    if (this.isClosed) return nextTick(cb, this.#closedError(name))
    this.enter()
    let hasEnded = false
    /** @type {Callback<T>} */
    const end = (err, result) => {
      if (hasEnded) return
      hasEnded = true
      this.leave()
      // In the next tick: a caller that recurses on errors must not overflow the stack.
      if (err) nextTick(cb, err)
      else cb(null, /** @type {T} */ (result))
    }
    const begin = (/** @type {Error | null} */ err) => {
      if (err) {
        this.#isErrorTold = true
        return end(err)
      }
      try {
        action(end)
      } catch (err) {
        // The callback threw this, not the action, so it belongs to the caller.
        if (hasEnded) throw err
        end(/** @type {Error} */ (err))
      }
    }
    if (this.#whenOpen === null) begin(this.#openError)
    else this.#whenOpen.push(begin)
  }

  /**
   * Counts a call as running, for callers that do the rest of `run` themselves. It must be open. Call `leave` once,
   * just before the callback; closing waits for it.
   */
  enter () {
    this.#runningCount++
  }

  /** Ends a call that `enter` began. */
  leave () {
    this.#runningCount--
    if (this.#whenIdle) this.#tellIdle()
  }

  /**
   * Waits until opening has ended and all earlier calls have called back, then shuts down. Only the first call shuts
   * down; later calls wait for the same end.
   * @param {(cb: (err: Error | null) => void) => void} shutDown
   * @param {(err: Error | null) => void} cb
   */
  close (shutDown, cb) {
    this.#closing ??= new Promise((resolve) => {
      this.isClosed = true
      this.isOpen = false
      this.#whenIdle = () => shutDown(resolve)
      if (this.#whenOpen) this.#whenOpen.push(() => this.#tellIdle())
      else nextTick(() => this.#tellIdle())
    })
    this.#closing.then((err) => nextTick(cb, err))
  }

  #tellIdle () {
    if (this.#runningCount > 0 || this.#whenOpen || this.#whenIdle === null) return
    const run = this.#whenIdle
    this.#whenIdle = null
    run()
  }
}

/** @param {Error & { code?: string }} err  the reason why opening failed */
function warn ({ message, code }) {
  const options = { type: 'FailedOpenWarning', ...(typeof code === 'string' && { code }) }
  process.emitWarning(`${message}. Nothing has asked whether it is open: call ready`, options)
}

exports.Lifecycle = Lifecycle
