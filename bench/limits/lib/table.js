'use strict'
// The table of limits: a line a row.

const { alignColumns } = require('../../lib/columns')
const { formatCount } = require('../../lib/format')
const { judge } = require('./judge')

/** @typedef {import('./shapes').Row} Row */
/** @typedef {import('./shapes').Result} Result */

const HEADS = ['what', 'ours', 'peer', 'ratio (range)', 'goal', '']
const GAP = '  '
const CLOSE = 'close'
const MB = 1e6

/**
 * @param {Result[]} results
 * @returns {string}
 */
function formatTable (results) {
  const rows = [HEADS, ...results.map(formatRow)]
  const lines = alignColumns(rows, GAP, (column) => column === 0 || column === HEADS.length - 1)
  return ['medians; ratio: ours to the peer, or how many times as fast, the median of the rounds', '', ...lines, ...explain(results)].join('\n')
}

/**
 * @param {Result[]} results
 * @returns {string[]}
 */
function explain (results) {
  const lines = results.flatMap(({ row, absent }) => absent === undefined ? [] : `absent: ${row.name} needs ${absent}`)
  if (results.some((result) => describeVerdict(judge(result)) === CLOSE)) lines.push(`${CLOSE}: missed by less than 10%`)
  lines.push(...results.flatMap(explainBound))
  return lines.length > 0 ? ['', ...lines] : []
}

/**
 * @param {Result} result
 * @returns {string[]}
 */
function explainBound (result) {
  const { row } = result
  const bound = judge(result)?.bound
  if (bound === undefined) return []
  const [most, ratio] = row.isSpeed ? ['most', formatSpeed(1 / bound)] : ['least', formatTimes(bound)]
  return [`${row.name}: ${ratio}× at ${most}, which is to ${row.bound?.what}`]
}

/**
 * @param {Result} result
 * @returns {string[]}
 */
function formatRow (result) {
  const { row } = result
  const verdict = judge(result)
  const figures = verdict === undefined
    ? ['-', '-', '-']
    : [formatValue(verdict.ours, row.unit), formatValue(verdict.peer, row.unit), formatRange(verdict.ratio, row)]
  return [row.what, ...figures, formatGoal(row), describeVerdict(verdict)]
}

/** @param {import('./judge').Verdict | undefined} verdict */
function describeVerdict (verdict) {
  if (verdict === undefined) return 'absent'
  if (verdict.isMet) return 'met'
  if (verdict.isFailure && verdict.isOutOfReach) return 'OUT OF REACH'
  return verdict.isFailure ? 'MISSED' : CLOSE
}

/**
 * @param {number} value
 * @param {Row['unit']} unit
 */
function formatValue (value, unit) {
  if (unit === 'bytes') return `${(value / MB).toFixed(2)} MB`
  const digits = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0
  return `${digits === 0 ? formatCount(Math.round(value)) : value.toFixed(digits)} ms`
}

/**
 * @param {import('../../lib/statistics').Summary} ratio
 * @param {Row} row
 */
function formatRange ({ median, min, max }, row) {
  // Times as fast is times as long the other way round: so is its range.
  const [middle, least, most] = (row.isSpeed ? [1 / median, 1 / max, 1 / min] : [median, min, max])
    .map((value) => (row.isShare ? 100 * value : value)).map(row.isSpeed ? formatSpeed : formatTimes)
  const unit = row.isShare ? '%' : row.isSpeed ? '×' : '×'
  return least === most ? `${middle}${unit}` : `${middle}${unit} (${least}-${most})`
}

/** @param {number} value */
function formatTimes (value) {
  return value.toFixed(2)
}

/** @param {number} value */
function formatSpeed (value) {
  return value.toFixed(value < 10 ? 2 : 1)
}

/** @param {Row} row */
function formatGoal ({ goal, isShare, isSpeed }) {
  if (isSpeed) return `>= ${Number((1 / goal).toPrecision(3))}×`
  return `<= ${isShare ? `${Number((100 * goal).toPrecision(3))}%` : `${Number(goal.toPrecision(3))}×`}`
}

exports.formatTable = formatTable
