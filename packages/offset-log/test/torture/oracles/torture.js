'use strict'
// Whether crashes of a simulated disk lose, invent or tear apart what was appended.

const { runTorture } = require('../run-torture')

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed, seconds, ...others }) => {
  return runTorture({ logModule, seed, seconds, workers: 1, stopAtFailure: true, print: () => {}, ...others })
}
