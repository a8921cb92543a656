'use strict'
// A stream whose items cost little, but are many between two reads of the file.

const { createEventLoopRow } = require('../lib/event-loop-row')
const { openItems } = require('../lib/readers')

module.exports = createEventLoopRow({
  name: 'event-loop-items',
  order: 61,
  what: 'longest block, stream of items : 6 ms'
}, { log: 'json', framing: 'offset32' }, ({ path }) => openItems(path))
