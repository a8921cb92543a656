'use strict'
// The log before this one, which syncs nothing either.

const { createBatchRow } = require('../lib/batch-row')
const { openFlumelog } = require('../lib/batch-stores')

module.exports = createBatchRow({
  name: 'append-flumelog',
  order: 52,
  what: 'append, batches of 100 : flumelog-offset',
  goal: 1 / 3.5
}, { batchSize: 100, inFlight: 10, peer: openFlumelog })
