'use strict'
// data/limits.csv: a line for each round of each row, and one for its medians.

const { formatCsvFile, listFacts, writeCsvFile } = require('../../lib/csv-file')
const { judge } = require('./judge')

const COLUMNS = 'row,run,unit,ours,peer,ratio,goal,met,ours_first,peer_first,bound'

/** @typedef {import('./shapes').Result} Result */

/**
 * @param {Result[]} results
 * @param {import('../../lib/csv-file').CsvFacts} facts
 * @returns {string}
 */
function formatCsv (results, facts) {
  const header = [
    ...listFacts(facts),
    'ours and peer: the median of a process, warm; ours_first and peer_first: the first sample of that process',
    'run: which round, or "median" of all; the ratio there is the median of the ratios; met: yes, no or absent',
    'bound: what any way must do at least, in the unit of ours; beside the medians, by the peer',
    'ratio: ours by the peer; goal: the most that it may be, so that 0.125 means 8 times as fast',
    ...results.map(({ row }) => `row ${row.name}: ${row.what}`)
  ]
  return formatCsvFile(header, COLUMNS, results.flatMap(formatResult))
}

/**
 * @param {Result} result
 * @returns {string[]}
 */
function formatResult (result) {
  const { row: { name, unit, ...row }, rounds } = result
  const goal = Number(row.goal.toPrecision(4))
  const verdict = judge(result)
  if (verdict === undefined) return [[name, 'median', unit, '', '', '', goal, 'absent', '', '', ''].join(',')]
  const lines = rounds.map(({ ours, peer, bound }, index) => {
    const ratio = ours.value / peer.value
    return [name, index + 1, unit, format(ours.value), format(peer.value), format(ratio), goal, '',
      format(ours.first), format(peer.first), bound ? format(bound.value) : ''].join(',')
  })
  const { ours, peer, ratio, bound, isMet } = verdict
  const middle = [name, 'median', unit, format(ours), format(peer), format(ratio.median), goal, isMet ? 'yes' : 'no', '', '',
    bound === undefined ? '' : format(bound)]
  return [...lines, middle.join(',')]
}

/** @param {number} value */
function format (value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(4)
}

/**
 * @param {string} folder
 * @param {Result[]} results
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, results, facts) {
  return writeCsvFile(folder, 'limits', formatCsv(results, facts))
}

exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
