'use strict'
// What the log itself costs, on top of the file.

const { ByteTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'log',
  order: 30,
  meaning: 'every record, not parsed',
  log: 'json',
  primitive: 'records',
  delivers: 'records',
  perBlockSize: false,
  createTally: () => new ByteTally({ every: 1000 })
}
