'use strict'
// `npm run bench:jetstream`: a JetStreamLog beside a bare client that does the same, on servers that it starts.

const { gridOfSizes, toMarkdown, toText } = require('../../engine/grids')
const { describeSetting, drawBars, drawChart } = require('../../lib/charts')
const { describeFacts, formatCount } = require('../../lib/report')
const { loadParts } = require('../../lib/run')
const { GOAL, groups } = require('./rows')
const { RECORD_SIZE } = require('./works')

/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('../../engine/row').Shown} Shown */

loadParts(require.resolve('./rows'))

/** @type {(results: Results, shown: Shown) => import('../../engine/grids').Grid} */
function toGrid (results, { groups, peers }) {
  const titles = new Map(groups.flatMap(({ title, rows }) => rows.map(({ name }) => [name, title])))
  return gridOfSizes(results, { rows: groups.flatMap(({ rows }) => rows), peers: peers.toReversed() }, {
    head: 'records a second|',
    lead: ({ name, what }) => [titles.get(name) ?? '', what],
    sizes: [undefined],
    times: (ratio) => `${ratio.toFixed(2)}×`,
    format (row, peer) {
      const rate = results.of({ row: row.name, peer: peer.name })
      return rate === undefined ? '-' : formatCount(Math.round(Number(rate.toPrecision(3))))
    }
  })
}

/** @type {(results: Results, shown: Shown) => Promise<string | undefined>} */
function draw (results, { groups, peers, facts, rows }) {
  const isConsume = (/** @type {{ what: string }} */ { what }) => what === 'consume'
  const panels = [
    ...groups.map(({ title, rows }) => ({
      title, rows: rows.filter((row) => !isConsume(row)).map((row) => ({ row, label: row.what }))
    })),
    { title: 'consume', rows: rows.filter(isConsume).map((row) => ({ row, label: row.name.startsWith('one') ? 'one server' : 'three replicas' })) }
  ].filter(({ rows }) => rows.length > 0)
  const toBars = (/** @type {{ name: string }} */ { name }) => peers.flatMap((peer, look) => {
    const found = results.summary({ row: name, peer: peer.name })
    if (found === undefined) return []
    const { median: value, min, max } = found
    return [{ look, value, min, max, text: String(Number((value / 1000).toPrecision(3))) }]
  })
  return drawChart({
    title: 'On NATS JetStream: a Millrace log, and a bare client that does the same',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: peers.map(({ label }) => label),
    marks: 'bars',
    footer: [
      'Servers and clients share one machine: three replicas write three times as much to the same disk.',
      'Thin lines go from the slowest run to the fastest.',
      describeSetting(`Records of ${RECORD_SIZE} bytes`, facts, results.counts())
    ]
  }, (canvas) => drawBars(canvas, panels.map(({ title, rows }) => ({
    title, rows: rows.map(({ row, label }) => ({ label, bars: toBars(row) }))
  })), { columns: 2, barHeight: 11, rowGap: 5 }))
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'jetstream',
  about: `Publishes and consumes with a JetStreamLog and with a bare client, on one NATS server and on three, all on this
machine. Writes data/jetstream.csv and images/jetstream.*, and the table in pages. Ends with exit code 1 when the log
has less than ${GOAL} of the bare client's rate, and misses that by more than 10%.`,
  groups,
  peers: loadParts(require.resolve('./clients')),
  runs: 6,
  takes: { minutes: 6, bytes: 1e9 },
  format: (results, shown) => [toText(toGrid(results, shown))],
  tables: { '': (results, shown) => [toMarkdown(toGrid(results, shown)), describeFacts(shown.facts)].join('\n\n') },
  charts: { jetstream: draw }
}
