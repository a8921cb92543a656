'use strict'
// The files for systemd and containers, as far as they can be checked without running them.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')

const folder = path.join(__dirname, '..', 'deploy')
const GRACE_S = 5

tape('deploy: the systemd unit is valid, and leaves time to write everything', (t) => {
  const file = path.join(folder, 'millrace.service')
  const unit = fs.readFileSync(file, 'utf8')
  t.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)[1]) > 2 * GRACE_S)
  const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  if (error) t.comment('no systemd-analyze here')
  else t.deepEqual([status, stderr], [0, ''])
  t.end()
})

tape('deploy: the container stops by the signal that the server understands, as a user without rights', (t) => {
  const text = fs.readFileSync(path.join(folder, 'Containerfile'), 'utf8')
  t.match(text, /^STOPSIGNAL SIGTERM$/m)
  t.match(text, /^USER node$/m)
  t.match(text, /^VOLUME \/data$/m)
  t.match(text, /^HEALTHCHECK [\s\S]*\/readyz/m)
  t.end()
})
