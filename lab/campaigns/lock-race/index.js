'use strict'
// Processes race for one log, many times.

const { SEED, runCommand } = require('../../command')
const { runLockRace } = require('./run-lock-race')

runCommand({
  name: 'lock-race',
  run: 'node lab/campaigns/lock-race',
  about: 'Lets processes race to open one log for writing: one of them must succeed, and the others must learn that they did not. ' +
    'Half of the rounds begin with the lock of a process that was killed, some with what others left who were killed while they took ' +
    'that over; in some rounds the processes are new.',
  options: {
    rounds: { kind: 'integer', default: 200, about: 'how many' },
    processes: { kind: 'integer', default: 8, about: 'how many race' },
    seed: SEED
  }
}, async (options) => {
  const { failures } = await runLockRace(/** @type {any} */ (options))
  return failures.length > 0
})
