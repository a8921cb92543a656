'use strict'
// Records at random from a log that is five times the cache, as the log before this one has it.

const { createGetRow } = require('../lib/get-row')
const { openFlumelogGetter, openMillraceGetter } = require('../lib/getters')

module.exports = createGetRow({
  name: 'get-flumelog',
  order: 70,
  what: 'get at random : flumelog-offset',
  goal: 1 / 10,
  prepare: async ({ findLog }) => ({ path: (await findLog('json', 'offset32')).path })
}, {
  ours: ({ path }) => openMillraceGetter(path),
  peer: ({ path }) => openFlumelogGetter(path)
})
