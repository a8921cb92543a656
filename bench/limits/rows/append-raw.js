'use strict'
// What can be lost at most: the same bytes, already in one piece.

const { createBatchRow } = require('../lib/batch-row')

module.exports = createBatchRow({
  name: 'append-raw',
  order: 56,
  what: 'append, batches of 100 : raw write',
  goal: 1 / 0.35
}, { batchSize: 100, inFlight: 10, peer: 'raw' })
