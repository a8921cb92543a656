'use strict'
// Every function takes a node callback last, or gives a promise when it gets none.

const { misuse } = require('@millrace/errors')

/**
 * @template T
 * @typedef {(err: Error | null, result?: T) => void} Callback
 */

/**
 * @template T
 * @param {import('@millrace/errors').NodeCallback<T> | undefined} cb
 * @param {(cb: Callback<T>) => void} run  must call back once
 * @returns {any}  a promise of the result, when there is no callback
 * @throws {TypeError} when `cb` is neither a function nor left out
 */
function promised (cb, run) {
  if (typeof cb === 'function') return run(/** @type {Callback<T>} */ (cb))
  if (cb !== undefined) throw misuse(`expected a callback or nothing, got ${typeof cb}`)
  return new Promise((resolve, reject) => {
    run((err, result) => err ? reject(err) : resolve(result))
  })
}

exports.promised = promised
