'use strict'
// A query that parses only what may answer it.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'json-where',
  order: 16,
  what: 'JSON where, 1 in 1,000 : bare loop',
  drawn: 'a query of JSON, 1 in 1,000',
  goal: 1.8,
  samples: 7
}, { log: 'json', query: 'root' })
