'use strict'
// What everything that opens, works and closes has in common: calls wait until it is open, fail when it is closed, call
// back exactly once whatever happens, and closing waits for those under way.

const { misuse } = require('@millrace/errors')
const { rethrowAsync } = require('./callbacks')

/**
 * @template T
 * @typedef {import('./callbacks').Callback<T>} Callback
 */

class Lifecycle {
  #closedError
  /** @type {Error | null} */
  #openError = null
  /** Whether a call has failed with it. */
  #isErrorTold = false
  /** @type {Array<(err: Error | null) => void> | null} null once it is open, or failed to open */
  #whenOpen = []
  #runningCount = 0
  /** @type {(() => void) | null} */
  #whenIdle = null
  /** @type {Promise<Error | null> | null} null before close; why it could not be closed, when it is */
  #closing = null

  /** @param {(name: string) => Error} closedError  what a call of that name fails with after close */
  constructor (closedError) {
    this.#closedError = closedError
    /** Open, and not being closed. */
    this.isOpen = false
    this.isClosed = false
  }

  /**
   * @param {Error | null} err  why it could not be opened; every call fails with it then. If there is none before the
   *   next turn of the event loop, the process is warned: somebody may wait for ever
   */
  opened (err) {
    this.#openError = err
    this.isOpen = !err && !this.isClosed
    const waiting = this.#whenOpen ?? []
    this.#whenOpen = null
    for (const run of waiting) rethrowAsync(() => run(err))
    if (err) setImmediate(() => this.#isErrorTold || warn(err))
  }

  /**
   * Runs once it is open, at once if it is. It is not told of failures, and closing does not wait for it.
   * @param {() => void} run
   */
  whenOpen (run) {
    if (this.#whenOpen === null) return this.isOpen && run()
    this.#whenOpen.push((err) => err || run())
  }

  /**
   * Runs an action once it is open. What the action throws before it has called back goes to the callback.
   * @template T
   * @param {string} name  of the call
   * @param {import('@millrace/errors').NodeCallback<T>} cb
   * @param {(cb: Callback<T>) => void} action  must call back once
   * @throws {TypeError} when `cb` is no function
   */
  run (name, cb, action) {
    if (typeof cb !== 'function') throw misuse(`${name}: expected a callback, got ${typeof cb}`)
    if (this.isClosed) return process.nextTick(cb, this.#closedError(name))
    this.enter()
    let hasEnded = false
    /** @type {Callback<T>} */
    const end = (err, result) => {
      if (hasEnded) return
      hasEnded = true
      this.leave()
      // Not from here: a caller who recurses on errors must not overflow the stack.
      if (err) process.nextTick(cb, err)
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
        // After it has called back, this is what the callback threw, and the callback's business.
        if (hasEnded) throw err
        end(/** @type {Error} */ (err))
      }
    }
    if (this.#whenOpen === null) begin(this.#openError)
    else this.#whenOpen.push(begin)
  }

  /**
   * Counts a call that is made while it is open, for who sees to the rest of `run` himself: closing waits for `leave`,
   * which must be called once, just before the call's callback.
   */
  enter () {
    this.#runningCount++
  }

  leave () {
    this.#runningCount--
    if (this.#whenIdle) this.#tellIdle()
  }

  /**
   * Once: waits until it is open or failed to open, and until all that was asked before has called back.
   * @param {(cb: (err: Error | null) => void) => void} shutDown
   * @param {(err: Error | null) => void} cb  runs when it is closed; so do those of later calls
   */
  close (shutDown, cb) {
    this.#closing ??= new Promise((resolve) => {
      this.isClosed = true
      this.isOpen = false
      this.#whenIdle = () => shutDown(resolve)
      if (this.#whenOpen) this.#whenOpen.push(() => this.#tellIdle())
      else process.nextTick(() => this.#tellIdle())
    })
    this.#closing.then((err) => process.nextTick(cb, err))
  }

  #tellIdle () {
    if (this.#runningCount > 0 || this.#whenOpen || this.#whenIdle === null) return
    const run = this.#whenIdle
    this.#whenIdle = null
    run()
  }
}

/** @param {Error & { code?: string }} err  why something could not be opened */
function warn ({ message, code }) {
  const options = { type: 'FailedOpenWarning', ...(typeof code === 'string' && { code }) }
  process.emitWarning(`${message}. Nothing has asked whether it is open: call ready`, options)
}

exports.Lifecycle = Lifecycle
