'use strict'
// What a call fails with, for tests that compare errors.

/**
 * @param {() => unknown} run  returns a promise, or throws
 * @returns {Promise<any>}  the error, or null
 */
async function failureOf (run) {
  try {
    await run()
    return null
  } catch (err) {
    return err
  }
}

exports.failureOf = failureOf
