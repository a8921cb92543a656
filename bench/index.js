'use strict'
// `npm run bench`: times every layer across block sizes, stack beside stack; leaves a table, CSV files, charts, a page.
// Exit codes: 0 done, 1 a measurement failed or the stacks disagree, 2 a wrong option or file.

const path = require('node:path')
const { runCases } = require('./layers/cases')
const { describeReport, drawCharts, formatMarkdownTable, formatTable, gatherCells, readSheets, toSheets } = require('./layers/report')
const { countOption, readOptions, runCommand, toInteger, toNames, toParts, toPath } = require('./lib/command')
const { DEFAULT_RECORDS, MAX_RECORDS, describeSource } = require('./lib/logs')
const { createFinder, gatherFacts, readCsv } = require('./lib/report')
const { writePage } = require('./page')
const { UserError, loadParts } = require('./lib/run')

const KIB = 1024
const FULL_BLOCKS = Array.from({ length: 127 }, (_, index) => (index + 1) * KIB)
const MEASURING = ['full', 'blocks', 'runs', 'records', 'file']
const DEFAULT_BLOCKS = '1,2,4,8,16,32,64,128'

/** @type {import('./layers/layers').Layer[]} */
const layers = loadParts(require.resolve('./layers/layers'))
/** @type {import('./layers/stacks').Stack[]} */
const stacks = loadParts(require.resolve('./layers/stacks'))
const namesOf = (/** @type {Array<{ name: string }>} */ parts) => parts.map(({ name }) => name).join(',')

/**
 * @typedef {object} Options
 * @property {number[]} blockSizes  bytes, ascending
 * @property {boolean} draw  what was measured before
 * @property {import('./layers/layers').Layer[]} layers
 * @property {import('./layers/stacks').Stack[]} stacks
 * @property {number} runs
 * @property {number} budgetMs  since the start of the process; after it no case runs again
 * @property {number} records  of the generated log
 * @property {string | undefined} file  a log to read instead of the generated one
 * @property {string} command  how to run the same again, without paths
 */

/** @type {import('./lib/command').Command} */
const COMMAND = {
  name: 'bench',
  about: 'Times every layer across block sizes, for each stack, and writes data/<layer>.csv, images/report.html and charts.',
  options: {
    blocks: { takes: 'LIST', about: 'block sizes in KiB', standard: DEFAULT_BLOCKS, read: toBlockSizes },
    full: { about: 'every block size from 1 to 127 KiB', standard: 'takes about an hour' },
    layers: { takes: 'LIST', about: 'layers to time', standard: namesOf(layers), read: toParts(layers) },
    stacks: {
      takes: 'LIST',
      about: 'stacks to time, or paths of modules',
      standard: namesOf(stacks),
      read: toParts(stacks, (part) => typeof part.primitives === 'object')
    },
    runs: countOption('how often each case runs', { initial: 3, standard: '3, while 215 seconds are not up' }),
    records: countOption('messages in the generated log', { max: MAX_RECORDS, initial: DEFAULT_RECORDS }),
    file: { takes: 'PATH', about: 'a flumelog-offset log (32-bit offsets, JSON) to read instead', read: toPath },
    draw: { about: 'measures nothing: draws what data/<layer>.csv hold' }
  },
  // A default run must end within five minutes, also where a machine is slow or shared: see the README.
  budgetMs: 215000,
  parts: [['Layers', layers.map(({ name, meaning }) => [name, meaning])]],
  refine: ({ given, full, blocks, budgetMs }) => {
    for (const [a, b] of [['full', 'blocks'], ['records', 'file'], ...MEASURING.map((name) => ['draw', name])]) {
      if (given[a] !== undefined && given[b] !== undefined) throw new UserError(`--${a} and --${b} exclude each other`)
    }
    return full ? { blockSizes: FULL_BLOCKS, budgetMs: Infinity } : { blockSizes: blocks, budgetMs }
  },
  run
}

/**
 * @param {string | undefined} text
 * @param {string} option
 */
function toBlockSizes (text = DEFAULT_BLOCKS, option) {
  const sizes = toNames(option, text).map((name) => toInteger(name, option, 1, 16384) * KIB)
  return [...new Set(sizes)].sort((a, b) => a - b)
}

/**
 * @param {Options} options
 * @param {string} generated
 * @returns {Promise<import('./lib/command').Results>}
 */
async function run (options, generated) {
  const { measurements, facts, skipped } = options.draw
    ? { ...readSheets(options, path.join(generated, '..')), skipped: 0 }
    : await measure(options, generated)
  const cells = gatherCells(options, measurements)
  const lines = [formatTable(cells), '', `${facts.machine}, Node ${facts.node}`, facts.input]
  if (skipped > 0) lines.push(`out of time: ${skipped} second or third runs were left out; --runs 3 insists on them`)
  return {
    isPartial: Object.keys(/** @type {any} */ (options).given).some((name) => !['draw', 'out', 'runs'].includes(name)),
    sheets: options.draw ? {} : toSheets(options, measurements, facts),
    charts: await drawCharts(cells, facts, (line) => lines.push(line)),
    pages: { report: await writePage(describeReport(cells, facts)) },
    table: lines.join('\n')
  }
}

/**
 * @param {Options} options
 * @param {string} generated
 */
async function measure (options, generated) {
  const { measurements, source, skipped } = await runCases(options, generated)
  const facts = gatherFacts(options.command, options.stacks.flatMap(({ packages }) => packages), describeSource(source))
  return { measurements, facts, skipped }
}

/** The tables and figures for pages. @type {Record<string, import('./figures/sources').Source>} */
const sources = {
  layers: {
    sheet: layers[0].name,
    open (folder) {
      const { measurements, facts } = readSheets({ layers, stacks }, folder)
      return { facts, tables: { '': () => formatMarkdownTable(gatherCells({ layers, stacks }, measurements)) } }
    }
  },
  ...Object.fromEntries(layers.map(({ name }) => [name, createLayerSource(name)]))
}

/**
 * Its figures are found by the block size in KiB and the stack.
 * @type {(layer: string) => import('./figures/sources').Source}
 */
function createLayerSource (layer) {
  return {
    sheet: layer,
    open (folder) {
      const { facts, rows } = readCsv(path.join(folder, `${layer}.csv`))
      const valuesOf = createFinder(rows, (row) => [`${Number(row.block_size) / KIB} ${row.stack}`], ({ ms }) => Number(ms))
      return {
        facts,
        find (key) {
          const values = valuesOf(key)
          return values.length > 0 ? { values, unit: 'ms' } : undefined
        }
      }
    }
  }
}

if (require.main === module) runCommand(COMMAND)

exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
exports.sources = sources
exports.layers = layers
exports.stacks = stacks
