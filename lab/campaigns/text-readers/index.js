'use strict'
// Programs that know nothing of logs read logs of lines while these are written and rotated.
// Usage: node lab/campaigns/text-readers [--minutes 1] [--rate 200] [--seed N]

const { parseArgs } = require('node:util')
const { runTextReaders } = require('./run-text-readers')

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    rate: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) }
  }
})

const [seconds, rate, seed] = [60 * Number(values.minutes), Number(values.rate), Number(values.seed)]
runTextReaders({ seconds, rate, seed }).then(({ faults, ...figures }) => {
  for (const fault of faults.slice(0, 20)) console.log(`FAILED  ${fault}`)
  console.log(`text-readers: ${JSON.stringify(figures)}, ${faults.length} faults; seed ${seed}`)
  process.exitCode = faults.length > 0 ? 1 : 0
})
