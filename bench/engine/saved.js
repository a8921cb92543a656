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
 * What other machines measured, read before anything is measured here.
 * @param {import('./row').Table} table
 * @param {string} files  with commas between
 */
function readOthers (table, files) {
  return files.split(',').map((file) => ({ name: path.basename(file, '.json'), ...readSaved(file, table, '--with') }))
}

exports.saveResults = saveResults
exports.readSaved = readSaved
exports.readOthers = readOthers
