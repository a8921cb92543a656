'use strict'
// A scan needs a window, however long the log is.

const { openCount } = require('../lib/count-records')
const { createLimit, createMemoryRow, measurePeak } = require('../lib/memory-row')

const LIMIT = 24 * 1024 ** 2

module.exports = createMemoryRow({
  name: 'memory',
  order: 80,
  what: 'memory of a verified scan : 24 MiB',
  goal: 1,
  prepare: async ({ findLog }) => ({ path: (await findLog('json', 'checked')).path }),
  ours: { open: ({ path }) => measurePeak(() => openCount(path)) },
  peer: createLimit(LIMIT)
})
