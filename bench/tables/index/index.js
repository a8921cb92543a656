'use strict'
// `npm run bench -- index`: what an index costs and gains, beside a scan, SQLite, jitdb and LMDB.

const { formatGroups, listAbsent, tablesOfGroups } = require('../../engine/grids')
const { DEFAULT_RECORDS } = require('../../lib/logs')
const { loadParts } = require('../../lib/run')

const groups = [{ name: 'index', title: 'An index', rows: loadParts(require.resolve('./rows')) }]
const peers = loadParts(require.resolve('./clients'))
const LOOK = { hasGoals: true }

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'index',
  about: 'What an index of a log costs and gains: builds, sizes, questions, and appends beside it. Processor time.',
  groups,
  peers,
  runs: 3,
  takes: { minutes: 10, bytes: 5e9 },
  records: DEFAULT_RECORDS,
  format: (results, shown) => [...formatGroups(results, shown, LOOK), ...listAbsent(results, shown.rows, peers)],
  tables: tablesOfGroups(groups, LOOK),
  charts: {}
}
