'use strict'
// `--explain`: how a command would find its records, instead of the records.

const { escapeControls } = require('@millrace/flow')
const { formatIndexPaths } = require('./index-paths')
const { INDEXED_FRAMINGS } = require('./log-index')
const { toReadOptions } = require('./records')
const { countRecords, printFields } = require('./report')

/**
 * @typedef {import('./source').OpenedSource} OpenedSource
 * @typedef {import('@millrace/index').Explanation} Explanation
 */

/** @type {import('./definition').OptionDefinition} */
const explainOption = { flags: '--explain', description: 'do not read; say which index is used, and how many records are read' }

/**
 * @param {import('./shell').Shell} shell
 * @param {OpenedSource} source
 * @param {Record<string, any>} options  of the command
 */
async function printExplanation (shell, source, options) {
  const { json: isJson, grep } = options
  const { onCorrupt, limit, ...wanted } = toReadOptions(options)
  const found = []
  for (const { slot, log } of source.parts) {
    const explanation = /** @type {Explanation} */ (await log.explain(wanted))
    found.push({ ...(slot !== null && { slot }), ...explanation })
  }
  if (isJson) return shell.print(JSON.stringify(found.length === 1 ? found[0] : found))
  // No slot has an index, so all of them say the same.
  printFields(shell, toFields(source, found[0], wanted.where === undefined))
  if (grep) shell.print(`The text of each of these is searched for ${escapeControls(JSON.stringify(grep))}.`)
}

/** @typedef {Array<[name: string, value: string | null]>} Fields */

/** @type {(source: OpenedSource, explanation: Explanation, isWhole: boolean) => Fields} */
function toFields ({ index, identity }, { uses, candidates, runs, scanned, why }, isWhole) {
  return [
    ['index', index ? `${index.folder}, of ${formatIndexPaths(index.paths)}` : 'none'],
    ['uses', uses.length > 0 ? uses.join(', ') : index ? 'none of its paths' : null],
    ['candidates', uses.length > 0 ? `${countRecords(candidates)}, in ${runs} run${runs === 1 ? '' : 's'}` : null],
    ['scans', describeScan(scanned, uses.length === 0)],
    ['because', reasonOf(index ?? null, identity, why, isWhole) || null]
  ]
}

/** @type {(scanned: Explanation['scanned'], isAll: boolean) => string} */
function describeScan (scanned, isAll) {
  if (scanned === null) return 'nothing'
  const { from, records } = scanned
  if (isAll) return from <= 0 ? 'all records' : `all records from the seq ${from} on`
  const place = from <= 0 ? 'from the first one on' : `from the seq ${from} on`
  return `${records === null ? 'records' : countRecords(records)} ${place}`
}

/** @type {(index: object | null, identity: import('./source').Identity, why: string, isWhole: boolean) => string} */
function reasonOf (index, { path, framing, segments }, why, isWhole) {
  if (isWhole) return 'there is no filter'
  if (index !== null) return why
  const canHave = INDEXED_FRAMINGS.includes(String(framing)) && segments === undefined
  return `there is no index${canHave ? `; millrace index ${path} --path user makes one of the field user` : ''}`
}

exports.explainOption = explainOption
exports.printExplanation = printExplanation
