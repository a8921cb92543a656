'use strict'
// From the rounds of a row to its figures, and whether the goal is met.

const { median, summarize } = require('../../lib/statistics')

// What a goal may be missed by before the command fails: figures of a shared machine vary by as much.
const TOLERANCE = 0.1

/** @typedef {import('./shapes').Result} Result */

/**
 * @typedef {object} Verdict
 * @property {number} ours  median of the rounds
 * @property {number} peer
 * @property {import('../../lib/statistics').Summary} ratio  of the ratios of the rounds
 * @property {number} rounds  how many there were
 * @property {number} [bound]  median of the ratios of what bounds it to the peer
 * @property {boolean} isMet
 * @property {boolean} isOutOfReach  not met, and what bounds it would not meet it either
 * @property {boolean} isFailure  missed by more than the tolerance
 */

/**
 * @param {Result} result
 * @returns {Verdict | undefined}  undefined when it did not run
 */
function judge ({ row, rounds }) {
  if (rounds.length === 0) return undefined
  const ratio = summarize(rounds.map(({ ours, peer }) => ours.value / peer.value))
  const isMet = ratio.median <= row.goal
  const bounds = rounds.flatMap(({ bound, peer }) => bound ? [bound.value / peer.value] : [])
  const bound = bounds.length > 0 ? median(bounds) : undefined
  return {
    ours: median(rounds.map(({ ours }) => ours.value)),
    peer: median(rounds.map(({ peer }) => peer.value)),
    ratio,
    rounds: rounds.length,
    bound,
    isMet,
    isOutOfReach: !isMet && bound !== undefined && bound > row.goal,
    isFailure: ratio.median > row.goal * (1 + TOLERANCE)
  }
}

exports.judge = judge
