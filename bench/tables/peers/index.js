'use strict'
// `npm run bench:peers`: Millrace beside the logs that it succeeds and databases. Its table has a line a store, and a
// column a job.

const { drawFigures } = require('../../engine/draw')
const { listAbsent, toMarkdown, toText } = require('../../engine/grids')
const { countOption } = require('../../engine/options')
const { describeFacts, formatThousands } = require('../../lib/report')
const { loadParts } = require('../../lib/run')

/** @typedef {import('../../stores').Peer} Peer */
/** @typedef {import('../../engine/grids').Grid} Grid */
/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../../engine/row').Shown} Shown */
/** @typedef {{ row: Row, figure: string, head: string }} Column */

// All of them are in memory while they are appended.
const MAX_RECORDS = 1_000_000
/** For who wants to see whether it is worth reading on: the stores that most people choose from. */
const SHORT = {
  peers: { checked: 'Millrace', sqlite: 'SQLite', lmdb: 'LMDB', leveldb: 'LevelDB' },
  jobs: { append: 'append', 'durable-1': 'append, each synced', scan: 'read all', query: 'filter, no index', get: 'get by key' }
}

/** @type {Peer[]} */
const peers = loadParts(require.resolve('../../stores'))
/** @type {Row[]} */
const jobs = loadParts(require.resolve('./jobs'))

/**
 * The best of a column is bold.
 * @type {(results: Results, columns: Column[], peers: Array<{ name: string, label: string }>) => Grid}
 */
function toGrid (results, columns, peers) {
  const valueOf = (/** @type {{ name: string }} */ peer, /** @type {Column} */ { row, figure }) => {
    return results.of({ row: row.name, figure, peer: peer.name })
  }
  const shown = peers.filter((peer) => columns.some((column) => valueOf(peer, column) !== undefined))
  const lines = shown.map((peer) => [peer.label, ...columns.map((column) => {
    const rate = valueOf(peer, column)
    if (rate === undefined) return column.row.peers[peer.name] ? '-' : ''
    const isBest = shown.length > 1 && shown.every((other) => (valueOf(other, column) ?? 0) <= rate)
    return isBest ? `**${formatThousands(rate)}**` : formatThousands(rate)
  })])
  return { heads: ['thousands of records a second', ...columns.map(({ head }) => head)], lines, words: [0] }
}

/** @param {Row} row */
function isJob ({ figures }) {
  return figures.length === 1
}

/** @type {(rows: Row[]) => Column[]} a column for each figure; one that is alone has the name of its row */
function toColumns (rows) {
  return rows.flatMap((row) => row.figures.map(({ figure, what = row.name }) => ({ row, figure, head: `\`${what}\`` })))
}

/** @type {(results: Results, shown: Shown) => Grid} */
function gridOfJobs (results, shown) {
  const rows = shown.rows.filter(isJob)
  const { heads, lines, words } = toGrid(results, toColumns(rows), shown.peers)
  const notes = listAbsent(results, rows, peers)
  if (rows.every(({ name }) => name !== 'query')) return { heads, lines, words, notes }
  const ways = new Map(/** @type {Peer[]} */ (shown.peers).map(({ label, way }) => [label, way]))
  return {
    heads: [...heads, 'queried by'],
    lines: lines.map((line) => [...line, `\`${ways.get(line[0])}\``]),
    words: [...words, heads.length],
    notes
  }
}

/** @type {(results: Results, shown: Shown) => Grid} */
function gridOfCases (results, { rows, peers: shown }) {
  const own = rows.filter((row) => !isJob(row))
  return { ...toGrid(results, toColumns(own), shown), notes: listAbsent(results, own, peers) }
}

/** @type {(results: Results) => Grid} */
function gridOfShort (results) {
  const columns = jobs.flatMap((row) => Object.entries(SHORT.jobs).flatMap(([name, head]) => {
    return name === row.name ? [{ row, figure: 'rate', head }] : []
  }))
  return toGrid(results, columns, Object.entries(SHORT.peers).map(([name, label]) => ({ name, label })))
}

/**
 * A panel a job, a bar a store: with its usual way to query.
 * @type {(results: Results, shown: Shown) => Promise<string | undefined>}
 */
function draw (results, shown) {
  const usual = /** @type {Peer[]} */ (shown.peers).filter(({ store }) => store === undefined)
  const ways = 'where, bipf.seekKey, json_extract without an index in SQLite, JSON.parse in LMDB and LevelDB'
  return drawFigures(results, { ...shown, peers: usual }, {
    unit: 'rate',
    title: 'The same messages in Millrace, in other logs, and in databases',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    subject: String(shown.facts.input).replace(/ in the binary.*/, ''),
    footer: [`Queries as each is used: ${ways}.`],
    kinds: [
      { kind: 'millrace', label: 'Millrace' },
      { kind: 'flume', label: 'other logs' },
      { kind: 'database', label: 'databases' }
    ],
    format: formatThousands,
    hasMeanings: true
  })
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'peers',
  about: `Gives the same records to Millrace, to its predecessors and to databases, and writes data/peers.csv and
images/peers.*.`,
  groups: [{ name: 'jobs', title: 'Jobs', rows: jobs }],
  peers,
  runs: 5,
  budgetMs: 11 * 60_000,
  takes: { minutes: 12, bytes: 2e9 },
  options: {
    records: countOption(`messages, up to ${MAX_RECORDS}`, { max: MAX_RECORDS, initial: 200_000 })
  },
  format: (results, shown) => [gridOfJobs, gridOfCases].map((toGrid) => toText(toGrid(results, shown))).filter(Boolean),
  tables: {
    '': (results, shown) => {
      const { notes = [], ...grid } = gridOfJobs(results, shown)
      return toMarkdown({ ...grid, notes: [describeFacts(shown.facts), ...notes] })
    },
    short: (results) => toMarkdown(gridOfShort(results)),
    'bench-flumelog': (results, shown) => toMarkdown(gridOfCases(results, shown))
  },
  charts: { peers: draw }
}
