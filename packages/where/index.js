'use strict'
// The filter that a log pushes down to its codec: its one shape, the slow, obvious answer every codec must equal, and
// the search that spares looking at most bytes.

const { parseWhere } = require('./lib/parse-where')
const { matches } = require('./lib/matches')
const { createTextSearch } = require('./lib/text-search')
const { WordMarks, OFFSET_MAX, WORD_SIZE } = require('./lib/word-marks')

/**
 * @typedef {import('./lib/parse-where').Where} Where
 * @typedef {import('./lib/parse-where').Condition} Condition
 * @typedef {import('./lib/parse-where').Primitive} Primitive
 * @typedef {import('./lib/text-search').Search} Search
 * @typedef {import('./lib/text-search').Text} Text
 */

exports.parseWhere = parseWhere
exports.matches = matches
exports.createTextSearch = createTextSearch
exports.WordMarks = WordMarks
exports.OFFSET_MAX = OFFSET_MAX
exports.WORD_SIZE = WORD_SIZE
