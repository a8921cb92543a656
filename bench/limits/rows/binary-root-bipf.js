'use strict'
// The same query by bipf, on the log before this one.

const { openFlumelogBipf } = require('../lib/flumelog-readers')
const { createReadRow } = require('../lib/read-row')
const { openQuery } = require('../lib/query-row')
const { timeReader } = require('../lib/time-reader')

module.exports = createReadRow({
  name: 'binary-root-bipf',
  order: 19,
  what: 'binary, root == X : bipf, flumelog-offset',
  drawnBeside: { row: 'binary-root', label: 'bipf, flumelog-offset' },
  goal: 1 / 8,
  isSpeed: true,
  samples: 5,
  ours: { open: (found) => openQuery(found, 'binary') },
  peer: {
    open: async ({ path, root }) => {
      return timeReader(await openFlumelogBipf(path, root), { decode: 'binary', every: 1, keys: ['records', 'digest'] })
    },
    samples: 1
  }
}, { log: 'binary', framing: 'offset32', query: 'root' })
