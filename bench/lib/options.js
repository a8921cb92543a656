'use strict'
// From the words of the command line to checked options.

const { parseArgs } = require('node:util')
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
  try {
    return parseArgs({ args: argv, options: SPEC, strict: true, allowPositionals: false }).values
  } catch (err) {
    // Node explains at length; its first sentence is enough.
    const [sentence] = String(/** @type {Error} */ (err).message).split(/\.\s|\n/)
    throw new UserError(`${sentence.replace(/\.$/, '')}; see --help`)
  }
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
 * @param {string} option
 * @param {string | undefined} text  names with commas between
 * @returns {string[]}
 */
function toNames (option, text) {
  if (text === undefined) return []
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new UserError(`${option}: expected a list like a,b and got "${text}"`)
  return names
}

/**
 * @param {string} option
 * @param {string} text
 * @param {number} min
 * @param {number} max
 */
function toInteger (option, text, min, max) {
  const number = /^\d+$/.test(text) ? Number(text) : NaN
  if (number >= min && number <= max) return number
  throw new UserError(`${option}: expected a whole number from ${min} to ${max}, got "${text}"`)
}

/**
 * @param {string} option
 * @param {string | undefined} text
 */
function toPath (option, text) {
  if (text === '') throw new UserError(`${option}: expected a path, got ""`)
  return text
}

/**
 * The options that change what is measured. Paths stay out: they belong to the machine, and the CSV files are shared.
 * @param {Values} values
 */
function toCommand (values) {
  /** @type {string[]} */
  const words = values.full ? ['--full'] : []
  for (const name of /** @type {const} */ (['blocks', 'layers', 'stacks', 'runs', 'records', 'file'])) {
    const value = values[name]
    if (value !== undefined) words.push(`--${name} ${value.split(',').map(lastPart).join(',')}`)
  }
  return ['npm run bench', ...(words.length > 0 ? ['--'] : []), ...words].join(' ')
}

/** @param {string} text */
function lastPart (text) {
  return text.split(/[\\/]/).at(-1)
}

exports.parseOptions = parseOptions
exports.DEFAULT_RECORDS = DEFAULT_RECORDS
