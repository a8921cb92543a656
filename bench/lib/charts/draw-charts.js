'use strict'
// Which charts there are, what each of them shows, and where they go: images/<name>.svg and .png.

const fs = require('node:fs')
const path = require('node:path')
const { formatKib } = require('../format')
const { drawBarChart } = require('./bar-chart')
const { chooseRatioBlockSize, drawLineGraph } = require('./line-graph')
const { renderPng } = require('./render-png')
const { compareStacks, describeSetting } = require('./story')

/** @typedef {import('../cells').Cells} Cells */
/** @typedef {{ title: string, subtitle: string, setting: string }} Words */

const BAR_BLOCK_SIZES = [16384, 32768, 65536]

/**
 * @type {Array<{ name: string, layers: string[] }>}
 * The second shows what the binary format adds to the first.
 */
const BAR_CHARTS = [
  { name: 'barchart', layers: ['file', 'blocks', 'log', 'json'] },
  { name: 'barchart2', layers: ['file', 'blocks', 'log', 'json', 'stream', 'binary'] }
]

/**
 * @param {string} folder
 * @param {Cells} cells
 * @param {{ facts: import('../facts').Facts, records: number, bytes: number, runs: [number, number] }} setting
 * @param {(line: string) => void} say  told of a chart that there is nothing to draw for
 * @returns {Promise<string[]>}  the files written
 */
async function drawCharts (folder, cells, { facts, ...input }, say) {
  const setting = describeSetting(facts, input)
  fs.mkdirSync(folder, { recursive: true })
  const files = save(folder, 'linegraph', await drawLineGraph(cells, {
    title: compareStacks(cells, cells.layers, cells.blockSizes),
    subtitle: describeLines(cells),
    setting
  }))
  for (const { name, layers } of BAR_CHARTS) {
    const choice = {
      layers: cells.layers.filter((layer) => layers.includes(layer.name)),
      blockSizes: cells.blockSizes.filter((blockSize) => BAR_BLOCK_SIZES.includes(blockSize))
    }
    if (choice.layers.length === 0 || choice.blockSizes.length === 0) {
      say(`${name}: skipped, it shows ${layers.join(', ')} at 16, 32 and 64 KiB and none of these was measured`)
      continue
    }
    files.push(...save(folder, name, await drawBarChart(cells, choice, {
      title: compareStacks(cells, choice.layers, choice.blockSizes),
      subtitle: 'Time to read the whole log, layer by layer. Thin lines go from the fastest run to the slowest.',
      setting
    })))
  }
  return files
}

/** @param {Cells} cells */
function describeLines (cells) {
  const reading = 'Time to read the whole log, by block size; lower is better, both axes logarithmic.'
  const at = formatKib(chooseRatioBlockSize(cells.blockSizes))
  return cells.stacks.length === 1 ? reading : `${reading} In figures: the gap at ${at}.`
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} svg
 */
function save (folder, name, svg) {
  const [svgFile, pngFile] = ['svg', 'png'].map((kind) => path.join(folder, `${name}.${kind}`))
  fs.writeFileSync(svgFile, svg)
  fs.writeFileSync(pngFile, renderPng(svg))
  return [svgFile, pngFile]
}

exports.drawCharts = drawCharts
exports.saveChart = save
