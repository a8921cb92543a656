'use strict'
// Processes in several pid and mount namespaces race for one file, by several paths. Needs root, and unshare.
// Usage: node lab/campaigns/lock-namespaces [rounds, 1000 by default] [seed]

const { runNamespaceRace, whyNot } = require('./run-namespace-race')

const [, , rounds = '1000', seed = String(Date.now() % 2 ** 31)] = process.argv

const obstacle = whyNot()
if (obstacle) {
  console.log(`lock-namespaces: this cannot be run here: ${obstacle}`)
} else {
  runNamespaceRace({ rounds: Number(rounds), seed: Number(seed) }).then(({ failures }) => {
    if (failures.length > 0) process.exitCode = 1
  })
}
