'use strict'
// `npm run bench -- growth`: what must not grow with a log, from 10 MB to 10 GB.

const { countOption } = require('../../engine/options')
const { loadParts } = require('../../lib/run')
const { formatPairs, formatWhole } = require('../limits')
const { drawGrowth } = require('./charts')
const { LARGEST } = require('./rows')

/** @type {import('./rows').GrowthRow[]} */
const rows = loadParts(require.resolve('./rows'))
/** @type {import('../../engine/row').Row[]} */
const indexRows = loadParts(require.resolve('./index-rows'))
const peers = loadParts(require.resolve('../limits/peers')).filter(({ name }) => [...rows, ...indexRows].some((row) => row.peers[name]))

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'growth',
  about: 'Measures what must not grow with a log: the time for each GB of a scan, the time to open, memory, and what an index costs.',
  groups: [{ name: 'growth', title: 'As a log grows', rows }, { name: 'index', title: 'As a log with an index grows', rows: indexRows }],
  peers,
  runs: 5,
  takes: { minutes: 25, bytes: 1.1 * LARGEST },
  options: {
    largest: countOption('MB of the largest log; the others are smaller in proportion', { max: LARGEST / 1e6, initial: LARGEST / 1e6 })
  },
  format: formatPairs,
  tables: { '': (results, { rows }) => formatWhole(results, rows) },
  charts: { growth: drawGrowth }
}
