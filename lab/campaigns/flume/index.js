'use strict'
// flumedb killed in the middle of appends, many times.

const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { SEED, newSeed, runCommand } = require('../../command')
const { runKills } = require('./run-kills')

runCommand({
  name: 'flume',
  run: 'node lab/campaigns/flume',
  about: 'Kills flumedb in the middle of appends; afterwards its log and its views have the same records.',
  options: {
    framing: { default: 'checked', about: 'of the log' },
    rounds: { kind: 'integer', default: 100, about: 'how often it is killed' },
    seed: SEED
  }
}, async ({ framing, rounds, seed = newSeed() }) => {
  const file = path.join(temporaryFolder(), 'flume', 'log')
  const { faults, count } = await runKills({ file, framing, rounds, seed })
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(`flume: killed ${rounds} times, ${count} records, ${faults.length} faults; seed ${seed}`)
  return faults.length > 0
})
