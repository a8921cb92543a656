'use strict'
// `npm run bench:jetstream`: a JetStreamLog beside a bare client that does the same, on servers that it starts. Exit
// codes: 0 done; 1 the log has less than 0.8 of the bare client's rate in a row, or a measurement failed; 2 a wrong
// option.

const fs = require('node:fs')
const path = require('node:path')
const { startCluster, startServer } = require('../../packages/jetstream/test/server')
const { describeSetting, drawBars, drawChart } = require('../lib/charts')
const { countOption, readOptions, runCommand, toParts } = require('../lib/command')
const { createFinder, describeFacts, formatCount, formatMarkdown, gatherFacts, median, readCsv } = require('../lib/report')
const { UserError, loadParts, rotate, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')
const { RECORD_SIZE } = require('./works')

const WORKS = require.resolve('./works')
const TIMEOUT_MS = 60_000
const GOAL = 0.8
const CONSUME_COUNT = 100_000
const WORK_LIST = /** @type {const} */ ([
  { name: 'batch-1', work: 'publish', size: 1, label: 'one by one' },
  { name: 'batch-10', work: 'publish', size: 10, label: 'batches of 10' },
  { name: 'batch-100', work: 'publish', size: 100, label: 'batches of 100' },
  { name: 'batch-1000', work: 'publish', size: 1000, label: 'batches of 1,000' },
  { name: 'apart', work: 'apart', size: 1, label: '1,000 at once' }
])

/**
 * @typedef {{ name: string, label: string, replicas: 1 | 3, syncInterval?: string }} Site
 * @typedef {{ name: string, site: Site, label: string, work: 'publish' | 'apart' | 'consume', size: number }} Row
 * @typedef {Map<string, number[]>} Rates  by row and peer
 */

/** @type {Site[]} */
const SITES = [
  { name: 'one', label: 'one server, synced every two minutes', replicas: 1 },
  { name: 'one-synced', label: 'one server, always synced', replicas: 1, syncInterval: 'always' },
  { name: 'three', label: 'three replicas, synced every two minutes', replicas: 3 },
  { name: 'three-synced', label: 'three replicas, always synced', replicas: 3, syncInterval: 'always' }
]
/** @type {Row[]} */
const rows = SITES.flatMap((site) => {
  const publishing = WORK_LIST.map((one) => ({ ...one, name: `${site.name}-${one.name}`, site }))
  // How often a server syncs changes nothing for who reads.
  if (site.syncInterval) return publishing
  const work = /** @type {const} */ ('consume')
  return [...publishing, { name: `${site.name}-consume`, site, label: 'consume', work, size: CONSUME_COUNT }]
})
const groups = new Map(SITES.map((site) => [site.name, rows.filter((row) => row.site === site)]))
/** @type {import('./clients').Peer[]} */
const peers = loadParts(require.resolve('./clients'))

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:jetstream',
  about: `Publishes and consumes with a JetStreamLog and with a bare client, on one NATS server and on three, all on this
machine. Writes data/jetstream.csv and images/jetstream.*, and the table in pages. Ends with exit code 1 when the log
has less than ${GOAL} of the bare client's rate.`,
  options: {
    rows: { takes: 'LIST', about: 'rows, or sites', standard: 'all', read: toParts(rows, undefined, groups) },
    runs: countOption('how many turns each client takes in a row', { initial: 6, standard: '6' }),
    draw: { about: 'measures nothing: writes the table and the chart of data/jetstream.csv' }
  },
  parts: [['Rows', rows.map(({ name, site, label }) => [name, `${site.label}: ${label}`])]],
  run
}

/** @type {(options: any, generated: string) => Promise<import('../lib/command').Results>} */
async function run (options, generated) {
  const { rates, facts } = options.draw ? readSheet(path.join(generated, '..')) : await measure(options, generated)
  const shown = rows.filter(({ name }) => rates.has(`${name} millrace`))
  return {
    table: [formatTable(shown, rates), describeFacts(facts)].join('\n\n'),
    isPartial: options.given.rows !== undefined,
    sheets: options.draw ? {} : { jetstream: toSheet(shown, rates, facts) },
    charts: { jetstream: await draw(shown, rates, facts) },
    isFailure: !options.draw && shown.some(({ name }) => ratioOf(rates, name) < GOAL)
  }
}

/** @type {(options: any, generated: string) => Promise<{ rates: Rates, facts: import('../lib/report').Facts }>} */
async function measure (options, generated) {
  /** @type {Rates} */
  const rates = new Map()
  let version = ''
  // One site at a time: servers that are idle take processor time too.
  for (const site of SITES) {
    const own = options.rows.filter((/** @type {Row} */ row) => row.site === site)
    if (own.length === 0) continue
    version = await withFolder(generated, 'jetstream', (folder) => measureSite(site, own, options, folder, rates))
  }
  return { rates, facts: gatherFacts(options.command, ['@nats-io/jetstream', `node:nats-server ${version}`]) }
}

/** @type {(site: Site, own: Row[], options: any, folder: string, rates: Rates) => Promise<string>} */
async function measureSite ({ label, replicas, syncInterval }, own, { runs }, folder, rates) {
  const setting = { folder, ...(syncInterval && { syncInterval }) }
  const servers = replicas === 1 ? [await startServer(setting)] : await startCluster(setting)
  const place = { servers: servers.map(({ url }) => url), stream: 'bench', replicas }
  /** @type {(task: string, more: object) => { module: string, task: string, setting: object }} */
  const order = (task, more) => ({ module: WORKS, task, setting: { place, ...more } })
  // Both find the stream there, as the log makes it. To sync so many records would take minutes.
  await runTask(order('fill', { size: syncInterval ? 1000 : CONSUME_COUNT }), { peer: peers[0] }, { timeoutMs: TIMEOUT_MS })
  const turns = own.map((row, index) => ({ row, parts: rotate(peers, index) }))
  await takeTurns(label, turns, ({ row }) => row.name, async ({ row, parts: [first, second] }) => {
    const measuring = order('measure', { work: row.work, size: row.size, turns: runs })
    const found = await runTask(measuring, { first, second }, { timeoutMs: TIMEOUT_MS })
    for (const [peer, values] of Object.entries(found)) rates.set(`${row.name} ${peer}`, values)
  })
  const { version } = /** @type {any} */ (await (await fetch(`${servers[0].monitor}/varz`)).json())
  for (const server of servers) await server.remove()
  return version
}

/** @type {(rates: Rates, row: string) => number} */
function ratioOf (rates, row) {
  const [ours, theirs] = ['millrace', 'bare'].map((peer) => median(rates.get(`${row} ${peer}`) ?? [NaN]))
  return ours / theirs
}

/** In Markdown. @type {(shown: Row[], rates: Rates) => string} */
function formatTable (shown, rates) {
  const heads = ['records a second', '', ...peers.map(({ label }) => label), 'ratio']
  const lines = shown.map(({ name, site, label }) => {
    const figures = peers.map((peer) => formatRate(median(rates.get(`${name} ${peer.name}`) ?? [NaN])))
    return [site.label, label, ...figures, `${ratioOf(rates, name).toFixed(2)}x`]
  })
  return formatMarkdown(heads, lines, (column) => column < 2)
}

/** @param {number} rate */
function formatRate (rate) {
  return formatCount(Math.round(Number(rate.toPrecision(3))))
}

/** @type {(shown: Row[], rates: Rates, facts: import('../lib/report').Facts) => import('../lib/report').Sheet} */
function toSheet (shown, rates, facts) {
  return {
    facts,
    notes: shown.map(({ name, site, label }) => `row ${name}: ${site.label}: ${label}`),
    columns: 'row,peer,run,rate',
    rows: [...rates].flatMap(([key, values]) => values.map((rate, index) => [...key.split(' '), index + 1, rate.toPrecision(6)]))
  }
}

/** @param {string} folder */
function readSheet (folder) {
  const file = path.join(folder, 'jetstream.csv')
  if (!fs.existsSync(file)) throw new UserError('--draw: there is no data/jetstream.csv; measure first')
  const sheet = readCsv(file)
  /** @type {Rates} */
  const rates = new Map()
  for (const { row, peer, rate } of sheet.rows) rates.set(`${row} ${peer}`, [...rates.get(`${row} ${peer}`) ?? [], Number(rate)])
  return { rates, facts: sheet.facts, lines: sheet.rows }
}

/** The table and figures for pages. @type {import('../figures/sources').Source} */
const source = {
  sheet: 'jetstream',
  open (folder) {
    const { rates, facts, lines } = readSheet(folder)
    const shown = rows.filter(({ name }) => rates.has(`${name} millrace`))
    const valuesOf = createFinder(lines, ({ row, peer }) => [`${row} ${peer}`], ({ rate }) => Number(rate))
    return {
      facts,
      tables: { '': () => [formatTable(shown, rates), describeFacts(facts)].join('\n\n') },
      find (key) {
        const values = valuesOf(key)
        return values.length > 0 ? { values, unit: 'rate' } : undefined
      }
    }
  }
}

/** @type {(shown: Row[], rates: Rates, facts: import('../lib/report').Facts) => Promise<string>} */
function draw (shown, rates, facts) {
  const panels = SITES.filter((site) => shown.some((row) => row.site === site)).map((site) => ({
    title: site.label,
    rows: shown.filter((row) => row.site === site && row.work !== 'consume').map((row) => toBars(row, row.label, rates))
  }))
  const consuming = shown.filter(({ work }) => work === 'consume')
  if (consuming.length > 0) {
    const places = { 1: 'one server', 3: 'three replicas' }
    panels.push({ title: 'consume', rows: consuming.map((row) => toBars(row, places[row.site.replicas], rates)) })
  }
  return drawChart({
    title: 'On NATS JetStream: a Millrace log, and a bare client that does the same',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: peers.map(({ label }) => label),
    marks: 'bars',
    footer: [
      'Servers and clients share one machine: three replicas write three times as much to the same disk.',
      'Thin lines go from the slowest run to the fastest.',
      describeSetting(`Records of ${RECORD_SIZE} bytes`, facts, [...rates.values()].map(({ length }) => length))
    ]
  }, (canvas) => drawBars(canvas, panels, { columns: 2, barHeight: 11, rowGap: 5, labelWidth: 120, valueWidth: 56 }))
}

/** @type {(row: Row, label: string, rates: Rates) => any} */
function toBars ({ name }, label, rates) {
  const bars = peers.flatMap((peer, look) => {
    const values = rates.get(`${name} ${peer.name}`) ?? []
    if (values.length === 0) return []
    const value = median(values)
    const text = String(Number((value / 1000).toPrecision(3)))
    return [{ look, value, min: Math.min(...values), max: Math.max(...values), text }]
  })
  return { label, bars }
}

if (require.main === module) runCommand(COMMAND)

exports.source = source
exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
