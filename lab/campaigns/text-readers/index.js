'use strict'
// Other programs beside a writer of lines, for long.

const { SEED, newSeed, runCommand } = require('../../command')
const { runTextReaders } = require('./run-text-readers')

runCommand({
  name: 'text-readers',
  run: 'node lab/campaigns/text-readers',
  about: 'tail -F, grep, jq, Python and a shipper read logs of lines while these are written.',
  options: {
    minutes: { kind: 'number', default: 1, about: 'how long' },
    rate: { kind: 'integer', default: 200, about: 'how many records a second are appended' },
    seed: SEED
  }
}, async ({ minutes, rate, seed = newSeed() }) => {
  const { faults, ...figures } = await runTextReaders({ seconds: 60 * minutes, rate, seed })
  for (const fault of faults.slice(0, 20)) console.log(`FAILED  ${fault}`)
  console.log(`text-readers: ${JSON.stringify(figures)}, ${faults.length} faults; seed ${seed}`)
  return faults.length > 0
})
