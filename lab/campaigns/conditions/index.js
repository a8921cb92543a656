'use strict'
// Appends with conditions by many callers, for as long as it is told: through power cuts; or by processes that are
// killed; or by threads over HTTP, to a server that is killed; or to small logs in memory, and a model judges.

const path = require('node:path')
const { createRandom } = require('@millrace/testkit')
const { SEED, UsageError, newSeed, runCommand } = require('../../command')
const { seededRandom } = require('../../torture/seeded')
const { runHttp } = require('./http')
const { runKills } = require('./kills')
const { runPowerCuts } = require('./power-cuts')
const { loadModules, playSmallLog } = require('./small-logs')

const LOG_MODULE = path.dirname(require.resolve('@millrace/offset-log'))
const PLACES = ['kill', 'http', 'small']

/** @typedef {(seed: number, round: number) => Promise<{ faults: string[] } & Record<string, any>>} Play */

/** @param {Record<string, any>} values @returns {Play} */
function choosePlay ({ kill, http, small }) {
  if (kill) return (seed, round) => runKills(seed + round)
  if (http) return (seed, round) => runHttp(seed + round)
  if (!small) return (seed, round) => runPowerCuts(createRandom(seed + round))
  const modules = loadModules(LOG_MODULE)
  return (seed, round) => playSmallLog(modules, seededRandom(seed, round))
}

runCommand({
  name: 'conditions',
  run: 'node lab/campaigns/conditions',
  about: 'Appends with conditions, by many callers: none is broken, and each refusal has a reason. With power cuts, if no option says otherwise.',
  options: {
    seconds: { kind: 'number', default: 60, about: 'how long' },
    seed: SEED,
    kill: { kind: 'switch', about: 'processes that are killed, instead' },
    http: { kind: 'switch', about: 'threads that append over HTTP to a server that is killed, instead' },
    small: { kind: 'switch', about: 'small logs in memory, whose history a model judges, instead' }
  },
  check (values) {
    const [first, second] = PLACES.filter((name) => values[name])
    if (second) throw new UsageError(`--${first} and --${second} do not go together`)
  }
}, async ({ seconds, seed = newSeed(), ...values }) => {
  const endMs = performance.now() + 1000 * seconds
  const play = choosePlay(values)
  /** @type {Record<string, number>} */
  const sums = { rounds: 0, faults: 0 }
  while (performance.now() < endMs) {
    const round = sums.rounds++
    const { faults, ...figures } = await play(seed, round)
    for (const [name, count] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + count
    sums.faults += faults.length
    for (const fault of faults.slice(0, 5)) console.log(`FAILED  round ${round}: ${fault}`)
  }
  console.log(`conditions: ${JSON.stringify(sums)}; seed ${seed}`)
  return sums.faults > 0
})
