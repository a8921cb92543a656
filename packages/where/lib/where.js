'use strict'
// The language of filters: from what a user passes as `where` to a checked list of conditions, and whether a decoded
// value fulfils them.

const { misuse } = require('@millrace/errors')

/** @typedef {string | number | boolean | null} Primitive */

/**
 * @typedef {object} Equality
 * @property {string[]} path  keys from the record's root inwards; empty means the record itself
 * @property {Primitive} equals  what the value at the path must be, as `===` sees it
 * @property {undefined} [exists]
 */

/**
 * @typedef {object} Presence
 * @property {string[]} path
 * @property {boolean} exists  whether there must be something at the path, whatever it is, or nothing
 * @property {undefined} [equals]
 */

/** @typedef {Equality | Presence} Condition */

/**
 * What users pass: one condition, or a list of which all must hold.
 * @typedef {{ readonly path: readonly string[], readonly equals: Primitive, readonly exists?: never }} AskedEquality
 * @typedef {{ readonly path: readonly string[], readonly exists: boolean, readonly equals?: never }} AskedPresence
 * @typedef {AskedEquality | AskedPresence} AskedCondition
 * @typedef {AskedCondition | readonly AskedCondition[]} Where
 */

/**
 * @param {unknown} where  one condition, or a list of which all must hold (an empty list holds for every record)
 * @returns {Condition[]}  a copy: later changes to what was passed change nothing
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseWhere (where) {
  const list = Array.isArray(where) ? where : [where]
  // A hole is no condition: `map` would pass over it, and it would hold for every record.
  return Array.from(list, parseCondition)
}

/** @type {(condition: any) => Condition} */
function parseCondition (condition) {
  const isObject = condition !== null && typeof condition === 'object'
  const [hasEquals, hasExists] = ['equals', 'exists'].map((name) => isObject && name in condition)
  if (!hasEquals && !hasExists) {
    throw misuse('where: expected { path: [key, ...], equals: value }, { path: [key, ...], exists: true or false } or a ' +
      `list of them, got ${show(condition)}`)
  }
  if (hasEquals && hasExists) {
    throw misuse(`where: a condition has equals or exists, not both; what equals a value exists. Got ${show(condition)}`)
  }
  const { path, equals, exists } = condition
  if (!Array.isArray(path) || ![...path].every((key) => typeof key === 'string')) {
    throw misuse(`where: path must be an array of strings, got ${show(path)}`)
  }
  if (hasEquals && !isPrimitive(equals)) {
    throw misuse(`where: equals must be a string, a finite number, a boolean or null, got ${show(equals)}`)
  }
  if (hasExists && typeof exists !== 'boolean') throw misuse(`where: exists must be true or false, got ${show(exists)}`)
  return hasEquals ? { path: [...path], equals } : { path: [...path], exists }
}

/** @param {unknown} value */
function isPrimitive (value) {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/** @param {unknown} value */
function show (value) {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return typeof value
  }
}

/**
 * The oracle: walks a decoded value and compares. Slow and obvious on purpose: compiled filters are tested against it.
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

exports.parseWhere = parseWhere
exports.matches = matches
