'use strict'
// All parts on one box, as processes that are killed. `node lab/campaigns/one-box` does more of it.

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runOneBox } = require('../campaigns/one-box/run-one-box')

tape('one-box: whoever reads beside a writer that is killed gets the answers of a scan', async (t) => {
  const seed = Date.now() % 2 ** 31
  for (let box = 0; box < inQuickRuns(20, 20); box++) {
    const { faults } = await runOneBox({ seed: seed + box, rounds: 2, roundMs: 1000 })
    t.deepEqual(faults, [], `seed ${seed + box}`)
  }
})
