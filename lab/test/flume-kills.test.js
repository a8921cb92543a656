'use strict'
// flumedb's views after their process was killed. `node lab/campaigns/flume` does more of it.

const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { runKills } = require('../campaigns/flume/run-kills')

const KILL_COUNT = 2
const seed = Date.now() % 2 ** 31

for (const framing of ['checked', 'offset32', 'offset48', 'offset53']) {
  tape(`flumedb on ${framing}: killed in the middle of appends, the views agree with the log (seed ${seed})`, async (t) => {
    const file = newPath('flume', 'log')
    const { faults, count } = await runKills({ file, framing, rounds: KILL_COUNT, seed })
    t.deepEqual(faults, [])
    t.ok(count > 0, `${count} records`)
  })
}
