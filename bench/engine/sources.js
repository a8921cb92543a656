'use strict'
// What pages can ask of a table: its tables in Markdown, and every figure by words.

const { pickShown, readData } = require('./command')
const { besideOf } = require('./grids')
const { OURS, judge } = require('./judge')

/** @typedef {import('./row').Table} Table */
/** @typedef {import('./results').Results} Results */

/** `folder`: `data`. @type {(table: Table, folder: string) => import('../figures/sources').Opened} */
function openTable (table, folder) {
  const { results, facts } = readData(table, folder)
  const shown = pickShown(table, results, facts)
  const tables = Object.entries(table.tables ?? {}).map(([name, format]) => [name, () => format(results, shown)])
  return { facts, tables: Object.fromEntries(tables), find: (key) => find(results, shown, key.split(' ')) }
}

/**
 * `ROW PEER`, `ROW FIGURE PEER`, either with a size behind it; `ROW ratio`, ours by the other, `ROW speed`, the other
 *   by
 * ours; `judged`, how many rows have a goal, and `met`, how many of these meet it.
 * @type {(results: Results, shown: import('./row').Shown, words: string[]) => import('../figures/sources').Found |
 *   undefined}
 */
function find (results, { rows }, words) {
  const [name, ...rest] = words
  if (rest.length === 0) return countJudged(results, rows, name)
  const row = rows.find((row) => row.name === name)
  if (row === undefined) return undefined
  const [first] = row.figures
  if (rest[0] === 'ratio' || rest[0] === 'speed') {
    const ratio = results.ratio({ row: name, peer: OURS }, { peer: besideOf(row) })
    if (ratio === undefined) return undefined
    const values = [ratio.median, ratio.min, ratio.max]
    return { values: rest[0] === 'ratio' ? values : values.map((value) => 1 / value), unit: 'ratio' }
  }
  const isFigure = rest.length > 1 && row.peers[rest[0]] === undefined
  const named = isFigure && row.figures.find(({ figure }) => figure === rest[0])
  const { figure, unit } = named || first
  const [peer, at] = named ? rest.slice(1) : rest
  const values = results.values({ row: name, figure, peer, ...(at !== undefined && { at: Number(at) }) })
  return values.length > 0 ? { values, unit } : undefined
}

/**
 * @type {(results: Results, rows: import('./row').Row[], key: string) => import('../figures/sources').Found |
 *   undefined}
 */
function countJudged (results, rows, key) {
  if (key !== 'judged' && key !== 'met') return undefined
  const judged = rows.map((row) => row.figures.flatMap((figure) => judge(results, row, figure)))
    .filter(({ length }) => length > 0)
  const met = judged.filter((all) => all.every(({ verdict }) => verdict === 'met'))
  return { values: [(key === 'met' ? met : judged).length], unit: 'count' }
}

exports.openTable = openTable
