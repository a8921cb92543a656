'use strict'
// A reader beside a writer that is killed. `node lab/campaigns/follow` does more of it.

const tape = require('tape')
const { inQuickRuns, isLongRun } = require('@millrace/testkit')
const { runFollow } = require('../campaigns/follow/run-follow')

// The framing that deletes and compacts meanwhile; in the long form the other one, too.
for (const framing of isLongRun ? ['checked', 'offset32'] : ['checked']) {
  tape(`follow: ${framing}: through deletions, kills and recoveries of the writer`, async (t) => {
    const seed = Date.now() % 2 ** 31
    const { faults, records, kills } = await runFollow({ commits: inQuickRuns(800, 2), kills: 3, seed, framing })
    t.deepEqual(faults, [], `seed ${seed}`)
    t.ok(records > inQuickRuns(500, 2) && kills === 3, `${records} records, ${kills} kills`)
  })
}
