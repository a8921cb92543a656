'use strict'
// What most programs do, and most of it is JSON.parse.

const { ValueTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'json',
  order: 40,
  meaning: 'every record, parsed as JSON',
  log: 'json',
  primitive: 'values',
  delivers: 'records',
  perBlockSize: false,
  isSlow: true,
  createTally: () => new ValueTally({ every: 1000 })
}
