'use strict'
// `npm run bench:jetstream`: a JetStreamLog beside a bare client that does the same, on servers that it starts.

const { drawPanels } = require('../../engine/draw')
const { gridOfSizes, toMarkdown, toText } = require('../../engine/grids')
const { describeFacts, formatDigits, formatThousands } = require('../../lib/report')
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
      return rate === undefined ? '-' : formatDigits(rate)
    }
  })
}

/** @type {(results: Results, shown: Shown) => Promise<string | undefined>} */
function draw (results, { groups, peers, facts, rows }) {
  const isConsume = (/** @type {{ what: string }} */ { what }) => what === 'consume'
  const toEntry = (/** @type {string} */ label, /** @type {string} */ row) => {
    return { label, places: peers.map(({ name: peer }, look) => ({ row, peer, look })) }
  }
  const panels = [
    ...groups.map(({ title, rows }) => ({
      title, entries: rows.filter((row) => !isConsume(row)).map(({ name, what }) => toEntry(what, name))
    })),
    { title: 'consume', entries: rows.filter(isConsume).map(({ name }) => toEntry(name.startsWith('one') ? 'one server' : 'three replicas', name)) }
  ]
  return drawPanels(results, facts, {
    title: 'On NATS JetStream: a Millrace log, and a bare client that does the same',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: peers.map(({ label }) => label),
    footer: ['Servers and clients share one machine: three replicas write three times as much to the same disk.'],
    subject: `Records of ${RECORD_SIZE} bytes`,
    format: formatThousands,
    panels: panels.filter(({ entries }) => entries.length > 0)
  })
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
