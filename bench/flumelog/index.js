'use strict'
// `npm run bench:flumelog`: the flume family's own bench over this log and over others that it knows.
// Exit codes: 0 done, 1 one of ours failed, 2 a wrong option.

const path = require('node:path')
const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages } = require('../lib/facts')
const { formatCommand, parseWords, toInteger, toNames, toPath } = require('../lib/option-values')
const { createProgress } = require('../lib/progress')
const { ChildError, runChild } = require('../lib/run-child')
const { UserError } = require('../lib/user-error')
const { withFolder } = require('../lib/work-file')
const { logs } = require('./logs')
const { formatTable, writeCsv } = require('./report')

const CHILD = path.join(__dirname, 'child.js')
const RUNS = 2
const USAGE = `Usage: npm run bench:flumelog -- [options]

Runs bench-flumelog over each log, and writes data/flumelog.csv. Takes some four minutes.

  --logs LIST   which logs                              ${logs.map(({ name }) => name).join(',')}
  --runs N      how often each of them runs             ${RUNS}
  --out DIR     where data/ goes                        the root of the repository
  --help        this text
`

const SPEC = /** @type {const} */ ({
  logs: { type: 'string' },
  runs: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' }
})

/** @typedef {import('./logs').PeerLog} PeerLog */
/** @typedef {import('./report').Result} Result */

runCommand('bench:flumelog', async () => {
  const values = parseWords(process.argv.slice(2), SPEC)
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const chosen = pickLogs(toNames('--logs', values.logs))
  const runs = values.runs === undefined ? RUNS : toInteger('--runs', values.runs, 1, 100)
  const folders = prepareFolders(toPath('--out', values.out))
  const results = await runAll(chosen, runs, folders.generated)
  const facts = {
    ...describeMachine(),
    command: formatCommand('npm run bench:flumelog', [], { logs: values.logs, runs: values.runs }),
    packages: describePackages(['bench-flumelog', ...chosen.map((log) => log.package)])
  }
  console.log(`${formatTable(results)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`)
  console.log(describeWritten([writeCsv(folders.data, results, facts)]))
  return results.some(({ log, failure }) => failure !== null && log.package.startsWith('@millrace/')) ? 1 : 0
})

/**
 * @param {string[]} names  none for all
 * @returns {PeerLog[]}
 */
function pickLogs (names) {
  for (const name of names) {
    if (logs.some((log) => log.name === name)) continue
    throw new UserError(`--logs: there is no ${name}; there are ${logs.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? logs : logs.filter(({ name }) => names.includes(name))
}

/**
 * Rounds are outermost, and another log is first in each: what slows the machine for a while slows all.
 * @param {PeerLog[]} chosen
 * @param {number} runs
 * @param {string} folder
 * @returns {Promise<Result[]>}
 */
async function runAll (chosen, runs, folder) {
  /** @type {Result[]} */
  const results = chosen.map((log) => ({ log, runs: [], failure: null }))
  const turns = Array.from({ length: runs }, (_, run) => {
    const first = run % results.length
    return [...results.slice(first), ...results.slice(0, first)]
  }).flat()
  const progress = createProgress(`running ${turns.length} benches`, turns.length)
  for (const [index, result] of turns.entries()) {
    progress.update(index, result.log.name)
    if (result.failure === null) await runOne(result, folder)
  }
  progress.end()
  return results
}

/**
 * @param {Result} result
 * @param {string} folder
 */
async function runOne (result, folder) {
  try {
    const { figures } = await withFolder(folder, 'flumelog', (own) => {
      return runChild(CHILD, { name: result.log.name, file: path.join(own, 'log') })
    })
    result.runs.push(figures)
  } catch (err) {
    if (!(err instanceof ChildError)) throw err
    result.failure = err.message.split('\n').map((line) => line.trim()).slice(0, 2).join(': ')
  }
}
