'use strict'
// What was thrown, as a text. Anything can be thrown: also what has no text, or throws when it is asked for one.

const { misuse } = require('./log-error')

/**
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

exports.asError = asError
exports.reasonOf = reasonOf
