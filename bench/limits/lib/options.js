'use strict'
// From the words of the command line of `bench:limits` to checked options.

const path = require('node:path')
const { DEFAULT_RECORDS, MAX_RECORDS } = require('../../lib/options')
const { formatCommand, parseWords, toInteger, toNames, toPath } = require('../../lib/option-values')
const { loadFolder, pickWithStrangers } = require('../../lib/parts')

const ROWS_FOLDER = path.join(__dirname, '..', 'rows')
const DEFAULT_RUNS = 5

/**
 * @typedef {object} Options
 * @property {boolean} help
 * @property {import('./shapes').Row[]} rows
 * @property {number} runs
 * @property {number | undefined} samples  in each process, after the first one, instead of what each row says
 * @property {number} records  of the generated log
 * @property {string | undefined} out
 * @property {string} command
 */

const SPEC = /** @type {const} */ ({
  rows: { type: 'string' },
  only: { type: 'string' },
  runs: { type: 'string' },
  samples: { type: 'string' },
  records: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' }
})

/**
 * @param {string[]} argv  without node and the script
 * @returns {Options}
 * @throws {import('../../lib/user-error').UserError}  one line that names the option
 */
function parseOptions (argv) {
  const { only, rows = only, runs, samples, records, out, help } = parseWords(argv, SPEC)
  return {
    help: help ?? false,
    rows: pickWithStrangers('--rows', listRows(), toNames('--rows', rows), (part) => typeof part.peer === 'object'),
    runs: runs === undefined ? DEFAULT_RUNS : toInteger('--runs', runs, 1, 1000),
    samples: samples === undefined ? undefined : toInteger('--samples', samples, 0, 1000),
    records: records === undefined ? DEFAULT_RECORDS : toInteger('--records', records, 1, MAX_RECORDS),
    out: toPath('--out', out),
    command: formatCommand('npm run bench:limits', [], { rows, runs, samples, records })
  }
}

/** @returns {import('./shapes').Row[]}  in the order of the table */
function listRows () {
  return loadFolder(ROWS_FOLDER)
}

function usage () {
  const rows = listRows()
  const width = Math.max(...rows.map((row) => row.name.length))
  return `Usage: npm run bench:limits -- [options]

Measures what must hold, each figure against another one from the same run; writes data/limits.csv and images/limits.*.
Ends with exit code 1 when a goal is missed by more than 10%.

  --rows LIST     rows to measure, or paths of modules    all
  --only LIST     the same
  --runs N        how often each side of a row runs       ${DEFAULT_RUNS}
  --samples N     samples of a process after the first    what each row needs
  --records N     messages in the generated log           ${DEFAULT_RECORDS}
  --out DIR       where data/ and images/ go              the root of the repository
  --help          this text

Rows:
${rows.map((row) => `  ${row.name.padEnd(width)}  ${row.what}`).join('\n')}
`
}

exports.parseOptions = parseOptions
exports.usage = usage
