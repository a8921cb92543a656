'use strict'
// Many live readers of one log at once. The whole of it, with its memory: node lab/campaigns/readers

const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { runReaders } = require('../campaigns/readers/run-readers')

for (const framing of ['checked', 'offset32']) {
  tape(`readers: ${framing}: fifty live ones, one of them slow, each see all in order`, async (t) => {
    const options = { folder: temporaryFolder(), readers: 50, records: 2000, slowMs: 0.1, framing }
    const { faults } = await runReaders(options)
    t.deepEqual(faults, [])
  })
}
