'use strict'
// Small panels of lines, all on one logarithmic axis of sizes, so that the eye compares heights only.

const { add, drawLine, drawMarker, write, MARGIN, WIDTH } = require('./canvas')

/** @typedef {{ x: number, y: number, isHollow?: boolean }} Point */
/** @typedef {{ x: any, y: any }} Scales */

/**
 * @typedef {object} Panel
 * @property {string} name
 * @property {string} meaning
 * @property {Point[][]} series  a line for each look of the canvas, in their order
 * @property {any} y  a scale of d3, without its range
 * @property {number[]} ticks  of it
 * @property {(group: any, scales: Scales, width: number) => void} [annotate]
 */

/**
 * @typedef {object} Layout
 * @property {number} [columns]
 * @property {number[]} sizes  all that were measured
 * @property {number[]} named  those that have a tick
 * @property {(size: number) => string} formatSize
 * @property {string} axis  what the sizes are of
 * @property {string} [unit]  of all panels: then only those of the first column have figures
 */

const PLOT_HEIGHT = 170
const PANEL_HEIGHT = PLOT_HEIGHT + 92
const AXIS_WIDTH = 52
const GAP = 18
// Room for half of a size's name on either side.
const INSET = 18

/**
 * @param {import('./canvas').Canvas} canvas
 * @param {Panel[]} panels
 * @param {Layout} layout
 * @returns {number}  where the drawing ends
 */
function drawLines (canvas, panels, { columns = Math.min(3, panels.length), sizes, unit, ...axis }) {
  const axisWidth = unit ? AXIS_WIDTH / columns : AXIS_WIDTH
  const width = (WIDTH - 2 * MARGIN - GAP * (columns - 1)) / columns - axisWidth
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
  // One size alone has no width: it goes in the middle.
  const domain = least === most ? [least / 2, most * 2] : [least, most]
  const x = canvas.d3.scaleLog().base(2).domain(domain).range([INSET, width - INSET])
  for (const [index, panel] of panels.entries()) {
    const column = index % columns
    const left = MARGIN + AXIS_WIDTH + column * (width + GAP + (unit ? 0 : AXIS_WIDTH))
    const top = canvas.top + 50 + Math.floor(index / columns) * PANEL_HEIGHT
    const group = add(canvas.svg, 'g', { class: 'panel', transform: `translate(${left},${top})` })
    const scales = { x, y: panel.y.range([PLOT_HEIGHT, 0]) }
    write(group, panel.name, { x: 0, y: -25, size: 14, bold: true })
    write(group, panel.meaning, { x: 0, y: -9, size: 11, muted: true })
    if (unit && column === 0) write(group, unit, { x: -8, y: -9, size: 11, muted: true, anchor: 'end' })
    drawAxes(group, scales, panel.ticks, { ...axis, width, hasFigures: !unit || column === 0 })
    for (const [look, points] of panel.series.entries()) drawSeries(canvas, group, scales, look, points)
    panel.annotate?.(group, scales, width)
  }
  return canvas.top + Math.ceil(panels.length / columns) * PANEL_HEIGHT
}

/**
 * @param {any} group
 * @param {Scales} scales
 * @param {number[]} ticks
 * @param {{ named: number[], formatSize: (size: number) => string, axis: string, width: number, hasFigures: boolean }}
 *   look
 */
function drawAxes (group, { x, y }, ticks, { named, formatSize, axis, width, hasFigures }) {
  for (const tick of ticks) {
    drawLine(group, tick === 0 ? 'axis' : 'grid', [0, width, y(tick), y(tick)])
    if (hasFigures) write(group, tick.toLocaleString('en'), { x: -8, y: y(tick) + 4, size: 11, muted: true, anchor: 'end' })
  }
  drawLine(group, 'axis', [0, width, PLOT_HEIGHT, PLOT_HEIGHT])
  for (const size of named) {
    drawLine(group, 'axis', [x(size), x(size), PLOT_HEIGHT, PLOT_HEIGHT + 4])
    write(group, formatSize(size), { x: x(size), y: PLOT_HEIGHT + 17, size: 11, muted: true, anchor: 'middle' })
  }
  write(group, axis, { x: width / 2, y: PLOT_HEIGHT + 33, size: 11, muted: true, anchor: 'middle' })
}

/**
 * @param {import('./canvas').Canvas} canvas
 * @param {any} group
 * @param {Scales} scales
 * @param {number} look
 * @param {Point[]} points
 */
function drawSeries ({ d3, looks }, group, { x, y }, look, points) {
  for (const [from, to] of d3.pairs(points)) {
    const dashes = from.isHollow || to.isHollow ? '5 5' : null
    const pen = { 'stroke-width': looks[look].lineWidth, 'stroke-linecap': 'round', 'stroke-dasharray': dashes }
    drawLine(group, `stroke-${look}`, [x(from.x), x(to.x), y(from.y), y(to.y)], pen)
  }
  const scale = points.length > 20 ? 0.3 : 1
  for (const point of points) {
    drawMarker(d3, group, looks[look], look, { x: x(point.x), y: y(point.y), scale, hollow: point.isHollow })
  }
}

exports.drawLines = drawLines
