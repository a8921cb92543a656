'use strict'
// The table in the terminal: a block a layer, a row a block size, and behind each time how many times as long as the
// first stack's it is.

const { alignColumns } = require('./columns')
const { formatKib, formatMs, formatRatio } = require('./format')

/** @typedef {import('./cells').Cells} Cells */
/** @typedef {import('./shapes').Layer} Layer */

const GAP = '   '

/**
 * @param {Cells} cells
 * @returns {string}
 */
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

/** @param {import('./cells').Cell | undefined} cell */
function formatTime (cell) {
  if (cell === undefined) return '-'
  if (cell.scaled) return `~ ${formatMs(cell.median)}`
  const [middle, min, max] = [cell.median, cell.min, cell.max].map(formatMs)
  return cell.min === cell.max ? middle : `${middle} (${min}-${max})`
}

exports.formatTable = formatTable
