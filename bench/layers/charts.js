'use strict'
// The charts of the bench, and what they say in words. Titles speak of what was measured in full, at one block size:
// that which Millrace uses unless it is told another.

const { drawBars } = require('../lib/charts/bars')
const { add, createCanvas, describeSetting, write } = require('../lib/charts/canvas')
const { drawLines } = require('../lib/charts/lines')
const { formatCount, formatKib, formatMs, formatRatio } = require('../lib/report')

/** @typedef {import('./report').Cells} Cells */
/** @typedef {import('./layers').Layer} Layer */

const DEFAULT_BLOCK_SIZE = 65536
const HOLLOW = 'scaled from the first 64 MiB'
const BAR_BLOCK_SIZES = [16384, 32768, 65536]
// The second shows what the binary format adds to the first.
const BAR_CHARTS = [
  { name: 'barchart', layers: ['file', 'blocks', 'log', 'json'] },
  { name: 'barchart2', layers: ['file', 'blocks', 'log', 'json', 'stream', 'binary'] }
]

/**
 * @param {Cells} cells
 * @param {{ facts: import('../lib/report').Facts, records: number, bytes: number }} input
 * @param {(line: string) => void} say  told of a chart that there is nothing to draw for
 * @returns {Promise<Record<string, string>>}  SVG by name
 */
async function drawCharts (cells, { facts, records, bytes }, say) {
  const size = bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${formatCount(Math.round(bytes / 1e6))} MB`
  const setting = describeSetting(`${formatCount(records)} messages, ${size} of JSON`, facts, countRuns(cells))
  /** @type {Record<string, string>} */
  const charts = { linegraph: await drawLineGraph(cells, setting) }
  for (const { name, layers } of BAR_CHARTS) {
    const shown = cells.layers.filter((layer) => layers.includes(layer.name))
    const blockSizes = cells.blockSizes.filter((blockSize) => BAR_BLOCK_SIZES.includes(blockSize))
    if (shown.length > 0 && blockSizes.length > 0) {
      charts[name] = await drawBarChart({ ...cells, layers: shown, blockSizes }, setting)
    } else say(`${name}: skipped, it shows ${layers.join(', ')} at 16, 32 and 64 KiB and none of these was measured`)
  }
  return charts
}

/**
 * @param {Cells} cells
 * @returns {number[]}  how often each case ran, but for those that run once by design
 */
function countRuns ({ stacks, layers, blockSizes, get }) {
  const counts = blockSizes.flatMap((size) => layers.flatMap((layer) => stacks.flatMap((stack) => {
    const cell = get(stack, layer, size)
    return cell && !cell.scaled ? cell.runs : []
  })))
  return counts.length > 0 ? counts : [1]
}

/**
 * How the first stack compares with the last one, where both read all of the log.
 * @param {Cells} cells
 * @returns {string}
 */
function compareStacks ({ stacks, layers, blockSizes, get, ratio }) {
  const [first, last] = [stacks[0], stacks[stacks.length - 1]]
  const blockSize = chooseBlockSize(blockSizes)
  if (stacks.length === 1) return `${first.label}: time to read a whole log`
  const ratios = layers.flatMap((layer) => {
    return get(last, layer, blockSize)?.scaled ? [] : ratio(last, layer, blockSize) ?? []
  })
  if (ratios.length === 0) return 'Time to read a whole log'
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const span = [...new Set([least, most].map((ratio) => formatRatio(ratio).replace('×', '')))].join(' to ')
  // "Times as fast" below one would be a boast that is none.
  const words = least < 1 ? [last.label, `takes ${span} times as long as`, first.label] : [first.label, `is ${span} times as fast as`, last.label]
  return `At ${formatKib(blockSize)} ${words.join(' ')}`
}

/** @param {number[]} blockSizes */
function chooseBlockSize (blockSizes) {
  return blockSizes.includes(DEFAULT_BLOCK_SIZE) ? DEFAULT_BLOCK_SIZE : blockSizes[blockSizes.length - 1]
}

/**
 * Time against block size, one panel a layer.
 * @param {Cells} cells
 * @param {string} setting
 */
async function drawLineGraph (cells, setting) {
  const { stacks, layers, blockSizes, get } = cells
  const panels = layers.map((layer) => ({
    layer,
    series: stacks.map((stack) => blockSizes.flatMap((blockSize) => {
      const cell = get(stack, layer, blockSize)
      return cell ? [{ x: blockSize, y: cell.median, isHollow: cell.scaled }] : []
    }))
  }))
  const points = panels.flatMap(({ series }) => series.flat())
  const gap = stacks.length === 1 ? '' : ` In figures: the gap at ${formatKib(chooseBlockSize(blockSizes))}.`
  const canvas = await createCanvas({
    title: compareStacks(cells),
    subtitle: `Time to read the whole log, by block size; lower is better, both axes logarithmic.${gap}`,
    stacks: stacks.map((stack) => stack.label),
    marks: 'lines',
    ...(points.some(({ isHollow }) => isHollow) && { hollow: HOLLOW })
  })
  const times = points.map(({ y }) => y)
  // Below the lowest mark there is room for the ratios of those between.
  const [least, most] = [Math.min(...times) / (stacks.length > 2 ? 2.5 : 1.6), Math.max(...times) * 1.6]
  // Powers of ten, and what lies between them where few of these fit.
  const steps = most / least > 300 ? [1] : [1, 3]
  const ticks = canvas.d3.range(-3, 9).flatMap((/** @type {number} */ power) => steps.map((step) => Number(`${step}e${power}`)))
  const bottom = drawLines(canvas, panels.map(({ layer, series }) => ({
    name: layer.name,
    meaning: layer.meaning,
    series,
    y: canvas.d3.scaleLog().domain([least, most]),
    ticks: ticks.filter((/** @type {number} */ tick) => tick >= least && tick <= most),
    annotate: (group, scales) => drawRatios(group, scales, cells, layer)
  })), {
    sizes: blockSizes,
    // Round sizes are enough when there are many; when there are few, each is named.
    named: blockSizes.filter((size) => blockSizes.length <= 8 || Number.isInteger(Math.log2(size))),
    formatSize: (size) => String(size / 1024),
    axis: 'block size, KiB',
    unit: 'ms'
  })
  return canvas.finish([setting], bottom + 46)
}

/**
 * How far the others are from the first: the last beside its mark, where no line is in the way, and those between below
 * the lowest mark, each in its colour.
 * @param {any} group
 * @param {{ x: any, y: any }} scales
 * @param {Cells} cells
 * @param {Layer} layer
 */
function drawRatios (group, { x, y }, { stacks, blockSizes, get, ratio }, layer) {
  const blockSize = chooseBlockSize(blockSizes)
  const ratios = stacks.map((stack) => ratio(stack, layer, blockSize))
  const heights = stacks.flatMap((stack) => get(stack, layer, blockSize) ?? []).map(({ median }) => y(median))
  const lowest = Math.max(...heights)
  const last = heights.pop()
  const gap = ratios.pop()
  if (stacks.length === 1 || gap === undefined || heights.length === 0) return
  const nearest = heights.reduce((a, b) => Math.abs(a - last) < Math.abs(b - last) ? a : b)
  const isRoomy = Math.abs(nearest - last) > 34
  write(group, formatRatio(gap), {
    x: x(blockSize) - (isRoomy ? 6 : 0),
    y: isRoomy ? nearest * 0.4 + last * 0.6 + 5 : Math.min(last, ...heights) - 12,
    size: 14,
    bold: true,
    anchor: isRoomy ? 'end' : 'middle'
  })
  if (ratios.length < 2) return
  const between = write(group, '', { x: x(blockSize), y: lowest + 19, size: 12, bold: true, anchor: 'middle' })
  for (const [index, ratio] of ratios.entries()) {
    if (index === 0 || ratio === undefined) continue
    add(between, 'tspan', { class: `fill-${index}`, dx: index === 1 ? 0 : 6 }, formatRatio(ratio))
  }
}

/**
 * The layers under each other at a few block sizes, on one scale.
 * @param {Cells} cells
 * @param {string} setting
 */
async function drawBarChart (cells, setting) {
  const { stacks, layers, blockSizes, get, ratio } = cells
  const canvas = await createCanvas({
    title: compareStacks(cells),
    subtitle: 'Time to read the whole log, layer by layer. Thin lines go from the fastest run to the slowest.',
    stacks: stacks.map((stack) => stack.label),
    marks: 'bars'
  })
  const bottom = drawBars(canvas, layers.map((layer) => ({
    title: layer.name,
    meaning: layer.meaning,
    rows: blockSizes.map((blockSize) => ({
      label: formatKib(blockSize),
      bars: stacks.flatMap((stack, look) => {
        const cell = get(stack, layer, blockSize)
        const times = look === 0 ? undefined : ratio(stack, layer, blockSize)
        if (cell === undefined) return []
        const { median: value, min, max, scaled: isHollow } = cell
        const more = times === undefined ? undefined : { text: formatRatio(times), class: `fill-${look}` }
        return { look, value, min, max, isHollow, text: `${isHollow ? '~ ' : ''}${formatMs(value)} ms`, more }
      })
    }))
  })), { barHeight: 12, rowGap: 5, labelWidth: 62, valueWidth: 118, formatTick: (tick) => `${formatCount(tick)} ms` })
  return canvas.finish([setting], bottom + 54)
}

exports.drawCharts = drawCharts
