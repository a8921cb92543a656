'use strict'
// The errors that name a record.

const { LogError, misuse } = require('@millrace/errors')

/**
 * @typedef {'get' | 'del'} Call  that was given a seq
 * @param {Call} call
 * @param {string} path
 * @param {number} seq
 */
function notFound (call, path, seq) {
  return new LogError('ERR_RECORD_NOT_FOUND', `${call}: no record of ${path} begins at ${seq}; use a seq that append returned ` +
    'or a stream delivered', { offset: seq, path })
}

/**
 * @param {string} path
 * @param {number} seq
 * @param {number} end
 * @param {number} position
 */
function seqLost (path, seq, end, position) {
  return new LogError('ERR_LOG_SEQ_LOST', `the record that ${path} had at ${seq} was lost in a power cut, with all that had seqs ` +
    `from ${end} to ${position}. Rebuild views and indexes that saw them, from the first record on`,
  { offset: seq, path })
}

/** @param {number} seq */
function deleted (seq) {
  return new LogError('flumelog:deleted', `get: the record at ${seq} was deleted`, { offset: seq })
}

/**
 * @param {string} what
 * @param {number} size
 * @param {number} sizeMax
 */
function tooLargeToAppend (what, size, sizeMax) {
  return new LogError('ERR_RECORD_TOO_LARGE', `append: ${what} of ${size} bytes is above the limit, ${sizeMax}; ` +
    'nothing was written. Split it into smaller ones')
}

/**
 * @param {unknown} thrown  by the array of a batch, such as one with a getter
 * @returns {Error}
 */
function unreadable (thrown) {
  if (thrown instanceof Error) return thrown
  return new LogError('ERR_CODEC_ENCODE', `append: reading the array of values threw a value of type ${typeof thrown}; give an ` +
    'array of plain values', { cause: thrown, path: [] })
}

/**
 * @param {unknown} err  of one value
 * @param {number} index  in its batch
 * @returns {unknown}
 */
function ofBatch (err, index) {
  if (!(err instanceof LogError)) return err
  const { code, message, cause, offset, path } = err
  return new LogError(code, `append: value ${index} of the batch: ${message.replace(/^append: /, '')}`,
    { cause, offset, path, index })
}

/**
 * Whether the file ended where bytes had been before.
 * @param {Error | null} err
 */
function isShortRead (err) {
  return err instanceof LogError && ['ERR_FILE_SHORT_READ', 'ERR_FILE_RANGE'].includes(err.code)
}

// The error of every call after close.

/**
 * @param {string} name  of the call
 * @param {string} path
 */
function closedError (name, path) {
  return new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`, { path })
}

// The option `signal`: an AbortSignal, and the error of what it has ended.

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

exports.notFound = notFound
exports.ofBatch = ofBatch
exports.unreadable = unreadable
exports.seqLost = seqLost
exports.deleted = deleted
exports.tooLargeToAppend = tooLargeToAppend
exports.isShortRead = isShortRead
exports.closedError = closedError
exports.parseSignal = parseSignal
exports.abortError = abortError
exports.onAbort = onAbort
