'use strict'
// A row of limits whose figures are known beforehand.

/** @param {object} row  what differs: `values` are those of ours and the peer, `answers` what they say they did */
function createFixedRow ({ values = [1, 1], answers = [{}, {}], expected, ...row }) {
  const side = (index) => () => {
    let count = 0
    return {
      // The first sample is ten times the others, and must not count.
      sample: () => values[index] * (count++ === 0 ? 10 : 1),
      finish: () => answers[index]
    }
  }
  return {
    what: `${row.name} : fixed`,
    unit: 'ms',
    goal: 1,
    samples: 2,
    prepare: () => ({ expected }),
    ours: side(0),
    peer: side(1),
    ...row
  }
}

/** A result of rounds that took so many milliseconds, each [ours, peer], and perhaps what bounds it. */
function makeResult (row, ...rounds) {
  const outcome = (value) => ({ first: value * 2, value, answer: {} })
  const sides = rounds.map(([ours, peer, bound]) => {
    return { ours: outcome(ours), peer: outcome(peer), bound: bound && outcome(bound) }
  })
  return { row, absent: undefined, rounds: sides }
}

exports.createFixedRow = createFixedRow
exports.makeResult = makeResult
