'use strict'
// What finding the records costs, where nothing is verified.

const { createLoopRow } = require('../lib/loop-row')
const { openScan } = require('../lib/scan-log')

module.exports = createLoopRow({
  name: 'scan-offset',
  order: 6,
  what: 'scan, offset framing : bare loop',
  drawn: 'every record, offset framing',
  goal: 1.2,
  samples: 9
}, { log: 'json', framing: 'offset32', open: ({ path }) => openScan(path) })
