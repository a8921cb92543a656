'use strict'
// A scan lets others have their turn, though it reads synchronously and verifies what it reads.

const { createEventLoopRow } = require('../lib/event-loop-row')
const { openScanReader } = require('../lib/readers')

module.exports = createEventLoopRow({
  name: 'event-loop',
  order: 60,
  what: 'longest block, scan, verified : 6 ms'
}, { log: 'json', framing: 'checked' }, ({ path }) => openScanReader(path, 'json'))
