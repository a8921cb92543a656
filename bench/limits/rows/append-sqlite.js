'use strict'
// A transaction for each batch, not synced.

const { createBatchRow } = require('../lib/batch-row')
const { openSqlite } = require('../lib/batch-stores')
const { betterSqlite3 } = require('../lib/optional')

module.exports = createBatchRow({
  name: 'append-sqlite',
  order: 55,
  what: 'append, batches of 100 : SQLite, WAL',
  goal: 1 / 5,
  needs: betterSqlite3
}, { batchSize: 100, inFlight: 10, peer: openSqlite, samples: 11 })
