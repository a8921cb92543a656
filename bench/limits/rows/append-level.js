'use strict'
// A log, and the sorted tables that are made of it.

const { createBatchRow } = require('../lib/batch-row')
const { openLevel } = require('../lib/batch-stores')
const { classicLevel } = require('../lib/optional')

module.exports = createBatchRow({
  name: 'append-level',
  order: 54,
  what: 'append, batches of 100 : LevelDB',
  goal: 1 / 5,
  needs: classicLevel
}, { batchSize: 100, inFlight: 10, peer: openLevel, samples: 11 })
