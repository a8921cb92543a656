'use strict'
// What the blocks of a file cost on top of reading it.

const { BLOCKS_EVERY, openBareLoop } = require('../lib/bare-loop')
const { createLoopRow } = require('../lib/loop-row')
const { openBlocks } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

/** @type {import('../lib/time-reader').Kind} */
const KIND = { every: BLOCKS_EVERY, keys: ['records', 'delivered', 'seqSum', 'digest'] }

const row = createLoopRow({
  name: 'file',
  order: 5,
  what: 'BlockFile.scan, 64 KiB : bare loop',
  drawn: 'every block',
  goal: 1.1,
  samples: 9
}, {
  log: 'json',
  framing: 'offset32',
  open: async ({ path }) => timeReader(await openBlocks(path), KIND)
})

/** @type {import('../lib/shapes').Row} */
module.exports = {
  ...row,
  async prepare (context) {
    const { path } = await context.findLog('json', 'offset32')
    return { path }
  },
  peer: { open: ({ path }) => openBareLoop(path, { isTallied: true }) }
}
