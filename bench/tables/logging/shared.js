'use strict'
// How the rows of the groups are made.

const { measure } = require('./works')

/** @typedef {import('../../engine/row').Figure} Figure */
/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {Row & { work: string }} LoggingRow */
/** @typedef {Partial<import('./works').Setting>} Setting */
/** @typedef {Partial<LoggingRow> & Partial<Pick<Figure, 'seed' | 'goal' | 'drawn' | 'by'>>} More */

/**
 * What a bare write misses, too, is out of reach.
 * @type {(name: string, lost: string | undefined, peers: Row['peers'], setting: Setting, figures: Figure[], more?:
 *   Partial<LoggingRow>) => LoggingRow}
 */
function toRow (name, lost, peers, setting, figures, more) {
  const bound = peers.bare && 'bare'
  return {
    name,
    work: 'fill',
    lost,
    peers,
    setting,
    what: figures[0].what ?? '',
    figures: figures.map((figure) => ({ ...figure, ...(figure.goal && { goal: { bound, ...figure.goal } }) })),
    measure,
    ...more
  }
}

/**
 * A row with one figure: records a second.
 * @type {(name: string, what: string, lost: string, peers: Row['peers'], setting: Setting, more?: More) => LoggingRow}
 */
function rateRow (name, what, lost, peers, setting, { seed, goal, drawn, by, ...more } = {}) {
  return toRow(name, lost, peers, setting, [{ figure: 'rate', what, unit: 'rate', seed, goal, drawn, by }], more)
}

/**
 * Figures of one unit, by their names.
 * @type {(unit: Figure['unit'], figures: Record<string, Omit<Figure, 'figure' | 'unit'>>) => Figure[]}
 */
function figuresOf (unit, figures) {
  return Object.entries(figures).map(([figure, more]) => ({ figure, unit, ...more }))
}

/** pino's usual buffer. */
const PINO_BYTES = 4096
const boom = { minLength: PINO_BYTES }
/** Each of these records is in the kernel when the call returns. */
const WRITTEN = Object.freeze({ info: 'written', error: 'written' })

exports.toRow = toRow
exports.rateRow = rateRow
exports.figuresOf = figuresOf
exports.boom = boom
exports.PINO_BYTES = PINO_BYTES
exports.WRITTEN = WRITTEN
