'use strict'
// Who takes part in the rows of latency.

const OURS = ['@millrace/offset-log']

/** @type {import('../../engine/row').Peer[]} */
exports.parts = [
  { name: 'millrace', label: 'Millrace', kind: 'millrace', packages: OURS },
  { name: 'millrace-never', label: 'Millrace, never synced', kind: 'millrace', packages: OURS },
  { name: 'sqlite', label: 'SQLite', kind: 'database', packages: ['better-sqlite3'] },
  { name: 'lmdb', label: 'LMDB', kind: 'database', packages: ['lmdb'] },
  { name: 'flumelog', label: 'flumelog-offset', kind: 'flume', packages: ['flumelog-offset'] }
]
