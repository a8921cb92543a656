'use strict'
// `npm run bench -- writes`: how long an append takes in each layer, by the records of a batch.

const { loadParts } = require('../../lib/run')
const { showSizes } = require('../sizes')
const { ROUND } = require('./rows')

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'writes',
  about: 'Times appends in each layer, one batch after the other, by the records of a batch.',
  groups: [{ name: 'writes', title: 'Appends', rows: loadParts(require.resolve('./rows')) }],
  peers: loadParts(require.resolve('./peers')),
  runs: 5,
  budgetMs: 8 * 60_000,
  takes: { minutes: 8, bytes: 0.3e9 },
  records: 100 * ROUND,
  ...showSizes({
    unit: 'us a record',
    size: 'batch',
    nameOf: String,
    chart: 'writes',
    words: {
      title: 'Time to append a record, by batch size',
      subtitle: 'Time for each record, by the records of a batch; lower is better, both axes logarithmic. Thin lines: ' +
        'from the fastest run to the slowest.',
      compared: { rows: ['frames', 'json', 'binary'], peer: 'flumelog', at: 100, verbs: ['appends', 'append'], place: 'batches of 100' },
      subject: 'Messages of some 700 bytes, one batch after the other',
      cache: 'synced in "durable" only',
      unit: 'us',
      axis: 'records a batch',
      formatSize: String
    }
  })
}
