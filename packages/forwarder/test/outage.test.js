'use strict'
// A long backlog takes no more memory than a short one.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')

tape('outage: a backlog of 25 MB waits in the log, not in memory, and then drains in order', (t) => {
  const args = ['--expose-gc', path.join(__dirname, 'outage.js'), '100000', 'http']
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 })
  t.equal(stderr, '')
  const { forwarded, memoryDownMiB } = JSON.parse(stdout)
  t.equal(forwarded, 100_000)
  t.ok(memoryDownMiB < 50, `${memoryDownMiB} MiB more while the sink is down`)
  t.end()
})
