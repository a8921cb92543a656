'use strict'
// The filter that a log pushes down to its codec: its one shape, and the slow, obvious answer every codec must equal.

const { parseWhere } = require('./lib/parse-where')
const { matches } = require('./lib/matches')

exports.parseWhere = parseWhere
exports.matches = matches
