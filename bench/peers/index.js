'use strict'
// `npm run bench:peers`: Millrace beside the logs that it succeeds and databases. Exit codes: 0 done; 1 one of ours
// failed, or the peers disagree; 2 a wrong option.

const fs = require('node:fs')
const path = require('node:path')
const { countOption, readOptions, runCommand, toParts } = require('../lib/command')
const { findSource } = require('../lib/logs')
const { createFinder, formatCount, gatherFacts, readCsv } = require('../lib/report')
const { loadParts } = require('../lib/run')
const { withFolder } = require('../lib/work-file')
const { drawPeers, formatShortTable, formatTable, fromSheet, ratesOf, toSheet } = require('./report')
const { runCases } = require('./run')

// All of them are in memory while they are appended.
const MAX_RECORDS = 1_000_000

/** @type {import('../stores').Peer[]} */
const peers = loadParts(require.resolve('../stores'))
/** @type {import('./jobs').Job[]} */
const jobs = loadParts(require.resolve('./jobs'))

const isPeer = (/** @type {any} */ part) => typeof part.open === 'function'

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:peers',
  about: 'Gives the same records to Millrace, to its predecessors and to databases, and writes data/peers.csv and images/peers.*.',
  options: {
    only: { takes: 'LIST', about: 'peers, paths of modules, and jobs', standard: 'all but bench-flumelog', read: toParts([...peers, ...jobs], isPeer) },
    runs: countOption('how often each case runs', { initial: 3, standard: '3, while 7 minutes are not up' }),
    records: countOption(`messages, up to ${MAX_RECORDS}`, { max: MAX_RECORDS, initial: 200_000 })
  },
  // A default run must end within ten minutes, even on a slow or shared machine.
  budgetMs: 7 * 60_000,
  parts: [
    ['Peers', peers.map(({ name }) => [name, ''])],
    ['Jobs', jobs.map(({ name, meaning }) => [name, meaning])]
  ],
  // If no peer is named, all peers run; likewise for jobs.
  refine: ({ given, only }) => {
    const [somePeers, someJobs] = [only.filter(isPeer), only.filter((/** @type {any} */ part) => !isPeer(part))]
    const usual = jobs.filter(({ cases }) => !cases)
    return {
      peers: somePeers.length > 0 ? somePeers : peers,
      jobs: given.only !== undefined && someJobs.length > 0 ? someJobs : usual
    }
  },
  run
}

/** @type {(options: any, generated: string) => Promise<import('../lib/command').Results>} */
async function run (options, generated) {
  const { json, binary, query, hits, records: total } = await findSource({ records: options.records }, generated)
  const context = { logs: { binary, json }, query, total, hits }
  const cells = await withFolder(generated, 'peers', (folder) => runCases(options, { ...context, folder }))
  const size = (/** @type {string} */ file) => `${Math.round(fs.statSync(file).size / total)} bytes`
  const input = `${formatCount(total)} messages of ${size(binary)} in the binary format, ${size(json)} as JSON`
  const facts = gatherFacts(options.command, cells.flatMap(({ packages }) => packages), input)
  return {
    table: `\n${formatTable(cells, facts)}\n`,
    sheets: { peers: toSheet(cells, facts) },
    isPartial: options.given.only !== undefined || options.given.records !== undefined,
    charts: { peers: await drawPeers(cells, facts) }
  }
}

/** The tables and figures for pages. @type {Record<string, import('../figures/sources').Source>} */
const sources = {
  peers: {
    sheet: 'peers',
    open (folder) {
      const sheet = readCsv(path.join(folder, 'peers.csv'))
      const cells = fromSheet(sheet, peers, jobs)
      return {
        facts: sheet.facts,
        tables: { '': () => formatTable(cells, sheet.facts), short: () => formatShortTable(cells) },
        find (key) {
          const cell = cells.find(({ column, peer, way }) => {
            const name = `${column} ${peer.name}`
            return key === `${name} ${way}` || (key === name && (way === '' || way === peer.ways[0]))
          })
          return cell && cell.runs.length > 0 ? { values: ratesOf(cell), unit: 'rate' } : undefined
        }
      }
    }
  },
  // An older run, when bench-flumelog was a command of its own.
  flumelog: {
    sheet: 'flumelog',
    open (folder) {
      const { facts, rows } = readCsv(path.join(folder, 'flumelog.csv'))
      const valuesOf = createFinder(rows, (row) => [`${row.case} ${row.log}`], (row) => Number(row.ops_per_second))
      return {
        facts,
        find (key) {
          const values = valuesOf(key)
          return values.length > 0 ? { values, unit: 'rate' } : undefined
        }
      }
    }
  }
}

if (require.main === module) runCommand(COMMAND)

exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
exports.sources = sources
exports.peers = peers
exports.jobs = jobs
