'use strict'
// The oracle: walk a decoded value and compare. Slow and obvious on purpose: compiled filters are tested against it.

/** @typedef {import('./parse-where').Condition} Condition */

/**
 * @param {Condition[]} conditions  from `parseWhere`
 * @param {unknown} value  a decoded record
 * @returns {boolean}  whether every condition holds
 */
function matches (conditions, value) {
  return conditions.every(({ path, equals, exists }) => {
    const found = follow(path, value)
    return exists === undefined ? found.present && found.value === equals : found.present === exists
  })
}

/**
 * Only own properties of objects are followed: not those of arrays, buffers, strings or prototypes.
 * @param {string[]} path
 * @param {any} value
 * @returns {{ present: boolean, value?: unknown }}
 */
function follow (path, value) {
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return { present: false }
    value = value[key]
  }
  return { present: true, value }
}

/** @param {unknown} value */
function isObject (value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

exports.matches = matches
