'use strict'
// A command that measures rows in which several peers do the same work: its options, its tables in the documentation,
// its CSV file and its charts.

const fs = require('node:fs')
const path = require('node:path')
const { runCells } = require('./cells')
const { countOption, toParts } = require('./command')
const { compareRuns, profileRows } = require('./inspect')
const { createFinder, describeFacts, gatherFacts, readCsv } = require('./report')
const { UserError } = require('./run')
const { Results, drawTables, formatTable, fromSheet, listAbsent, toMeasured, toSheet } = require('./tables')

/** @typedef {import('./tables').Row} Row */
/** @typedef {import('./report').Facts} Facts */

/**
 * @typedef {object} TableCommand
 * @property {string} name  `bench:NAME` is the script, `data/NAME.csv` its figures
 * @property {string} about  the first lines of --help
 * @property {import('./tables').Table[]} tables
 * @property {import('./tables').Peer[]} peers  as `loadParts` gives them
 * @property {string} works  the module whose `measure` does the work of a row
 * @property {number} budgetMs  after this time no case runs again
 * @property {Record<string, import('./tables').Drawing>} drawings  charts by their names
 * @property {Record<string, import('./command').Option>} [options]  beside those that every such command has
 * @property {(row: Row, options: any) => Row} [adapt]  a row, as these options change it
 */

/** @param {TableCommand} given @returns {import('./command').Command} */
function createTableCommand (given) {
  const { name, about, tables, peers, budgetMs, options = {} } = given
  const rows = tables.flatMap(({ rows }) => rows)
  const groups = new Map(tables.map(({ name, rows }) => [name, rows]))
  const minutes = budgetMs / 60_000
  return {
    name: `bench:${name}`,
    about,
    options: {
      rows: { takes: 'LIST', about: 'rows, or tables of rows', standard: 'all', read: toParts(rows, undefined, groups) },
      peers: { takes: 'LIST', about: 'who takes part', standard: 'all', read: toParts(peers) },
      runs: countOption('how often each case runs', { initial: 3, standard: `3, while ${minutes} minutes are not up` }),
      ...options,
      profile: { about: 'shows the five functions that take most of the time at each row, and nothing else' },
      against: { takes: 'FILE', about: 'the CSV file of an earlier run, to compare the figures with', read: readEarlier },
      draw: { about: `measures nothing: writes the tables and the charts of data/${name}.csv` }
    },
    budgetMs,
    parts: [
      ...tables.map(({ title, rows }) => /** @type {[string, Array<[string, string]>]} */ (
        [title, rows.map(({ name, lines: [{ what }] }) => [name, what])]
      )),
      ['Peers', peers.map(({ name, label }) => [name, label])]
    ],
    run: (options, generated) => run(given, options, generated)
  }
}

/** @type {(command: TableCommand, options: any, generated: string) => Promise<import('./command').Results>} */
async function run (command, options, generated) {
  const { name, tables, peers, works, drawings } = command
  if (options.profile) {
    return { table: await profileRows(options.rows, options.peers, generated, works), sheets: {}, charts: {} }
  }
  const { results, facts } = options.draw ? readSheet(name, generated) : await measure(command, options, generated)
  const shown = tables.filter(({ rows }) => rows.some(({ name }) => results.measured.some(({ row }) => row === name)))
  const rows = tables.flatMap(({ rows }) => rows)
  const texts = shown.map((table) => [`## ${table.title}: ${table.about}`, formatTable(table, peers, results)].join('\n\n'))
  if (options.against) texts.push(`## Against the earlier run\n\n${compareRuns(results, options.against, rows, peers)}`)
  const verdicts = rows.flatMap((row) => row.lines.flatMap((line) => results.judge(row, line)))
  const charts = Object.entries(drawings).map(async ([name, drawing]) => {
    return [name, await drawTables(results, tables, peers, facts, drawing)]
  })
  return {
    table: [...texts, ...listAbsent(results, rows, peers), describeFacts(facts)].join('\n\n'),
    isPartial: options.given.rows !== undefined || options.given.peers !== undefined,
    sheets: options.draw ? {} : { [name]: toSheet(results, tables, facts) },
    charts: Object.fromEntries(await Promise.all(charts)),
    isFailure: !options.draw && verdicts.some(({ verdict }) => verdict === 'missed')
  }
}

/**
 * The tables and figures of such a command, for pages.
 * @param {Pick<TableCommand, 'name' | 'tables' | 'peers'>} command
 * @returns {import('../figures/sources').Source}
 */
function createSource ({ name, tables, peers }) {
  const lines = new Map(tables.flatMap(({ rows }) => rows.flatMap((row) => row.lines.map((line, index) => {
    return [`${row.name} ${line.figure}`, { ...line, isFirst: index === 0 }]
  }))))
  const lineOf = (/** @type {Record<string, string>} */ { row, figure }) => lines.get(`${row} ${figure}`)
  return {
    sheet: name,
    open (folder) {
      const sheet = readCsv(path.join(folder, `${name}.csv`))
      const results = new Results(fromSheet(sheet))
      const rows = sheet.rows.filter(({ value }) => value !== '')
      const keysOf = (/** @type {Record<string, string>} */ one) => {
        const { row, figure, peer } = one
        return [`${row} ${figure} ${peer}`, ...lineOf(one)?.isFirst ? [`${row} ${peer}`] : []]
      }
      const valuesOf = createFinder(rows, keysOf, ({ value }) => Number(value))
      return {
        facts: sheet.facts,
        tables: Object.fromEntries(tables.map((table) => [table.name, () => {
          const absent = listAbsent(results, table.rows, peers)
          return [formatTable(table, peers, results), ...absent, describeFacts(sheet.facts)].join('\n\n')
        }])),
        find (key) {
          const unit = lineOf(rows.find((row) => keysOf(row).includes(key)) ?? {})?.unit
          return unit && { values: valuesOf(key), unit }
        }
      }
    }
  }
}

/** @type {(command: TableCommand, options: any, generated: string) => Promise<{ results: Results, facts: Facts }>} */
async function measure ({ works, adapt }, options, generated) {
  const rows = options.rows.map((/** @type {Row} */ row) => adapt ? adapt(row, options) : row)
  const cells = await runCells({ ...options, rows }, options.peers, generated, works)
  const packages = cells.flatMap(({ peer, runs }) => runs.length > 0 ? peer.packages : [])
  return { results: new Results(toMeasured(cells)), facts: gatherFacts(options.command, packages) }
}

/** @type {(name: string, generated: string) => { results: Results, facts: Facts }} */
function readSheet (name, generated) {
  const file = path.join(generated, '..', `${name}.csv`)
  if (!fs.existsSync(file)) throw new UserError(`--draw: there is no data/${name}.csv; measure first`)
  const sheet = readCsv(file)
  return { results: new Results(fromSheet(sheet)), facts: sheet.facts }
}

/** @param {string | undefined} file @returns {Results | undefined} */
function readEarlier (file) {
  if (file === undefined) return undefined
  if (!fs.existsSync(file)) throw new UserError(`--against: there is no file ${file}`)
  return new Results(fromSheet(readCsv(file)))
}

exports.createSource = createSource
exports.createTableCommand = createTableCommand
