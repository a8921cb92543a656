'use strict'
// Run files of an index with flipped or lost bytes: whatever is read of one is what was written, or it is damaged.
// `npm run fuzz -- --only index` asks an index that has such files: a hundred times slower, and of more kinds.

const { SEED, newSeed, runCommand } = require('../../command')
const { runFlips } = require('./run-flips')

runCommand({
  name: 'run-flips',
  run: 'node lab/campaigns/run-flips',
  about: 'Flips and cuts bytes of the run files of an index: what is read then is right, or refused.',
  options: {
    changes: { kind: 'integer', default: 1_000_000, about: 'how many changed files are read' },
    seed: SEED
  }
}, async ({ changes, seed = newSeed() }) => {
  const { faults, ...sums } = await runFlips(changes, seed)
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(`run-flips: ${JSON.stringify(sums)}; ${faults.length} faults; seed ${seed}`)
  return faults.length > 0
})
