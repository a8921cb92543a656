'use strict'
// The filter that a log pushes down to its codec: its one shape, the slow, obvious answer every codec must equal, and
// the searches that spare looking closely at most records.

const { parseWhere } = require('./lib/parse-where')
const { matches } = require('./lib/matches')
const { createByteSearch } = require('./lib/byte-search/byte-search')
const { createSelect } = require('./lib/select-records')
const { createTextSearch } = require('./lib/text-search')
const { WordMarks, OFFSET_MAX, WORD_SIZE } = require('./lib/word-marks')

/**
 * @typedef {import('./lib/parse-where').Where} Where
 * @typedef {import('./lib/parse-where').Condition} Condition
 * @typedef {import('./lib/parse-where').Primitive} Primitive
 * @typedef {import('./lib/select-records').Records} Records
 * @typedef {import('./lib/select-records').Search} Search
 * @typedef {import('./lib/select-records').Select} Select
 * @typedef {import('./lib/text-search').Text} Text
 */

exports.parseWhere = parseWhere
exports.matches = matches
exports.createByteSearch = createByteSearch
exports.createSelect = createSelect
exports.createTextSearch = createTextSearch
exports.WordMarks = WordMarks
exports.OFFSET_MAX = OFFSET_MAX
exports.WORD_SIZE = WORD_SIZE
