'use strict'
// The same from a log that verifies whatever it reads.

const { createGetRow } = require('../lib/get-row')
const { openFlumelogGetter, openMillraceGetter } = require('../lib/getters')

module.exports = createGetRow({
  name: 'get-checked',
  order: 72,
  what: 'get at random, verified : flumelog-offset',
  goal: 1 / 3.5,
  async prepare ({ findLog }) {
    const [{ path: checked }, { path: old }] = [await findLog('json', 'checked'), await findLog('json', 'offset32')]
    return { checked, old }
  }
}, {
  ours: ({ checked }) => openMillraceGetter(checked),
  peer: ({ old }) => openFlumelogGetter(old)
})
