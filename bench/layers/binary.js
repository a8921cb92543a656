'use strict'
// value.content.root == X without decoding: hits are one in a thousand, so each of them is kept.

const { ByteTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'binary',
  order: 60,
  meaning: 'a query in place, on the binary log',
  log: 'binary',
  primitive: 'matches',
  delivers: 'records',
  perBlockSize: false,
  createTally: () => new ByteTally({ every: 1 })
}
