'use strict'
// Lines: small panels on one logarithmic axis of sizes, so that the eye compares heights only; and the curve of a
// histogram's percentiles, which are such sizes too. A label takes the place near its point where it hides nothing.

const { INNER_WIDTH, LINE_HEIGHT, MARGIN, SMALL, add, drawLine, drawMarker, measureText, wrap, write } = require('./card')

const PLOT_HEIGHT = 170
const BELOW_PLOT = 48
const PANEL_GAP = 18
const COLUMNS_MAX = 2
const AXIS_WIDTH = 52
const GAP = 18
// Room for half of a size's name on either side.
const INSET = 18
const LABEL_SIZE = 13
// How far from its point a label may go, in steps of so many pixels.
const REACH = 72
const STEP = 6
// Lines are seen as points of this distance by what looks for room.
const SAMPLE = 3
// Of what a label lies on, in pixels of distance: a line of a series or another label; the edge; another line between
// it and its point; a line of the grid.
const COSTS = { series: 1000, edge: 1000, between: 60, grid: 4 }

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

/** @typedef {{ x: any, y: any }} Scales */
/** A point of what hides a label, in pixels. @typedef {{ x: number, y: number, look: number }} Taken */
/** In the colour of a stack. @typedef {{ x: number, y: number, text: string, look: number }} Label */

/**
 * @typedef {object} Panel
 * @property {string} name
 * @property {string} meaning
 * @property {Point[][]} series  a line for each look of the canvas, in their order; what has no points is said
 * @property {Label[]} [labels]
 */

/**
 * @typedef {object} LineLayout
 * @property {number[]} sizes  all that were measured
 * @property {number[]} named  those that have a tick, if there is room, in ascending order
 * @property {(size: number) => string} formatSize
 * @property {string} axis  what the sizes are of
 * @property {string} [unit]  all panels share one logarithmic scale of it; without it each has its own, from zero
 * @property {boolean} [hasOwnScales]  each panel has its own logarithmic scale of the unit
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
function drawLines (canvas, panels, { sizes, unit, hasOwnScales, isKnown, columns: most = COLUMNS_MAX, ...axis }) {
  const { d3, svg } = canvas
  const columns = Math.min(most, panels.length)
  const width = (INNER_WIDTH - GAP * (columns - 1)) / columns - (unit ? AXIS_WIDTH / columns : AXIS_WIDTH)
  const x = d3.scaleLog().base(2).domain(findDomain(sizes)).range([INSET, width - INSET])
  const shared = unit && !hasOwnScales && createHeights(d3, panels.flatMap(({ series }) => series), true)
  const texts = panels.map(({ meaning, series }) => {
    return [meaning, isKnown ? '' : nameMissing(canvas, series)].flatMap((text) => wrap(text, width, SMALL))
  })
  const head = 22 + Math.max(...texts.map(({ length }) => length)) * LINE_HEIGHT
  for (const [index, { name, series, labels }] of panels.entries()) {
    const column = index % columns
    const left = MARGIN + AXIS_WIDTH + column * (width + GAP + (unit ? 0 : AXIS_WIDTH))
    const top = canvas.top + head + Math.floor(index / columns) * (head + PLOT_HEIGHT + BELOW_PLOT + PANEL_GAP)
    const group = add(svg, 'g', { class: 'panel', transform: `translate(${left},${top})` })
    const { y, ticks } = shared || createHeights(d3, series, Boolean(unit))
    const isFirst = column === 0
    for (const [line, text] of [name, ...texts[index]].entries()) {
      const look = line === 0 ? { size: 14, bold: true } : { size: SMALL, muted: true }
      write(group, text, { x: 0, y: 14 - head + line * LINE_HEIGHT, ...look })
    }
    if (isFirst) write(group, unit ?? '', { x: -8, y: -9, size: SMALL, muted: true, anchor: 'end' })
    drawAxes(group, { x, y }, ticks, { ...axis, width, hasFigures: isFirst || !unit })
    for (const [look, points] of series.entries()) drawSeries(canvas, group, { x, y }, look, points)
    drawLabels(group, { x, y }, labels, { series, ticks, width })
  }
  return canvas.top + Math.ceil(panels.length / columns) * (head + PLOT_HEIGHT + BELOW_PLOT + PANEL_GAP) - PANEL_GAP
}

/** One size alone has no width: it goes in the middle. @param {number[]} sizes */
function findDomain (sizes) {
  const [least, last] = [Math.min(...sizes), Math.max(...sizes)]
  return least === last ? [least / 2, last * 2] : [least, last]
}

/** @type {(canvas: Canvas, series: Point[][]) => string} which stacks a panel does not have */
function nameMissing ({ stacks }, series) {
  const names = stacks.filter((_, index) => (series[index] ?? []).length === 0)
  return names.length > 0 ? `not measured here: ${names.join('; ')}` : ''
}

/**
 * @param {any} d3
 * @param {Point[][]} series
 * @param {boolean} isLog
 * @returns {{ y: any, ticks: number[] }}
 */
function createHeights (d3, series, isLog) {
  const values = series.flat().flatMap(({ y, min = y, max = y }) => [min, max])
  if (!isLog) {
    const y = d3.scaleLinear().domain([0, Math.max(...values) * 1.15]).range([PLOT_HEIGHT, 0])
    return { y, ticks: y.ticks(5) }
  }
  // Above and below the marks there is room for labels.
  const [least, most] = [Math.min(...values) / 3.2, Math.max(...values) * 1.6]
  // Powers of ten, and what lies between them where few of these fit.
  const steps = most / least > 300 ? [1] : [1, 3]
  const ticks = Array.from({ length: 14 }, (_, index) => steps.map((step) => Number(`${step}e${index - 4}`))).flat()
  return {
    y: d3.scaleLog().domain([least, most]).range([PLOT_HEIGHT, 0]),
    ticks: ticks.filter((tick) => tick >= least && tick <= most)
  }
}

/**
 * @param {Selection} group
 * @param {Scales} scales
 * @param {number[]} ticks
 * @param {Omit<LineLayout, 'sizes' | 'unit' | 'hasOwnScales'> & { width: number, hasFigures: boolean }} look
 */
function drawAxes (group, { x, y }, ticks, { named, formatSize, axis, width, hasFigures, formatTick = formatNumber }) {
  for (const tick of ticks) {
    drawLine(group, tick === 0 ? 'axis' : 'grid', [0, width, y(tick), y(tick)])
    if (hasFigures) write(group, formatTick(tick), { x: -8, y: y(tick) + 4, size: SMALL, muted: true, anchor: 'end' })
  }
  drawLine(group, 'axis', [0, width, PLOT_HEIGHT, PLOT_HEIGHT])
  let end = -Infinity
  for (const size of named) {
    const name = formatSize(size)
    const reach = measureText(name, SMALL) / 2
    // A name that would run into the one before it is left out: logs of one size differ by some bytes.
    if (x(size) - reach < end) continue
    end = x(size) + reach + 4
    drawLine(group, 'axis', [x(size), x(size), PLOT_HEIGHT, PLOT_HEIGHT + 4])
    write(group, name, { x: x(size), y: PLOT_HEIGHT + 17, size: SMALL, muted: true, anchor: 'middle' })
  }
  write(group, axis, { x: width / 2, y: PLOT_HEIGHT + 34, size: SMALL, muted: true, anchor: 'middle' })
}

/**
 * @param {Canvas} canvas
 * @param {Selection} group
 * @param {Scales} scales
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
 * @param {Selection} group
 * @param {Scales} scales
 * @param {Label[] | undefined} labels
 * @param {{ series: Point[][], ticks: number[], width: number }} panel
 */
function drawLabels (group, { x, y }, labels = [], { series, ticks, width }) {
  const taken = series.flatMap((points, look) => points.flatMap((point, index) => {
    const at = [x(point.x), y(point.y)]
    const next = points[index + 1]
    const range = [point.min, point.max].map((end) => [x(point.x), y(end ?? point.y)])
    const samples = [...sampleLine(at, next ? [x(next.x), y(next.y)] : at), ...sampleLine(range[0], range[1])]
    return samples.map(([x, y]) => ({ x, y, look }))
  }))
  const grid = [...ticks.map(y), PLOT_HEIGHT]
  for (const { text, look, ...point } of labels) {
    const size = { width: measureText(text, LABEL_SIZE, true), height: LABEL_SIZE }
    const [left, top] = placeLabel({ x: x(point.x), y: y(point.y), look }, size, { taken, grid, width })
    const place = { x: left + size.width / 2, y: top + LABEL_SIZE - 2, size: LABEL_SIZE, bold: true, anchor: 'middle' }
    write(group, text, { ...place, kind: `ink-${look}` })
    for (let line = top; line <= top + size.height; line += SAMPLE) {
      taken.push(...sampleLine([left, line], [left + size.width, line]).map(([x, y]) => ({ x, y, look: -1 })))
    }
  }
}

/** @type {(from: number[], to: number[]) => number[][]} points of a straight line */
function sampleLine ([x1, y1], [x2, y2]) {
  const count = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / SAMPLE) + 1
  return Array.from({ length: count }, (_, index) => {
    const share = count === 1 ? 0 : index / (count - 1)
    return [x1 + share * (x2 - x1), y1 + share * (y2 - y1)]
  })
}

/**
 * Tries the places around a point, and takes the best one.
 * @type {(point: Taken, size: { width: number, height: number },
 *   panel: { taken: Taken[], grid: number[], width: number }) => number[]} its left and top
 */
function placeLabel ({ x, y, look }, { width, height }, panel) {
  // A mark is larger than the point that it stands on.
  const margin = 5
  let best = { cost: Infinity, place: [x, y] }
  for (let dx = -REACH; dx <= REACH; dx += STEP) {
    for (let dy = -REACH; dy <= REACH; dy += STEP) {
      const [left, top] = [x + dx - width / 2, y + dy - height / 2]
      const [right, bottom] = [left + width, top + height]
      const isOutside = left < 0 || right > panel.width || top < -4 || bottom > PLOT_HEIGHT
      const onSeries = panel.taken.filter(({ x, y }) => {
        return x > left - margin && x < right + margin && y > top - margin && y < bottom + margin
      }).length
      const isBetween = panel.taken.some((one) => {
        const away = one.y - y
        const isNear = Math.abs(one.x - x - dx / 2) < STEP
        return one.look !== look && isNear && Math.abs(away) > STEP && away * (away - dy) < 0
      })
      const onGrid = panel.grid.filter((line) => line > top && line < bottom).length
      const cost = Math.hypot(dx, dy) + COSTS.series * onSeries + COSTS.grid * onGrid + (isOutside ? COSTS.edge : 0) +
        (isBetween ? COSTS.between : 0)
      if (cost < best.cost) best = { cost, place: [left, top] }
    }
  }
  return best.place
}

// Percentiles: p90, p99, p99.9 and so on are equally far apart, because each leaves out a tenth of the one before it.

const PERCENTILES = [0.5, 0.9, 0.99, 0.999, 0.9999]
// The greatest value has no percentile: it stands after all of them.
const MAX_PLACE = 2e5

/** @typedef {{ p: number, value: number }} Percentile  of 1 at most: the greatest value */
/** @typedef {{ label: string, look: number, points: Percentile[] }} Curve  in ms */

/**
 * The latencies of histograms, one line a curve: time is logarithmic, with a scale for each panel.
 * @param {Canvas} canvas
 * @param {Array<{ name?: string, meaning?: string, curves: Curve[] }>} panels
 * @returns {number}  where the drawing ends
 */
function drawCurve (canvas, panels) {
  const place = (/** @type {number} */ p) => p >= 1 ? MAX_PLACE : 1 / (1 - p)
  const named = [...PERCENTILES, 1].map(place)
  return drawLines(canvas, panels.map(({ name = '', meaning = '', curves }) => {
    /** @type {Point[][]} */
    const series = canvas.stacks.map(() => [])
    /** @type {Label[]} */
    const labels = []
    for (const { look, points } of curves) {
      const shown = points.filter(({ p, value }) => {
        return value > 0 && p >= PERCENTILES[0] && (p >= 1 || place(p) < MAX_PLACE / 2)
      })
      series[look] = shown.sort((a, b) => a.p - b.p).map(({ p, value }) => {
        return { x: place(p), y: value, isHollow: p >= 1, isBare: p < 1 && !PERCENTILES.includes(p) }
      })
      const last = shown[shown.length - 1]
      if (last?.p >= 1) labels.push({ x: MAX_PLACE, y: last.value, text: formatTime(last.value), look })
    }
    return { name, meaning, series, labels }
  }), {
    sizes: named,
    named,
    formatSize: (size) => size === MAX_PLACE ? 'max' : `p${Number((100 - 100 / size).toPrecision(6))}`,
    axis: 'share of the calls that took no longer',
    unit: 'time',
    hasOwnScales: true,
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

exports.PERCENTILES = PERCENTILES
exports.drawLines = drawLines
exports.drawCurve = drawCurve
exports.toPercentiles = toPercentiles
exports.formatTime = formatTime
