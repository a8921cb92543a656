'use strict'
// images/scale: what a scan, opening and memory come to as a log grows. Flat is good.

const { createCanvas, drawMarker, write, MARGIN, WIDTH } = require('../../lib/charts/canvas')
const { saveChart } = require('../../lib/charts/draw-charts')
const { formatCount } = require('../../lib/format')
const { formatSize } = require('./options')

/** @typedef {import('./shapes').Point} Point */
/** @typedef {{ name: string, unit: string, pick: (point: Point) => number, floor?: number }} Panel */

const MB = 1e6
const PLOT_HEIGHT = 180
const AXIS_WIDTH = 46
const GAP = 22
// Room for half of a size's name on either side.
const INSET = 26
// The names of more sizes than these would run into each other.
const NAMED_SIZES = 4

/**
 * @param {string} folder
 * @param {Point[]} points
 * @param {{ cpu: string, cores: number, node: string, idleMemory: number }} facts
 * @returns {Promise<string[]>}  the files written
 */
async function drawScale (folder, points, { cpu, cores, node, idleMemory }) {
  const framings = [...new Set(points.map(({ framing }) => framing))]
  const canvas = await createCanvas({
    title: 'What a log takes as it grows',
    subtitle: 'By the size of its file, which is logarithmic; lower is better, and flat is best. Each panel begins at zero.',
    stacks: framings.map((framing) => `Millrace, ${framing}`),
    marks: 'lines'
  })
  /** @type {Panel[]} */
  const panels = [
    { name: 'scan', unit: 'ns a record', pick: ({ ns }) => ns },
    { name: 'open', unit: 'ms', pick: ({ openMs }) => openMs },
    { name: 'memory', unit: 'peak of a scan, MB', pick: ({ memory }) => memory / MB, floor: idleMemory / MB }
  ]
  const width = (WIDTH - 2 * MARGIN) / panels.length - AXIS_WIDTH - GAP * (panels.length - 1) / panels.length
  for (const [index, panel] of panels.entries()) {
    const x = MARGIN + AXIS_WIDTH + index * (width + AXIS_WIDTH + GAP)
    const group = canvas.svg.append('g').attr('class', 'panel').attr('transform', `translate(${x},${canvas.top + 44})`)
    drawPanel(canvas, group, { panel, framings, points, width })
  }
  const setting = `Messages of some 690 bytes, page cache warm, medians. ${cpu}, ${cores} cores, Node ${node}`
  return saveChart(folder, 'scale', canvas.finish([setting], canvas.top + PLOT_HEIGHT + 116))
}

/**
 * @param {import('../../lib/charts/canvas').Canvas} canvas
 * @param {any} group
 * @param {{ panel: Panel, framings: string[], points: Point[], width: number }} content
 */
function drawPanel ({ d3, looks }, group, { panel: { name, unit, pick, floor }, framings, points, width }) {
  const sizes = points.map(({ wanted }) => wanted)
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
  // One size alone has no width: it goes in the middle.
  const x = d3.scaleLog().domain(least === most ? [least / 2, most * 2] : [least, most]).range([INSET, width - INSET])
  const y = d3.scaleLinear().domain([0, Math.max(floor ?? 0, ...points.map(pick)) * 1.15]).range([PLOT_HEIGHT, 0])
  const title = write(group, name, { x: 0, y: -16, size: 14, bold: true })
  title.append('tspan').attr('class', 'muted').attr('font-weight', 'normal').attr('font-size', 11).attr('dx', 8).text(unit)
  drawAxes(group, { x, y }, { sizes, width })
  if (floor !== undefined) {
    group.append('line').attr('class', 'axis').attr('stroke-dasharray', '3 4')
      .attr('x1', 0).attr('x2', width).attr('y1', y(floor)).attr('y2', y(floor))
    write(group, 'Node.js alone', { x: width, y: y(floor) + 14, size: 10, muted: true, anchor: 'end' })
  }
  for (const [index, framing] of framings.entries()) {
    const own = points.filter((point) => point.framing === framing)
    for (const [at, point] of own.entries()) {
      const place = { x: x(point.wanted), y: y(pick(point)) }
      if (at > 0) {
        group.append('line').attr('class', `stroke-${index}`).attr('stroke-width', looks[index].lineWidth)
          .attr('x1', x(own[at - 1].wanted)).attr('y1', y(pick(own[at - 1]))).attr('x2', place.x).attr('y2', place.y)
      }
      drawMarker(d3, group, looks[index], index, place)
    }
  }
}

/**
 * @param {any} group
 * @param {{ x: any, y: any }} scales
 * @param {{ sizes: number[], width: number }} place
 */
function drawAxes (group, { x, y }, { sizes, width }) {
  for (const tick of y.ticks(5)) {
    group.append('line').attr('class', tick === 0 ? 'axis' : 'grid')
      .attr('x1', 0).attr('x2', width).attr('y1', y(tick)).attr('y2', y(tick))
    write(group, tick >= 1000 ? formatCount(tick) : String(tick), { x: -8, y: y(tick) + 4, size: 11, muted: true, anchor: 'end' })
  }
  for (const size of nameSizes(sizes)) {
    group.append('line').attr('class', 'axis').attr('x1', x(size)).attr('x2', x(size)).attr('y1', PLOT_HEIGHT).attr('y2', PLOT_HEIGHT + 4)
    write(group, formatSize(size), { x: x(size), y: PLOT_HEIGHT + 18, size: 11, muted: true, anchor: 'middle' })
  }
  write(group, 'size of the log', { x: width / 2, y: PLOT_HEIGHT + 35, size: 11, muted: true, anchor: 'middle' })
}

/**
 * @param {number[]} sizes  of all points
 * @returns {number[]}  the largest, and of the others as many as there is room for
 */
function nameSizes (sizes) {
  const all = [...new Set(sizes)].sort((a, b) => a - b)
  const step = Math.ceil(all.length / NAMED_SIZES)
  return all.filter((_, index) => (all.length - 1 - index) % step === 0)
}

exports.drawScale = drawScale
