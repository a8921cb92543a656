'use strict'
// Whether killed processes lose what was acknowledged to them.

const { runKill } = require('../kill')

const ROUNDS = 30

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed }) => {
  return runKill({ logModule, seed, rounds: ROUNDS, keep: false, print: () => {} })
}
