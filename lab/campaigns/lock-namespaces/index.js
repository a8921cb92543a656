'use strict'
// Processes in several pid and mount namespaces race for one file, by several paths.

const { SEED, UnableError, newSeed, runCommand } = require('../../command')
const { runNamespaceRace, whyNot } = require('./run-namespace-race')

runCommand({
  name: 'lock-namespaces',
  run: 'node lab/campaigns/lock-namespaces',
  about: 'Lets processes in several containers, and outside, race for one file by several paths. Needs Linux, root and unshare.',
  options: { rounds: { kind: 'integer', default: 1000, about: 'how many' }, seed: SEED }
}, async ({ rounds, seed = newSeed() }) => {
  const obstacle = whyNot()
  if (obstacle) throw new UnableError(`this cannot be run here: ${obstacle}`)
  const { failures } = await runNamespaceRace({ rounds, seed })
  return failures.length > 0
})
