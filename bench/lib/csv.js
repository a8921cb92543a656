'use strict'
// One CSV file a layer: every run of every stack, under a header that says what they were measured on.

const { formatCsvFile, listFacts, writeCsvFile } = require('./csv-file')

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
    ...listFacts(facts),
    'block_size, bytes and peak_memory are in bytes; records and bytes are what the run read; page cache warm',
    'scaled: yes where only the first 64 MiB were read; ms is then worked out for the whole log from the bytes read'
  ]
  return formatCsvFile(header, COLUMNS, measurements.map(formatRow))
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
  const rank = new Map(stacks.map((stack, index) => [stack.name, index]))
  const sorted = [...measurements].sort((a, b) => {
    return Number(rank.get(a.stack)) - Number(rank.get(b.stack)) || a.blockSize - b.blockSize || a.run - b.run
  })
  return layers.map((layer) => {
    return writeCsvFile(folder, layer.name, formatCsv(layer, sorted.filter((one) => one.layer === layer.name), facts))
  })
}

exports.formatCsv = formatCsv
exports.writeCsvs = writeCsvs
