'use strict'
// Whether crashes of a simulated disk lose, invent or tear apart what was appended.

const { runTorture } = require('../run-torture')

// As many as find every bug that is looked for in this way; a number of seconds would find more on a faster machine.
const WORKLOADS = 250

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed }) => {
  return runTorture({ logModule, seed, framing: 'checked', workloads: WORKLOADS, workers: 1, stopAtFailure: true, shrinks: false })
}
