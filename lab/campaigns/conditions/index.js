'use strict'
// Appends with conditions by many callers, for as long as it is told: through power cuts; or by processes that are
// killed; or by threads over HTTP, to a server that is killed; or to small logs in memory, and a model judges.
// Usage: node lab/campaigns/conditions [--seconds 60] [--seed N] [--kill | --http | --small]

const path = require('node:path')
const { parseArgs } = require('node:util')
const { createRandom } = require('@millrace/testkit')
const { seededRandom } = require('../../torture/seeded')
const { runHttp } = require('./http')
const { runKills } = require('./kills')
const { runPowerCuts } = require('./power-cuts')
const { loadModules, playSmallLog } = require('./small-logs')

const LOG_MODULE = path.dirname(require.resolve('@millrace/offset-log'))

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    kill: { type: 'boolean', default: false },
    http: { type: 'boolean', default: false },
    small: { type: 'boolean', default: false }
  }
})

const modules = loadModules(LOG_MODULE)

/** @typedef {(seed: number, round: number) => Promise<{ faults: string[] } & Record<string, any>>} Run */

/** @type {Run} */
const playWithCuts = (seed, round) => runPowerCuts(createRandom(seed + round))
/** @type {Run} */
const playSmall = (seed, round) => playSmallLog(modules, seededRandom(seed, round))
/** @type {Run} */
const playKills = (seed, round) => runKills(seed + round)
/** @type {Run} */
const playHttp = (seed, round) => runHttp(seed + round)

async function main () {
  const seed = Number(values.seed)
  const endMs = performance.now() + 1000 * Number(values.seconds)
  const run = values.kill ? playKills : values.http ? playHttp : values.small ? playSmall : playWithCuts
  /** @type {Record<string, number>} */
  const sums = { rounds: 0, faults: 0 }
  while (performance.now() < endMs) {
    const round = sums.rounds++
    const { faults, ...figures } = await run(seed, round)
    for (const [name, count] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + count
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
