'use strict'
// What several groups use.

/** @typedef {import('./works').Given} Given */
/** @typedef {Pick<import('../../engine/row').Figure, 'seed' | 'goal' | 'drawn' | 'by'>} Rate */

/**
 * A row with one figure: records a second.
 * @type {(name: string, what: string, row: Rate & Omit<Given, 'name' | 'work' | 'figures'> & { work?: string }) =>
 *   Given}
 */
function rateRow (name, what, { seed, goal, drawn, by, ...row }) {
  return { name, work: 'fill', ...row, figures: [{ figure: 'rate', what, unit: 'rate', seed, goal, drawn, by }] }
}

/** Each of these records is in the kernel when the call returns. */
const WRITTEN = Object.freeze({ info: 'written', error: 'written' })

exports.rateRow = rateRow
exports.WRITTEN = WRITTEN
