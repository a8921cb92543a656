'use strict'
// One side of one row, in a process of its own. It loads nothing but the row's chapter: memory is measured here too.

const { median } = require('../lib/report')

/**
 * What one process of one side came to.
 * @typedef {object} Outcome
 * @property {number} first  the first sample: nothing is compiled yet, no cache is filled
 * @property {number} value  the median of the samples after it, or the first, where it is the only one
 * @property {import('../lib/run').Answer} answer
 */

/** @typedef {'ours' | 'peer' | 'bound'} SideName */

/**
 * @param {{ row: { file: string, name: string }, side: SideName, setting: any, samples?: number }} order
 * @returns {Promise<Outcome>}
 */
async function measureSide ({ row: { file, name }, side, setting, samples: count }) {
  const { parts, ...single } = require(file)
  /** @type {import('./rows/shared').Row} */
  const row = parts ? parts.find((/** @type {{ name: string }} */ row) => row.name === name) : single
  const open = side === 'bound' ? row.bound?.open : row[side]
  const runner = await /** @type {import('./rows/shared').OpenSide} */ (open)(setting)
  const first = await runner.sample()
  const own = side === 'peer' ? row.peerSamples ?? row.samples : row.samples
  /** @type {number[]} */
  const samples = []
  for (let left = own ? count ?? own : 0; left > 0; left--) samples.push(await runner.sample())
  return { first, value: samples.length > 0 ? median(samples) : first, answer: await runner.finish() }
}

exports.measureSide = measureSide
