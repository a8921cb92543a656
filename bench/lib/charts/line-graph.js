'use strict'
// Time against block size: one small panel a layer, all on the same two axes, so that the eye compares heights only.

const { formatCount, formatRatio } = require('../format')
const { createCanvas, drawMarker, write, WIDTH, MARGIN } = require('./canvas')

/** @typedef {import('../cells').Cells} Cells */
/** @typedef {import('../shapes').Layer} Layer */
/** @typedef {import('../shapes').Stack} Stack */
/** @typedef {{ blockSize: number, ms: number, scaled: boolean }} Point */

const COLUMNS = 3
const PLOT_HEIGHT = 170
const ROW_HEIGHT = PLOT_HEIGHT + 92
const AXIS_WIDTH = 52
const GAP = 18
// Where the ratio is written, when it was measured: the block size that Millrace uses unless it is told another.
const RATIO_BLOCK_SIZE = 65536
const HOLLOW = 'scaled from the first 64 MiB'

/**
 * @param {Cells} cells
 * @param {{ title: string, subtitle: string, setting: string }} words
 * @returns {Promise<string>}  SVG
 */
async function drawLineGraph (cells, { title, subtitle, setting }) {
  const points = cells.layers.flatMap((layer) => cells.stacks.flatMap((stack) => listPoints(cells, stack, layer)))
  const isScaled = points.some((point) => point.scaled)
  const stacks = cells.stacks.map((stack) => stack.label)
  const canvas = await createCanvas({ title, subtitle, stacks, marks: 'lines', ...(isScaled && { hollow: HOLLOW }) })

  const columns = Math.min(COLUMNS, cells.layers.length)
  const panelWidth = (WIDTH - 2 * MARGIN - AXIS_WIDTH - GAP * (columns - 1)) / columns
  const [least, most] = canvas.d3.extent(points, (/** @type {Point} */ point) => point.ms)
  const scales = {
    x: createBlockScale(canvas.d3, cells.blockSizes).range([12, panelWidth - 12]),
    // Below the lowest mark there is room for the ratios of those between.
    y: canvas.d3.scaleLog().domain([least / (stacks.length > 2 ? 2.5 : 1.6), most * 1.6]).range([PLOT_HEIGHT, 0])
  }

  for (const [index, layer] of cells.layers.entries()) {
    const [column, row] = [index % columns, Math.floor(index / columns)]
    const x = MARGIN + AXIS_WIDTH + column * (panelWidth + GAP)
    const y = canvas.top + 50 + row * ROW_HEIGHT
    const panel = canvas.svg.append('g').attr('class', 'panel').attr('transform', `translate(${x},${y})`)
    drawAxes(panel, scales, { cells, panelWidth, hasTimes: column === 0 })
    drawPanel(canvas, panel, scales, cells, layer)
  }
  const rows = Math.ceil(cells.layers.length / columns)
  return canvas.finish([setting], canvas.top + rows * ROW_HEIGHT + 46)
}

/**
 * @param {any} d3
 * @param {number[]} blockSizes
 */
function createBlockScale (d3, blockSizes) {
  const [least, most] = d3.extent(blockSizes)
  // One size alone has no width: it goes in the middle.
  return d3.scaleLog().base(2).domain(least === most ? [least / 2, most * 2] : [least, most])
}

/**
 * @param {any} panel
 * @param {{ x: any, y: any }} scales
 * @param {{ cells: Cells, panelWidth: number, hasTimes: boolean }} place
 */
function drawAxes (panel, { x, y }, { cells, panelWidth, hasTimes }) {
  for (const tick of listTimeTicks(y.domain())) {
    panel.append('line').attr('class', 'grid')
      .attr('x1', 0).attr('x2', panelWidth).attr('y1', y(tick)).attr('y2', y(tick))
    if (hasTimes) write(panel, formatCount(tick), { x: -8, y: y(tick) + 4, size: 11, muted: true, anchor: 'end' })
  }
  if (hasTimes) write(panel, 'ms', { x: -8, y: -9, size: 11, muted: true, anchor: 'end' })
  panel.append('line').attr('class', 'axis')
    .attr('x1', 0).attr('x2', panelWidth).attr('y1', PLOT_HEIGHT).attr('y2', PLOT_HEIGHT)
  for (const tick of listBlockTicks(cells.blockSizes)) {
    panel.append('line').attr('class', 'axis').attr('x1', x(tick)).attr('x2', x(tick))
      .attr('y1', PLOT_HEIGHT).attr('y2', PLOT_HEIGHT + 4)
    write(panel, String(tick / 1024), { x: x(tick), y: PLOT_HEIGHT + 17, size: 11, muted: true, anchor: 'middle' })
  }
  write(panel, 'block size, KiB', { x: panelWidth / 2, y: PLOT_HEIGHT + 33, size: 11, muted: true, anchor: 'middle' })
}

/**
 * @param {import('./canvas').Canvas} canvas
 * @param {any} panel
 * @param {{ x: any, y: any }} scales
 * @param {Cells} cells
 * @param {Layer} layer
 */
function drawPanel (canvas, panel, { x, y }, cells, layer) {
  write(panel, layer.name, { x: 0, y: -25, size: 14, bold: true })
  write(panel, layer.meaning, { x: 0, y: -9, size: 11, muted: true })
  const markerScale = cells.blockSizes.length > 20 ? 0.3 : 1
  for (const [index, stack] of cells.stacks.entries()) {
    const points = listPoints(cells, stack, layer)
    const look = canvas.looks[index]
    for (let i = 1; i < points.length; i++) {
      const [from, to] = [points[i - 1], points[i]]
      panel.append('line').attr('class', `stroke-${index}`).attr('stroke-width', look.lineWidth)
        .attr('stroke-linecap', 'round').attr('stroke-dasharray', from.scaled || to.scaled ? '5 5' : null)
        .attr('x1', x(from.blockSize)).attr('y1', y(from.ms)).attr('x2', x(to.blockSize)).attr('y2', y(to.ms))
    }
    for (const { blockSize, ms, scaled } of points) {
      drawMarker(canvas.d3, panel, look, index, { x: x(blockSize), y: y(ms), scale: markerScale, hollow: scaled })
    }
  }
  drawRatio(panel, { x, y }, cells, layer)
  drawRatiosBetween(panel, { x, y }, cells, layer)
}

/**
 * How far the last stack is from the first, in a figure: beside the last one's mark, where no line is in the way.
 * @param {any} panel
 * @param {{ x: any, y: any }} scales
 * @param {Cells} cells
 * @param {Layer} layer
 */
function drawRatio (panel, { x, y }, cells, layer) {
  if (cells.stacks.length === 1) return
  const blockSize = chooseRatioBlockSize(cells.blockSizes)
  const ratio = cells.ratio(cells.stacks[cells.stacks.length - 1], layer, blockSize)
  const measured = cells.stacks.flatMap((stack) => cells.get(stack, layer, blockSize) ?? [])
  const heights = measured.map((cell) => y(cell.median))
  const last = heights.pop()
  if (ratio === undefined || heights.length === 0) return
  const nearest = heights.reduce((a, b) => Math.abs(a - last) < Math.abs(b - last) ? a : b)
  const isRoomy = Math.abs(nearest - last) > 34
  if (isRoomy) {
    panel.append('line').attr('class', 'axis').attr('stroke-dasharray', '1 3')
      .attr('x1', x(blockSize)).attr('x2', x(blockSize)).attr('y1', heights[0]).attr('y2', last)
  }
  write(panel, formatRatio(ratio), {
    x: x(blockSize) - (isRoomy ? 6 : 0),
    y: isRoomy ? nearest * 0.4 + last * 0.6 + 5 : Math.min(last, ...heights) - 12,
    size: 14,
    bold: true,
    anchor: isRoomy ? 'end' : 'middle'
  })
}

/**
 * How far those between are from the first, each in its colour: below the lowest mark.
 * @param {any} panel
 * @param {{ x: any, y: any }} scales
 * @param {Cells} cells
 * @param {Layer} layer
 */
function drawRatiosBetween (panel, { x, y }, cells, layer) {
  const blockSize = chooseRatioBlockSize(cells.blockSizes)
  const ratios = cells.stacks.map((stack) => cells.ratio(stack, layer, blockSize))
  const measured = cells.stacks.flatMap((stack) => cells.get(stack, layer, blockSize) ?? [])
  const lowest = Math.max(...measured.map((cell) => y(cell.median)))
  if (ratios.slice(1, -1).every((ratio) => ratio === undefined)) return
  const text = write(panel, '', { x: x(blockSize), y: lowest + 19, size: 12, bold: true, anchor: 'middle' })
  for (const [index, ratio] of ratios.entries()) {
    if (index === 0 || index === ratios.length - 1 || ratio === undefined) continue
    text.append('tspan').attr('class', `fill-${index}`).attr('dx', index === 1 ? 0 : 6).text(formatRatio(ratio))
  }
}

/**
 * @param {number[]} blockSizes
 * @returns {number}
 */
function chooseRatioBlockSize (blockSizes) {
  return blockSizes.includes(RATIO_BLOCK_SIZE) ? RATIO_BLOCK_SIZE : blockSizes[blockSizes.length - 1]
}

/**
 * @param {Cells} cells
 * @param {Stack} stack
 * @param {Layer} layer
 * @returns {Point[]}
 */
function listPoints (cells, stack, layer) {
  return cells.blockSizes.flatMap((blockSize) => {
    const cell = cells.get(stack, layer, blockSize)
    return cell === undefined ? [] : [{ blockSize, ms: cell.median, scaled: cell.scaled }]
  })
}

/**
 * @param {[number, number]} domain
 * @returns {number[]}  powers of ten, and what lies between them where few of these fit
 */
function listTimeTicks ([least, most]) {
  const ticks = []
  for (let power = 0.001; power <= most; power *= 10) {
    for (const step of most / least > 300 ? [1] : [1, 3]) {
      const tick = Number((power * step).toPrecision(1))
      if (tick >= least && tick <= most) ticks.push(tick)
    }
  }
  return ticks
}

/** @param {number[]} blockSizes */
function listBlockTicks (blockSizes) {
  const [least, most] = [Math.min(...blockSizes), Math.max(...blockSizes)]
  const powers = []
  for (let power = 1024; power <= most; power *= 2) if (power >= least) powers.push(power)
  // Round sizes are enough when there are many; when there are few, each is named.
  return blockSizes.length > 8 ? powers : blockSizes
}

exports.drawLineGraph = drawLineGraph
exports.chooseRatioBlockSize = chooseRatioBlockSize
