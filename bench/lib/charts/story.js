'use strict'
// What the charts say in words. Every figure is taken from the cells: a chart must not praise what was not measured.

const { formatCount, formatRatio } = require('../format')

/** @typedef {import('../cells').Cells} Cells */
/** @typedef {import('../shapes').Layer} Layer */

/**
 * How the first stack compares with the last one, over all the cells given.
 * @param {Cells} cells
 * @param {Layer[]} layers
 * @param {number[]} blockSizes
 * @returns {string}
 */
function compareStacks (cells, layers, blockSizes) {
  const [first, last] = [cells.stacks[0], cells.stacks[cells.stacks.length - 1]]
  if (cells.stacks.length === 1) return `${first.label}: time to read a whole log`
  const ratios = layers.flatMap((layer) => blockSizes.map((blockSize) => cells.ratio(last, layer, blockSize)))
    .filter((ratio) => ratio !== undefined)
  if (ratios.length === 0) return 'Time to read a whole log'
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => formatRatio(ratio).replace('×', ''))
  const span = least === most ? least : `${least} to ${most}`
  // "Times as fast" below one would be a boast that is none.
  if (Math.min(...ratios) < 1) return `${last.label} takes ${span} times as long as ${first.label}`
  return `${first.label} is ${span} times as fast as ${last.label}`
}

/**
 * @param {import('../facts').Facts} facts
 * @param {{ records: number, bytes: number, runs: [number, number] }} input
 * @returns {string}
 */
function describeSetting (facts, { records, bytes, runs }) {
  const size = bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${formatCount(Math.round(bytes / 1e6))} MB`
  const [least, most] = runs
  const median = most === 1 ? 'one run' : `median of ${least === most ? most : `${least} to ${most}`} runs`
  return `${formatCount(records)} messages, ${size} of JSON, page cache warm, ${median}. ` +
    `${facts.cpu}, ${facts.cores} cores, Node ${facts.node}`
}

exports.compareStacks = compareStacks
exports.describeSetting = describeSetting
