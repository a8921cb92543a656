'use strict'
// A number has no text to search for.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'binary-number',
  order: 19.7,
  what: 'binary, number : bare loop',
  drawn: 'a binary query, a number',
  goal: 2.3,
  samples: 7
}, { log: 'binary', query: 'number' })
