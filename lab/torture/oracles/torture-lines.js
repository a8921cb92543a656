'use strict'
// Whether crashes of a simulated disk lose, invent or tear apart lines.

const { runTorture } = require('../run-torture')

const WORKLOADS = 250

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed }) => {
  const options = { workers: 1, stopAtFailure: true, shrinks: false }
  return runTorture({ logModule, seed, framing: 'lines', workloads: WORKLOADS, ...options })
}
