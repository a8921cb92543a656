'use strict'
// The least that a scan of the binary log can cost: no byte of a record is looked at.

const { BoundaryTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'stream',
  order: 50,
  meaning: 'record boundaries of the binary log',
  log: 'binary',
  primitive: 'boundaries',
  delivers: 'records',
  perBlockSize: false,
  createTally: () => new BoundaryTally({ every: 1000 })
}
