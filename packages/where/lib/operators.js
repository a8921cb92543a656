'use strict'
// The operators of a condition: what each may be given, and when it holds for a value. The order of values is defined
// here, and nowhere else.

const { countEdits } = require('@millrace/errors')

/** @typedef {string | number | boolean | null} Primitive */
/** @typedef {import('./where').Condition} Condition */

const LOWER_BOUNDS = ['gt', 'gte']
const UPPER_BOUNDS = ['lt', 'lte']
const BOUNDS = [...LOWER_BOUNDS, ...UPPER_BOUNDS]
/** Of the records of loggers: see log-records.js. */
const LOG_OPERATORS = ['time', 'level']
const OPERATORS = ['equals', 'exists', 'in', ...BOUNDS, 'prefix', 'includes', ...LOG_OPERATORS]
const COMBINERS = ['any', 'all', 'not']

/** What other languages call them. @type {Record<string, string>} */
const ALIASES = {
  eq: 'equals',
  is: 'equals',
  '=': 'equals',
  '==': 'equals',
  '===': 'equals',
  has: 'exists',
  present: 'exists',
  oneof: 'in',
  anyof: 'in',
  '>': 'gt',
  above: 'gt',
  greaterthan: 'gt',
  '>=': 'gte',
  ge: 'gte',
  min: 'gte',
  '<': 'lt',
  below: 'lt',
  lessthan: 'lt',
  '<=': 'lte',
  le: 'lte',
  max: 'lte',
  startswith: 'prefix',
  beginswith: 'prefix',
  contains: 'includes',
  elemmatch: 'includes',
  or: 'any',
  some: 'any',
  and: 'all',
  every: 'all',
  ne: 'not',
  nor: 'not',
  nin: 'not',
  absent: 'exists'
}
const SUGGESTED_LENGTH_MAX = 20
const SUGGESTED_DISTANCE_MAX = 2

/**
 * @param {string} name  that is no operator
 * @returns {string | undefined}  the operator that was meant, if that can be told
 */
function suggest (name) {
  const plain = name.slice(0, SUGGESTED_LENGTH_MAX + 1).toLowerCase().replace(/^\$/, '').replace(/[_-]/g, '')
  if (Object.hasOwn(ALIASES, plain)) return ALIASES[plain]
  if (plain.length > SUGGESTED_LENGTH_MAX) return undefined
  const near = [...OPERATORS, ...COMBINERS, 'path']
    .map((operator) => ({ operator, distance: countEdits(plain, operator) }))
    .sort((a, b) => a.distance - b.distance)[0]
  // Of a short name everything is near.
  return near.distance <= Math.min(SUGGESTED_DISTANCE_MAX, near.operator.length - 2) ? near.operator : undefined
}

/** @param {unknown} value @returns {value is Primitive} */
function isPrimitive (value) {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/** @param {unknown} value @returns {value is string | number} */
function isBound (value) {
  return typeof value === 'string' || (typeof value === 'number' && !Number.isNaN(value))
}

/**
 * The one order of values. Numbers are ordered by value, 0 beside -0; strings by code points. Values of two kinds have
 * no order, nor has anything else: null, booleans, NaN, BigInts, dates, arrays, objects.
 * @param {unknown} a
 * @param {unknown} b
 * @returns {number}  below, equal to or above 0; NaN without an order, which is neither
 */
function compareValues (a, b) {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
  if (typeof a !== 'number' || typeof b !== 'number') return NaN
  if (a === b) return 0
  return a < b ? -1 : a > b ? 1 : NaN
}

/**
 * Compares texts by code points, as their UTF-8 is ordered. `<` compares UTF-16 units, among which those of a pair,
 * which stand for the highest code points, are not the highest. Half a pair has the code point of its unit.
 * @param {string} a
 * @param {string} b
 * @returns {number}  below, equal to or above 0
 */
function compareTexts (a, b) {
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === length) return a.length - b.length
  // The two may differ in the second halves of pairs.
  const isInPair = at > 0 && isHighHalf(a.charCodeAt(at - 1))
  const difference = isInPair ? codePointAt(a, at - 1) - codePointAt(b, at - 1) : 0
  return difference === 0 ? codePointAt(a, at) - codePointAt(b, at) : difference
}

/** @param {number} unit */
function isHighHalf (unit) {
  return unit >= 0xd800 && unit < 0xdc00
}

/** @param {string} text @param {number} index  inside it */
function codePointAt (text, index) {
  return /** @type {number} */ (text.codePointAt(index))
}

/**
 * @param {Condition} condition  with bounds
 * @param {unknown} value
 * @returns {boolean}
 */
function isInRange ({ gt, gte, lt, lte }, value) {
  return (gt === undefined || compareValues(value, gt) > 0) && (gte === undefined || compareValues(value, gte) >= 0) &&
    (lt === undefined || compareValues(value, lt) < 0) && (lte === undefined || compareValues(value, lte) <= 0)
}

exports.LOWER_BOUNDS = LOWER_BOUNDS
exports.UPPER_BOUNDS = UPPER_BOUNDS
exports.BOUNDS = BOUNDS
exports.LOG_OPERATORS = LOG_OPERATORS
exports.OPERATORS = OPERATORS
exports.COMBINERS = COMBINERS
exports.suggest = suggest
exports.isPrimitive = isPrimitive
exports.isBound = isBound
exports.compareTexts = compareTexts
exports.isInRange = isInRange
