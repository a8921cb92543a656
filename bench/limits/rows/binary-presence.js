'use strict'
// A field that some records have: it is walked to, and nothing is compared.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'binary-presence',
  order: 19.85,
  what: 'binary, presence : bare loop',
  drawn: 'a binary query, presence',
  goal: 2.3,
  samples: 7
}, { log: 'binary', query: 'presence' })
