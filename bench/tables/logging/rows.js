'use strict'
// The rows, in the groups of three other projects' benchmarks.

const { measure } = require('./works')

/** @typedef {import('../../engine/row').Row} Row */

/** What a bare write misses, too, is out of reach. @type {(given: import('./works').Given) => Row} */
function toRow ({ figures, ...given }) {
  const bound = given.peers.bare && 'bare'
  return {
    ...given,
    what: figures[0].what ?? '',
    figures: figures.map((figure) => ({ ...figure, ...(figure.goal && { goal: { bound, ...figure.goal } }) })),
    measure
  }
}

/** @type {import('../../engine/row').Group[]} */
exports.groups = ['solidlog', 'logsystem', 'fapilog'].map((name) => {
  const { group } = require(`./${name}`)
  return { ...group, rows: group.rows.map(toRow) }
})
exports.parts = exports.groups.flatMap(({ rows }) => rows)
