'use strict'
// Checks the options of `verify` and `repair`, and fills in their defaults.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { offsetFramings } = require('@millrace/framing')

const RANGES_MAX = 1000
const FRAMINGS = ['checked', 'lines', ...Object.keys(offsetFramings)]
const KNOWN_BY_VERIFY = ['framing', 'onDamage', 'onProgress', 'rangesMax', 'signal', 'storage']
const KNOWN = {
  accept: ['framing', 'onProgress', 'signal', 'storage'],
  repair: [...KNOWN_BY_VERIFY, 'write'],
  verify: KNOWN_BY_VERIFY
}

/** @typedef {import('@millrace/framing/survey').DamagedRange} DamagedRange */

/**
 * @typedef {object} SalvageOptions
 * @property {'checked' | 'lines' | 'offset32' | 'offset48' | 'offset53'} [framing]  For a file whose beginning is too
 *   damaged to tell. It is detected by default.
 * @property {(range: DamagedRange) => void} [onDamage]  Gets every damaged range, in order, listed or not.
 * @property {(progress: { position: number, size: number }) => void} [onProgress]  Gets the progress now and then, in
 *   bytes.
 * @property {number} [rangesMax]  How many ranges the report lists; 1000 by default.
 * @property {AbortSignal} [signal]  An abort ends the call, which then fails with ABORT_ERR and leaves nothing.
 * @property {import('@millrace/block-file').Storage} [storage]  Replaces the file system.
 * @property {boolean} [write]  True lets `repair` make the new log; false by default: it only reports.
 */

/**
 * Throws a TypeError with ERR_INVALID_ARGUMENT.
 * @param {keyof typeof KNOWN} name
 * @param {SalvageOptions & Record<string, unknown>} options
 */
function parseOptions (name, options) {
  checkOptions(name, options, KNOWN[name])
  const {
    framing, onDamage = () => {}, onProgress = () => {}, rangesMax = RANGES_MAX, storage, write = false
  } = options
  const check = (/** @type {boolean} */ isRight, /** @type {string} */ what) => {
    if (!isRight) throw misuse(`${name}: ${what}`)
  }
  check(framing === undefined || FRAMINGS.includes(framing), `framing must be one of ${FRAMINGS.join(', ')}, got ${reasonOf(framing)}`)
  check(typeof onDamage === 'function', 'onDamage must be a function')
  check(typeof onProgress === 'function', 'onProgress must be a function')
  check(Number.isSafeInteger(rangesMax) && rangesMax >= 0, `rangesMax must be a whole number, got ${reasonOf(rangesMax)}`)
  check(typeof write === 'boolean', 'write must be true or false')
  const signal = parseSignal(name, options.signal)
  return { name, framing, onDamage, onProgress, rangesMax, signal, storage, write }
}

/** Throws a TypeError with ERR_INVALID_ARGUMENT. @type {(name: string, what: string, path: unknown) => void} */
function checkPath (name, what, path) {
  if (path instanceof URL || (typeof path === 'string' && path !== '')) return
  throw misuse(`${name}: expected ${what}, got ${reasonOf(path)}`)
}

exports.parseOptions = parseOptions
exports.checkPath = checkPath
