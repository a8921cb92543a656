'use strict'
// The same file read by the log before this one, which keeps the blocks that it has read.

const { openCount, openFlumelogCount } = require('../lib/count-records')
const { createMemoryRow, measurePeak } = require('../lib/memory-row')

module.exports = createMemoryRow({
  name: 'memory-flumelog',
  order: 81,
  what: 'memory of a scan : flumelog-offset',
  goal: 1 / 6,
  prepare: async ({ findLog }) => ({ path: (await findLog('json', 'offset32')).path }),
  ours: { open: ({ path }) => measurePeak(() => openCount(path)) },
  peer: { open: ({ path }) => measurePeak(() => openFlumelogCount(path)) }
})
