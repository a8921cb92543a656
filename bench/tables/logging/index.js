'use strict'
// `npm run bench:logging`: Millrace's log writer beside other loggers and a database, in the shapes of three other
// projects' benchmarks.

const { drawFigures } = require('../../engine/draw')
const { formatGroups, tablesOfGroups, toMarkdown, toText } = require('../../engine/grids')
const { formatCount, formatThousands } = require('../../lib/report')
const { loadParts } = require('../../lib/run')
const { groups } = require('./rows')
const { sizing } = require('./solidlog')

/** @typedef {import('../../engine/results').Results} Results */

loadParts(require.resolve('./rows'))

const LOOK = { hasLost: true, hasGoals: true }
const tables = tablesOfGroups(groups, LOOK)

/** How often a figure holds what a program needs. @type {(results: Results) => import('../../engine/grids').Grid[]} */
function listSizing (results) {
  const [ours, sqlite] = ['millrace', 'sqlite'].map((peer) => results.of({ row: sizing.row, peer }))
  if (ours === undefined) return []
  const times = (/** @type {number | undefined} */ rate, /** @type {number} */ needed) => {
    return rate === undefined ? '-' : `${formatCount(Math.round(Number((rate / needed).toPrecision(2))))}x`
  }
  return [{
    heads: [`\`${sizing.row}\` holds so many times`, 'records a second', groups[0].title, 'Millrace', 'SQLite'],
    lines: sizing.loads.map(([what, perSecond, seed]) => {
      return [what, formatCount(perSecond), seed, times(ours, perSecond), times(sqlite, perSecond)]
    }),
    words: [0]
  }]
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'logging',
  about: `Logs the same records with Millrace, other loggers and a database, as the benchmarks of SolidLog, LogSystem
and fapilog do. Writes data/logging.csv and images/logging.*, and the tables in pages. Ends with exit code 1
when a goal is missed by more than 10%.`,
  groups,
  peers: loadParts(require.resolve('./outlets')),
  runs: 5,
  budgetMs: 25 * 60_000,
  takes: { minutes: 20, bytes: 500e6 },
  format: (results, shown) => {
    return [...formatGroups(results, shown, LOOK), ...listSizing(results).map((grid) => toText(grid))]
  },
  tables: {
    ...tables,
    solidlog: (results, shown) => [tables.solidlog(results, shown), ...listSizing(results).map(toMarkdown)].join('\n\n')
  },
  charts: {
    logging: (results, shown) => drawFigures(results, shown, {
      unit: 'rate',
      title: 'The same log records into Millrace, other loggers, and SQLite',
      subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
      subject: 'Records of 150 to 256 bytes',
      footer: [
        'A SIGKILL takes 4 KB from pino at most, 100 records or 1 MiB from Millrace, and all that waits from winston and fapilog.'
      ],
      kinds: [
        { kind: 'millrace', label: 'Millrace' },
        { kind: 'logger', label: 'loggers of Node.js' },
        { kind: 'python', label: 'Python' },
        { kind: 'limit', label: 'a bare write' },
        { kind: 'database', label: 'SQLite' }
      ],
      format: formatThousands
    })
  }
}
