'use strict'
// data/peers.csv: every run of every case.

const fs = require('node:fs')
const path = require('node:path')

const COLUMNS = 'job,peer,way,run,records,ms,records_per_second,first_ms'

/** @typedef {import('./shapes').Cell} Cell */

/**
 * @param {Cell[]} cells
 * @param {{ command: string, machine: string, node: string, packages: string, input: string }} facts
 * @returns {string}
 */
function formatCsv (cells, facts) {
  const jobs = [...new Set(cells.map(({ job }) => job))]
  const header = [
    `command: ${facts.command}`,
    `machine: ${facts.machine}`,
    `node: ${facts.node}`,
    `packages: ${facts.packages}`,
    `input: ${facts.input}`,
    ...jobs.map(({ name, meaning }) => `job ${name}: ${meaning}`),
    'ms: of all the records of the line; where a process took several samples the median, and first_ms the first of them',
    'records: a query looks through all of them; durable appends go on for a time'
  ]
  const lines = jobs.flatMap((job) => cells.filter((cell) => cell.job === job).flatMap(formatCell))
  return [...header.map((line) => `# ${line}`), COLUMNS, ...lines].join('\n') + '\n'
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
  const file = path.join(folder, 'peers.csv')
  fs.writeFileSync(file, formatCsv(cells, facts))
  return file
}

exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
