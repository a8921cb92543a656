'use strict'
// A stream whose items cost most: each is parsed.

const { jsonCodec } = require('@millrace/json-codec')
const { createEventLoopRow } = require('../lib/event-loop-row')
const { openItems } = require('../lib/readers')

module.exports = createEventLoopRow({
  name: 'event-loop-json',
  order: 62,
  what: 'longest block, stream, JSON : 6 ms',
  samples: 2
}, { log: 'json', framing: 'offset32' }, ({ path }) => openItems(path, { codec: jsonCodec }))
