'use strict'
// The measurements of a bench, gathered: one cell for each layer, block size and stack. From these the table, a block a
// layer, a row a block size; the CSV files; and the charts, with what they say in words. Titles speak of what was
// measured in full, at one block size: that which Millrace uses unless it is told another.

const fs = require('node:fs')
const path = require('node:path')
const { describeRuns, describeSetting, drawBars, drawChart, drawLines, hedge } = require('../lib/charts')
const { readSource } = require('../lib/logs')
const { alignColumns, formatCount, formatKib, formatMarkdown, formatMs, formatRatio, formatSize, readCsv, summarize } = require('../lib/report')
const { UserError } = require('../lib/run')

/** @typedef {import('./cases').Measurement} Measurement */
/** @typedef {import('./stacks').Stack} Stack */
/** @typedef {import('./layers').Layer} Layer */
/** @typedef {import('../lib/report').Summary & { scaled: boolean, runs: number }} Cell */

/**
 * @typedef {object} Cells
 * @property {Stack[]} stacks  the first is what the others are compared with
 * @property {Layer[]} layers
 * @property {number[]} blockSizes
 * @property {(stack: Stack, layer: Layer, blockSize: number) => Cell | undefined} get
 * @property {(stack: Stack, layer: Layer, blockSize: number) => number | undefined} ratio  how many times as long this
 *   stack takes as the first one
 */

const DEFAULT_BLOCK_SIZE = 65536
const HOLLOW = 'scaled from the first 64 MiB'
const BAR_BLOCK_SIZES = [16384, 32768, 65536]
// The second shows what the binary format adds to the first.
const BAR_CHARTS = [
  { name: 'barchart', layers: ['file', 'blocks', 'log', 'json'] },
  { name: 'barchart2', layers: ['file', 'blocks', 'log', 'json', 'stream', 'binary'] }
]

/**
 * @param {{ stacks: Stack[], layers: Layer[] }} choice
 * @param {Measurement[]} measurements
 * @returns {Cells}  of the stacks and layers that were measured
 */
function gatherCells (choice, measurements) {
  const stacks = choice.stacks.filter(({ name }) => measurements.some(({ stack }) => stack === name))
  const layers = choice.layers.filter(({ name }) => measurements.some(({ layer }) => layer === name))
  const blockSizes = [...new Set(measurements.map(({ blockSize }) => blockSize))].sort((a, b) => a - b)
  /** @type {Cells['get']} */
  const get = (stack, layer, blockSize) => {
    const own = measurements.filter((one) => {
      return one.stack === stack.name && one.layer === layer.name && one.blockSize === blockSize
    })
    if (own.length === 0) return undefined
    return { ...summarize(own.map(({ ms }) => ms)), scaled: own.some(({ scaled }) => scaled), runs: own.length }
  }
  /** @type {Cells['ratio']} */
  const ratio = (stack, layer, blockSize) => {
    const [own, first] = [get(stack, layer, blockSize), get(stacks[0], layer, blockSize)]
    return own && first && own.median / first.median
  }
  return { stacks, layers, blockSizes, get, ratio }
}

/** @param {Cells} cells */
function formatTable (cells) {
  const { stacks, layers, blockSizes } = cells
  const rows = layers.map((layer) => blockSizes.map((blockSize) => formatRow(cells, layer, blockSize)))
  const heads = ['block', ...stacks.flatMap(({ label }, index) => index === 0 ? [label] : [label, 'ratio'])]
  const [head, ...lines] = alignColumns([heads, ...rows.flat()], '   ', () => false)
  const parts = ['ms for the whole log, median (min-max)' + (stacks.length > 1 ? `; ratio: to ${stacks[0].label}` : '')]
  for (const layer of layers) {
    parts.push('', `${layer.name}: ${layer.meaning}`, head, ...lines.splice(0, blockSizes.length))
  }
  if (rows.flat(2).some((text) => text.startsWith('~'))) {
    parts.push('', '~ read the first 64 MiB only, once, and scaled to the whole log')
  }
  return parts.join('\n')
}

/** For pages: at one block size. @param {Cells} cells */
function formatMarkdownTable (cells) {
  const blockSize = chooseBlockSize(cells.blockSizes)
  const heads = cells.stacks.flatMap(({ label }, index) => index === 0 ? [label] : [label, 'ratio'])
  const lines = cells.layers.map((layer) => [`\`${layer.name}\``, layer.meaning, ...formatRow(cells, layer, blockSize).slice(1)])
  return formatMarkdown([`ms, ${formatKib(blockSize)}`, '', ...heads], lines, (column) => column < 2)
}

/**
 * @param {Cells} cells
 * @param {Layer} layer
 * @param {number} blockSize
 * @returns {string[]}
 */
function formatRow (cells, layer, blockSize) {
  const columns = cells.stacks.flatMap((stack, index) => {
    const time = formatTime(cells.get(stack, layer, blockSize))
    const ratio = cells.ratio(stack, layer, blockSize)
    return index === 0 ? [time] : [time, ratio === undefined ? '-' : formatRatio(ratio)]
  })
  return [formatKib(blockSize), ...columns]
}

/** @param {Cell | undefined} cell */
function formatTime (cell) {
  if (cell === undefined) return '-'
  if (cell.scaled) return `~ ${formatMs(cell.median)}`
  const [middle, min, max] = [cell.median, cell.min, cell.max].map(formatMs)
  return cell.min === cell.max ? middle : `${middle} (${min}-${max})`
}

/**
 * One file a layer: every run of every stack.
 * @param {{ stacks: Stack[], layers: Layer[] }} choice
 * @param {Measurement[]} measurements
 * @param {import('../lib/report').Facts} facts
 * @returns {Record<string, import('../lib/report').Sheet>}  by the names of the layers
 */
function toSheets ({ stacks, layers }, measurements, facts) {
  const rank = (/** @type {Measurement} */ one) => stacks.findIndex(({ name }) => name === one.stack)
  const sorted = [...measurements].sort((a, b) => rank(a) - rank(b) || a.blockSize - b.blockSize || a.run - b.run)
  return Object.fromEntries(layers.map(({ name, meaning, log }) => [name, {
    facts,
    notes: [
      `layer: ${name}, ${meaning} (reads the ${log} log)`,
      'block_size, bytes and peak_memory are in bytes; records and bytes are what the run read; page cache warm',
      'scaled: yes where only the first 64 MiB were read; ms is then worked out for the whole log from the bytes read'
    ],
    columns: 'stack,block_size,run,ms,records,bytes,peak_memory,scaled',
    rows: sorted.filter(({ layer }) => layer === name).map((one) => {
      const { stack, blockSize, run, ms, records, bytes, peakMemory, scaled } = one
      return [stack, blockSize, run, ms.toFixed(3), records, bytes, peakMemory, scaled ? 'yes' : 'no']
    })
  }]))
}

/**
 * The inverse of toSheets, from files.
 * @param {{ stacks: Stack[], layers: Layer[] }} choice
 * @param {string} folder
 * @returns {{ measurements: Measurement[], facts: import('../lib/report').Facts }}
 * @throws {UserError}
 */
function readSheets ({ stacks, layers }, folder) {
  const sheets = layers.flatMap(({ name: layer }) => {
    const file = path.join(folder, `${layer}.csv`)
    return fs.existsSync(file) ? [{ layer, file, ...readCsv(file) }] : []
  })
  if (sheets.length === 0) throw new UserError(`--draw: ${folder} has no file of these --layers: run the bench first`)
  const [{ facts, file: first }] = sheets
  for (const { file, facts: { input, machine, node } } of sheets) {
    if (input === facts.input && machine === facts.machine && node === facts.node) continue
    throw new UserError(`--draw: ${file} and ${first} are of different inputs, machines or Node.js versions`)
  }
  const measurements = sheets.flatMap(({ layer, rows }) => rows.map(({ stack, scaled, ...row }) => {
    const [blockSize, run, ms, records, bytes, peakMemory] = [
      row.block_size, row.run, row.ms, row.records, row.bytes, row.peak_memory].map(Number)
    return { stack, layer, blockSize, run, ms, records, bytes, peakMemory, scaled: scaled === 'yes' }
  }))
  const measured = measurements.filter(({ stack }) => stacks.some(({ name }) => name === stack))
  if (measured.length === 0) throw new UserError(`--draw: ${first} has nothing of these --stacks`)
  return { measurements: measured, facts }
}

/**
 * @param {Cells} cells
 * @param {import('../lib/report').Facts} facts
 * @param {(line: string) => void} say  told of a chart that there is nothing to draw for
 * @returns {Promise<Record<string, string>>}  SVG by name
 */
async function drawCharts (cells, facts, say) {
  const { records, json } = readSource(facts.input)
  const size = formatSize(json)
  const setting = describeSetting(`${formatCount(records)} messages, ${size} of JSON`, facts, countRuns(cells))
  const wordsOf = (/** @type {Cells} */ shown) => {
    const { title, footer } = compareStacks(shown)
    return { title, stacks: cells.stacks.map(({ label }) => label), footer: [...footer, setting] }
  }
  /** @type {Record<string, string>} */
  const charts = { linegraph: await drawLineGraph(cells, wordsOf(cells)) }
  for (const { name, layers } of BAR_CHARTS) {
    const shown = cells.layers.filter((layer) => layers.includes(layer.name))
    const blockSizes = cells.blockSizes.filter((blockSize) => BAR_BLOCK_SIZES.includes(blockSize))
    if (shown.length > 0 && blockSizes.length > 0) {
      charts[name] = await drawBarChart({ ...cells, layers: shown, blockSizes }, wordsOf({ ...cells, layers: shown }))
    } else say(`${name}: skipped, it shows ${layers.join(', ')} at 16, 32 and 64 KiB and none of these was measured`)
  }
  return charts
}

/**
 * @param {Cells} cells
 * @param {import('../lib/report').Facts} facts
 * @returns {import('../page/page').Report}  what the page shows, in the words of the charts
 */
function describeReport (cells, facts) {
  const { stacks, layers, blockSizes, get } = cells
  const { records, ...bytes } = readSource(facts.input)
  const runs = describeRuns(countRuns(cells))
  return {
    title: compareStacks(cells).title,
    subtitle: `Time to read a whole log of ${formatCount(records)} messages, ${formatSize(bytes.json)} as JSON and ` +
      `${formatSize(bytes.binary)} in the binary format, from start to end, by block size: page cache warm, ${runs}.`,
    blockSizes,
    blockSize: chooseBlockSize(blockSizes),
    stacks: stacks.map((stack) => ({
      label: stack.label,
      cells: layers.map((layer) => blockSizes.map((blockSize) => get(stack, layer, blockSize) ?? null))
    })),
    layers: layers.map(({ name, meaning, log }) => ({ name, meaning, bytes: bytes[log], records })),
    facts: Object.entries(facts).map(([name, value]) => [name, String(value)])
  }
}

/** @param {Cells} cells */
function listCells ({ stacks, layers, blockSizes, get }) {
  return blockSizes.flatMap((blockSize) => layers.flatMap((layer) => stacks.flatMap((stack) => {
    const cell = get(stack, layer, blockSize)
    return cell ? [{ stack, layer, blockSize, cell }] : []
  })))
}

/**
 * @param {Cells} cells
 * @returns {number[]}  of every case that was read in full
 */
function countRuns (cells) {
  return listCells(cells).flatMap(({ cell }) => cell.scaled ? [] : cell.runs)
}

/**
 * How the first stack compares with the last one, where both read all of the log, and what that is worth.
 * @param {Cells} cells
 * @returns {{ title: string, footer: string[] }}
 */
function compareStacks (cells) {
  const { stacks, blockSizes, ratio } = cells
  const [first, last] = [stacks[0], stacks[stacks.length - 1]]
  const blockSize = chooseBlockSize(blockSizes)
  const compared = listCells({ ...cells, stacks: [first, last], blockSizes: [blockSize] })
    .filter(({ cell }) => !cell.scaled)
  const ratios = compared.flatMap(({ stack, layer }) => stack === last ? ratio(last, layer, blockSize) ?? [] : [])
  if (stacks.length === 1) return { title: `${first.label}: time to read a whole log`, footer: [] }
  if (ratios.length === 0) return { title: 'Time to read a whole log', footer: [] }
  const doubt = hedge({ runs: compared.map(({ cell }) => cell.runs), spread: compared.map(({ cell }) => cell.spread) })
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const span = [...new Set([least, most].map((ratio) => formatRatio(ratio).replace('×', '')))].join(' to ')
  const [own, other] = nameStacks(first.label, last.label)
  const reads = doubt.verb('reads', 'read')
  // "Times as fast" below one would be a boast that is none.
  const words = least < 1
    ? `${other} ${doubt.verb('takes', 'take')} ${span} times as long as ${own} to read a log`
    : `${own} ${reads} a log ${span} times as fast as ${other}`
  return { title: doubt.title(`${words} (${formatKib(blockSize)} blocks)`), footer: doubt.footer }
}

/** "Millrace, checked" is Millrace, unless it is compared with another file of Millrace. @param {string[]} labels */
function nameStacks (...labels) {
  const short = labels.map((label) => label.replace(/,.*/, ''))
  return short[0] === short[1] ? labels : short
}

/** @param {number[]} blockSizes */
function chooseBlockSize (blockSizes) {
  return blockSizes.includes(DEFAULT_BLOCK_SIZE) ? DEFAULT_BLOCK_SIZE : blockSizes[blockSizes.length - 1]
}

/** @typedef {{ title: string, stacks: string[], footer: string[] }} Words  that all charts have */

/**
 * Time against block size, one panel a layer.
 * @param {Cells} cells
 * @param {Words} words
 */
function drawLineGraph (cells, words) {
  const { stacks, layers, blockSizes } = cells
  const all = listCells(cells)
  const gap = stacks.length === 1 ? '' : ` 2×: twice the time of ${stacks[0].label}, at ${formatKib(chooseBlockSize(blockSizes))}.`
  return drawChart({
    ...words,
    subtitle: `Time to read the whole log, by block size; lower is better, both axes logarithmic.${gap}`,
    marks: 'lines',
    hollow: all.some(({ cell }) => cell.scaled) ? HOLLOW : undefined
  }, (canvas) => drawLines(canvas, layers.map((layer) => ({
    name: layer.name,
    meaning: layer.meaning,
    series: stacks.map((stack) => all.filter((one) => one.layer === layer && one.stack === stack)
      .map(({ blockSize, cell }) => ({ x: blockSize, y: cell.median, isHollow: cell.scaled }))),
    labels: labelRatios(cells, layer)
  })), {
    sizes: blockSizes,
    // Round sizes are enough when there are many; when there are few, each is named.
    named: blockSizes.filter((size) => blockSizes.length <= 8 || Number.isInteger(Math.log2(size))),
    formatSize: (size) => String(size / 1024),
    axis: 'block size, KiB',
    unit: 'ms'
  }))
}

/**
 * How far the others are from the first, each at its mark.
 * @type {(cells: Cells, layer: Layer) => import('../lib/lines').Label[]}
 */
function labelRatios ({ stacks, blockSizes, get, ratio }, layer) {
  const x = chooseBlockSize(blockSizes)
  return stacks.flatMap((stack, look) => {
    const [cell, times] = [get(stack, layer, x), ratio(stack, layer, x)]
    return look === 0 || !cell || times === undefined ? [] : [{ x, y: cell.median, look, text: formatRatio(times) }]
  })
}

/**
 * The layers under each other at a few block sizes, on one scale.
 * @param {Cells} cells
 * @param {Words} words
 */
function drawBarChart (cells, words) {
  const all = listCells(cells)
  return drawChart({
    ...words,
    subtitle: `Time to read the whole log, layer by layer. Thin lines go from the fastest run to the slowest. 2×: twice the time of ${cells.stacks[0].label}.`,
    marks: 'bars'
  }, (canvas) => drawBars(canvas, cells.layers.map((layer) => ({
    title: layer.name,
    meaning: layer.meaning,
    rows: cells.blockSizes.map((blockSize) => ({
      label: formatKib(blockSize),
      bars: all.filter((one) => one.layer === layer && one.blockSize === blockSize).map(({ stack, cell }) => {
        const { median: value, min, max, scaled: isHollow } = cell
        const look = cells.stacks.indexOf(stack)
        const times = look === 0 ? undefined : cells.ratio(stack, layer, blockSize)
        const more = times === undefined ? undefined : { text: formatRatio(times), class: `fill-${look}` }
        return { look, value, min, max, isHollow, text: `${isHollow ? '~ ' : ''}${formatMs(value)} ms`, more }
      })
    }))
  })), { barHeight: 12, rowGap: 5, labelWidth: 62, valueWidth: 118, formatTick: (tick) => `${formatCount(tick)} ms` }))
}

exports.gatherCells = gatherCells
exports.formatTable = formatTable
exports.formatMarkdownTable = formatMarkdownTable
exports.toSheets = toSheets
exports.readSheets = readSheets
exports.drawCharts = drawCharts
exports.describeReport = describeReport
