'use strict'
// Two conditions, of which most records fulfil the first or none.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'binary-two',
  order: 19.8,
  what: 'binary, two paths : bare loop',
  drawn: 'a binary query, two paths',
  goal: 2.3,
  samples: 7
}, { log: 'binary', query: 'two' })
