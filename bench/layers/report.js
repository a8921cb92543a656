'use strict'
// The measurements of a bench, gathered: one cell for each layer, block size and stack. And the table of these: a
// block a layer, a row a block size, and behind each time how many times as long as the first stack's it is.

const { alignColumns, formatKib, formatMs, formatRatio, summarize } = require('../lib/report')

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

const GAP = '   '

/**
 * @param {{ stacks: Stack[], layers: Layer[], blockSizes: number[] }} choice
 * @param {Measurement[]} measurements
 * @returns {Cells}
 */
function gatherCells ({ stacks, layers, blockSizes }, measurements) {
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
  const [head, ...lines] = alignColumns([heads, ...rows.flat()], GAP, () => false)
  const parts = ['ms for the whole log, median (min-max)' + (stacks.length > 1 ? `; ratio: to ${stacks[0].label}` : '')]
  for (const layer of layers) {
    parts.push('', `${layer.name}: ${layer.meaning}`, head, ...lines.splice(0, blockSizes.length))
  }
  if (rows.flat(2).some((text) => text.startsWith('~'))) {
    parts.push('', '~ read the first 64 MiB only, once, and scaled to the whole log')
  }
  return parts.join('\n')
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

exports.gatherCells = gatherCells
exports.formatTable = formatTable
exports.toSheets = toSheets
