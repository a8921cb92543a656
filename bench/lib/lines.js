'use strict'
// Lines: small panels on one logarithmic axis of sizes, so that the eye compares heights only; and the curve of a
// histogram's percentiles, which are such sizes too. What is said of a line stands in a column beside the panel, which
// is as wide as its texts: there it can neither be cut off nor hide anything.

const { INNER_WIDTH, LINE_HEIGHT, MARGIN, SMALL, add, drawAxis, drawLine, drawMarker, measureText, wrap, write } = require('./card')

const PLOT_HEIGHT = 170
const BELOW_PLOT = 66
const COLUMNS_MAX = 2
const AXIS_WIDTH = 50
const GAP = 10
// Room for a mark on either side.
const INSET = 8
const LABEL_SIZE = 12

/** @typedef {import('./card').Canvas} Canvas */
/** @typedef {import('./card').Selection} Selection */

/**
 * @typedef {object} Point
 * @property {number} x
 * @property {number} y
 * @property {number} [min]  a thin line goes from here
 * @property {number} [max]  to here
 * @property {boolean} [isHollow]
 * @property {boolean} [isBare]  without a mark
 */

/** `label`: stands beside the end of the line. @typedef {{ points: Point[], label?: string }} Series */

/**
 * @typedef {object} Panel
 * @property {string} name
 * @property {string} meaning
 * @property {Series[]} series  a line for each look of the canvas, in their order; what has no points is said
 */

/**
 * @typedef {object} LineLayout
 * @property {number[]} sizes  all that were measured
 * @property {number[]} [named]  those that have a tick, if there is room, in ascending order; all by default
 * @property {(size: number) => string} formatSize
 * @property {string} axis  what the sizes are of
 * @property {string} [unit]  of the scale
 * @property {'shared' | 'logarithmic' | 'linear'} scale  one logarithmic scale for all panels, or one for each
 * @property {(tick: number) => string} [formatTick]
 * @property {number} [columns]  at most
 * @property {boolean} [isKnown]  the legend says which panels a stack has, so the panels do not
 */

/**
 * @param {Canvas} canvas
 * @param {Panel[]} panels
 * @param {LineLayout} layout
 * @returns {number}  where the drawing ends
 */
function drawLines (canvas, panels, layout) {
  const { d3, svg } = canvas
  const { sizes, unit = '', scale, isKnown, formatTick = formatNumber } = layout
  const columns = Math.min(layout.columns ?? COLUMNS_MAX, panels.length)
  const all = panels.flatMap(({ series }) => series)
  const labels = all.map(({ label = '' }) => measureText(label, LABEL_SIZE, true))
  const whole = (INNER_WIDTH + GAP) / columns - GAP
  const width = whole - AXIS_WIDTH - Math.max(...labels)
  const x = d3.scaleLog().base(2).domain(findDomain(sizes)).range([INSET, width - INSET])
  const texts = panels.map(({ meaning, series }) => {
    return [meaning, isKnown ? '' : nameMissing(canvas, series)].flatMap((text) => wrap(text, whole, SMALL))
  })
  const head = 22 + (Math.max(...texts.map(({ length }) => length)) + (unit ? 1 : 0)) * LINE_HEIGHT
  for (const [index, { name, series }] of panels.entries()) {
    const left = MARGIN + AXIS_WIDTH + (index % columns) * (whole + GAP)
    const top = canvas.top + head + Math.floor(index / columns) * (head + PLOT_HEIGHT + BELOW_PLOT)
    const group = add(svg, 'g', { class: 'panel', transform: `translate(${left},${top})` })
    write(group, name, { x: -AXIS_WIDTH, y: 14 - head, size: 14, bold: true })
    for (const [line, text] of texts[index].entries()) {
      write(group, text, { x: -AXIS_WIDTH, y: 14 - head + (line + 1) * LINE_HEIGHT, size: SMALL, muted: true })
    }
    write(group, unit, { x: -8, y: -9, size: SMALL, muted: true, anchor: 'end' })
    const { y, ticks } = createHeights(d3, scale === 'shared' ? all : series, scale !== 'linear')
    drawAxis(group, d3.axisLeft(y).tickValues(ticks).tickFormat(formatTick).tickSize(-width).tickPadding(8), 'grid')
    drawAxis(group.append('g').attr('transform', `translate(0,${PLOT_HEIGHT})`),
      d3.axisBottom(x).tickValues(chooseNamed(x, layout)).tickFormat(layout.formatSize).tickSize(4).tickPadding(5), 'axis')
    drawLine(group, 'axis', [0, width, PLOT_HEIGHT, PLOT_HEIGHT])
    write(group, layout.axis, { x: width / 2, y: PLOT_HEIGHT + 34, size: SMALL, muted: true, anchor: 'middle' })
    for (const [look, { points }] of series.entries()) drawSeries(canvas, group, { x, y }, look, points)
    drawLabels(group, y, series, width)
  }
  return canvas.top + Math.ceil(panels.length / columns) * (head + PLOT_HEIGHT + BELOW_PLOT) - GAP
}

/** One size alone has no width: it goes in the middle. @param {number[]} sizes */
function findDomain (sizes) {
  const [least, last] = [Math.min(...sizes), Math.max(...sizes)]
  return least === last ? [least / 2, last * 2] : [least, last]
}

/** @type {(canvas: Canvas, series: Series[]) => string} which stacks a panel does not have */
function nameMissing ({ stacks }, series) {
  const names = stacks.filter((_, index) => (series[index]?.points ?? []).length === 0)
  return names.length > 0 ? `not measured here: ${names.join('; ')}` : ''
}

/** @type {(d3: any, series: Series[], isLog: boolean) => { y: any, ticks: number[] }} */
function createHeights (d3, series, isLog) {
  const values = series.flatMap(({ points }) => points).flatMap(({ y, min = y, max = y }) => [min, max])
  if (!isLog) {
    const y = d3.scaleLinear().domain([0, Math.max(...values) * 1.15]).range([PLOT_HEIGHT, 0])
    return { y, ticks: y.ticks(5) }
  }
  const [least, most] = [Math.min(...values) / 1.6, Math.max(...values) * 1.6]
  // Powers of ten, and what lies between them where few of these fit.
  const steps = most / least > 300 ? [1] : [1, 3]
  const ticks = Array.from({ length: 14 }, (_, index) => steps.map((step) => Number(`${step}e${index - 4}`))).flat()
  return {
    y: d3.scaleLog().domain([least, most]).range([PLOT_HEIGHT, 0]),
    ticks: ticks.filter((tick) => tick >= least && tick <= most)
  }
}

/** A name that would run into the one before it is left out. @type {(x: any, layout: LineLayout) => number[]} */
function chooseNamed (x, { sizes, named = sizes, formatSize }) {
  let end = -Infinity
  return named.filter((size) => {
    const reach = measureText(formatSize(size), SMALL) / 2
    if (x(size) - reach < end) return false
    end = x(size) + reach
    return true
  })
}

/**
 * @param {Canvas} canvas
 * @param {Selection} group
 * @param {{ x: any, y: any }} scales
 * @param {number} look
 * @param {Point[]} points
 */
function drawSeries (canvas, group, { x, y }, look, points) {
  for (const [from, to] of canvas.d3.pairs(points)) {
    const dashes = from.isHollow || to.isHollow ? '5 5' : null
    const pen = { 'stroke-width': canvas.looks[look].lineWidth, 'stroke-linecap': 'round', 'stroke-dasharray': dashes }
    drawLine(group, `stroke-${look}`, [x(from.x), x(to.x), y(from.y), y(to.y)], pen)
  }
  for (const { x: at, min, max } of points) {
    if (min !== undefined && max !== undefined) drawLine(group, `stroke-${look} range`, [x(at), x(at), y(min), y(max)])
  }
  const scale = points.length > 20 ? 0.3 : 1
  for (const { isHollow, isBare, ...point } of points) {
    if (!isBare) drawMarker(canvas, group, look, { x: x(point.x), y: y(point.y), scale, hollow: isHollow })
  }
}

/**
 * In the order of the lines' ends, each as near to its own as the one above allows.
 * @type {(group: Selection, y: any, series: Series[], left: number) => void}
 */
function drawLabels (group, y, series, left) {
  const labels = series.flatMap(({ points, label }, look) => {
    return label ? [{ label, look, middle: y(points[points.length - 1].y) }] : []
  }).sort((a, b) => a.middle - b.middle)
  let end = -Infinity
  for (const [index, { label, look, middle }] of labels.entries()) {
    // Those below need their room, too.
    const lowest = PLOT_HEIGHT - (labels.length - index - 1) * LABEL_SIZE
    const base = Math.max(end + LABEL_SIZE, Math.min(lowest, middle + 5))
    write(group, label, { x: left, y: base, size: LABEL_SIZE, bold: true, kind: `ink-${look}` })
    end = base
  }
}

// Percentiles: p90, p99, p99.9 and so on are equally far apart, because each leaves out a tenth of the one before it.

const PERCENTILES = [0.5, 0.9, 0.99, 0.999, 0.9999]
// The greatest value has no percentile: it stands after all of them.
const MAX_PLACE = 2e5

/** @typedef {{ p: number, value: number }} Percentile  of 1 at most: the greatest value */
/** @typedef {{ name: string, meaning: string, curves: Percentile[][] }} CurvePanel  a curve for each look, in ms */

/**
 * The latencies of histograms, one line a curve: time is logarithmic, with a scale for each panel.
 * @param {Canvas} canvas
 * @param {CurvePanel[]} panels
 * @returns {number}  where the drawing ends
 */
function drawCurve (canvas, panels) {
  const place = (/** @type {number} */ p) => p >= 1 ? MAX_PLACE : 1 / (1 - p)
  return drawLines(canvas, panels.map(({ name, meaning, curves }) => ({
    name,
    meaning,
    series: curves.map((curve) => {
      const isShown = (/** @type {number} */ p) => p >= PERCENTILES[0] && (p >= 1 || place(p) < MAX_PLACE / 2)
      const shown = curve.filter(({ p, value }) => value > 0 && isShown(p))
      const last = shown[shown.length - 1]
      const points = shown.map(({ p, value }) => {
        return { x: place(p), y: value, isHollow: p >= 1, isBare: p < 1 && !PERCENTILES.includes(p) }
      })
      return { label: last?.p >= 1 ? formatTime(last.value) : undefined, points }
    })
  })), {
    sizes: [...PERCENTILES, 1].map(place),
    formatSize: (size) => size === MAX_PLACE ? 'max' : `p${Number((100 - 100 / size).toPrecision(6))}`,
    axis: 'share of the calls that took no longer',
    unit: 'time',
    scale: 'logarithmic',
    formatTick: formatTime,
    columns: 1
  })
}

/**
 * @param {Array<[value: number, count: number]>} tail  a histogram
 * @returns {Percentile[]}  no further than its count tells anything, and the greatest value
 */
function toPercentiles (tail) {
  const sorted = [...tail].sort(([a], [b]) => a - b)
  const all = sorted.reduce((sum, [, count]) => sum + count, 0)
  const between = Array.from({ length: 40 }, (_, index) => 1 - 0.5 * 10 ** (-index / 10))
  const shares = [...new Set([...PERCENTILES, ...between])].sort((a, b) => a - b).filter((p) => all * (1 - p) > 0.999)
  let [index, sum] = [0, sorted[0]?.[1] ?? 0]
  const points = shares.map((p) => {
    while (sum < p * all - 0.001) sum += sorted[++index][1]
    return { p, value: sorted[index][0] }
  })
  return all > 0 ? [...points, { p: 1, value: sorted[sorted.length - 1][0] }] : []
}

/** @param {number} value */
function formatNumber (value) {
  return value.toLocaleString('en')
}

/** @param {number} ms */
function formatTime (ms) {
  const [factor, unit] = ms < 1 ? [1000, 'µs'] : ms < 1000 ? [1, 'ms'] : [0.001, 's']
  return `${Number((ms * factor).toPrecision(3)).toLocaleString('en')} ${unit}`
}

exports.drawLines = drawLines
exports.drawCurve = drawCurve
exports.toPercentiles = toPercentiles
