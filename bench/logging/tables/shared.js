'use strict'
// Lines and settings that several tables use.

/** @typedef {import('../../lib/tables').Goal} Goal */
/** @typedef {import('../../lib/tables').Line} Line */
/** @typedef {import('../../lib/tables').Row} Row */
/** @typedef {import('../../lib/tables').Table} Table */

/** @type {(what: string, seed: string | undefined, goal?: Goal, drawn?: string) => Line[]} */
function rate (what, seed, goal, drawn) {
  return [{ figure: 'rate', what, unit: 'rate', ...(seed && { seed }), ...(goal && { goal }), ...(drawn && { drawn }) }]
}

/** Each of these records is in the kernel when the call returns. */
const WRITTEN = Object.freeze({ info: 'written', error: 'written' })

exports.rate = rate
exports.WRITTEN = WRITTEN
