'use strict'
// The same, beside a tree whose pages are the page cache itself.

const path = require('node:path')
const { createGetRow } = require('../lib/get-row')
const { fillLmdb, openLmdbGetter, openMillraceGetter } = require('../lib/getters')
const { lmdb } = require('../lib/optional')

module.exports = createGetRow({
  name: 'get-lmdb',
  order: 71,
  what: 'get at random : LMDB',
  goal: 1 / 1.1,
  needs: lmdb,
  async prepare ({ findLog, folder }) {
    const { path: log } = await findLog('json', 'offset32')
    const file = path.join(folder, 'data.mdb')
    await fillLmdb(file, log)
    return { log, file }
  }
}, {
  ours: ({ log }) => openMillraceGetter(log),
  peer: ({ file }) => openLmdbGetter(file)
})
