'use strict'
// What a second core is worth to a scan.

const { createLoopRow } = require('../lib/loop-row')
const { secondCore } = require('../lib/optional')
const { openThreadedScan } = require('../lib/scan-log')

module.exports = createLoopRow({
  name: 'scan-threads',
  order: 12,
  what: 'scan over two threads : bare loop',
  drawn: 'every record, two threads',
  goal: 0.85,
  samples: 15,
  needs: secondCore
}, { log: 'json', framing: 'offset32', open: ({ path }) => openThreadedScan(path, 2) })
