'use strict'
// Whether killed processes lose what was acknowledged to them.

const { runKill } = require('../kill')

const ROUNDS = 100

/**
 * @param {import('./run-oracle').OracleOptions & { rounds?: number }} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed, rounds = ROUNDS }) => {
  return runKill({ logModule, seed, rounds, keep: false, print: () => {} })
}
