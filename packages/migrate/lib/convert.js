'use strict'
// From a log of any format to a checked one.

const { callbackOrPromise } = require('@millrace/flow')
const { Conversion } = require('./conversion')
const { parseConvertOptions } = require('./options')

/**
 * @typedef {import('./options').ConvertOptions} ConvertOptions
 * @typedef {import('./conversion').Result} Result
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback
 */

/**
 * Makes a checked log with the records of another log, in order; `to` is there whole and verified, or not at all.
 * Called again after an interruption it goes on where it was.
 * @overload
 * @param {string} from  never written to
 * @param {string} to  must not exist
 * @param {ConvertOptions} [options]
 * @returns {Promise<Result>}
 */
/**
 * @overload
 * @param {string} from
 * @param {string} to
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string} from
 * @param {string} to
 * @param {ConvertOptions | undefined} options
 * @param {NodeCallback<Result>} cb
 * @returns {void}
 */
/**
 * @param {string} from
 * @param {string} to
 * @param {ConvertOptions | NodeCallback<Result>} [options]
 * @param {NodeCallback<Result>} [cb]
 * @returns {any}
 */
function convert (from, to, options, cb) {
  if (typeof options === 'function') return convert(from, to, undefined, options)
  return callbackOrPromise(cb, (cb) => {
    let conversion
    try {
      conversion = new Conversion(parseConvertOptions(from, to, options))
    } catch (err) {
      return process.nextTick(cb, /** @type {Error} */ (err))
    }
    conversion.run(cb)
  }, 'convert')
}

exports.convert = convert
