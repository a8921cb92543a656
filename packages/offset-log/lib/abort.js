'use strict'
// The option `signal`: an AbortSignal, and the error of what it has ended.

const { LogError, misuse } = require('@millrace/errors')

/**
 * @param {string} name  of the call
 * @param {unknown} signal
 * @returns {AbortSignal | null}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSignal (name, signal) {
  if (signal === undefined) return null
  const { aborted, addEventListener } = /** @type {AbortSignal} */ (signal ?? {})
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return /** @type {AbortSignal} */ (signal)
  throw misuse(`${name}: signal must be an AbortSignal, got ${signal === null ? 'null' : typeof signal}`)
}

/**
 * @param {string} name  of the call
 * @param {AbortSignal} signal  that was aborted
 * @returns {LogError}  with the name and the code that Node.js gives to such errors
 */
function abortError (name, { reason }) {
  const err = new LogError('ABORT_ERR', `${name}: the signal that it was given was aborted`, { cause: reason })
  err.name = 'AbortError'
  return err
}

/**
 * @param {AbortSignal | null} signal  not aborted yet
 * @param {() => void} run
 * @returns {() => void}  forgets it
 */
function onAbort (signal, run) {
  if (signal === null) return () => {}
  signal.addEventListener('abort', run, { once: true })
  return () => signal.removeEventListener('abort', run)
}

exports.parseSignal = parseSignal
exports.abortError = abortError
exports.onAbort = onAbort
