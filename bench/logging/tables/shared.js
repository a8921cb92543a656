'use strict'
// The shape of the rows, and settings that several tables use.

/**
 * @typedef {object} Goal  what a figure of Millrace must be
 * @property {number} [least]
 * @property {number} [most]
 * @property {{ factor: number, of: string, in?: string }[]} [times]  so many times the figure of a peer, in another row
 *   perhaps
 */

/**
 * @typedef {object} Line  one figure of a row
 * @property {string} figure
 * @property {string} what  for the table
 * @property {'rate' | 'us' | 'ns' | 'bytes' | 'ms' | 'count' | 'share'} unit
 * @property {string} [seed]  what the seed measured, on another machine
 * @property {Goal} [goal]
 * @property {string} [by]  whose figure must meet it; Millrace's by default
 * @property {string} [drawn]  the title of its panel in the chart
 */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string} work  of works.js
 * @property {any} setting  for all peers
 * @property {Record<string, any>} peers  who takes part, and with which options
 * @property {number} [runs]  at most
 * @property {string} lost  what SIGKILL takes at most
 * @property {Line[]} lines
 */

/**
 * How often a figure holds what a program needs.
 * @typedef {object} Sizing
 * @property {string} row
 * @property {Array<[what: string, perSecond: number, seed: string]>} loads
 */

/** @typedef {{ name: string, title: string, about: string, seed: string, rows: Row[], sizing?: Sizing }} Table */

/** @type {(what: string, seed: string | undefined, goal?: Goal, drawn?: string) => Line[]} */
function rate (what, seed, goal, drawn) {
  return [{ figure: 'rate', what, unit: 'rate', ...(seed && { seed }), ...(goal && { goal }), ...(drawn && { drawn }) }]
}

/** Each of these records is in the kernel when the call returns. */
const WRITTEN = Object.freeze({ info: 'written', error: 'written' })

exports.rate = rate
exports.WRITTEN = WRITTEN
