// @ts-nocheck
'use strict'
// Folders whose processes are killed while people move, copy and restore them, with a seed.

const { SEED, newSeed, runCommand } = require('../../command')
const { runFolder } = require('./run-folder')
const { KINDS } = require('./setting')

runCommand({
  name: 'folder-kills',
  run: 'node lab/campaigns/folder-kills',
  about: 'Processes are killed in a folder that is moved, copied, restored and cut meanwhile: views, indexes, cursors and ' +
    'holds agree with the log that the next one opens.',
  options: {
    folders: { kind: 'integer', default: 20, about: 'how many, each with its own seed and kind of log' },
    rounds: { kind: 'integer', default: 4, about: 'of a folder: after each, it is checked, and changed at rest' },
    kind: { oneOf: KINDS, about: 'of the log; by default by the seed' },
    verbose: { kind: 'switch', about: 'prints each step' },
    seed: SEED
  }
}, async ({ folders, rounds, kind, verbose = false, seed = newSeed() }) => {
  let count = 0
  for (let folder = 0; folder < folders; folder++) {
    const faults = await runFolder({ seed: seed + folder, rounds, kind, print: verbose ? console.log : () => {} })
    for (const fault of faults) console.log(`FAILED  ${fault}`)
    count += faults.length
  }
  console.log(`folder-kills: ${folders} folders, ${count} faults; seed ${seed}`)
  return count > 0
})
