'use strict'
// verify: goes through a log, however damaged, and says what is in it and what is wrong with it. It changes nothing.

const { callbackOrPromise } = require('@millrace/flow')
const { examine } = require('./salvage/examine')
const { checkPath, parseOptions } = require('./salvage/options')
const { openSource } = require('./salvage/source')

/**
 * @template T
 * @typedef {import('@millrace/flow').Callback<T>} Callback
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback
 */

/**
 * @typedef {import('./salvage/examine').Report} Report
 * @typedef {Omit<import('./salvage/options').SalvageOptions, 'keepSuspects' | 'write'>} VerifyOptions
 */

/**
 * Goes through a log, however damaged, and says what is in it and what is wrong with it. It changes nothing.
 * @overload
 * @param {string} path
 * @param {VerifyOptions} [options]
 * @returns {Promise<Report>}
 */
/**
 * @overload
 * @param {string} path
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string} path
 * @param {VerifyOptions | undefined} options
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @param {string} path
 * @param {VerifyOptions | NodeCallback<Report>} [options]
 * @param {NodeCallback<Report>} [cb]
 * @returns {any}  a promise of the report, when there is no callback
 */
function verify (path, options = {}, cb) {
  if (typeof options === 'function') return verify(path, {}, options)
  return callbackOrPromise(cb, (cb) => {
    /** @type {ReturnType<typeof parseOptions>} */
    let parsed
    try {
      checkPath('verify', 'the path of a log', path)
      parsed = parseOptions('verify', options)
    } catch (err) {
      return process.nextTick(cb, /** @type {Error} */ (err))
    }
    openSource(path, parsed, (err, source) => {
      if (err || !source) return cb(err)
      examine(source, parsed, null, (err, examination) => {
        source.blocks.close((closeError) => cb(err ?? closeError, examination?.report))
      })
    })
  }, 'verify')
}

exports.verify = verify
