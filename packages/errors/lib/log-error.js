'use strict'
// LogError: what was found, where, and what to do, under a code that programs can rely on; and what calls fail with.

/**
 * @typedef {keyof typeof import('./codes').codes} ErrorCode
 * @typedef {keyof typeof import('node:os').constants.errno} SystemCode  what the file system fails with
 * @typedef {ErrorCode | SystemCode} FailureCode
 * @typedef {Error & { code?: FailureCode }} Failure  of a codec or a storage from elsewhere: perhaps no code
 */

/**
 * What users pass. As everywhere in Node.js, there is a result only when there is no error.
 * @template Result
 * @typedef {(err: Failure | null, result: Result) => void} NodeCallback
 */

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
 * @property {number | null} thread  the system's number of the thread; null if it is unknown
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
    // Unknown details are left out, so that a printed error shows only what is known.
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

/**
 * Anything can be thrown: also what has no text, or throws when it is asked for one.
 * @param {unknown} thrown
 * @returns {string}
 */
function reasonOf (thrown) {
  try {
    return thrown instanceof Error ? `${thrown.message}` : String(thrown)
  } catch {
    return 'a value that has no text'
  }
}

/**
 * @param {unknown} thrown  by a function of the user's
 * @param {string} what  that is, such as `scan: the function`
 * @returns {Error}  an error that was thrown as it is; anything else as the cause of one with a code
 */
function asError (thrown, what) {
  if (thrown instanceof Error) return thrown
  return Object.assign(misuse(`${what} threw ${reasonOf(thrown)}; throw an Error`), { cause: thrown })
}

exports.LogError = LogError
exports.misuse = misuse
exports.reasonOf = reasonOf
exports.asError = asError
