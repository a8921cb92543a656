'use strict'
// Lets processes race to open one log for writing, many times: never two of them may succeed, and never none.

const { parseArgs } = require('node:util')
const { runLockRace } = require('./run-lock-race')

const USAGE = `Lets processes race to open one log for writing: one of them must succeed, and the others must learn that they did not.
Half of the rounds begin with the lock of a process that was killed, some with what others left who were killed while
they took that over; in some rounds the processes are new.

  node lab/campaigns/lock-race [options]

  --rounds N      200 by default
  --processes N   8 by default
  --seed N        of all that is random; printed, and different every time, by default

The exit code is 1 after a failure.`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    processes: { type: 'string', default: '8' },
    seed: { type: 'string' },
    help: { type: 'boolean' }
  }
})

if (values.help) {
  console.log(USAGE)
} else {
  const seed = values.seed === undefined ? undefined : Number(values.seed)
  runLockRace({ rounds: Number(values.rounds), processes: Number(values.processes), seed }).then(({ failures }) => {
    process.exitCode = failures.length > 0 ? 1 : 0
  })
}
