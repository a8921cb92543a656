'use strict'
// `npm run bench:logging`: Millrace's log writer beside other loggers and a database, in the shapes of three other
// projects' benchmarks. Exit codes: 0 done; 1 a goal in reach was missed by more than 10%, or a measurement failed; 2 a
// wrong option.

const fs = require('node:fs')
const path = require('node:path')
const { countOption, readOptions, runCommand, toParts } = require('../lib/command')
const { gatherFacts, readCsv } = require('../lib/report')
const { UserError, loadParts } = require('../lib/run')
const { compareRuns, profileRows } = require('./inspect')
const { Results, drawLogging, formatTable, fromSheet, listAbsent, toMeasured, toSheet } = require('./report')
const { runCells } = require('./run')

const DOCUMENT = path.join('docs', 'performance.md')
const MARKED = /<!-- bench:logging (\w+) -->[^]*?<!-- bench:logging end -->/g

/** @type {import('./tables/shared').Table[]} */
const tables = ['solidlog', 'logsystem', 'fapilog'].map((name) => require(`./tables/${name}`).table)
/** @type {import('./outlets').Peer[]} */
const peers = loadParts(require.resolve('./outlets'))
const rows = tables.flatMap(({ rows }) => rows)
const groups = new Map(tables.map(({ name, rows }) => [name, rows]))

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:logging',
  about: `Logs the same records with Millrace, other loggers and a database, as the benchmarks of SolidLog, LogSystem
and fapilog do. Writes data/logging.csv and images/logging.*, and the tables in the documentation. Ends with exit code 1
when a goal is missed by more than 10%.`,
  options: {
    rows: { takes: 'LIST', about: 'rows, or tables of rows', standard: 'all', read: toParts(rows, undefined, groups) },
    peers: { takes: 'LIST', about: 'who takes part', standard: 'all', read: toParts(peers) },
    runs: countOption('how often each case runs', { initial: 3, standard: '3, while 8 minutes are not up' }),
    profile: { about: 'shows the five functions that take most of the time at each row, and nothing else' },
    against: { takes: 'FILE', about: 'the CSV file of an earlier run, to compare the figures with', read: readEarlier },
    draw: { about: 'measures nothing: writes the tables and the chart of data/logging.csv' }
  },
  // A default run must end within twelve minutes, even on a slow or shared machine.
  budgetMs: 8 * 60_000,
  parts: [
    ...tables.map(({ title, rows }) => /** @type {[string, Array<[string, string]>]} */ (
      [title, rows.map(({ name, lines: [{ what }] }) => [name, what])]
    )),
    ['Peers', peers.map(({ name, label }) => [name, label])]
  ],
  run
}

/** @type {(options: any, generated: string) => Promise<import('../lib/command').Results>} */
async function run (options, generated) {
  if (options.profile) {
    return { table: await profileRows(options.rows, options.peers, generated), sheets: {}, charts: {} }
  }
  const { results, facts } = options.draw ? readSheet(generated) : await measure(options, generated)
  const shown = tables.filter(({ rows }) => rows.some(({ name }) => results.measured.some(({ row }) => row === name)))
  const texts = shown.map((table) => [`## ${table.title}: ${table.about}`, formatTable(table, peers, results)].join('\n\n'))
  const isWhole = options.given.rows === undefined && options.given.peers === undefined
  if (isWhole) writeDocument(path.join(generated, '..', '..', DOCUMENT), shown, results, facts)
  if (options.against) texts.push(`## Against the earlier run\n\n${compareRuns(results, options.against, rows, peers)}`)
  const verdicts = rows.flatMap((row) => row.lines.flatMap((line) => results.judge(row, line)))
  return {
    table: [...texts, ...listAbsent(results, rows, peers), describe(facts)].join('\n\n'),
    sheets: options.draw ? {} : { logging: toSheet(results, tables, facts) },
    charts: { logging: await drawLogging(results, tables, peers, facts) },
    isFailure: !options.draw && verdicts.some(({ verdict }) => verdict === 'missed')
  }
}

/** @param {import('../lib/report').Facts} facts */
function describe ({ command, machine, node, packages }) {
  return `\`${command}\` on ${machine}, Node ${node}; ${packages}.`
}

/**
 * Puts the tables between their marks in the documentation, if it is where the outputs go.
 * @param {string} file
 * @param {import('./tables/shared').Table[]} shown
 * @param {Results} results
 * @param {import('../lib/report').Facts} facts
 */
function writeDocument (file, shown, results, facts) {
  if (!fs.existsSync(file)) return
  const text = fs.readFileSync(file, 'utf8')
  fs.writeFileSync(file, text.replace(MARKED, (whole, name) => {
    const table = shown.find((table) => table.name === name)
    if (table === undefined) return whole
    const absent = listAbsent(results, table.rows, peers)
    const parts = [formatTable(table, peers, results), ...absent, describe(facts)]
    return [`<!-- bench:logging ${name} -->`, ...parts, '<!-- bench:logging end -->'].join('\n\n')
  }))
}

/** @type {(options: any, generated: string) => Promise<{ results: Results, facts: import('../lib/report').Facts }>} */
async function measure (options, generated) {
  const cells = await runCells(options, options.peers, generated)
  const packages = cells.flatMap(({ peer, runs }) => runs.length > 0 ? peer.packages : [])
  return { results: new Results(toMeasured(cells)), facts: gatherFacts(options.command, packages) }
}

/** @param {string} generated */
function readSheet (generated) {
  const file = path.join(generated, '..', 'logging.csv')
  if (!fs.existsSync(file)) throw new UserError('--draw: there is no data/logging.csv; measure first')
  const { facts, rows } = readCsv(file)
  return { results: new Results(fromSheet(rows)), facts }
}

/** @param {string | undefined} file @returns {Results | undefined} */
function readEarlier (file) {
  if (file === undefined) return undefined
  if (!fs.existsSync(file)) throw new UserError(`--against: there is no file ${file}`)
  return new Results(fromSheet(readCsv(file).rows))
}

if (require.main === module) runCommand(COMMAND)

exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
exports.tables = tables
exports.peers = peers
