'use strict'
// `npm run bench:logging`: Millrace's log writer beside other loggers and a database, in the shapes of three other
// projects' benchmarks. Exit codes: 0 done; 1 a goal in reach was missed by more than 10%, or a measurement failed; 2 a
// wrong option.

const { readOptions, runCommand } = require('../lib/command')
const { formatCount } = require('../lib/report')
const { loadParts } = require('../lib/run')
const { createSource, createTableCommand } = require('../lib/table-command')

/** @type {import('../lib/tables').Table[]} */
const tables = ['solidlog', 'logsystem', 'fapilog'].map((name) => require(`./tables/${name}`).table)
/** @type {import('./outlets').Peer[]} */
const peers = loadParts(require.resolve('./outlets'))

/** @type {import('../lib/tables').Drawing} */
const drawing = {
  unit: 'rate',
  title: 'Application logging: the same records into Millrace, a database, and other loggers',
  subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
  footer: ['A SIGKILL takes 4 KB from pino at most, 100 records or 1 MiB from Millrace, and all that waits from winston and fapilog.'],
  subject: 'Records of 150 to 256 bytes',
  kinds: [
    { kind: 'millrace', label: 'Millrace' },
    { kind: 'logger', label: 'loggers of Node.js' },
    { kind: 'python', label: 'Python' },
    { kind: 'limit', label: 'a bare write' },
    { kind: 'database', label: 'SQLite' }
  ],
  format: (value) => formatCount(Math.round(Number((value / 1000).toPrecision(3))))
}

const COMMAND = createTableCommand({
  name: 'logging',
  about: `Logs the same records with Millrace, other loggers and a database, as the benchmarks of SolidLog, LogSystem
and fapilog do. Writes data/logging.csv and images/logging.*, and the tables in pages. Ends with exit code 1
when a goal is missed by more than 10%.`,
  tables,
  peers,
  works: require.resolve('./works'),
  // A default run must end within twelve minutes, even on a slow or shared machine.
  budgetMs: 8 * 60_000,
  drawings: { logging: drawing }
})

if (require.main === module) runCommand(COMMAND)

exports.parseOptions = (/** @type {string[]} */ argv) => readOptions(COMMAND, argv)
exports.source = createSource({ name: 'logging', tables, peers })
exports.tables = tables
exports.peers = peers
exports.drawing = drawing
