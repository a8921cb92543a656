'use strict'
// From the words of the command line to checked options.

const { formatCommand, parseWords, toInteger, toNames, toPath } = require('./option-values')
const { UserError } = require('./user-error')
const { pickLayers, pickStacks } = require('./registry')

const KIB = 1024
const DEFAULT_BLOCKS = [1, 2, 4, 8, 16, 32, 64, 128]
const FULL_BLOCKS = Array.from({ length: 127 }, (_, index) => index + 1)
const DEFAULT_RUNS = 3
// A default run must end within five minutes, also where a machine is slow or shared: see the README.
const BUDGET_MS = 215000
// The size of the log that the first benchmark of this kind was made on: 343 MB.
const DEFAULT_RECORDS = 458803
// At about 750 bytes each these fill 3.7 GB, and the 32-bit framing ends at 4 GiB.
const MAX_RECORDS = 5000000

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {number[]} blockSizes  bytes, ascending
 * @property {import('./shapes').Layer[]} layers
 * @property {import('./shapes').Stack[]} stacks
 * @property {number} runs
 * @property {number} budgetMs  since the start of the process; after it no case runs again
 * @property {number} records  of the generated log
 * @property {string | undefined} file  a log to read instead of the generated one
 * @property {string | undefined} out  the folder for data/ and images/, when it is not the default
 * @property {string} command  how to run the same again, without paths
 */

const SPEC = /** @type {const} */ ({
  blocks: { type: 'string' },
  layers: { type: 'string' },
  stacks: { type: 'string' },
  runs: { type: 'string' },
  records: { type: 'string' },
  file: { type: 'string' },
  out: { type: 'string' },
  full: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
})

/**
 * @param {string[]} argv  without node and the script
 * @returns {Options}
 * @throws {UserError}  one line that names the option
 */
function parseOptions (argv) {
  const values = parse(argv)
  refuseTogether(values, 'full', 'blocks')
  refuseTogether(values, 'records', 'file')
  return {
    help: values.help ?? false,
    blockSizes: toBlockSizes(values),
    layers: pickLayers(toNames('--layers', values.layers)),
    stacks: pickStacks(toNames('--stacks', values.stacks)),
    runs: values.runs === undefined ? DEFAULT_RUNS : toInteger('--runs', values.runs, 1, 1000),
    budgetMs: values.runs === undefined && !values.full ? BUDGET_MS : Infinity,
    records: values.records === undefined ? DEFAULT_RECORDS : toInteger('--records', values.records, 1, MAX_RECORDS),
    file: toPath('--file', values.file),
    out: toPath('--out', values.out),
    command: toCommand(values)
  }
}

/** @param {string[]} argv */
function parse (argv) {
  return parseWords(argv, SPEC)
}

/** @typedef {ReturnType<typeof parse>} Values */

/**
 * @param {Values} values
 * @param {keyof Values} a
 * @param {keyof Values} b
 */
function refuseTogether (values, a, b) {
  if (values[a] !== undefined && values[b] !== undefined) {
    throw new UserError(`--${a} and --${b} exclude each other`)
  }
}

/** @param {Values} values */
function toBlockSizes (values) {
  if (values.full) return FULL_BLOCKS.map((kib) => kib * KIB)
  if (values.blocks === undefined) return DEFAULT_BLOCKS.map((kib) => kib * KIB)
  const sizes = toNames('--blocks', values.blocks).map((text) => toInteger('--blocks', text, 1, 16384) * KIB)
  return [...new Set(sizes)].sort((a, b) => a - b)
}

/**
 * The options that change what is measured.
 * @param {Values} values
 */
function toCommand (values) {
  const { blocks, layers, stacks, runs, records, file } = values
  const flags = values.full ? ['--full'] : []
  return formatCommand('npm run bench', flags, { blocks, layers, stacks, runs, records, file })
}

exports.parseOptions = parseOptions
exports.DEFAULT_RECORDS = DEFAULT_RECORDS
exports.MAX_RECORDS = MAX_RECORDS
