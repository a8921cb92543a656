'use strict'
// What takes a callback, as a promise.

/**
 * @param {(cb: (err?: any) => void) => void} start
 * @returns {Promise<void>}
 */
function call (start) {
  return new Promise((resolve, reject) => start((err) => err ? reject(err) : resolve()))
}

exports.call = call
