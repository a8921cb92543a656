'use strict'
// images/limits: the ways to read a log as multiples of the bare loop, each with its goal, and what others take. And
// images/growth: what a scan, opening and memory come to as a log grows; flat is good.

const { drawBars } = require('../lib/charts/bars')
const { createCanvas, describeSetting } = require('../lib/charts/canvas')
const { drawLines } = require('../lib/charts/lines')
const { formatCount, formatSize } = require('../lib/report')
const { judge } = require('./report')

const MB = 1e6
const NS = 1e6

/** @typedef {import('./run-rows').Result} Result */
/** @typedef {import('./report').Verdict} Verdict */
/** @typedef {import('../lib/report').Facts} Facts */

/**
 * @param {Result[]} results
 * @param {{ facts: Facts, records: number, bytes: number }} input  what was read, and where
 * @returns {Promise<string | undefined>}  SVG; undefined when nothing was measured that is drawn
 */
async function drawLimits (results, { facts, records, bytes }) {
  const drawn = results.flatMap((result) => {
    const verdict = judge(result)
    return result.row.drawn && verdict ? [{ row: result.row, verdict }] : []
  })
  if (drawn.length === 0) return undefined
  const missed = drawn.filter(({ verdict }) => !verdict.isMet)
  const canvas = await createCanvas({
    title: `${drawn.length - missed.length} of ${drawn.length} ways to read a log are within their goals`,
    subtitle: 'Time to go through a whole log, as a multiple of reading its file into one buffer. Thick mark: the goal. Thin line: the range.',
    stacks: ['Millrace'],
    marks: 'bars'
  })
  const rows = drawn.map(({ row: { name, drawn = '' }, verdict }) => ({
    label: drawn,
    bars: [{
      look: 0,
      value: verdict.ratio.median,
      min: verdict.ratio.min,
      max: verdict.ratio.max,
      goal: verdict.goal,
      text: formatMultiple(verdict.ratio.median),
      more: { text: [...describeMiss(verdict), ...listBeside(results, name, verdict)].join(', '), class: 'muted' }
    }]
  }))
  const bottom = drawBars(canvas, [{ rows }], { barHeight: 14, rowGap: 12, labelWidth: 200, valueWidth: 250, formatTick: (tick) => `${tick}×` })
  const size = `${formatCount(records)} messages, ${formatCount(Math.round(bytes / MB))} MB of JSON`
  const least = drawn.flatMap(({ row, verdict }) => verdict.bound === undefined ? [] : row.bound?.what ?? [])
  return canvas.finish([
    ...new Set(least.map((what) => `The least: to ${what}, and nothing else.`)),
    describeSetting(size, facts, drawn.map(({ verdict }) => verdict.rounds))
  ], bottom + (least.length > 0 ? 68 : 54))
}

/** @param {Verdict} verdict */
function describeMiss ({ ratio, isMet, goal }) {
  const percent = 100 * (ratio.median / goal - 1)
  return isMet ? [] : [`missed by ${percent.toFixed(percent < 1 ? 1 : 0)}%`]
}

/**
 * What others take for the same, and what any way must take, as a multiple of the same loop.
 * @param {Result[]} results
 * @param {string} name
 * @param {Verdict} verdict
 * @returns {string[]}
 */
function listBeside (results, name, verdict) {
  const others = results.flatMap((result) => {
    const { beside } = result.row
    const other = judge(result)
    return beside?.row === name && other ? [`${beside.label}: ${formatMultiple(other.peer / verdict.peer)}`] : []
  })
  return verdict.bound === undefined ? others : [`the least: ${formatMultiple(verdict.bound)}`, ...others]
}

/** @param {number} multiple */
function formatMultiple (multiple) {
  return `${multiple < 9.95 ? multiple.toFixed(2) : multiple.toFixed(0)}×`
}

/**
 * @param {Result[]} results
 * @param {Facts} facts
 * @returns {Promise<string | undefined>}  SVG; undefined when no row of growth was measured
 */
async function drawGrowth (results, facts) {
  const measured = results.flatMap(({ row: { growth }, rounds, setting, ...rest }) => {
    const verdict = judge({ row: results[0].row, rounds })
    const records = Number(rounds[0]?.ours.answer.records)
    return growth && verdict ? [{ ...growth, verdict, size: setting.size, records }] : []
  })
  if (measured.length === 0) return undefined
  const framings = [...new Set(measured.map(({ framing }) => framing))]
  const canvas = await createCanvas({
    title: 'What a log takes as it grows',
    subtitle: 'By the size of its file, which is logarithmic; lower is better, and flat is best. Each panel begins at zero.',
    stacks: [...framings.map((framing) => `Millrace, ${framing}`), 'bare loop'],
    marks: 'lines'
  })
  /** @typedef {typeof measured[0]} Measured */
  /** @typedef {{ x: number, y: number }[][]} Series */
  /** @type {(panel: string, pick: (one: Measured) => number) => Series} */
  const seriesOf = (panel, pick) => framings.map((framing) => {
    const own = measured.filter((one) => one.panel === panel && one.framing === framing)
    return own.map((one) => ({ x: one.size, y: pick(one) }))
  })
  const scanned = seriesOf('scan', ({ verdict, records }) => verdict.ours / records * NS)
  // The loop over the files of one framing stands for both.
  const [loop] = seriesOf('scan', ({ verdict, records }) => verdict.peer / records * NS)
  const panels = [
    { name: 'scan', meaning: 'ns a record', series: [...scanned, loop] },
    { name: 'open', meaning: 'ms', series: seriesOf('open', ({ verdict }) => verdict.ours) },
    { name: 'memory', meaning: 'MB at most, over bare Node.js', series: seriesOf('memory', ({ verdict }) => verdict.ours / MB) }
  ].filter(({ series }) => series.flat().length > 0).map((panel) => {
    const y = canvas.d3.scaleLinear().domain([0, Math.max(...panel.series.flat().map(({ y }) => y)) * 1.15])
    return { ...panel, y, ticks: y.ticks(5) }
  })
  const sizes = [...new Set(panels.flatMap(({ series }) => series.flat().map(({ x }) => x)))].sort((a, b) => a - b)
  const bottom = drawLines(canvas, panels, {
    sizes,
    // Two logs of one size differ by some bytes: one name for both.
    named: sizes.filter((size, index) => index === 0 || size > sizes[index - 1] * 1.2),
    formatSize: (size) => formatSize(Number(size.toPrecision(1))),
    axis: 'size of the log'
  })
  const counts = measured.map(({ verdict }) => verdict.rounds)
  return canvas.finish([
    'A file of some MB fits the caches of the processor, which is faster: the bare loop shows by how much.',
    describeSetting('Messages of some 690 bytes', facts, counts)
  ], bottom + 62)
}

exports.drawLimits = drawLimits
exports.drawGrowth = drawGrowth
