'use strict'
// The same query on a log of JSON, where every record is parsed and the field compared.

const { createReadRow } = require('../lib/read-row')
const { openQuery } = require('../lib/query-row')
const { openParseAndCompare } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

const row = createReadRow({
  name: 'binary-root-parse',
  order: 19.5,
  what: 'binary, root == X : JSON, parse, compare',
  goal: 1 / 15,
  isSpeed: true,
  samples: 5,
  ours: { open: (found) => openQuery(found, 'binary') },
  peer: {
    open: async ({ json, root }) => {
      return timeReader(await openParseAndCompare(json, root), { decode: 'json', every: 1, keys: ['records', 'digest'] })
    },
    samples: 1
  }
}, { log: 'binary', framing: 'offset32', query: 'root' })

/** @type {import('../lib/shapes').Row} */
module.exports = {
  ...row,
  async prepare (context) {
    const { path: json } = await context.findLog('json', 'offset32')
    return { ...await row.prepare(context), json }
  }
}
