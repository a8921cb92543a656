'use strict'
// `npm run bench -- latency`: how long calls take, up to the slowest of all.

const { toMarkdown, toText, gridOfPeers } = require('../../engine/grids')
const { drawTails } = require('../../engine/draw')
const { loadParts } = require('../../lib/run')

/** @type {import('../../engine/row').Row[]} */
const rows = loadParts(require.resolve('./rows'))

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'latency',
  about: 'How long calls take, up to the slowest of all: appends that wait for the disk, live delivery, single reads.',
  groups: [{ name: 'latency', title: 'Latency', rows }],
  peers: loadParts(require.resolve('./peers')),
  runs: 5,
  budgetMs: 4 * 60_000,
  takes: { minutes: 4, bytes: 3e9 },
  format: (results, shown) => shown.rows.map((row) => toText(gridOfPeers(results, { ...shown, rows: [row] }))),
  tables: { '': (results, shown) => toMarkdown(gridOfPeers(results, shown)) },
  charts: {
    latency: (results, shown) => drawTails(results, shown, {
      title: 'How long calls take, up to the slowest',
      subtitle: 'Time by percentile, logarithmic: lower is better. Each panel has its own scale.',
      subject: 'Records of 690 bytes'
    })
  }
}
