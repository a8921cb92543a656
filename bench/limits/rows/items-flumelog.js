'use strict'
// The same items from the same file, by the log before this one.

const { openFlumelogItems } = require('../lib/flumelog-readers')
const { createReadRow } = require('../lib/read-row')
const { openItems } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

/** @type {import('../lib/time-reader').Kind} */
const KIND = { keys: ['records', 'delivered', 'digest', 'seqSum'] }

module.exports = createReadRow({
  name: 'items-flumelog',
  order: 13,
  what: 'stream of { seq, value } : flumelog-offset',
  drawnBeside: { row: 'items', label: 'flumelog-offset' },
  goal: 1 / 8,
  isSpeed: true,
  samples: 5,
  ours: { open: async ({ path }) => timeReader(await openItems(path), KIND) },
  peer: { open: async ({ path }) => timeReader(await openFlumelogItems(path), KIND), samples: 1 }
}, { log: 'json', framing: 'offset32' })
