'use strict'
// The filter that a log pushes down to its codec: its one shape, the slow, obvious answer every codec must equal, and
// the searches that spare looking closely at most records.

const { createByteSearch } = require('./lib/byte-search')
const { createSelect } = require('./lib/select')
const { createTextSearch, WordMarks, OFFSET_MAX, WORD_SIZE } = require('./lib/text-search')
const { matches, parseWhere } = require('./lib/where')

/**
 * @typedef {import('./lib/where').Where} Where
 * @typedef {import('./lib/where').Condition} Condition
 * @typedef {import('./lib/where').Primitive} Primitive
 * @typedef {import('./lib/select').Records} Records
 * @typedef {import('./lib/select').Search} Search
 * @typedef {import('./lib/select').Select} Select
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
