'use strict'
// From what a user passes as `where` to a checked list of conditions.

const { misuse } = require('@millrace/errors')

/** @typedef {string | number | boolean | null} Primitive */

/**
 * @typedef {object} Condition
 * @property {string[]} path  keys from the record's root inwards; empty means the record itself
 * @property {Primitive} equals  what the value at the path must be, as `===` sees it
 */

/**
 * What users pass: one condition, or a list of which all must hold.
 * @typedef {{ readonly path: readonly string[], readonly equals: Primitive }} AskedCondition
 * @typedef {AskedCondition | readonly AskedCondition[]} Where
 */

/**
 * @param {unknown} where  one condition, or a list of which all must hold (an empty list holds for every record)
 * @returns {Condition[]}  a copy: later changes to what was passed change nothing
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseWhere (where) {
  const list = Array.isArray(where) ? where : [where]
  return list.map(parseCondition)
}

/**
 * @param {any} condition
 * @returns {Condition}
 */
function parseCondition (condition) {
  if (condition === null || typeof condition !== 'object' || !('equals' in condition)) {
    throw misuse(`where: expected { path: [key, ...], equals: value } or a list of them, got ${show(condition)}`)
  }
  const { path, equals } = condition
  if (!Array.isArray(path) || !path.every((key) => typeof key === 'string')) {
    throw misuse(`where: path must be an array of strings, got ${show(path)}`)
  }
  if (!isPrimitive(equals)) {
    throw misuse(`where: equals must be a string, a finite number, a boolean or null, got ${show(equals)}`)
  }
  return { path: [...path], equals }
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

exports.parseWhere = parseWhere
