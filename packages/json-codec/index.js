'use strict'
// JSON records: the codec, whose filter parses only the records that may match.

const { jsonCodec } = require('./lib/json-codec')

exports.jsonCodec = jsonCodec
