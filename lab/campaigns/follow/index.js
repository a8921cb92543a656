'use strict'
// Follows logs through kills for as long as it is told.
// Usage: node lab/campaigns/follow [--commits 10000] [--kills 20] [--seed N] [--framing checked]
//   [--fsync interval]

const { parseArgs } = require('node:util')
const { runFollow } = require('./run-follow')

const { values } = parseArgs({
  options: {
    commits: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    framing: { type: 'string', default: 'checked' },
    fsync: { type: 'string', default: 'interval' }
  }
})

const { framing, fsync } = values
const [commits, kills, seed] = [values.commits, values.kills, values.seed].map(Number)
runFollow({ commits, kills, seed, framing, fsync }).then(({ faults, latencies, ...figures }) => {
  for (const fault of faults.slice(0, 20)) console.log(`FAILED  ${fault}`)
  const at = (/** @type {number} */ share) => latencies[Math.floor((latencies.length - 1) * share)]
  console.log(`follow: ${JSON.stringify(figures)}, ${faults.length} faults; seed ${seed}`)
  console.log(`seen after the append: median ${at(0.5)} ms, 99% ${at(0.99)} ms, at most ${at(1)} ms`)
  process.exitCode = faults.length > 0 ? 1 : 0
})
