'use strict'
// images/limits: the ways to read a log as multiples of the bare loop, each with its goal, and what others take.

const { createCanvas, write, MARGIN, WIDTH } = require('../../lib/charts/canvas')
const { describeSetting } = require('../../lib/charts/story')
const { judge } = require('./judge')

const LABEL_WIDTH = 236
const VALUE_WIDTH = 190
const ROW_HEIGHT = 26
const BAR_HEIGHT = 14
const TICKS = 6

/** @typedef {import('./shapes').Result} Result */
/** @typedef {import('./judge').Verdict} Verdict */
/** @typedef {{ name: string, label: string, goal: number, verdict: Verdict, beside: string[] }} Bar */

/**
 * @param {Result[]} results
 * @param {{ facts: import('../../lib/facts').Facts, records: number, bytes: number }} input  what was read, and where
 * @returns {Promise<string | undefined>}  SVG; undefined when nothing was measured that is drawn
 */
async function drawLimits (results, { facts, records, bytes }) {
  const bars = listBars(results)
  if (bars.length === 0) return undefined
  const canvas = await createCanvas({
    title: describeBars(bars),
    subtitle: 'Time to go through a whole log, as a multiple of reading its file into one buffer. Thin lines: the range.',
    stacks: ['Millrace'],
    marks: 'bars'
  })
  drawGoalLegend(canvas.svg)
  const left = MARGIN + LABEL_WIDTH
  const most = Math.max(...bars.map(({ goal, verdict }) => Math.max(goal, verdict.ratio.max)))
  const scale = canvas.d3.scaleLinear().domain([0, most]).range([0, WIDTH - MARGIN - left - VALUE_WIDTH])
  const bottom = canvas.top + 8 + bars.length * ROW_HEIGHT
  const plot = canvas.svg.append('g').attr('transform', `translate(${left},0)`)
  drawGrid(plot, scale, { top: canvas.top, bottom })
  for (const [index, bar] of bars.entries()) drawBar(canvas.svg, plot, scale, bar, canvas.top + 8 + index * ROW_HEIGHT)
  const counts = bars.map(({ verdict }) => verdict.rounds)
  const setting = describeSetting(facts, { records, bytes, runs: [Math.min(...counts), Math.max(...counts)] })
  return canvas.finish([setting], bottom + 60)
}

/**
 * @param {Result[]} results
 * @returns {Bar[]}
 */
function listBars (results) {
  return results.flatMap((result) => {
    const { name, drawn, goal } = result.row
    const verdict = judge(result)
    return drawn && verdict ? { name, label: drawn, goal, verdict, beside: listBeside(results, name, verdict) } : []
  })
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
    const { drawnBeside } = result.row
    const other = judge(result)
    if (drawnBeside?.row !== name || other === undefined) return []
    return `${drawnBeside.label}: ${formatMultiple(other.peer / verdict.peer)}`
  })
  return verdict.bound === undefined ? others : [`the least: ${formatMultiple(verdict.bound)}`, ...others]
}

/** @param {Bar[]} bars */
function describeBars (bars) {
  const metCount = bars.filter(({ verdict }) => verdict.isMet).length
  return `${metCount} of ${bars.length} ways to read a log are within their goals`
}

/** @param {any} svg */
function drawGoalLegend (svg) {
  const x = MARGIN + 120
  svg.append('line').attr('class', 'whisker').attr('stroke-width', 2.5).attr('x1', x).attr('x2', x).attr('y1', 72).attr('y2', 87)
  write(svg, 'its goal', { x: x + 10, y: 84, size: 12 })
}

/**
 * @param {any} plot
 * @param {any} scale
 * @param {{ top: number, bottom: number }} span
 */
function drawGrid (plot, scale, { top, bottom }) {
  for (const tick of scale.ticks(TICKS)) {
    plot.append('line').attr('class', tick === 0 || tick === 1 ? 'axis' : 'grid').attr('x1', scale(tick)).attr('x2', scale(tick))
      .attr('y1', top).attr('y2', bottom)
    write(plot, `${tick}×`, { x: scale(tick), y: bottom + 16, size: 11, muted: true, anchor: 'middle' })
  }
}

/**
 * @param {any} svg
 * @param {any} plot
 * @param {any} scale
 * @param {Bar} bar
 * @param {number} y
 */
function drawBar (svg, plot, scale, { label, goal, verdict: { ratio }, beside }, y) {
  const middle = y + BAR_HEIGHT / 2
  write(svg, label, { x: MARGIN + LABEL_WIDTH - 8, y: middle + 4, size: 12, anchor: 'end' })
  plot.append('rect').attr('class', 'fill-0').attr('x', 0).attr('y', y).attr('height', BAR_HEIGHT).attr('width', scale(ratio.median))
  plot.append('line').attr('class', 'whisker').attr('x1', scale(ratio.min)).attr('x2', scale(ratio.max))
    .attr('y1', middle).attr('y2', middle)
  plot.append('line').attr('class', 'whisker').attr('stroke-width', 2.5).attr('x1', scale(goal)).attr('x2', scale(goal))
    .attr('y1', y - 3).attr('y2', y + BAR_HEIGHT + 3)
  const text = write(plot, formatMultiple(ratio.median), {
    x: scale(Math.max(ratio.max, goal)) + 7, y: middle + 4, size: 11.5, bold: true
  })
  if (beside.length === 0) return
  text.append('tspan').attr('class', 'muted').attr('font-weight', 'normal').attr('font-size', 10.5).attr('dx', 8)
    .text(beside.join(', '))
}

/** @param {number} multiple */
function formatMultiple (multiple) {
  return `${multiple < 9.95 ? multiple.toFixed(2) : multiple.toFixed(0)}×`
}

exports.drawLimits = drawLimits
