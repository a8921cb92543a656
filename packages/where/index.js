'use strict'
// The filter that a log pushes down to its codec: its one shape, the slow, obvious answer every codec must equal, and
// the searches that spare looking closely at most records.

const { createByteSearch } = require('./lib/byte-search')
const { LEVEL_NAMES, labelOf, toLevel } = require('./lib/levels')
const { createLogCheck, levelFilter, timeBoundsOf, timeFilter } = require('./lib/log-filters')
const { findLevel, findTime } = require('./lib/log-records')
const { createMatch, createValueMatch, isFilter, matches } = require('./lib/matches')
const { compareTexts } = require('./lib/operators')
const { createSearches, planWhere } = require('./lib/plan')
const { createCheckedSearch, createSelect } = require('./lib/select')
const { createTextSearch, OFFSET_MAX, WORD_SIZE } = require('./lib/text-search')
const { parseTime, toInstant, toNanoseconds } = require('./lib/times')
const { parseWhere } = require('./lib/where')

/**
 * @typedef {import('./lib/where').Where} Where
 * @typedef {import('./lib/where').Filter} Filter
 * @typedef {import('./lib/where').Condition} Condition
 * @typedef {import('./lib/where').Step} Step
 * @typedef {import('./lib/plan').Leaf} Leaf
 * @typedef {import('./lib/plan').Plan} Plan
 * @typedef {import('./lib/where').Primitive} Primitive
 * @typedef {import('./lib/where').LogBounds} LogBounds
 * @typedef {import('./lib/log-records').FoundTime} FoundTime
 * @typedef {import('./lib/log-records').FoundLevel} FoundLevel
 * @typedef {import('./lib/levels').Level} Level
 * @typedef {import('./lib/times').Instant} Instant
 * @typedef {import('./lib/select').Records} Records
 * @typedef {import('./lib/select').Search} Search
 * @typedef {import('./lib/select').Select} Select
 * @typedef {import('./lib/text-search').Text} Text
 * @typedef {import('./lib/text-search').Part} Part
 */

/**
 * @template T
 * @template W
 * @typedef {import('./lib/where').Checked<T, W>} Checked
 */

exports.parseWhere = parseWhere
exports.matches = matches
exports.timeFilter = timeFilter
exports.levelFilter = levelFilter
exports.createLogCheck = createLogCheck
exports.timeBoundsOf = timeBoundsOf
exports.findTime = findTime
exports.findLevel = findLevel
exports.parseTime = parseTime
exports.toInstant = toInstant
exports.toNanoseconds = toNanoseconds
exports.toLevel = toLevel
exports.labelOf = labelOf
exports.LEVEL_NAMES = LEVEL_NAMES
exports.createMatch = createMatch
exports.createValueMatch = createValueMatch
exports.isFilter = isFilter
exports.compareTexts = compareTexts
exports.planWhere = planWhere
exports.createSearches = createSearches
exports.createSelect = createSelect
exports.createByteSearch = createByteSearch
exports.createCheckedSearch = createCheckedSearch
exports.createTextSearch = createTextSearch
exports.OFFSET_MAX = OFFSET_MAX
exports.WORD_SIZE = WORD_SIZE
