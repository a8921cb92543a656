'use strict'
// JSON records: the codec, whose filter parses only the records that may match.

const { isTooDeep, jsonCodec } = require('./lib/json-codec')
const { parseText } = require('./lib/parse-text')

exports.jsonCodec = jsonCodec
exports.isTooDeep = isTooDeep
exports.parseText = parseText
