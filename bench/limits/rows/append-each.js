'use strict'
// One record a call, with a callback each: how the log puts together what comes in one by one.

const { createBatchRow } = require('../lib/batch-row')
const { openFlumelog } = require('../lib/batch-stores')

module.exports = createBatchRow({
  name: 'append-each',
  order: 57,
  what: 'append one by one : flumelog-offset',
  goal: 1 / 2.8
}, { batchSize: 1, inFlight: 1000, peer: openFlumelog })
