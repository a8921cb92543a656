'use strict'
// One CSV file a layer: every run of every stack, under a header that says what they were measured on.

const fs = require('node:fs')
const path = require('node:path')

/** @typedef {import('./shapes').Layer} Layer */
/** @typedef {import('./shapes').Measurement} Measurement */

const COLUMNS = 'stack,block_size,run,ms,records,bytes,peak_memory,scaled'

/**
 * @param {Layer} layer
 * @param {Measurement[]} measurements  of this layer, in the order of the file
 * @param {import('./facts').Facts} facts
 * @returns {string}
 */
function formatCsv (layer, measurements, facts) {
  const header = [
    `layer: ${layer.name}, ${layer.meaning} (reads the ${layer.log} log)`,
    `command: ${facts.command}`,
    `machine: ${facts.machine}`,
    `node: ${facts.node}`,
    `packages: ${facts.packages}`,
    `input: ${facts.input}`,
    'block_size, bytes and peak_memory are in bytes; records and bytes are what the run read; page cache warm',
    'scaled: yes where only the first 64 MiB were read; ms is then worked out for the whole log from the bytes read'
  ]
  return [...header.map((line) => `# ${line}`), COLUMNS, ...measurements.map(formatRow)].join('\n') + '\n'
}

/** @param {Measurement} one */
function formatRow (one) {
  const { stack, blockSize, run, ms, records, bytes, peakMemory, scaled } = one
  return [stack, blockSize, run, ms.toFixed(3), records, bytes, peakMemory, scaled ? 'yes' : 'no'].join(',')
}

/**
 * @param {string} folder
 * @param {{ stacks: import('./shapes').Stack[], layers: Layer[] }} choice
 * @param {Measurement[]} measurements
 * @param {import('./facts').Facts} facts
 * @returns {string[]}  the files written
 */
function writeCsvs (folder, { stacks, layers }, measurements, facts) {
  fs.mkdirSync(folder, { recursive: true })
  const rank = new Map(stacks.map((stack, index) => [stack.name, index]))
  const sorted = [...measurements].sort((a, b) => {
    return Number(rank.get(a.stack)) - Number(rank.get(b.stack)) || a.blockSize - b.blockSize || a.run - b.run
  })
  return layers.map((layer) => {
    const file = path.join(folder, `${layer.name}.csv`)
    fs.writeFileSync(file, formatCsv(layer, sorted.filter((one) => one.layer === layer.name), facts))
    return file
  })
}

exports.formatCsv = formatCsv
exports.writeCsvs = writeCsvs
