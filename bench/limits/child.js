'use strict'
// One side of one row in a process of its own.
// Usage: node child.js '{ "rowFile", "side", "setting", "samples" }'; prints one line of JSON.

const { answerOrder } = require('../lib/answer-order')
const { median } = require('../lib/statistics')

/** @typedef {{ rowFile: string, side: import('./lib/shapes').SideName, setting: any, samples?: number }} Order */

answerOrder(measure)

/**
 * @param {Order} order
 * @returns {Promise<import('./lib/shapes').Outcome>}
 */
async function measure ({ rowFile, side, setting, samples: count }) {
  /** @type {import('./lib/shapes').Row} */
  const row = require(rowFile)
  const chosen = /** @type {import('./lib/shapes').Side} */ (row[side])
  const runner = await chosen.open(setting)
  const first = await runner.sample()
  /** @type {number[]} */
  const samples = []
  for (let left = count ?? chosen.samples ?? row.samples; left > 0; left--) samples.push(await runner.sample())
  return { first, value: samples.length > 0 ? median(samples) : first, answer: await runner.finish() }
}
