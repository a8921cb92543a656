'use strict'
// The filter that a log pushes down to its codec: its one shape, and the slow, obvious answer every codec must equal.

const { parseWhere } = require('./lib/parse-where')
const { matches } = require('./lib/matches')

/**
 * @typedef {import('./lib/parse-where').Where} Where
 * @typedef {import('./lib/parse-where').Condition} Condition
 * @typedef {import('./lib/parse-where').Primitive} Primitive
 */

exports.parseWhere = parseWhere
exports.matches = matches
