'use strict'
// A folder whose processes are killed while people move, copy and restore it. `node lab/campaigns/folder-kills` does
// more.

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runFolder } = require('../campaigns/folder-kills/run-folder')
const { KINDS } = require('../campaigns/folder-kills/setting')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

for (let folder = 0; folder < inQuickRuns(50, 50); folder++) {
  const kind = process.env.SEED ? undefined : KINDS[(seed + folder) % KINDS.length]
  tape(`folder kills: whatever was done to a folder, the next open needs nobody, and all agrees with the log (seed ${seed + folder})`, async (t) => {
    t.deepEqual(await runFolder({ seed: seed + folder, rounds: 2, kind }), [])
  })
}
