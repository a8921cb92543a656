'use strict'
// `npm run bench:peers`: Millrace beside the logs that it succeeds and the databases that one may use instead.

const fs = require('node:fs')
const path = require('node:path')
const { UserError, describeWritten, prepareFolders, readOptions, toInteger, toNames } = require('../lib/command')
const { findSource } = require('../lib/logs')
const { loadParts, pickParts } = require('../lib/parts')
const { formatCount, gatherFacts, writeCsv } = require('../lib/report')
const { withFolder } = require('../lib/work-file')
const { drawPeers, formatTable, toSheet } = require('./report')
const { runCases } = require('./run-cases')

const DEFAULT_RUNS = 3
// A default run must end within ten minutes, also where a machine is slow or shared.
const BUDGET_MS = 7 * 60_000
const DEFAULT_RECORDS = 200_000
// All of them are in memory at once, to be appended.
const MAX_RECORDS = 1_000_000

/** @type {import('../stores').Peer[]} */
const peers = loadParts(path.join(__dirname, '..', 'stores', 'index.js'))
/** @type {import('./jobs').Job[]} */
const jobs = loadParts(path.join(__dirname, 'jobs.js'))

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench:peers',
  about: 'Gives the same records to Millrace, to its predecessors and to databases, and writes data/peers.csv and images/peers.*.',
  options: {
    only: { takes: 'LIST', about: 'peers, paths of modules, and jobs', standard: 'all but bench-flumelog', read: toPeersAndJobs },
    runs: { takes: 'N', about: 'how often each case runs', standard: '3, while 7 minutes are not up', read: toInteger(1, 1000, DEFAULT_RUNS) },
    records: { takes: 'N', about: `messages, up to ${MAX_RECORDS}`, standard: String(DEFAULT_RECORDS), read: toInteger(1, MAX_RECORDS, DEFAULT_RECORDS) }
  },
  more: () => [
    `Peers: ${peers.map(({ name }) => name).join(', ')}`, '', 'Jobs:', ...jobs.map(({ name, meaning }) => `  ${name.padEnd(16)}${meaning}`)
  ].join('\n')
}

/**
 * @param {string[]} argv  without node and the script
 * @returns {any}
 * @throws {UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { given, only, ...options } = readOptions(COMMAND, argv)
  return { ...options, ...only, budgetMs: given.runs === undefined ? BUDGET_MS : Infinity }
}

/**
 * @param {string | undefined} text  peers, jobs, or both; of a kind that none is named of, all
 * @param {string} option
 */
function toPeersAndJobs (text, option) {
  const words = toNames(option, text)
  const names = [...peers, ...jobs].map(({ name }) => name)
  const unknown = words.find((word) => !names.includes(word) && !word.endsWith('.js'))
  if (unknown !== undefined) throw new UserError(`${option}: unknown "${unknown}", choose from ${names.join(', ')}`)
  const isJob = (/** @type {string} */ word) => jobs.some(({ name }) => name === word)
  return {
    peers: pickParts(option, peers, words.filter((word) => !isJob(word)), (part) => typeof part.open === 'function'),
    jobs: pickParts(option, words.some(isJob) ? jobs : jobs.filter(({ cases }) => !cases), words.filter(isJob))
  }
}

/**
 * @param {any} options
 * @returns {Promise<number>}  the exit code
 */
async function run (options) {
  const folders = prepareFolders(options.out)
  const source = await findSource({ records: options.records }, folders.generated)
  const { json, binary, query, hits, records: total } = source
  const context = { logs: { binary, json }, query, total, hits }
  const cells = await withFolder(folders.generated, 'peers', (folder) => runCases(options, { ...context, folder }))
  const size = (/** @type {string} */ file) => `${Math.round(fs.statSync(file).size / total)} bytes`
  const input = `${formatCount(total)} messages of ${size(binary)} in the binary format, ${size(json)} as JSON`
  const facts = gatherFacts(options.command, cells.flatMap(({ packages }) => packages), input)
  console.log(`\n${formatTable(cells, facts)}\n`)
  console.log(describeWritten([
    writeCsv(folders.data, 'peers', toSheet(cells, facts)),
    ...await drawPeers(folders.images, cells, facts)
  ]))
  return 0
}

exports.COMMAND = COMMAND
exports.parseOptions = parseOptions
exports.run = run
exports.peers = peers
exports.jobs = jobs
