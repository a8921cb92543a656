'use strict'
// What records cost one by one, as most programs want them.

const { createLoopRow } = require('../lib/loop-row')
const { openItems } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

module.exports = createLoopRow({
  name: 'items',
  order: 12,
  what: 'stream of { seq, value } : bare loop',
  drawn: 'a stream of items',
  goal: 3,
  samples: 7
}, {
  log: 'json',
  framing: 'offset32',
  open: async ({ path }) => timeReader(await openItems(path), { keys: ['records', 'delivered', 'digest', 'seqSum'] })
})
