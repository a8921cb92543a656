'use strict'
// Errors on their way from a worker thread: a copy made by the structured clone loses its code, and what it is.

const { LogError, misuse } = require('@millrace/errors')

/**
 * @typedef {object} CarriedError
 * @property {string} kind  LogError, misuse, or anything else
 * @property {string} code
 * @property {string} message
 * @property {string} stack
 * @property {number} [offset]
 * @property {string | Array<string | number>} [path]
 * @property {CarriedError} [cause]
 */

/**
 * @param {unknown} err
 * @returns {CarriedError}  plain, so that any thread can read it
 */
function packError (err) {
  if (!(err instanceof Error)) return { kind: 'other', code: '', message: describe(err), stack: '' }
  const { message, stack, code, offset, path, cause } = /** @type {LogError & { cause?: unknown }} */ (err)
  const kind = err instanceof LogError ? 'log' : code === 'ERR_INVALID_ARGUMENT' ? 'misuse' : 'other'
  const carried = { kind, code: typeof code === 'string' ? code : '', message: String(message), stack: String(stack) }
  return {
    ...carried,
    ...(typeof offset === 'number' && { offset }),
    ...(typeof path === 'string' && { path }),
    ...(cause instanceof Error && cause !== err && !(cause.cause) && { cause: packError(cause) })
  }
}

/**
 * @param {CarriedError} carried
 * @returns {Error}
 */
function unpackError ({ kind, code, message, stack, offset, path, cause }) {
  if (kind === 'misuse') return misuse(message)
  const below = cause && unpackError(cause)
  if (kind === 'log') return new LogError(/** @type {any} */ (code), message, { offset, path, cause: below })
  const err = new Error(message, below && { cause: below })
  if (stack !== '') err.stack = stack
  return code === '' ? err : Object.assign(err, { code }, path !== undefined && { path })
}

/** @param {unknown} value */
function describe (value) {
  try {
    return String(value)
  } catch {
    return typeof value
  }
}

exports.packError = packError
exports.unpackError = unpackError
