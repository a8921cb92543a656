'use strict'
// The table, in Markdown, and the CSV file of `bench:scale`.

const { formatCsvFile, listFacts, writeCsvFile } = require('../../lib/csv-file')
const { formatCount } = require('../../lib/format')
const { median } = require('../../lib/statistics')
const { formatSize } = require('./options')

/** @typedef {import('./shapes').Measurement} Measurement */
/** @typedef {import('./shapes').Point} Point */
/** @typedef {import('../../lib/csv-file').CsvFacts & { idleMemory: number }} Facts */

const COLUMNS = 'framing,size,run,records,scan_ms,ns_per_record,open_ms,peak_memory'
const MB = 1e6

/**
 * @param {Measurement[]} measurements
 * @returns {Point[]}  by framing, then by size
 */
function toPoints (measurements) {
  const framings = [...new Set(measurements.map(({ framing }) => framing))]
  return framings.flatMap((framing) => {
    const own = measurements.filter((one) => one.framing === framing)
    return [...new Set(own.map(({ wanted }) => wanted))].map((wanted) => {
      const runs = own.filter((one) => one.wanted === wanted)
      const middle = (/** @type {(one: Measurement) => number} */ pick) => median(runs.map(pick))
      return {
        framing,
        wanted,
        size: runs[0].size,
        records: runs[0].records,
        ns: middle(nsOf),
        openMs: middle(({ openMs }) => openMs),
        memory: middle(({ peakMemory }) => peakMemory)
      }
    })
  })
}

/** @param {Measurement} one */
function nsOf ({ scanMs, records }) {
  return scanMs / records * 1e6
}

/**
 * @param {Point[]} points
 * @param {Facts} facts
 * @returns {string}
 */
function formatTable (points, { command, machine, node, packages, idleMemory }) {
  const rows = points.map(({ framing, size, records, ns, openMs, memory }) => {
    return [`\`${framing}\``, formatSize(size), formatCount(records), ns.toFixed(0), openMs.toFixed(2), (memory / MB).toFixed(0)]
  })
  const heads = ['log', 'size', 'records', 'scan, ns a record', 'open, ms', 'peak memory, MB']
  const rule = ['---', ...heads.slice(1).map(() => '--:')]
  return [
    ...[heads, rule, ...rows].map((row) => `| ${row.join(' | ')} |`),
    '',
    `\`${command}\` on ${machine}, Node ${node}; ${packages}. Node.js alone takes ${(idleMemory / MB).toFixed(0)} MB.`
  ].join('\n')
}

/**
 * @param {Measurement[]} measurements
 * @param {Facts} facts
 * @returns {string}
 */
function formatCsv (measurements, facts) {
  const header = [
    ...listFacts(facts),
    'size and peak_memory are in bytes; page cache warm, as far as the memory of the machine goes',
    'scan_ms, open_ms: the median of several in one process; peak_memory: of the process that scans',
    `node alone, with the packages loaded, takes ${facts.idleMemory} bytes`
  ]
  const lines = measurements.map((one) => {
    const { framing, size, run, records, scanMs, openMs, peakMemory } = one
    return [framing, size, run, records, scanMs.toFixed(3), nsOf(one).toFixed(2), openMs.toFixed(4), peakMemory].join(',')
  })
  return formatCsvFile(header, COLUMNS, lines)
}

/**
 * @param {string} folder
 * @param {Measurement[]} measurements
 * @param {Facts} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, measurements, facts) {
  return writeCsvFile(folder, 'scale', formatCsv(measurements, facts))
}

exports.toPoints = toPoints
exports.formatTable = formatTable
exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
