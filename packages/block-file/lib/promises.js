'use strict'
// Between callbacks and promises.

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {(err: any, result?: any) => void} cb  called from the event loop, so that what it throws rejects nothing
 */
function toCallback (promise, cb) {
  promise.then((result) => process.nextTick(cb, null, result), (err) => process.nextTick(cb, err))
}

/**
 * @param {any} object
 * @param {string} name  of a method that takes a callback last
 * @param {...any} args  before that
 * @returns {Promise<any>}
 */
function call (object, name, ...args) {
  return new Promise((resolve, reject) => {
    object[name](...args, (/** @type {Error | null} */ err, /** @type {any} */ result) => {
      if (err) reject(err)
      else resolve(result)
    })
  })
}

exports.call = call
exports.toCallback = toCallback
