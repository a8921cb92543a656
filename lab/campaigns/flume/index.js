'use strict'
// flumedb killed in the middle of appends: flumedb-recovery.test.js does it a few times.
// Usage: node lab/campaigns/flume [--framing checked] [--rounds 100] [--seed N]

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { runKills } = require('./run-kills')

const { values } = parseArgs({
  options: {
    framing: { type: 'string', default: 'checked' },
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) }
  }
})

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-flume-'))
const { framing } = values
const [rounds, seed] = [Number(values.rounds), Number(values.seed)]
runKills({ file: path.join(folder, 'flume', 'log'), framing, rounds, seed }).then(({ faults, count }) => {
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(`flume: killed ${rounds} times, ${count} records, ${faults.length} faults; seed ${seed}`)
  process.exitCode = faults.length > 0 ? 1 : 0
}).finally(() => fs.rmSync(folder, { recursive: true, force: true }))
