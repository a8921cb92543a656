'use strict'
// The block size is the unit of caching: a scan must not care. It took the log before this one 9.5 times as long.

const { createReadRow } = require('../lib/read-row')
const { BLOCK_SIZE, openScan } = require('../lib/scan-log')

module.exports = createReadRow({
  name: 'small-blocks',
  order: 14,
  what: 'scan, 1 KiB blocks : 64 KiB blocks',
  goal: 1.3,
  samples: 7,
  ours: { open: ({ path }) => openScan(path, { blockSize: 1024 }) },
  peer: { open: ({ path }) => openScan(path, { blockSize: BLOCK_SIZE }) }
}, { log: 'json', framing: 'offset32' })
