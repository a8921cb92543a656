'use strict'
// A scan that hands out hardly anything, so that whoever reads has no turn of his own.

const { createEventLoopRow } = require('../lib/event-loop-row')
const { openScanReader } = require('../lib/readers')

module.exports = createEventLoopRow({
  name: 'event-loop-where',
  order: 63,
  what: 'longest block, JSON where : 6 ms'
}, { log: 'json', framing: 'offset32', query: 'root' }, ({ path, where }) => openScanReader(path, 'json', where))
