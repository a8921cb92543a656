'use strict'
// LogError: what was found, where, and what to do, under a code that programs can rely on.

/** @typedef {import('./failure').FailureCode} FailureCode */

/**
 * @typedef {object} LogErrorDetails
 * @property {unknown} [cause]  the error below this one, if there is one
 * @property {number} [offset]  where: a byte position, in the file or in the record that was decoded
 * @property {string | Array<string | number>} [path]  where: the file's path, or the keys that lead to a value
 * @property {number} [index]  which value it was, of those handed over together
 * @property {Holder} [holder]  who has what was asked for
 */

/**
 * @typedef {object} Holder
 * @property {string} host
 * @property {number} pid
 * @property {number | null} thread  the system's number of the thread; null where it cannot be told
 * @property {string} since  an ISO date
 */

/** A failure of the world (disk, file, bytes), delivered through a callback, a promise or the end of a stream. */
class LogError extends Error {
  /**
   * @param {FailureCode} code  one of `codes`, or a code of the file system such as `EISDIR`
   * @param {string} message  what was found, where, and what to do
   * @param {LogErrorDetails} [details]
   */
  constructor (code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'LogError'
    /** @type {FailureCode} */
    this.code = code
    // What there is nothing to say of is left out, so that a printed error says what it knows.
    if (details.offset !== undefined) this.offset = details.offset
    if (details.path !== undefined) this.path = details.path
    if (details.index !== undefined) this.index = details.index
    if (details.holder !== undefined) this.holder = details.holder
  }
}

/**
 * A mistake of the caller. Constructors and synchronous functions throw it; methods with a callback deliver it there.
 * @param {string} message  what was given, and what is expected instead
 * @returns {TypeError & { code: 'ERR_INVALID_ARGUMENT' }}
 */
function misuse (message) {
  return Object.assign(new TypeError(message), /** @type {const} */ ({ code: 'ERR_INVALID_ARGUMENT' }))
}

exports.LogError = LogError
exports.misuse = misuse
