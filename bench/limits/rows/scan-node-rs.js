'use strict'
// What verifying costs with the faster checksum.

const { nodeRsCrc32 } = require('../lib/optional')
const { createScanRow } = require('../lib/scan-row')

module.exports = createScanRow({
  name: 'scan-node-rs',
  order: 11,
  what: 'verified scan, @node-rs/crc32 : bare loop',
  drawn: 'every record, verified, node-rs',
  goal: 1.6,
  needs: nodeRsCrc32
})
