'use strict'
// Figures and settings that several groups use.

/** @typedef {import('../../engine/row').Figure} Figure */

/** @type {(what: string, seed: string | undefined, goal?: Figure['goal'], drawn?: string) => Figure[]} */
function rate (what, seed, goal, drawn) {
  return [{ figure: 'rate', what, unit: 'rate', ...(seed && { seed }), ...(goal && { goal }), ...(drawn && { drawn }) }]
}

/** Each of these records is in the kernel when the call returns. */
const WRITTEN = Object.freeze({ info: 'written', error: 'written' })

exports.rate = rate
exports.WRITTEN = WRITTEN
