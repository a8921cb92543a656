'use strict'
// The table and the CSV file of `bench:flumelog`.

const { alignColumns } = require('../lib/columns')
const { formatCsvFile, listFacts, writeCsvFile } = require('../lib/csv-file')
const { formatCount } = require('../lib/format')
const { summarize } = require('../lib/statistics')

/** @typedef {import('./logs').PeerLog} PeerLog */
/** @typedef {import('./measure').Figure} Figure */
/** @typedef {{ log: PeerLog, runs: Figure[][], failure: string | null }} Result */

const CASES = ['append', 'stream', 'stream no cache', 'stream10', 'random']
const COLUMNS = 'log,run,case,ops_per_second,mb_per_second,ops,mb,seconds'
const GAP = '   '

/**
 * @param {Result[]} results
 * @returns {string}
 */
function formatTable (results) {
  const rows = [['', ...CASES], ...results.map((result) => [result.log.name, ...CASES.map((name) => formatCell(result, name))])]
  const notes = results.flatMap(({ log, failure }) => {
    if (failure !== null) return [`absent: ${log.name}: ${failure}`]
    return log.note ? [`${log.name} ${log.note}`] : []
  })
  return ['thousands a second, median (min-max)', '', ...alignColumns(rows, GAP), '', ...notes].join('\n').trimEnd()
}

/**
 * @param {Result} result
 * @param {string} name  of the case
 */
function formatCell ({ runs, failure }, name) {
  const figures = runs.flat().filter((figure) => figure.name === name && figure.ops > 0)
  const rates = figures.map(({ opsPerSecond }) => opsPerSecond)
  if (failure !== null || rates.length === 0) return '-'
  const [middle, min, max] = Object.values(summarize(rates)).map(formatRate)
  return min === max ? middle : `${middle} (${min}-${max})`
}

/** @param {number} rate  a second */
function formatRate (rate) {
  return rate < 10_000 ? (rate / 1000).toFixed(1) : formatCount(Math.round(rate / 1000))
}

/**
 * @param {Result[]} results
 * @param {import('../lib/csv-file').CsvFacts} facts
 * @returns {string}
 */
function formatCsv (results, facts) {
  const header = [
    ...listFacts(facts),
    'bench-flumelog as it is: records of some 147 bytes, 16 appends under way, at most 5 seconds a case; random: 1024 gets',
    ...results.flatMap(({ log, failure }) => failure === null ? [] : [`absent: ${log.name}: ${failure}`]),
    ...results.flatMap(({ log }) => log.note ? [`${log.name} ${log.note}`] : [])
  ]
  const lines = results.flatMap(({ log, runs }) => runs.flatMap((figures, index) => figures.map((figure) => {
    const { name, opsPerSecond, mbPerSecond, ops, mb, seconds } = figure
    return [log.name, index + 1, name, opsPerSecond, mbPerSecond, ops, mb, seconds].join(',')
  })))
  return formatCsvFile(header, COLUMNS, lines)
}

/**
 * @param {string} folder
 * @param {Result[]} results
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, results, facts) {
  return writeCsvFile(folder, 'flumelog', formatCsv(results, facts))
}

exports.formatTable = formatTable
exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
