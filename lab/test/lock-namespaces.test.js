'use strict'
// Processes in several containers race for one file. `node lab/campaigns/lock-namespaces` does more of it.

const tape = require('tape')
const { runNamespaceRace, whyNot } = require('../campaigns/lock-namespaces/run-namespace-race')

const seed = Date.now() % 2 ** 31

tape(`kernel lock: processes in several containers race for one file (seed ${seed})`, { skip: whyNot() ?? false }, async (t) => {
  const { failures, figures } = await runNamespaceRace({ rounds: 9, seed, print: () => {} })
  t.deepEqual(failures, [])
  t.equal(figures.rounds, 9)
})
