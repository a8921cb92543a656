'use strict'
// Processes race for one log. `node lab/campaigns/lock-race` does more of it.

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runLockRace } = require('../campaigns/lock-race/run-lock-race')

const ROUND_COUNT = inQuickRuns(10)
const seed = Date.now() % 2 ** 31

tape(`lock: processes race for a log, and one wins (seed ${seed})`, async (t) => {
  const { failures, figures } = await runLockRace({ rounds: ROUND_COUNT, processes: 8, seed, print: () => {} })
  t.deepEqual(failures, [])
  t.equal(figures.winners, ROUND_COUNT)
  t.equal(figures.refused, 7 * ROUND_COUNT)
})
