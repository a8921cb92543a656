'use strict'
// Turns the rounds of the rows into verdicts, tables, data/limits.csv and two charts. images/limits shows the ways to
// read a log as multiples of the bare loop, beside their goals and peers. images/growth shows how scans, opening and
// memory change as a log grows.

const { describeSetting, drawBars, drawChart, drawLines, hedge } = require('../lib/charts')
const { readSource } = require('../lib/logs')
const { alignColumns, formatCount, formatMarkdown, formatSize, median, summarize } = require('../lib/report')

/** @typedef {import('./rows/shared').Row} Row */
/** @typedef {import('./run').Result} Result */
/** @typedef {import('../lib/report').Facts} Facts */

/**
 * @typedef {object} Verdict
 * @property {number} goal  the highest ratio allowed; Infinity if the row is not judged
 * @property {string} word  for the table
 * @property {number} ours  median of the rounds
 * @property {number} peer
 * @property {import('../lib/report').Summary} ratio  of the ratios of the rounds
 * @property {number} rounds  their number
 * @property {number} [bound]  median of the ratios of the bound to the peer
 * @property {boolean} isMet
 * @property {boolean} isOutOfReach  not met, and the bound would not meet it either
 * @property {boolean} isFailure  missed by more than the tolerance
 */

// The command fails if a goal is missed by more. On a shared machine, figures vary by this much.
const TOLERANCE = 0.1
const HEADS = ['what', 'ours', 'peer', 'ratio (range)', 'goal', '']
const CLOSE = 'close'
const MB = 1e6
const NS = 1e6

/** @param {Pick<Row, 'goal' | 'faster'>} row */
function goalOf ({ goal, faster }) {
  return goal ?? (faster === undefined ? Infinity : 1 / faster)
}

/** Undefined if the row did not run. @type {(result: Pick<Result, 'row' | 'rounds'>) => Verdict | undefined} */
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

/** @type {(results: Result[]) => string} */
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

/** For pages: without the rows that did not run. @type {(results: Result[]) => string} */
function formatMarkdownTable (results) {
  const lines = results.filter(({ rounds }) => rounds.length > 0).map((result) => [`\`${result.row.name}\``, ...formatRow(result)])
  /** @type {Map<string, string[]>} what any way must do: the rows, with the bound of each */
  const bounds = new Map()
  for (const result of results) {
    const { name, faster, bound: { what } = { what: '' } } = result.row
    const bound = judge(result)?.bound
    if (bound === undefined) continue
    const text = faster ? `${formatSpeed(1 / bound)}× at most` : `${bound.toFixed(2)}× at least`
    bounds.set(what, [...bounds.get(what) ?? [], `\`${name}\` ${text}`])
  }
  return [
    formatMarkdown(['row', ...HEADS.slice(0, -1), 'verdict'], lines, (column) => column < 2 || column === HEADS.length),
    ...[...bounds].map(([what, rows]) => `What is possible, if the only work is to ${what}: ${rows.join(', ')}.`)
  ].join('\n\n')
}

/** For pages that show no times and no goals. @type {(results: Result[]) => string} */
function formatShortTable (results) {
  const lines = results.filter(({ rounds }) => rounds.length > 0).map((result) => {
    const [what, , , ratio] = formatRow(result)
    return [what, result.row.faster ? `${ratio} as fast` : ratio]
  })
  return formatMarkdown(['ours : peer', 'ratio (range)'], lines)
}

/** For pages: the rows that miss their goals. @type {(results: Result[]) => string} */
function formatMissedTable (results) {
  const lines = results.flatMap((result) => {
    const verdict = judge(result)
    if (verdict === undefined || verdict.isMet) return []
    const { goal, ratio, bound } = verdict
    const least = bound === undefined ? '' : result.row.faster ? `${formatSpeed(1 / bound)}×` : `${bound.toFixed(2)}×`
    const excess = 100 * (ratio.median / goal - 1)
    return [[`\`${result.row.name}\``, formatRange(ratio, result.row), formatGoal(result.row), `${excess.toFixed(excess < 1 ? 1 : 0)}%`, least]]
  })
  return formatMarkdown(['row', 'measured (range)', 'goal', 'missed by', 'what is possible'], lines)
}

/**
 * The inverse of toSheet.
 * @param {Array<Record<string, string>>} lines
 * @param {Row[]} rows
 * @returns {Result[]}  of the rows that the lines have
 */
function fromSheet (lines, rows) {
  const side = (/** @type {string} */ value) => ({ value: Number(value), first: NaN, answer: {} })
  return rows.filter(({ name }) => lines.some(({ row }) => row === name)).map((row) => ({
    row,
    setting: undefined,
    absent: undefined,
    rounds: lines.filter((line) => line.row === row.name && line.run !== 'median').map(({ ours, peer, bound }) => {
      return { ours: side(ours), peer: side(peer), ...(bound !== '' && { bound: side(bound) }) }
    })
  }))
}

/** @type {(result: Result) => string[]} */
function explainBound (result) {
  const { name, faster, bound: { what } = {} } = result.row
  const bound = judge(result)?.bound
  if (bound === undefined) return []
  return [`${name}: ${faster ? `${formatSpeed(1 / bound)}× at most` : `${bound.toFixed(2)}× at least`}, which is to ${what}`]
}

/** @type {(result: Result) => string[]} */
function formatRow (result) {
  const { row } = result
  const verdict = judge(result)
  const figures = verdict === undefined
    ? ['-', '-', '-']
    : [formatValue(verdict.ours, row.unit), formatValue(verdict.peer, row.unit), formatRange(verdict.ratio, row)]
  return [row.what, ...figures, formatGoal(row), verdict?.word ?? 'absent']
}

/** @type {(value: number, unit: Row['unit']) => string} */
function formatValue (value, unit) {
  if (unit === 'bytes') return `${(value / MB).toFixed(2)} MB`
  return `${value < 100 ? value.toFixed(value < 1 ? 3 : value < 10 ? 2 : 1) : formatCount(Math.round(value))} ms`
}

/** @type {(ratio: import('../lib/report').Summary, row: Row) => string} */
function formatRange ({ median, min, max }, { faster, isShare }) {
  // A speed is the inverse of a ratio of times, so the ends of its range change places.
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
 * One line for each round of a row, and one for its medians.
 * @type {(results: Result[], facts: Facts) => import('../lib/report').Sheet}
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

/**
 * @param {Result[]} results
 * @param {Facts} facts
 * @returns {Promise<string | undefined>}  SVG; undefined if no row of the chart was measured
 */
async function drawLimits (results, facts) {
  const drawn = results.flatMap((result) => {
    const verdict = judge(result)
    return result.row.drawn && verdict ? [{ row: result.row, label: result.row.drawn, verdict }] : []
  })
  if (drawn.length === 0) return undefined
  const met = drawn.filter(({ verdict }) => verdict.isMet)
  const least = drawn.flatMap(({ row, verdict }) => verdict.bound === undefined ? [] : row.bound?.what ?? [])
  const { records, json } = readSource(facts.input)
  const size = `${formatCount(records)} messages, ${formatSize(json)} of JSON`
  const rows = drawn.map(({ row, label, verdict: { ratio: { median, min, max }, ...verdict } }) => {
    const percent = 100 * (median / verdict.goal - 1)
    const more = [
      ...(verdict.isMet ? [] : [`missed by ${percent.toFixed(percent < 1 ? 1 : 0)}%`]),
      ...(verdict.bound === undefined ? [] : [`the least: ${formatMultiple(verdict.bound)}`]),
      ...listBeside(results, row.name, verdict.peer)
    ]
    const text = { text: formatMultiple(median), more: { text: more.join(', '), class: 'muted' } }
    return { label, bars: [{ look: 0, value: median, min, max, goal: verdict.goal, ...text }] }
  })
  const verdicts = drawn.map(({ verdict }) => verdict)
  const doubt = hedge({ runs: verdicts.map(({ rounds }) => rounds), spread: verdicts.map(({ ratio }) => ratio.spread) })
  const ratios = drawn.map(({ verdict }) => verdict.ratio.median)
  const span = [...new Set([Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(1)))].join(' to ')
  return drawChart({
    title: doubt.title(`A scan or query of a log ${doubt.verb('takes', 'take')} ${span} times as long as a plain read of its file`),
    subtitle: `2×: twice the time of reading the file into one buffer, once. Thin line: the range. Thick mark: the goal, met by ${met.length} of ${drawn.length}.`,
    stacks: ['Millrace'],
    marks: 'bars',
    footer: [
      ...doubt.footer,
      ...new Set(least.map((what) => `The least: to ${what}, and nothing else.`)),
      describeSetting(size, facts, drawn.map(({ verdict }) => verdict.rounds))
    ]
  }, (canvas) => {
    return drawBars(canvas, [{ rows }], { barHeight: 14, rowGap: 12, labelWidth: 200, valueWidth: 250, formatTick: (tick) => `${tick}×` })
  })
}

/**
 * The peers of other rows on the same file, as multiples of the bare loop.
 * @param {Result[]} results
 * @param {string} name  of the row
 * @param {number} loop  time of the bare loop
 * @returns {string[]}
 */
function listBeside (results, name, loop) {
  return results.flatMap((result) => {
    const { beside } = result.row
    const other = judge(result)
    return beside?.row === name && other ? [`${beside.label}: ${formatMultiple(other.peer / loop)}`] : []
  })
}

/** @param {number} multiple */
function formatMultiple (multiple) {
  return `${multiple < 9.95 ? multiple.toFixed(2) : multiple.toFixed(0)}×`
}

/** SVG; undefined if no row was measured. @type {(results: Result[], facts: Facts) => Promise<string | undefined>} */
async function drawGrowth (results, facts) {
  const measured = results.flatMap((result) => {
    const { row: { growth }, rounds, setting } = result
    const verdict = judge(result)
    if (!growth || !verdict) return []
    const records = Number(rounds[0].ours.answer.records)
    return [{ ...growth, ...verdict, values: rounds, size: Number(setting.size), perRecord: NS / records }]
  })
  if (measured.length === 0) return undefined
  const framings = [...new Set(measured.map(({ framing }) => framing))]
  /** @typedef {(one: typeof measured[0]) => number} FactorOf */
  /** @type {(panel: string, factorOf: FactorOf, side?: 'ours' | 'peer') => import('../lib/lines').Point[][]} */
  const seriesOf = (panel, factorOf, side = 'ours') => framings.map((framing) => {
    const own = measured.filter((one) => one.panel === panel && one.framing === framing)
    return own.map((one) => {
      const { median: y, min, max } = summarize(one.values.map((round) => round[side].value * factorOf(one)))
      return { x: one.size, y, min, max }
    })
  })
  // One line of the bare loop stands for the files of both framings.
  const [loop] = seriesOf('scan', ({ perRecord }) => perRecord, 'peer')
  const panels = [
    { name: 'scan', meaning: 'ns a record', series: [...seriesOf('scan', ({ perRecord }) => perRecord), loop] },
    { name: 'open', meaning: 'ms', series: seriesOf('open', () => 1) },
    { name: 'memory', meaning: 'MB at most, over bare Node.js', series: seriesOf('memory', () => 1 / MB) }
  ].filter(({ series }) => series.flat().length > 0)
  const sizes = [...new Set(measured.map(({ size }) => size))].sort((a, b) => a - b)
  return drawChart({
    title: 'What a log takes as it grows',
    subtitle: 'By the size of its file, which is logarithmic; lower is better. Thin lines go from the least run to the greatest: differences within them are noise.',
    stacks: [...framings.map((framing) => `Millrace, ${framing}`), 'bare loop'],
    marks: 'lines',
    footer: [
      'A file of some MB fits the caches of the processor, which is faster: the bare loop shows by how much.',
      describeSetting('Messages of some 690 bytes', facts, measured.map(({ rounds }) => rounds))
    ]
  }, (canvas) => drawLines(canvas, panels, {
    sizes,
    named: sizes,
    formatSize: (size) => formatSize(Number(size.toPrecision(2))),
    axis: 'size of the log'
  }))
}

exports.judge = judge
exports.formatTable = formatTable
exports.formatShortTable = formatShortTable
exports.formatMissedTable = formatMissedTable
exports.formatMarkdownTable = formatMarkdownTable
exports.fromSheet = fromSheet
exports.toSheet = toSheet
exports.drawLimits = drawLimits
exports.drawGrowth = drawGrowth
