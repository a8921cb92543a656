'use strict'
// Ten times the log, the same memory.

const { openCount } = require('../lib/count-records')
const { createLargeRow } = require('../lib/large-row')
const { createMemoryRow, measurePeak } = require('../lib/memory-row')
const { FOLD } = require('../lib/ten-fold')

module.exports = createLargeRow(createMemoryRow({
  name: 'large-memory',
  order: 83,
  what: 'memory, ten times the log : of the log',
  // The same, but for what the garbage collector makes of it.
  goal: 1.1,
  prepare: () => {},
  ours: { open: ({ large }) => measurePeak(() => openCount(large), { fold: 1 }) },
  peer: { open: ({ small }) => measurePeak(() => openCount(small), { fold: FOLD }) }
}))
