'use strict'
// Results that are kept in one JSON file, for another machine or another day.

const fs = require('node:fs')
const path = require('node:path')
const { UserError } = require('../lib/run')
const { Results } = require('./results')

const VERSION = 1

/**
 * @typedef {{ version: number, table: string, facts: import('../lib/report').Facts, runs: import('./results').Run[],
 *   absences: import('./results').Absence[] }} Saved
 */

/** @type {(file: string, table: { name: string }, results: Results, facts: import('../lib/report').Facts) => void} */
function saveResults (file, { name }, { runs, absences }, facts) {
  /** @type {Saved} */
  const saved = { version: VERSION, table: name, facts, runs, absences }
  fs.writeFileSync(file, `${JSON.stringify(saved)}\n`)
}

/**
 * @param {string} file
 * @param {{ name: string }} table
 * @param {string} option
 * @returns {{ results: Results, facts: import('../lib/report').Facts }}
 */
function readSaved (file, table, option) {
  /** @type {Saved} */
  let saved
  try {
    saved = JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (err) {
    throw new UserError(`${option}: ${file}: ${/** @type {Error} */ (err).message}`)
  }
  if (saved?.version !== VERSION || !Array.isArray(saved.runs)) throw new UserError(`${option}: ${file} is no result that --save has written`)
  if (saved.table !== table.name) throw new UserError(`${option}: ${file} has results of ${saved.table}, not of ${table.name}`)
  return { results: new Results(saved.runs, saved.absences), facts: saved.facts }
}

/**
 * The same table, as other machines measured it.
 * @param {import('./row').Table} table
 * @param {string} files  with commas between
 * @param {import('./row').Shown} shown
 * @returns {Array<{ name: string, text: string, results: Results, facts: import('../lib/report').Facts }>}
 */
function withSaved (table, files, shown) {
  return files.split(',').map((file) => {
    const { results, facts } = readSaved(file, table, '--with')
    const text = table.format(results, { ...shown, facts }).join('\n\n')
    return { name: path.basename(file, '.json'), text: `## ${path.basename(file)}: ${facts.machine}, Node ${facts.node}\n\n${text}`, results, facts }
  })
}

exports.saveResults = saveResults
exports.readSaved = readSaved
exports.withSaved = withSaved
