'use strict'
// The query of the bench: a long value that is searched for in the bytes.

const { createQueryRow } = require('../lib/query-row')

module.exports = createQueryRow({
  name: 'binary-root',
  order: 18,
  what: 'binary, root == X : bare loop',
  drawn: 'a binary query, root == X',
  goal: 1.6,
  samples: 7
}, { log: 'binary', query: 'root' })
