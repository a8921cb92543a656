'use strict'
// `npm run bench:micro`: one hot function at a time, in memory, with tinybench.
// Exit codes: 0 done, 1 a function failed, 2 a wrong option, or tinybench is not installed.

const path = require('node:path')
const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages, versionOf } = require('../lib/facts')
const { MeasureError } = require('../lib/measure')
const { formatCommand, parseWords, toInteger, toNames, toPath } = require('../lib/option-values')
const { fileOf, loadFolder, pickParts } = require('../lib/parts')
const { createProgress } = require('../lib/progress')
const { ChildError, runChild } = require('../lib/run-child')
const { UserError } = require('../lib/user-error')
const { formatTable, writeCsv } = require('./report')

/** @typedef {import('./shapes').Suite} Suite */
/** @typedef {import('./shapes').Figure} Figure */

const CHILD = path.join(__dirname, 'child.js')
const TIME_MS = 300
const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/binary-codec', '@millrace/json-codec',
  '@millrace/where', '@node-rs/crc32', 'tinybench']

/** @type {Suite[]} */
const suites = loadFolder(path.join(__dirname, 'suites'))

const USAGE = `Usage: npm run bench:micro -- [options]

Times hot functions one by one, and writes data/micro.csv.

  --only LIST   which suites                   ${suites.map(({ name }) => name).join(',')}
  --time MS     how long each function runs    ${TIME_MS}
  --out DIR     where data/ goes               the root of the repository
  --help        this text
`

const SPEC = /** @type {const} */ ({
  only: { type: 'string' },
  time: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' }
})

runCommand('bench:micro', async () => {
  const { only, time, out, help } = parseWords(process.argv.slice(2), SPEC)
  if (help) {
    process.stdout.write(USAGE)
    return 0
  }
  const chosen = pickParts('--only', suites, toNames('--only', only))
  const timeMs = time === undefined ? TIME_MS : toInteger('--time', time, 1, 60_000)
  const folder = toPath('--out', out)
  if (versionOf('tinybench', __filename) === 'not installed') {
    throw new UserError('tinybench, an optional dependency, is not installed: npm install')
  }
  const folders = prepareFolders(folder)
  const figures = await runAll(chosen, timeMs)
  const facts = {
    ...describeMachine(),
    command: formatCommand('npm run bench:micro', [], { only, time }),
    packages: describePackages(PACKAGES)
  }
  console.log(`${formatTable(figures)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`)
  console.log(describeWritten([writeCsv(folders.data, figures, facts)]))
  return 0
})

/**
 * @param {Suite[]} chosen
 * @param {number} timeMs
 * @returns {Promise<Figure[]>}
 */
async function runAll (chosen, timeMs) {
  const progress = createProgress(`running ${chosen.length} suites`, chosen.length)
  /** @type {Figure[]} */
  const all = []
  for (const [index, suite] of chosen.entries()) {
    progress.update(index, suite.name)
    try {
      const { figures } = await runChild(CHILD, { suiteFile: fileOf(suite), timeMs })
      all.push(...figures)
    } catch (err) {
      throw err instanceof ChildError ? new MeasureError(`suite ${suite.name}: ${err.message}`) : err
    }
  }
  progress.end()
  return all
}
