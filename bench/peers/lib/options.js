'use strict'
// From the words of the command line of `bench:peers` to checked options.

const path = require('node:path')
const { formatCommand, parseWords, toInteger, toNames, toPath } = require('../../lib/option-values')
const { loadFolder, pickParts, pickWithStrangers } = require('../../lib/parts')
const { UserError } = require('../../lib/user-error')

const DEFAULT_RUNS = 3
// A default run must end within ten minutes, also where a machine is slow or shared.
const BUDGET_MS = 7 * 60_000
const DEFAULT_RECORDS = 200_000
// All of them are in memory at once, to be appended.
const MAX_RECORDS = 1_000_000

/** @typedef {import('./shapes').Peer} Peer */
/** @typedef {import('./shapes').Job} Job */

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {Peer[]} peers
 * @property {Job[]} jobs
 * @property {number} runs
 * @property {number} budgetMs  since the start of the process; after it no case runs again
 * @property {number} records
 * @property {string | undefined} out
 * @property {string} command
 */

const SPEC = /** @type {const} */ ({
  only: { type: 'string' },
  runs: { type: 'string' },
  records: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' }
})

/**
 * @param {string[]} argv  without node and the script
 * @returns {Options}
 * @throws {UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { only, runs, records, out, help } = parseWords(argv, SPEC)
  return {
    help: help ?? false,
    ...pick(toNames('--only', only)),
    runs: runs === undefined ? DEFAULT_RUNS : toInteger('--runs', runs, 1, 1000),
    budgetMs: runs === undefined ? BUDGET_MS : Infinity,
    records: records === undefined ? DEFAULT_RECORDS : toInteger('--records', records, 1, MAX_RECORDS),
    out: toPath('--out', out),
    command: formatCommand('npm run bench:peers', [], { only, runs, records })
  }
}

/**
 * @param {string[]} words  peers, jobs, or both; of a kind that none is named of, all
 * @returns {{ peers: Peer[], jobs: Job[] }}
 */
function pick (words) {
  const [peers, jobs] = [listPeers(), listJobs()]
  const names = [...peers, ...jobs].map(({ name }) => name)
  const unknown = words.find((word) => !names.includes(word) && !word.endsWith('.js'))
  if (unknown !== undefined) throw new UserError(`--only: unknown "${unknown}", choose from ${names.join(', ')}`)
  const isJob = (/** @type {string} */ word) => jobs.some(({ name }) => name === word)
  const isPeer = (/** @type {any} */ part) => typeof part.open === 'function'
  return {
    peers: pickWithStrangers('--only', peers, words.filter((word) => !isJob(word)), isPeer),
    jobs: pickParts('--only', jobs, words.filter(isJob))
  }
}

/** @returns {Peer[]}  in the order of the table */
function listPeers () {
  return loadFolder(path.join(__dirname, '..', 'stores'))
}

/** @returns {Job[]} */
function listJobs () {
  return loadFolder(path.join(__dirname, '..', 'jobs'))
}

function usage () {
  const jobs = listJobs()
  return `Usage: npm run bench:peers -- [options]

Gives the same records to Millrace, to its predecessors and to databases, and writes data/peers.csv and images/peers.*.

  --only LIST     peers and jobs                          all of them
  --runs N        how often each case runs                ${DEFAULT_RUNS}, while ${BUDGET_MS / 60_000} minutes are not up
  --records N     messages, up to ${MAX_RECORDS}                 ${DEFAULT_RECORDS}
  --out DIR       where data/ and images/ go              the root of the repository
  --help          this text

Peers: ${listPeers().map(({ name }) => name).join(', ')}

Jobs:
${jobs.map(({ name, meaning }) => `  ${name.padEnd(13)}${meaning}`).join('\n')}
`
}

exports.parseOptions = parseOptions
exports.listPeers = listPeers
exports.listJobs = listJobs
exports.usage = usage
