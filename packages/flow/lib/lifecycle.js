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
  /** @param {(name: string) => Error} closedError  what a call of that name fails with after close */
  constructor (closedError) {
    this._closedError = closedError
    /** Open, and not being closed. */
    this.isOpen = false
    this.isClosed = false
    /** @type {Error | null} */
    this._openError = null
    /** Whether a call has failed with it. */
    this._isErrorTold = false
    /** @type {Array<(err: Error | null) => void> | null} null once it is open, or failed to open */
    this._whenOpen = []
    this._runningCount = 0
    /** @type {(() => void) | null} */
    this._whenIdle = null
    /** @type {Array<(err: Error | null) => void> | null} null before close */
    this._closers = null
  }

  /**
   * @param {Error | null} err  why it could not be opened; every call fails with it then. If there is none before the
   *   next turn of the event loop, the process is warned: somebody may wait for ever
   */
  opened (err) {
    this._openError = err
    this.isOpen = !err && !this.isClosed
    const waiting = this._whenOpen ?? []
    this._whenOpen = null
    for (const run of waiting) rethrowAsync(() => run(err))
    if (err) setImmediate(() => this._isErrorTold || warn(err))
  }

  /**
   * Runs once it is open, at once if it is. It is not told of failures, and closing does not wait for it.
   * @param {() => void} run
   */
  whenOpen (run) {
    if (this._whenOpen === null) return this.isOpen && run()
    this._whenOpen.push((err) => err || run())
  }

  /**
   * Runs an action once it is open. What the action throws before it has called back goes to the callback.
   * @template T
   * @param {string} name  of the call
   * @param {Callback<T>} cb
   * @param {(cb: Callback<T>) => void} action  must call back once
   * @throws {TypeError} when `cb` is no function
   */
  run (name, cb, action) {
    if (typeof cb !== 'function') throw misuse(`${name}: expected a callback, got ${typeof cb}`)
    if (this.isClosed) return process.nextTick(cb, this._closedError(name))
    this.enter()
    const call = new Call(this, cb)
    if (this.isOpen) return attempt(action, call)
    if (this._whenOpen === null) {
      this._isErrorTold = true
      return process.nextTick(call.end, this._openError)
    }
    this._whenOpen.push((err) => {
      if (!err) return attempt(action, call)
      this._isErrorTold = true
      call.end(err)
    })
  }

  /**
   * Counts a call that is made while it is open, for who sees to the rest of `run` himself: closing waits for `leave`,
   * which must be called once, just before the call's callback.
   */
  enter () {
    this._runningCount++
  }

  leave () {
    this._runningCount--
    if (this._whenIdle) this._tellIdle()
  }

  /**
   * Once: waits until it is open or failed to open, and until all that was asked before has called back.
   * @param {(cb: (err: Error | null) => void) => void} shutDown
   * @param {(err: Error | null) => void} cb  runs when it is closed; so do those of later calls
   */
  close (shutDown, cb) {
    if (this._closers === null) {
      this._closers = []
      this.isClosed = true
      this.isOpen = false
      this._whenIdle = () => shutDown((err) => this._closed(err))
      if (this._whenOpen) this._whenOpen.push(() => this._tellIdle())
      else process.nextTick(() => this._tellIdle())
    }
    this._closers.push(cb)
  }

  /** @param {Error | null} err */
  _closed (err) {
    const closers = this._closers ?? []
    // From now on a call of close has nothing to wait for.
    this._closers = /** @type {any} */ ({ push: (/** @type {any} */ cb) => process.nextTick(cb, err) })
    for (const cb of closers) process.nextTick(cb, err)
  }

  _tellIdle () {
    if (this._runningCount > 0 || this._whenOpen || this._whenIdle === null) return
    const run = this._whenIdle
    this._whenIdle = null
    run()
  }
}

/**
 * A call that is under way.
 * @template T
 */
class Call {
  /**
   * @param {Lifecycle} lifecycle
   * @param {Callback<T>} cb
   */
  constructor (lifecycle, cb) {
    this.hasEnded = false
    /** @type {Callback<T>} */
    this.end = (err, result) => {
      if (this.hasEnded) return
      this.hasEnded = true
      lifecycle.leave()
      // Not from here: a caller who recurses on errors must not overflow the stack.
      if (err) process.nextTick(cb, err)
      else cb(null, result)
    }
  }
}

/**
 * @template T
 * @param {(cb: Callback<T>) => void} action
 * @param {Call<T>} call
 */
function attempt (action, call) {
  try {
    action(call.end)
  } catch (err) {
    // After it has called back, this is what the callback threw, and the callback's business.
    if (call.hasEnded) throw err
    call.end(/** @type {Error} */ (err))
  }
}

/** @param {Error & { code?: string }} err  why something could not be opened */
function warn ({ message, code }) {
  const options = { type: 'FailedOpenWarning', ...(typeof code === 'string' && { code }) }
  process.emitWarning(`${message}. Nothing has asked whether it is open: call ready`, options)
}

exports.Lifecycle = Lifecycle
