'use strict'
// Appends with conditions by many callers, through power cuts and kills, for as long as it is told.
// Usage: node lab/campaigns/conditions [--seconds 60] [--seed N] [--kill]

const { parseArgs } = require('node:util')
const { createRandom } = require('@millrace/testkit')
const { runKills } = require('./kills')
const { runPowerCuts } = require('./power-cuts')

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    kill: { type: 'boolean', default: false }
  }
})

async function main () {
  const seed = Number(values.seed)
  const endMs = performance.now() + 1000 * Number(values.seconds)
  const sums = { rounds: 0, images: 0, kills: 0, acceptedCount: 0, refusedCount: 0, faults: 0 }
  while (performance.now() < endMs) {
    const round = sums.rounds++
    const run = () => values.kill ? runKills(seed + round) : runPowerCuts(createRandom(seed + round))
    const { faults, ...figures } = await run()
    for (const [name, count] of Object.entries(figures)) sums[/** @type {keyof sums} */ (name)] += count
    sums.faults += faults.length
    for (const fault of faults.slice(0, 5)) console.log(`FAILED  round ${round}: ${fault}`)
  }
  console.log(`conditions: ${JSON.stringify(sums)}; seed ${seed}`)
  process.exitCode = sums.faults > 0 ? 1 : 0
}

main().catch((err) => {
  console.error(err)
  process.exitCode = 2
})
