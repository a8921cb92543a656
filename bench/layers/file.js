'use strict'
// The floor: what the disk, or the page cache, can give. Blocks are few, so every hundredth is kept.

const { ByteTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'file',
  order: 10,
  meaning: 'every block, start to end',
  log: 'json',
  primitive: 'blocks',
  delivers: 'file',
  perBlockSize: true,
  createTally: () => new ByteTally({ every: 100 })
}
