'use strict'
// Records that are in the cache, beside the same records in a Map. The cache hands out copies.

const { createGetRow } = require('../lib/get-row')
const { openMapGetter, openMillraceGetter } = require('../lib/getters')

// More than the log: it is all there after the first samples.
const CACHE_SIZE = 400 * 1024 * 1024

module.exports = createGetRow({
  name: 'get-cache',
  order: 73,
  what: 'get from the cache : a Map of Buffers',
  goal: 1 / 0.25,
  prepare: async ({ findLog }) => ({ path: (await findLog('json', 'offset32')).path })
}, {
  ours: ({ path }) => openMillraceGetter(path, { cache: CACHE_SIZE }),
  peer: ({ path }) => openMapGetter(path)
})
