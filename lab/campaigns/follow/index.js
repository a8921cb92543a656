'use strict'
// A reader beside a writer that is killed, for long, and how late it sees what is appended.

const { SEED, newSeed, runCommand } = require('../../command')
const { runFollow } = require('./run-follow')

runCommand({
  name: 'follow',
  run: 'node lab/campaigns/follow',
  about: 'A process that follows a log beside its writer, which deletes, compacts and is killed: it sees each record once, and no other.',
  options: {
    commits: { kind: 'integer', default: 10_000, about: 'how many the writer makes' },
    kills: { kind: 'integer', min: 0, default: 20, about: 'how often it is killed' },
    seed: SEED,
    framing: { default: 'checked', about: 'of the log' },
    fsync: { oneOf: ['always', 'interval', 'never'], default: 'interval', about: 'of the writer: always, interval or never' }
  }
}, async ({ seed = newSeed(), ...options }) => {
  const { faults, latencies, ...figures } = await runFollow(/** @type {any} */ ({ seed, ...options }))
  for (const fault of faults.slice(0, 20)) console.log(`FAILED  ${fault}`)
  const at = (/** @type {number} */ share) => latencies[Math.floor((latencies.length - 1) * share)]
  console.log(`follow: ${JSON.stringify(figures)}, ${faults.length} faults; seed ${seed}`)
  console.log(`seen after the append: median ${at(0.5)} ms, 99% ${at(0.99)} ms, at most ${at(1)} ms`)
  return faults.length > 0
})
