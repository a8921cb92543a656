'use strict'
// What is read of a changed run file is right, or refused. The whole of it: node lab/campaigns/run-flips

const tape = require('tape')
const { runFlips } = require('../campaigns/run-flips/run-flips')

tape('run-flips: what is read of changed run files is what was written, or refused', async (t) => {
  const { faults, changes, partly, unharmed } = await runFlips(4000, Date.now() % 2 ** 31)
  t.deepEqual(faults, [])
  t.equal(changes, 4000)
  t.ok(partly > 0, `of ${partly} files some questions were answered`)
  t.equal(unharmed, 0, 'no change is overlooked')
})
