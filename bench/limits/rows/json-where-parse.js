'use strict'
// The same query, and what it takes to parse every record and compare the field.

const { createReadRow } = require('../lib/read-row')
const { openQuery } = require('../lib/query-row')
const { openParseAndCompare } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

module.exports = createReadRow({
  name: 'json-where-parse',
  order: 17,
  what: 'JSON where : parse and compare',
  drawnBeside: { row: 'json-where', label: 'parse and compare' },
  goal: 1 / 12,
  isSpeed: true,
  samples: 5,
  ours: { open: (found) => openQuery(found, 'json') },
  peer: {
    open: async ({ path, root }) => {
      return timeReader(await openParseAndCompare(path, root), { decode: 'json', every: 1, keys: ['records', 'digest'] })
    },
    samples: 1
  }
}, { log: 'json', framing: 'offset32', query: 'root' })
