'use strict'
// data/peers.csv: every run of every case.

const { formatCsvFile, listFacts, writeCsvFile } = require('../../lib/csv-file')

const COLUMNS = 'job,peer,way,run,records,ms,records_per_second,first_ms'

/** @typedef {import('./shapes').Cell} Cell */

/**
 * @param {Cell[]} cells
 * @param {import('../../lib/csv-file').CsvFacts} facts
 * @returns {string}
 */
function formatCsv (cells, facts) {
  const jobs = [...new Set(cells.map(({ job }) => job))]
  const header = [
    ...listFacts(facts),
    ...jobs.map(({ name, meaning }) => `job ${name}: ${meaning}`),
    'ms: of all the records of the line; where a process took several samples the median, and first_ms the first of them',
    'records: a query looks through all of them; durable appends go on for a time'
  ]
  const lines = jobs.flatMap((job) => cells.filter((cell) => cell.job === job).flatMap(formatCell))
  return formatCsvFile(header, COLUMNS, lines)
}

/**
 * @param {Cell} cell
 * @returns {string[]}
 */
function formatCell ({ peer, job, way, runs, absent }) {
  if (runs.length === 0) return [`# absent: ${job.name} of ${peer.name}: ${absent}`]
  return runs.map(({ records, ms, first }, index) => {
    return [job.name, peer.name, way, index + 1, records, ms.toFixed(3), Math.round(records / ms * 1000),
      first?.toFixed(3) ?? ''].join(',')
  })
}

/**
 * @param {string} folder
 * @param {Cell[]} cells
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, cells, facts) {
  return writeCsvFile(folder, 'peers', formatCsv(cells, facts))
}

exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
