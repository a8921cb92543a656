'use strict'
// A box on which all parts run together, with a seed.

const { SEED, newSeed, runCommand } = require('../../command')
const { runOneBox } = require('./run-one-box')

runCommand({
  name: 'one-box',
  run: 'node lab/campaigns/one-box',
  about: 'Processes that write, follow, ship, serve and copy logs are killed, and files removed, moved and restored: ' +
    'all answers are those of a scan.',
  options: {
    boxes: { kind: 'integer', default: 20, about: 'how many, each with its own seed and kind of log' },
    rounds: { kind: 'integer', default: 4, about: 'of a box: after each, all are at rest, and the log is checked' },
    'round-ms': { kind: 'integer', default: 3000, about: 'how long a round goes on' },
    kind: { oneOf: ['checked', 'lines', 'segments', 'line-segments'], about: 'of the log; by default by the seed' },
    verbose: { kind: 'switch', about: 'prints each process' },
    seed: SEED
  }
}, async ({ boxes, rounds, 'round-ms': roundMs, kind, verbose = false, seed = newSeed() }) => {
  const figures = { kills: 0, records: 0, asked: 0, faults: 0 }
  for (let box = 0; box < boxes; box++) {
    const print = verbose ? console.log : () => {}
    const { faults, kills, records, asked } = await runOneBox({ seed: seed + box, rounds, roundMs, kind, print })
    for (const fault of faults) console.log(`FAILED  ${fault}`)
    figures.kills += kills
    figures.records += records
    figures.asked += asked
    figures.faults += faults.length
  }
  console.log(`one-box: ${boxes} boxes, ${JSON.stringify(figures)}; seed ${seed}`)
  return figures.faults > 0
})
