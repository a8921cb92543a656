'use strict'
// LogError: a code for programs, and a message for people that says what was found, where, and what to do.

/**
 * @typedef {keyof typeof import('./codes').codes} ErrorCode
 * @typedef {keyof typeof import('node:os').constants.errno} SystemCode  a code of the file system
 * @typedef {ErrorCode | SystemCode} FailureCode
 * @typedef {Error & { code?: FailureCode }} Failure  an error of a user's codec or storage may have no code
 */

/**
 * The callback that users pass. As in all of Node.js, an error comes without a result.
 * @template Result
 * @typedef {(err: Failure | null, result: Result) => void} NodeCallback
 */

/**
 * @typedef {object} LogErrorDetails
 * @property {unknown} [cause]  the error that caused this one
 * @property {number} [offset]  a byte position, in the file or in the record that was being decoded
 * @property {string | Array<string | number>} [path]  the path of the file, or the keys that lead to a value
 * @property {number} [index]  the index of the value in its batch
 * @property {Holder} [holder]  the holder of the lock that was asked for
 *
 * @typedef {object} Holder
 * @property {string} host
 * @property {number} pid
 * @property {number | null} thread  the kernel's number of the thread; null if it is unknown
 * @property {string} since  an ISO date
 */

/** A failure of the world (disk, file, bytes). It arrives by callback, promise or the end of a stream. */
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
    // A printed error shows only the details that are set.
    if (details.offset !== undefined) this.offset = details.offset
    if (details.path !== undefined) this.path = details.path
    if (details.index !== undefined) this.index = details.index
    if (details.holder !== undefined) this.holder = details.holder
  }
}

/**
 * A mistake of the caller. Synchronous functions throw it; methods with a callback pass it to the callback.
 * @type {(message: string) => TypeError & { code: 'ERR_INVALID_ARGUMENT' }}
 */
function misuse (message) {
  return Object.assign(new TypeError(message), /** @type {const} */ ({ code: 'ERR_INVALID_ARGUMENT' }))
}

/**
 * Refuses a misspelt option. An unknown option that is undefined counts as missing.
 * @param {string} call  which got the options
 * @param {object} options
 * @param {readonly string[]} known
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function checkNames (call, options, known) {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue
    throw misuse(`${call}: there is no option ${name}; there are ${known.join(', ')}`)
  }
}

/** The text of anything that was thrown, even if turning it into text throws. @type {(thrown: unknown) => string} */
function reasonOf (thrown) {
  try {
    return thrown instanceof Error ? `${thrown.message}` : String(thrown)
  } catch {
    return 'a value that has no text'
  }
}

/** Wraps what the function `what` threw, unless it is an Error. @type {(thrown: unknown, what: string) => Error} */
function asError (thrown, what) {
  if (thrown instanceof Error) return thrown
  return Object.assign(misuse(`${what} threw ${reasonOf(thrown)}; throw an Error`), { cause: thrown })
}

exports.LogError = LogError
exports.misuse = misuse
exports.checkNames = checkNames
exports.reasonOf = reasonOf
exports.asError = asError
