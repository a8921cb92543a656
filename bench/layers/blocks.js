'use strict'
// As many reads as there are messages, more or less, but none that crosses from one block into the next.

const { ByteTally } = require('../lib/tally')

/** @type {import('../lib/shapes').Layer} */
module.exports = {
  name: 'blocks',
  order: 20,
  meaning: '1 KiB sections of the blocks',
  log: 'json',
  primitive: 'sections',
  delivers: 'file',
  perBlockSize: false,
  createTally: () => new ByteTally({ every: 1000 })
}
