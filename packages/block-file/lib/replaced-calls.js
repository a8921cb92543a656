'use strict'
// A storage in which some calls are others. A user's storage may be an instance of a class, with private members, so
// the rest is called on the instance itself.

/**
 * Makes a storage that differs from another one in some calls. The others are called on the other one.
 * @template {object} Storage
 * @param {Storage} storage
 * @param {Partial<Storage>} calls  in place of its own
 * @returns {Storage}
 */
function withCalls (storage, calls) {
  /** @type {any} */
  const all = {}
  for (let from = storage; from !== null && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Object.getOwnPropertyNames(from)) {
      const value = /** @type {any} */ (storage)[name]
      all[name] ??= typeof value === 'function' ? value.bind(storage) : value
    }
  }
  return Object.assign(all, calls)
}

exports.withCalls = withCalls
