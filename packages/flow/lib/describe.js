'use strict'
// What an object with many insides shows of itself where it is printed, logged, or turned into JSON. flumeview-level
// stores the JSON of what it was made with, which may be the log.

/** Known to util.inspect and console.log; elsewhere only a symbol. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/**
 * Gives a class `toJSON`, and the same for util.inspect. Neither is listed among the properties of its objects.
 * @template {object} T
 * @param {{ prototype: T }} constructor
 * @param {string} type  its public name
 * @param {(object: T) => Record<string, unknown>} read  what is shown; values that are undefined are left out
 */
function describe (constructor, type, read) {
  const shown = (/** @type {T} */ object) =>
    Object.fromEntries(Object.entries(read(object)).filter(([, value]) => value !== undefined))
  const add = (/** @type {PropertyKey} */ name, /** @type {(this: T, ...args: any[]) => unknown} */ value) =>
    Object.defineProperty(constructor.prototype, name, { value, configurable: true, writable: true })
  add('toJSON', function () {
    return { type, ...shown(this) }
  })
  add(INSPECT, function (_depth, options, inspect) {
    return `${type} ${inspect(shown(this), options)}`
  })
}

exports.describe = describe
