'use strict'
// A tree of pages in memory that is a file.

const { createBatchRow } = require('../lib/batch-row')
const { openLmdb } = require('../lib/batch-stores')
const { lmdb } = require('../lib/optional')

module.exports = createBatchRow({
  name: 'append-lmdb',
  order: 53,
  what: 'append, batches of 100 : LMDB',
  goal: 1 / 4,
  needs: lmdb
}, { batchSize: 100, inFlight: 10, peer: openLmdb })
