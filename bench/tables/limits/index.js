'use strict'
// `npm run bench -- limits`: what must hold. Each figure is compared with another one of the same run, or with a limit.

const { besideOf, formatGoal, formatPair, gridOfPairs, listAbsent, toMarkdown, toText } = require('../../engine/grids')
const { OURS, formatValue, judge } = require('../../engine/judge')
const { DEFAULT_RECORDS } = require('../../lib/logs')
const { loadParts } = require('../../lib/run')
const { drawLimits } = require('./charts')

/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('../../engine/row').Row} Row */

const GROUPS = {
  scans: 'Reading a whole log',
  queries: 'Queries and codecs',
  opening: 'Opening',
  appends: 'Appends',
  lines: 'Logs that are text files, such as .jsonl',
  'event-loop': 'The event loop',
  gets: 'Single records',
  memory: 'Memory, and a log ten times as large'
}

const groups = Object.entries(GROUPS).map(([name, title]) => ({ name, title, rows: loadParts(require.resolve(`./rows/${name}`)) }))

/** @type {(results: Results, rows: Row[]) => Row[]} */
const listMeasured = (results, rows) => rows.filter(({ name }) => results.has(name, OURS))

/** For a terminal. @type {import('../../engine/row').Table['format']} */
function formatPairs (results, { groups, peers }) {
  return groups.map(({ title, rows }) => {
    const { notes = [], ...grid } = gridOfPairs(results, rows)
    return `${title}\n\n${toText({ ...grid, notes: [...notes, ...listAbsent(results, rows, peers)] })}`
  })
}

/** For pages: without the rows that did not run. @type {(results: Results, rows: Row[]) => string} */
function formatWhole (results, rows) {
  return toMarkdown(gridOfPairs(results, listMeasured(results, rows)))
}

/** For pages that show no times and no goals. @type {(results: Results, rows: Row[]) => string} */
function formatShort (results, rows) {
  const lines = listMeasured(results, rows).map((row) => {
    const [{ goal, unit }] = row.figures
    const ratio = results.ratio({ row: row.name, peer: OURS }, { peer: besideOf(row) })
    const text = ratio ? formatPair(ratio, row) : formatValue(Number(results.of({ row: row.name, peer: OURS })), unit)
    return [row.what, goal?.times ? `${text} as fast` : text]
  })
  return toMarkdown({ heads: ['ours : the other', 'ratio (range)'], lines, words: [0] })
}

/** For pages: the rows that miss their goals. @type {(results: Results, rows: Row[]) => string} */
function formatMissed (results, rows) {
  const lines = rows.flatMap((row) => judge(results, row, row.figures[0]).flatMap(({ excess }) => {
    const [place, peer] = [{ row: row.name, peer: OURS }, besideOf(row)]
    const ratio = results.ratio(place, { peer })
    if (excess === undefined || ratio === undefined) return []
    const possible = results.ratio({ ...place, peer: 'least' }, { peer })
    const texts = [formatPair(ratio, row), formatGoal(row), `${(100 * excess).toFixed(excess < 0.01 ? 1 : 0)}%`]
    return [[`\`${row.name}\``, ...texts, possible ? formatPair({ ...possible, min: possible.median, max: possible.median }, row) : '']]
  }))
  return toMarkdown({ heads: ['row', 'measured (range)', 'goal', 'missed by', 'what is possible'], lines, words: [0] })
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'limits',
  about: 'Measures what must hold, each figure beside another one of the same run. A goal that is missed by more than 10% is\nexit code 1.',
  groups,
  peers: loadParts(require.resolve('./peers')),
  runs: 5,
  takes: { minutes: 16, bytes: 8e9 },
  records: DEFAULT_RECORDS,
  aliases: { only: 'rows' },
  format: formatPairs,
  tables: {
    '': (results, { rows }) => formatWhole(results, rows),
    missed: (results, { rows }) => formatMissed(results, rows),
    ...Object.fromEntries(groups.flatMap(({ name, rows }) => [
      [name, (/** @type {Results} */ results) => formatWhole(results, rows)],
      [`${name} short`, (/** @type {Results} */ results) => formatShort(results, rows)]
    ]))
  },
  charts: { limits: drawLimits }
}
exports.formatPairs = formatPairs
exports.formatWhole = formatWhole
