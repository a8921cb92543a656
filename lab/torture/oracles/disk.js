'use strict'
// Whether a real ext4 on a disk that loses what was not flushed, and fails for a moment, shows that something promised
// is lost.

const { runDisk, whyNot } = require('../disk')

// As many as find every bug that is looked for in this way, nearly always: what a real disk was doing when it failed is
// not repeatable. They take a minute or two.
const STATES = 600

/** What keeps this one from being run here, or null. */
exports.whyNot = whyNot

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = ({ logModule, seed }) => {
  return runDisk({ logModule, seed, states: STATES, workers: 1, stop: true, print: () => {} })
}
