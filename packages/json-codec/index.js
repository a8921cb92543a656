'use strict'
// JSON records: the codec, whose filter parses only the records that may match.

const { DONE, JsonCheck, MORE, REFUSED, showByte } = require('./lib/json-check')
const { createJsonCodec, jsonCodec } = require('./lib/json-codec')
const { parseText } = require('./lib/parse-text')

exports.jsonCodec = jsonCodec
exports.createJsonCodec = createJsonCodec
exports.JsonCheck = JsonCheck
exports.MORE = MORE
exports.DONE = DONE
exports.REFUSED = REFUSED
exports.showByte = showByte
exports.parseText = parseText
