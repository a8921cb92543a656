'use strict'
// What an index would do for a filter: for people who ask why a query is slow.

const { Block } = require('./block')
const { DamagedRun, UnreadRun } = require('./run-format')
const { Run } = require('./run')
const { findInBlock, findInRun, isSelective } = require('./search')
const { showPath } = require('./paths')

/**
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('./paths').DeclaredPath} DeclaredPath
 *
 * @typedef {object} Explanation
 * @property {string[]} uses  the declared paths that are used
 * @property {number} candidates  how many records are read because the index names them, at most
 * @property {number} runs  how many runs are looked into
 * @property {{ from: number, records: number | null } | null} scanned  the lowest seq that is scanned, and how many
 *   records that concerns: null if the index does not know. Null if nothing is scanned
 * @property {string} why  something is scanned, or why not
 */

const NO_PATH = 'no declared path is in the filter'
const NOT_READ = 'the index has not read these records yet'
const NOT_SELECTIVE = 'so many records may match that reading all of them is faster'
const DAMAGED = 'the log is damaged there'
const UNREAD = 'a file of the index cannot be read'

/**
 * @param {import('./parts').Sought & { used: () => number[] }} sought
 * @param {readonly import('./paths').DeclaredPath[]} paths
 * @param {readonly Filter[]} filters
 * @param {import('./parts').Range} range
 * @returns {Explanation}
 */
function explainParts (sought, paths, filters, { from, to }) {
  const cover = sought.cover()
  if (cover === null) {
    const why = from < to ? describeMiss(listConditions(filters), paths) : ''
    return { uses: [], candidates: 0, runs: 0, scanned: from < to ? { from, records: null } : null, why }
  }
  let [candidates, runs, known] = [0, 0, 0]
  /** @type {{ from: number, records: number | null } | null} */
  let scanned = null
  const reasons = new Set()
  const scan = (/** @type {number} */ seq, /** @type {number | null} */ records, /** @type {string} */ why) => {
    reasons.add(why)
    const before = scanned === null ? 0 : scanned.records
    scanned = { from: scanned?.from ?? seq, records: before === null || records === null ? null : before + records }
  }
  for (let at = from; at < to;) {
    const { segment, to: end } = sought.coverage.at(at)
    if (segment instanceof Run || segment instanceof Block) {
      if (segment instanceof Run) runs++
      const records = segment instanceof Run ? segment.records : segment.count
      known += records
      const found = countCandidates(sought, segment, cover)
      if (found === 'unread') scan(at, records, UNREAD)
      else if (found === null) scan(at, records, NOT_SELECTIVE)
      else candidates += found
    } else {
      scan(at, null, segment === null ? NOT_READ : DAMAGED)
    }
    at = end
  }
  const uses = [...sought.used()].sort((a, b) => a - b).map((slot) => paths[slot].name)
  if (known > 0 && scanned === null) {
    reasons.add(`the index names ${candidates} of ${known} records, at most: to read those is faster than to read all`)
  }
  return { uses, candidates, runs, scanned, why: [...reasons].join('; ') }
}

/**
 * @type {(sought: import('./parts').Sought, segment: Run | Block, cover: import('./cover').Cover) =>
 *   number | null | 'unread'} null if all of it is scanned, as that is faster
 */
function countCandidates (sought, segment, cover) {
  if (segment instanceof Block) {
    const found = findInBlock(segment, cover)
    const isUsed = found !== null && isSelective(found.length + segment.odd.length, segment.count)
    return isUsed ? found.length + segment.odd.length : null
  }
  try {
    const { count, expected } = findInRun(segment, cover)
    return isSelective(expected + segment.odd.length, segment.records) ? count + segment.odd.length : null
  } catch (err) {
    if (err instanceof UnreadRun) return 'unread'
    if (!(err instanceof DamagedRun)) throw err
    sought.onDamaged(segment, err)
    return 'unread'
  }
}

/** @param {readonly Filter[]} filters @returns {Condition[]} */
function listConditions (filters) {
  return filters.flatMap((filter) => {
    if ('any' in filter) return listConditions(filter.any)
    if ('all' in filter) return listConditions(filter.all)
    return 'not' in filter ? listConditions([filter.not]) : [filter]
  })
}

/** Why no declared path helps. @type {(conditions: Condition[], paths: readonly DeclaredPath[]) => string} */
function describeMiss (conditions, paths) {
  const asked = [...new Set(conditions.map(({ path }) => showPath(path, null)))].join(', ') || 'everything'
  const declared = paths.map(({ name }) => name).join(', ')
  const hints = new Set(conditions.map((condition) => findHint(condition, paths)).filter((hint) => hint !== null))
  return [`${NO_PATH}, in a way that helps: it asks for ${asked}; declared are ${declared}`, ...hints].join('; ')
}

/** @type {(condition: Condition, paths: readonly DeclaredPath[]) => string | null} */
function findHint ({ path, includes, time, gt, gte, lt, lte }, paths) {
  const asked = showPath(path, null)
  const same = paths.filter(({ steps }) => showPath(steps, null) === asked)
  if (same.length === 0) {
    const near = paths.find(({ steps }) => lastOf(steps) === lastOf(path))
    return near === undefined ? null : `${asked} is not ${showPath(near.steps, null)}: spell a path as it is declared`
  }
  const single = same.find(({ each }) => each === null)
  if (includes !== undefined) return single === undefined ? null : `for includes declare ${asked} with each`
  if (single === undefined) return `${same[0].name} helps with includes`
  const isRange = [time, gt, gte, lt, lte].some((bound) => bound !== undefined)
  if (isRange && !single.range) return `for ranges and times declare ${asked} with range: true`
  return `${asked} is declared, but not, prefix and such conditions do not help`
}

/** @param {readonly import('@millrace/where').Step[]} steps */
function lastOf (steps) {
  return String(steps[steps.length - 1]).toLowerCase()
}

exports.explainParts = explainParts
