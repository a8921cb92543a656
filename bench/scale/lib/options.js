'use strict'
// From the words of the command line of `bench:scale` to checked options.

const { formatCommand, parseWords, toInteger, toNames, toPath } = require('../../lib/option-values')
const { UserError } = require('../../lib/user-error')

const UNITS = { KB: 1e3, MB: 1e6, GB: 1e9 }
const SIZE_MIN = 100e3
const SIZE_MAX = 1e12
const DEFAULT_SIZES = '10MB,100MB,1GB'
const DEFAULT_RUNS = 3
// offset32 ends at 4 GiB, and offset53 differs from offset48 by two bytes a record.
/** @type {import('./shapes').FramingName[]} */
const FRAMINGS = ['checked', 'offset48']

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {number[]} sizes  bytes, ascending
 * @property {import('./shapes').FramingName[]} framings
 * @property {number} runs
 * @property {string | undefined} out
 * @property {string} command
 */

const SPEC = /** @type {const} */ ({
  sizes: { type: 'string' },
  framings: { type: 'string' },
  runs: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' }
})

/**
 * @param {string[]} argv  without node and the script
 * @returns {Options}
 * @throws {UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { sizes, framings, runs, out, help } = parseWords(argv, SPEC)
  const all = toNames('--sizes', sizes ?? DEFAULT_SIZES).map(toSize)
  return {
    help: help ?? false,
    sizes: [...new Set(all)].sort((a, b) => a - b),
    framings: pickFramings(toNames('--framings', framings)),
    runs: runs === undefined ? DEFAULT_RUNS : toInteger('--runs', runs, 1, 100),
    out: toPath('--out', out),
    command: formatCommand('npm run bench:scale', [], { sizes, framings, runs })
  }
}

/** @param {string} text  such as 10MB */
function toSize (text) {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(KB|MB|GB)$/i.exec(text) ?? []
  const size = Number(number) * UNITS[/** @type {keyof typeof UNITS} */ (unit.toUpperCase())]
  if (size >= SIZE_MIN && size <= SIZE_MAX) return size
  throw new UserError(`--sizes: expected sizes from 100KB to 1000GB, such as 10MB,1GB, and got "${text}"`)
}

/** @param {string[]} names */
function pickFramings (names) {
  const unknown = names.find((name) => !FRAMINGS.some((framing) => framing === name))
  if (unknown !== undefined) throw new UserError(`--framings: unknown "${unknown}", choose from ${FRAMINGS.join(', ')}`)
  return names.length === 0 ? FRAMINGS : FRAMINGS.filter((framing) => names.includes(framing))
}

/** @param {number} bytes */
function formatSize (bytes) {
  const [unit, factor] = Object.entries(UNITS).findLast(([, factor]) => bytes >= factor) ?? ['bytes', 1]
  return `${Number((bytes / factor).toPrecision(3))} ${unit}`
}

function usage () {
  return `Usage: npm run bench:scale -- [options]

Grows a log, and times its scan and its opening at each size; writes data/scale.csv and images/scale.*.

  --sizes LIST      sizes of the file, such as 10MB,10GB    ${DEFAULT_SIZES}
  --framings LIST   which logs                              ${FRAMINGS.join(',')}
  --runs N          how often each of them is measured      ${DEFAULT_RUNS}
  --out DIR         where data/ and images/ go              the root of the repository
  --help            this text
`
}

exports.parseOptions = parseOptions
exports.formatSize = formatSize
exports.usage = usage
