'use strict'
// `npm run bench`: times every layer across block sizes, stack beside stack, and leaves a table, CSV files and charts.

const fs = require('node:fs')
const path = require('node:path')
const { UserError, describeWritten, prepareFolders, readOptions, toInteger, toNames, toPath } = require('../lib/command')
const { DEFAULT_RECORDS, MAX_RECORDS, describeSource } = require('../lib/logs')
const { loadParts, toParts } = require('../lib/parts')
const { gatherFacts } = require('../lib/report')
const { runCases } = require('./cases')
const { drawCharts } = require('./charts')
const { formatTable, gatherCells, writeCsvs } = require('./report')

const KIB = 1024
const FULL_BLOCKS = Array.from({ length: 127 }, (_, index) => (index + 1) * KIB)
const DEFAULT_RUNS = 3
// A default run must end within five minutes, also where a machine is slow or shared: see the README.
const BUDGET_MS = 215000

/** @type {import('./layers').Layer[]} */
const layers = loadParts(path.join(__dirname, 'layers.js'))
/** @type {import('./stacks').Stack[]} */
const stacks = loadParts(path.join(__dirname, 'stacks.js'))
const namesOf = (/** @type {Array<{ name: string }>} */ parts) => parts.map(({ name }) => name).join(',')

/**
 * @typedef {object} Options
 * @property {number[]} blockSizes  bytes, ascending
 * @property {import('./layers').Layer[]} layers
 * @property {import('./stacks').Stack[]} stacks
 * @property {number} runs
 * @property {number} budgetMs  since the start of the process; after it no case runs again
 * @property {number} records  of the generated log
 * @property {string | undefined} file  a log to read instead of the generated one
 * @property {string | undefined} out
 * @property {string} command  how to run the same again, without paths
 */

/** @type {import('../lib/command').Command} */
const COMMAND = {
  name: 'bench',
  about: 'Times every layer across block sizes, for each stack, and writes data/<layer>.csv and images/*.svg, *.png.',
  options: {
    blocks: { takes: 'LIST', about: 'block sizes in KiB', standard: '1,2,4,8,16,32,64,128', read: toBlockSizes },
    full: { about: 'every block size from 1 to 127 KiB', standard: 'takes about an hour' },
    layers: { takes: 'LIST', about: 'layers to time', standard: namesOf(layers), read: toParts(layers) },
    stacks: {
      takes: 'LIST',
      about: 'stacks to time, or paths of modules',
      standard: namesOf(stacks),
      read: toParts(stacks, (part) => typeof part.primitives === 'object')
    },
    runs: { takes: 'N', about: 'how often each case runs', standard: '3, while 215 seconds are not up', read: toInteger(1, 1000, DEFAULT_RUNS) },
    records: { takes: 'N', about: 'messages in the generated log', standard: String(DEFAULT_RECORDS), read: toInteger(1, MAX_RECORDS, DEFAULT_RECORDS) },
    file: { takes: 'PATH', about: 'a flumelog-offset log (32-bit offsets, JSON) to read instead', read: toPath }
  },
  more: () => `Layers:\n${layers.map((layer) => `  ${layer.name.padEnd(8)}${layer.meaning}`).join('\n')}`
}

/**
 * @param {string[]} argv  without node and the script
 * @returns {Options & { help: boolean }}
 * @throws {UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { given, blocks, ...options } = readOptions(COMMAND, argv)
  for (const [a, b] of [['full', 'blocks'], ['records', 'file']]) {
    if (given[a] !== undefined && given[b] !== undefined) throw new UserError(`--${a} and --${b} exclude each other`)
  }
  const budgetMs = given.runs === undefined && !given.full ? BUDGET_MS : Infinity
  return { ...options, blockSizes: given.full ? FULL_BLOCKS : blocks, budgetMs }
}

/**
 * @param {string | undefined} text
 * @param {string} option
 */
function toBlockSizes (text = '1,2,4,8,16,32,64,128', option) {
  const sizes = toNames(option, text).map((name) => toInteger(1, 16384, 0)(name, option) * KIB)
  return [...new Set(sizes)].sort((a, b) => a - b)
}

/**
 * @param {Options} options
 * @returns {Promise<number>}  the exit code
 */
async function run (options) {
  const folders = prepareFolders(options.out)
  const { measurements, source, skipped } = await runCases(options, folders.generated)
  const facts = gatherFacts(options.command, options.stacks.flatMap(({ packages }) => packages), describeSource(source))
  const cells = gatherCells(options, measurements)
  console.log(`${formatTable(cells)}\n\n${facts.machine}, Node ${facts.node}\n${facts.input}`)
  if (skipped > 0) console.log(`out of time: ${skipped} second or third runs were left out; --runs 3 insists on them`)
  const input = { facts, records: source.records, bytes: fs.statSync(source.json).size, runs: countRuns(measurements) }
  const say = (/** @type {string} */ line) => console.log(line)
  console.log(describeWritten([
    ...writeCsvs(folders.data, options, measurements, facts),
    ...await drawCharts(folders.images, cells, input, say)
  ]))
  return 0
}

/**
 * @param {import('./cases').Measurement[]} measurements
 * @returns {number[]}  how often each case ran, but for those that run once by design
 */
function countRuns (measurements) {
  /** @type {Map<string, number>} */
  const counts = new Map([['', 0]])
  for (const { stack, layer, blockSize, scaled } of measurements) {
    const key = [stack, layer, blockSize].join(' ')
    if (!scaled) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  counts.delete('')
  return counts.size > 0 ? [...counts.values()] : [1]
}

exports.COMMAND = COMMAND
exports.parseOptions = parseOptions
exports.run = run
exports.layers = layers
exports.stacks = stacks
