'use strict'
// A value so short that many records have its bytes somewhere.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'binary-short',
  order: 19.6,
  what: 'binary, short value : bare loop',
  drawn: 'a binary query, a short value',
  goal: 2.3,
  samples: 7
}, { log: 'binary', query: 'short' })
