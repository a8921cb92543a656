'use strict'
// Whether flipped bits, lost, stale, swapped and misdirected sectors and stale pages are noticed, and nothing that was
// durable is cut: with both checkpoints, and without.

const OFFSET_LOG = require.resolve('@millrace/offset-log')
const ROUNDS = 12
const SAMPLES = 12

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule, seed }) => {
  // What hurts and judges the logs takes the package that it lies in. In this process that is the one to examine.
  require(logModule)
  require.cache[OFFSET_LOG] = require.cache[require.resolve(logModule)]
  const { checkDamage } = require('../../../packages/offset-log/test/checked-damage')
  const figures = { injuries: 0, noticed: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const { cases, noticed, faults } = await checkDamage({ seed: seed * ROUNDS + round, samples: SAMPLES })
    figures.injuries += cases
    figures.noticed += noticed
    if (faults.length > 0) return { failures: faults.map((message) => ({ kind: 'damage', message })), figures }
  }
  return { failures: [], figures }
}
