'use strict'
// From the rounds of a row to its figures and its verdict; the table, and data/limits.csv.

const { alignColumns, formatCount, median, summarize } = require('../lib/report')

/** @typedef {import('./rows/shared').Row} Row */
/** @typedef {import('./run-rows').Result} Result */

/**
 * @typedef {object} Verdict
 * @property {number} goal  the most that the ratio may be; Infinity where it is not judged
 * @property {string} word  for the table
 * @property {number} ours  median of the rounds
 * @property {number} peer
 * @property {import('../lib/report').Summary} ratio  of the ratios of the rounds
 * @property {number} rounds  how many there were
 * @property {number} [bound]  median of the ratios of what bounds it to the peer
 * @property {boolean} isMet
 * @property {boolean} isOutOfReach  not met, and what bounds it would not meet it either
 * @property {boolean} isFailure  missed by more than the tolerance
 */

// What a goal may be missed by before the command fails: figures of a shared machine vary by as much.
const TOLERANCE = 0.1
const HEADS = ['what', 'ours', 'peer', 'ratio (range)', 'goal', '']
const CLOSE = 'close'
const MB = 1e6

/** @param {Pick<Row, 'goal' | 'faster'>} row */
function goalOf ({ goal, faster }) {
  return goal ?? (faster === undefined ? Infinity : 1 / faster)
}

/**
 * @param {Pick<Result, 'row' | 'rounds'>} result
 * @returns {Verdict | undefined}  undefined when it did not run
 */
function judge ({ row, rounds }) {
  if (rounds.length === 0) return undefined
  const goal = goalOf(row)
  const ratio = summarize(rounds.map(({ ours, peer }) => ours.value / peer.value))
  const bounds = rounds.flatMap(({ bound, peer }) => bound ? [bound.value / peer.value] : [])
  const bound = bounds.length > 0 ? median(bounds) : undefined
  const isMet = ratio.median <= goal
  const isOutOfReach = !isMet && bound !== undefined && bound > goal
  const isFailure = ratio.median > goal * (1 + TOLERANCE)
  const missed = !isFailure ? CLOSE : isOutOfReach ? 'OUT OF REACH' : 'MISSED'
  return {
    goal,
    word: goal === Infinity ? '' : isMet ? 'met' : missed,
    ours: median(rounds.map(({ ours }) => ours.value)),
    peer: median(rounds.map(({ peer }) => peer.value)),
    ratio,
    rounds: rounds.length,
    bound,
    isMet,
    isOutOfReach,
    isFailure
  }
}

/**
 * @param {Result[]} results
 * @returns {string}
 */
function formatTable (results) {
  const lines = alignColumns([HEADS, ...results.map(formatRow)], '  ', (column) => column === 0 || column === HEADS.length - 1)
  const notes = results.flatMap(({ row, absent }) => absent === undefined ? [] : `absent: ${row.name} needs ${absent}`)
  if (results.some((result) => judge(result)?.word === CLOSE)) notes.push(`${CLOSE}: missed by less than 10%`)
  notes.push(...results.flatMap(explainBound))
  return [
    'medians; ratio: ours to the peer, or how many times as fast, the median of the rounds', '', ...lines,
    ...(notes.length > 0 ? ['', ...notes] : [])
  ].join('\n')
}

/**
 * @param {Result} result
 * @returns {string[]}
 */
function explainBound (result) {
  const { name, faster, bound: { what } = {} } = result.row
  const bound = judge(result)?.bound
  if (bound === undefined) return []
  return [`${name}: ${faster ? `${formatSpeed(1 / bound)}× at most` : `${bound.toFixed(2)}× at least`}, which is to ${what}`]
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
  return [row.what, ...figures, formatGoal(row), verdict?.word ?? 'absent']
}

/**
 * @param {number} value
 * @param {Row['unit']} unit
 */
function formatValue (value, unit) {
  if (unit === 'bytes') return `${(value / MB).toFixed(2)} MB`
  return `${value < 100 ? value.toFixed(value < 1 ? 3 : value < 10 ? 2 : 1) : formatCount(Math.round(value))} ms`
}

/**
 * @param {import('../lib/report').Summary} ratio
 * @param {Row} row
 */
function formatRange ({ median, min, max }, { faster, isShare }) {
  // Times as fast is times as long the other way round: so is its range.
  const [middle, least, most] = (faster ? [1 / median, 1 / max, 1 / min] : [median, min, max])
    .map((value) => faster ? formatSpeed(value) : (isShare ? 100 * value : value).toFixed(2))
  const unit = isShare ? '%' : '×'
  return least === most ? `${middle}${unit}` : `${middle}${unit} (${least}-${most})`
}

/** @param {number} value */
function formatSpeed (value) {
  return value.toFixed(value < 10 ? 2 : 1)
}

/** @param {Row} row */
function formatGoal ({ goal, faster, isShare }) {
  if (faster !== undefined) return `>= ${faster}×`
  if (goal === undefined) return ''
  return `<= ${isShare ? `${Number((100 * goal).toPrecision(3))}%` : `${Number(goal.toPrecision(3))}×`}`
}

/**
 * A line for each round of each row, and one for its medians.
 * @param {Result[]} results
 * @param {import('../lib/report').Sheet['facts']} facts
 * @returns {import('../lib/report').Sheet}
 */
function toSheet (results, facts) {
  return {
    facts,
    notes: [
      'ours and peer: the median of a process, warm; ours_first and peer_first: the first sample of that process',
      'run: which round, or "median" of all; the ratio there is the median of the ratios; met: yes, no or absent',
      'bound: what any way must do at least, in the unit of ours; beside the medians, by the peer',
      'ratio: ours by the peer; goal: the most that it may be, so that 0.125 means 8 times as fast',
      ...results.map(({ row }) => `row ${row.name}: ${row.what}`)
    ],
    columns: 'row,run,unit,ours,peer,ratio,goal,met,ours_first,peer_first,bound',
    rows: results.flatMap(toLines)
  }
}

/** @param {Result} result */
function toLines (result) {
  const { row: { name, unit = 'ms', ...row }, rounds } = result
  const isJudged = goalOf(row) !== Infinity
  const goal = isJudged ? Number(goalOf(row).toPrecision(4)) : ''
  const verdict = judge(result)
  if (verdict === undefined) return [[name, 'median', unit, '', '', '', goal, 'absent', '', '', '']]
  const lines = rounds.map(({ ours, peer, bound }, index) => {
    const figures = [ours.value, peer.value, ours.value / peer.value].map(format)
    return [name, index + 1, unit, ...figures, goal, '', ...[ours.first, peer.first, bound?.value].map(format)]
  })
  const medians = [verdict.ours, verdict.peer, verdict.ratio.median].map(format)
  const met = isJudged ? (verdict.isMet ? 'yes' : 'no') : ''
  return [...lines, [name, 'median', unit, ...medians, goal, met, '', '', format(verdict.bound)]]
}

/** @param {number | undefined} value */
function format (value) {
  return value === undefined ? '' : Number.isInteger(value) ? String(value) : value.toFixed(4)
}

exports.judge = judge
exports.formatTable = formatTable
exports.toSheet = toSheet
