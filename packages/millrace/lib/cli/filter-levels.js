'use strict'
// `level>=warn` of `--where`: nobody means the order of the alphabet. What loggers call their levels, and the numbers
// of pino, are compared as levels; in quotes, they are texts as any.

const { LEVEL_NAMES, labelOf, toLevel } = require('@millrace/where')

/**
 * @typedef {import('./filter').Path} Path
 * @typedef {import('@millrace/where').Where} Where
 * @typedef {'gt' | 'gte' | 'lt' | 'lte'} BoundName
 */

/** As `level`, and `log.level` in one key or two. */
const FIELD = /(?:^|\.)(?:level|lvl)$/i

/** @param {Path} path */
function isLevelField (path) {
  return FIELD.test(String(path[path.length - 1]))
}

/**
 * @param {Path} path
 * @param {string} written  the value, as it was typed
 * @returns {boolean}  whether both speak of levels
 */
function isLevel (path, written) {
  return isLevelField(path) && LEVEL_NAMES.includes(written.toLowerCase())
}

/**
 * @param {Path} path
 * @param {BoundName} bound
 * @param {string} name
 * @returns {Where}
 */
function compareLevel (path, bound, name) {
  return { path, level: { [bound]: name } }
}

/**
 * The name in the cases that loggers write, and the number if it is one of pino's names: an index finds these.
 * @param {Path} path
 * @param {string} name
 * @returns {Where}
 */
function equalsLevel (path, name) {
  const lower = name.toLowerCase()
  const { level } = /** @type {{ level: number }} */ (toLevel(lower))
  const names = [name, lower, lower.toUpperCase(), lower[0].toUpperCase() + lower.slice(1)]
  return { path, in: [...new Set(names), ...(labelOf(level) === lower ? [level] : [])] }
}

exports.compareLevel = compareLevel
exports.equalsLevel = equalsLevel
exports.isLevel = isLevel
exports.isLevelField = isLevelField
