'use strict'
// `npm run bench:ingest`: the server of @millrace/ingest beside the same fastify server that does nothing, one that
// only parses, and one that buffers for a database.

const { countOption } = require('../../engine/options')
const { drawFigures } = require('../../engine/draw')
const { formatGroups, tablesOfGroups } = require('../../engine/grids')
const { formatDigits, formatThousands } = require('../../lib/report')
const { loadParts } = require('../../lib/run')
const { groups } = require('./rows')

loadParts(require.resolve('./rows'))

/** @type {Record<string, string>} */
const MILLRACE_PROMISES = { buffered: 'stored within 50 ms', written: 'stored', synced: 'on the disk' }
/** @type {Record<string, string>} */
const PROMISES = {
  sqlite: 'stored after 2,000 events',
  empty: 'never stored',
  parse: 'read, never stored',
  sync: 'synced, nothing stored',
  disk: 'syncs alone, no server'
}

/** @type {Pick<Parameters<typeof drawFigures>[2], 'subject' | 'kinds' | 'sections' | 'promiseOf'>} */
const drawing = {
  subject: 'Events of 35 bytes, server and load on the same cores',
  kinds: [
    { kind: 'millrace', label: 'Millrace' },
    { kind: 'limit', label: 'servers that do less, and the disk alone' },
    { kind: 'database', label: 'a buffer before SQLite' }
  ],
  sections: [
    { heading: 'Written', promise: 'What Millrace has answered survives a kill of the server.', rows: ['written', 'ndjson'] },
    { heading: 'Synced', promise: 'What Millrace has answered survives a power cut, too.', rows: ['synced'] },
    {
      heading: 'Buffered',
      promise: 'A kill takes the last 50 ms from Millrace, and up to 2,000 events from the buffer before SQLite.',
      rows: ['buffered', 'put', 'get', 'stages']
    }
  ],
  promiseOf: ({ peers: { millrace } }, peer) => peer === 'millrace' ? MILLRACE_PROMISES[millrace.ack] : PROMISES[peer]
}
const table = { hasLost: true, hasGoals: true }

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'ingest',
  about: `Sends events over HTTP to Millrace, to the same fastify server that does nothing, and to one that buffers for
better-sqlite3. Writes data/ingest.csv, images/ingest.* and images/ingest-latency.*, and the tables in pages.`,
  groups,
  peers: loadParts(require.resolve('./servers')),
  runs: 3,
  budgetMs: 12 * 60_000,
  takes: { minutes: 20, bytes: 2e9 },
  options: {
    seconds: countOption('of load, for each case', { max: 3600, standard: '5; 60 for endurance' }),
    stored: countOption('events of the row `stored`, such as 16000000', { max: 100_000_000, standard: '1000000' }),
    logs: countOption('of the row `names`', { max: 100_000, standard: '10000' }),
    readers: countOption('of the row `readers`', { max: 10_000, standard: '1000' })
  },
  format: (results, shown) => formatGroups(results, shown, table),
  tables: tablesOfGroups(groups, table),
  charts: {
    ingest: (results, shown) => drawFigures(results, shown, {
      ...drawing,
      unit: 'rate',
      title: 'The same events over HTTP, to Millrace and to other servers',
      subtitle: 'Thousands of events a second: longer is better. Each panel has its own scale, from zero.',
      footer: ['Behind each bar: what an answer means. better-sqlite3 and the empty server answer before they store, in every panel.'],
      format: formatThousands
    }),
    'ingest-latency': (results, shown) => drawFigures(results, shown, {
      ...drawing,
      unit: 'ms',
      title: 'How long the slowest of a hundred requests over HTTP waits',
      subtitle: 'Milliseconds: shorter is better. Each panel has its own scale, from zero.',
      footer: ['Behind each bar: what an answer means. 30 connections, each sends the next request when it has its answer.'],
      format: formatDigits
    })
  }
}
