'use strict'
// The option `signal`: an AbortSignal that ends a call, and the error of a call that it has ended.

const { nextTick } = require('node:process')
const { LogError, misuse } = require('@millrace/errors')
const { rethrowAsync } = require('./callbacks')

/**
 * Checks the option `signal` of a call; null if it is undefined.
 * @param {string} name  of the call
 * @param {unknown} signal
 * @returns {AbortSignal | null}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSignal (name, signal) {
  if (signal === undefined) return null
  const { aborted, addEventListener, removeEventListener } = /** @type {AbortSignal} */ (signal ?? {})
  const methods = [addEventListener, removeEventListener]
  if (typeof aborted === 'boolean' && methods.every((method) => typeof method === 'function')) {
    return /** @type {AbortSignal} */ (signal)
  }
  throw misuse(`${name}: signal must be an AbortSignal, got ${signal === null ? 'null' : typeof signal}`)
}

/**
 * Makes the AbortError of a call, with the reason of the signal as its cause.
 * @param {string} name  of the call
 * @param {AbortSignal} signal  that was aborted
 * @returns {LogError}  with the name and the code that Node.js gives to such errors
 */
function abortError (name, { reason }) {
  const err = new LogError('ABORT_ERR', `${name}: the signal that it was given was aborted`, { cause: reason })
  err.name = 'AbortError'
  return err
}

// A signal has one listener of ours, whatever the number of calls that it may end. Node.js compares a new listener with
// each one that is there, and warns of more than ten.
/** @type {WeakMap<AbortSignal, { runs: Set<() => void>, listener: () => void }>} */
const listening = new WeakMap()

/**
 * Runs a function once when a signal is aborted. However many functions wait for a signal, the signal has one listener.
 * @param {AbortSignal | null} signal  not aborted yet
 * @param {() => void} run  a function that was not given before
 * @returns {() => void}  forgets it
 */
function onAbort (signal, run) {
  if (signal === null) return () => {}
  const { runs, listener } = listening.get(signal) ?? listen(signal)
  runs.add(run)
  return () => {
    if (!runs.delete(run) || runs.size > 0) return
    listening.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

/** @param {AbortSignal} signal */
function listen (signal) {
  /** @type {Set<() => void>} */
  const runs = new Set()
  const listener = () => {
    listening.delete(signal)
    // One may forget another.
    for (const run of runs) {
      runs.delete(run)
      rethrowAsync(run)
    }
  }
  signal.addEventListener('abort', listener, { once: true })
  const entry = { runs, listener }
  listening.set(signal, entry)
  return entry
}

/**
 * Runs what a signal may end. After an abort the caller is told at once; the later result of `run` is dropped.
 * @template T
 * @param {string} name  of the call
 * @param {AbortSignal | null} signal
 * @param {import('./callbacks').Callback<T>} cb
 * @param {(cb: import('./callbacks').Callback<T>) => void} run  must call back once
 */
function abortable (name, signal, cb, run) {
  if (signal === null) return run(cb)
  if (signal.aborted) return nextTick(cb, abortError(name, signal))
  let hasEnded = false
  const forget = onAbort(signal, () => {
    hasEnded = true
    // Not from here: `abort` is not to run callbacks of others before it returns.
    nextTick(cb, abortError(name, signal))
  })
  run((err, result) => {
    if (hasEnded) return
    hasEnded = true
    forget()
    if (err) cb(err)
    else cb(null, result)
  })
}

exports.parseSignal = parseSignal
exports.abortError = abortError
exports.onAbort = onAbort
exports.abortable = abortable
