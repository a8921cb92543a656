'use strict'
// `--explain`: how a command would find its records, instead of the records.

const { escapeControls } = require('@millrace/flow')
const { parseWhere } = require('@millrace/where')
const { formatIndexPath, formatIndexPaths } = require('./index-paths')
const { INDEXED_FRAMINGS } = require('./log-index')
const { toReadOptions } = require('./records')
const { countRecords, printFields } = require('./report')

/**
 * @typedef {import('./source').OpenedSource} OpenedSource
 * @typedef {import('@millrace/index').Explanation} Explanation
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('@millrace/where').Condition} Condition
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
  const whole = found.length === 1 ? found[0] : /** @type {Explanation} */ (await source.log.explain(wanted))
  printFields(shell, toFields(source, whole, wanted.where))
  if (grep) shell.print(`The text of each of these is searched for ${escapeControls(JSON.stringify(grep))}.`)
}

/** @typedef {Array<[name: string, value: string | null]>} Fields */

/** @type {(source: OpenedSource, explanation: Explanation, where: unknown) => Fields} */
function toFields ({ index, identity, parts }, { uses, candidates, runs, scanned, why }, where) {
  return [
    ['index', index ? `${index.folder}, of ${formatIndexPaths(index.paths)}` : 'none'],
    ['uses', uses.length > 0 ? uses.join(', ') : index ? 'none of its paths' : null],
    ['candidates', uses.length > 0 ? `${countRecords(candidates)}, in ${runs} run${runs === 1 ? '' : 's'}` : null],
    ['scans', describeScan(scanned, uses.length === 0)],
    ['because', describeReason({ index, identity, parts }, why, where) || null]
  ]
}

/**
 * Slots have no order of seqs, so of several together there is no `from`.
 * @type {(scanned: { from?: number, records: number | null } | null, isAll: boolean) => string}
 */
function describeScan (scanned, isAll) {
  if (scanned === null) return 'nothing'
  const { from, records } = scanned
  const counted = records === null ? 'records' : countRecords(records)
  if (from === undefined) return isAll ? 'all records' : `${counted} of the slots`
  if (isAll) return from <= 0 ? 'all records' : `all records from the seq ${from} on`
  return `${counted} ${from <= 0 ? 'from the first one on' : `from the seq ${from} on`}`
}

/** @type {(source: Pick<OpenedSource, 'index' | 'identity' | 'parts'>, why: string, where: any) => string} */
function describeReason ({ index, identity: { path, framing }, parts }, why, where) {
  if (where === undefined) return 'there is no filter'
  if (index) return why
  const isOfSlots = parts[0].slot !== null
  if (isOfSlots || !INDEXED_FRAMINGS.includes(String(framing))) return 'there is no index'
  const example = findField(parseWhere(where)) ?? { path: ['user'], condition: undefined }
  const field = formatIndexPath(example)
  const words = [isRange(example.condition) ? '--range' : '--path', PLAIN.test(field) ? field : `'${field}'`]
  return `there is no index; millrace index ${path} ${words.join(' ')} makes one of the field ${field}`
}

/** In a shell it needs no quotes. */
const PLAIN = /^[\w.-]+$/

/**
 * The first field that a filter asks for in a way in which an index helps.
 * @type {(filters: readonly Filter[]) => (import('./log-index').PathOptions & { condition: Condition }) | null}
 */
function findField (filters) {
  for (const filter of filters) {
    if ('any' in filter || 'all' in filter) {
      const found = findField('any' in filter ? filter.any : filter.all)
      if (found !== null) return found
    }
    if (!('path' in filter)) continue
    const { path, equals, in: values, includes } = filter
    if (includes !== undefined) return { path, each: /** @type {any} */ (includes)?.path ?? true, condition: filter }
    if (equals !== undefined || values !== undefined || isRange(filter)) return { path, condition: filter }
  }
  return null
}

/** @param {Condition | undefined} condition */
function isRange (condition) {
  if (condition === undefined) return false
  const { time, gt, gte, lt, lte } = condition
  return time !== undefined || [gt, gte, lt, lte].some((bound) => typeof bound === 'number')
}

exports.explainOption = explainOption
exports.printExplanation = printExplanation
