'use strict'
// The layers under each other at a few block sizes: bars from zero on one scale, so that length is time.

const { formatCount, formatKib, formatMs, formatRatio } = require('../format')
const { createCanvas, write, WIDTH, MARGIN } = require('./canvas')

/** @typedef {import('../cells').Cells} Cells */
/** @typedef {import('../shapes').Layer} Layer */

const TICKS = 6
const LABEL_WIDTH = 62
const VALUE_WIDTH = 118
const BAR_HEIGHT = 12
const ROW_GAP = 5
const TITLE_HEIGHT = 22
const LAYER_GAP = 9

/**
 * @param {Cells} cells
 * @param {{ layers: Layer[], blockSizes: number[] }} choice  which of the cells
 * @param {{ title: string, subtitle: string, setting: string }} words
 * @returns {Promise<string>}  SVG
 */
async function drawBarChart (cells, { layers, blockSizes }, { title, subtitle, setting }) {
  const canvas = await createCanvas({ title, subtitle, stacks: cells.stacks.map((stack) => stack.label), marks: 'bars' })
  const rowHeight = cells.stacks.length * BAR_HEIGHT + ROW_GAP
  const layerHeight = TITLE_HEIGHT + blockSizes.length * rowHeight + LAYER_GAP
  const bottom = canvas.top + 8 + layers.length * layerHeight
  const left = MARGIN + LABEL_WIDTH
  const scale = canvas.d3.scaleLinear().domain([0, findLongest(cells, layers, blockSizes)])
    .range([0, WIDTH - MARGIN - left - VALUE_WIDTH])

  const plot = canvas.svg.append('g').attr('transform', `translate(${left},0)`)
  drawTicks(plot, scale, bottom)
  for (const [layerIndex, layer] of layers.entries()) {
    const y = canvas.top + 8 + layerIndex * layerHeight
    drawLayerTitle(canvas.svg, layer, y + 14)
    drawGrid(plot, scale, { top: y + TITLE_HEIGHT - 2, bottom: y + layerHeight - LAYER_GAP })
    for (const [sizeIndex, blockSize] of blockSizes.entries()) {
      drawRow(plot, scale, cells, { layer, blockSize, y: y + TITLE_HEIGHT + sizeIndex * rowHeight })
    }
  }
  return canvas.finish([setting], bottom + 54)
}

/**
 * @param {any} svg
 * @param {Layer} layer
 * @param {number} y
 */
function drawLayerTitle (svg, layer, y) {
  const title = write(svg, layer.name, { x: MARGIN, y, size: 13, bold: true })
  title.append('tspan').attr('class', 'muted').attr('font-weight', 'normal').attr('font-size', 11).attr('dx', 8).text(layer.meaning)
}

/**
 * @param {any} plot
 * @param {any} scale
 * @param {{ top: number, bottom: number }} span
 */
function drawGrid (plot, scale, { top, bottom }) {
  for (const tick of scale.ticks(TICKS)) {
    plot.append('line').attr('class', tick === 0 ? 'axis' : 'grid').attr('x1', scale(tick)).attr('x2', scale(tick))
      .attr('y1', top).attr('y2', bottom)
  }
}

/**
 * @param {any} plot
 * @param {any} scale
 * @param {number} bottom
 */
function drawTicks (plot, scale, bottom) {
  for (const tick of scale.ticks(TICKS)) {
    write(plot, `${formatCount(tick)} ms`, { x: scale(tick), y: bottom + 9, size: 11, muted: true, anchor: 'middle' })
  }
}

/**
 * One block size: a bar a stack, with its time behind it, and behind that how many times the first stack's it is.
 * @param {any} plot
 * @param {any} scale
 * @param {Cells} cells
 * @param {{ layer: Layer, blockSize: number, y: number }} row
 */
function drawRow (plot, scale, cells, { layer, blockSize, y }) {
  const middle = y + cells.stacks.length * BAR_HEIGHT / 2 + 4
  write(plot, formatKib(blockSize), { x: -8, y: middle, size: 11, muted: true, anchor: 'end' })
  for (const [index, stack] of cells.stacks.entries()) {
    const cell = cells.get(stack, layer, blockSize)
    if (cell === undefined) continue
    const barY = y + index * BAR_HEIGHT
    const kind = cell.scaled ? `hollow stroke-${index}` : `fill-${index}`
    plot.append('rect').attr('class', kind).attr('x', 0).attr('y', barY + 0.5).attr('height', BAR_HEIGHT - 1)
      .attr('width', Math.max(1, scale(cell.median)))
    drawWhisker(plot, scale, cell, barY + BAR_HEIGHT / 2)
    const ratio = index === 0 ? undefined : cells.ratio(stack, layer, blockSize)
    const label = write(plot, `${cell.scaled ? '~ ' : ''}${formatMs(cell.median)} ms`, {
      x: scale(cell.max) + 6, y: barY + 10, size: 10.5
    })
    if (ratio === undefined) continue
    label.append('tspan').attr('class', `fill-${index}`).attr('font-weight', 'bold').attr('dx', 7).text(formatRatio(ratio))
  }
}

/**
 * From the fastest run to the slowest.
 * @param {any} plot
 * @param {any} scale
 * @param {import('../cells').Cell} cell
 * @param {number} y
 */
function drawWhisker (plot, scale, cell, y) {
  if (scale(cell.max) - scale(cell.min) < 2) return
  plot.append('line').attr('class', 'whisker').attr('x1', scale(cell.min)).attr('x2', scale(cell.max)).attr('y1', y).attr('y2', y)
}

/**
 * @param {Cells} cells
 * @param {Layer[]} layers
 * @param {number[]} blockSizes
 */
function findLongest (cells, layers, blockSizes) {
  const all = layers.flatMap((layer) => blockSizes.flatMap((blockSize) => {
    return cells.stacks.map((stack) => cells.get(stack, layer, blockSize)?.max ?? 0)
  }))
  return Math.max(...all)
}

exports.drawBarChart = drawBarChart
