'use strict'
// The CSV files of every bench: what a reader has to know in lines that begin with #, then the names of the columns,
// then the rows.

const fs = require('node:fs')
const path = require('node:path')

/** @typedef {{ command: string, machine: string, node: string, packages: string, input?: string }} CsvFacts */

/**
 * @param {CsvFacts} facts  may hold more, which stays out
 * @returns {string[]}  lines for the header; without an input where there is none
 */
function listFacts ({ command, machine, node, packages, input }) {
  const values = { command, machine, node, packages, input }
  return Object.entries(values).flatMap(([name, value]) => value === undefined ? [] : `${name}: ${value}`)
}

/**
 * @param {string[]} header  lines without their #
 * @param {string} columns
 * @param {string[]} rows
 * @returns {string}
 */
function formatCsvFile (header, columns, rows) {
  return [...header.map((line) => `# ${line}`), columns, ...rows].join('\n') + '\n'
}

/**
 * @param {string} folder  made where it is not there
 * @param {string} name  without .csv
 * @param {string} text
 * @returns {string}  the file written
 */
function writeCsvFile (folder, name, text) {
  fs.mkdirSync(folder, { recursive: true })
  const file = path.join(folder, `${name}.csv`)
  fs.writeFileSync(file, text)
  return file
}

exports.listFacts = listFacts
exports.formatCsvFile = formatCsvFile
exports.writeCsvFile = writeCsvFile
