'use strict'
// What an index would do for a filter: for people who ask why a query is slow.

const { parseWhere } = require('@millrace/where')
const { Block } = require('./block')
const { DamagedRun } = require('./run-format')
const { Run } = require('./run')
const { findInBlock, findInRun, isSelective } = require('./search')
const { showPath } = require('./paths')

/**
 * @typedef {object} Explanation
 * @property {string[]} uses  the declared paths that are used
 * @property {number} candidates  how many records are read because the index names them, at most
 * @property {number} runs  how many runs are looked into
 * @property {{ from: number, records: number | null } | null} scanned  the lowest seq that is scanned, and how many
 *   records that concerns: null if the index does not know. Null if nothing is scanned
 * @property {string} why  something is scanned
 */

const NO_PATH = 'no declared path is in the filter'
const NOT_READ = 'the index has not read these records yet'
const NOT_SELECTIVE = 'so many records may match that reading all of them is faster'
const DAMAGED = 'the log is damaged there'

/**
 * @param {import('./parts').Sought & { used: () => Set<number> }} sought
 * @param {readonly import('./paths').DeclaredPath[]} paths
 * @param {unknown} where
 * @param {import('./parts').Range} range
 * @returns {Explanation}
 */
function explainParts (sought, paths, where, { from, to }) {
  const cover = sought.cover()
  if (cover === null) {
    const asked = listPaths(parseWhere(where)).join(', ')
    const why = `${NO_PATH}, in a way that helps: it asks for ${asked || 'everything'}; declared are ${paths.map(({ name }) => name).join(', ')}`
    return { uses: [], candidates: 0, runs: 0, scanned: from < to ? { from, records: null } : null, why: from < to ? why : '' }
  }
  let [candidates, runs] = [0, 0]
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
      const found = countCandidates(sought, segment, cover)
      if (found === null) scan(at, segment instanceof Run ? segment.records : segment.count, NOT_SELECTIVE)
      else candidates += found
    } else {
      scan(at, null, segment === null ? NOT_READ : DAMAGED)
    }
    at = end
  }
  const uses = [...sought.used()].sort((a, b) => a - b).map((slot) => paths[slot].name)
  return { uses, candidates, runs, scanned, why: [...reasons].join('; ') }
}

/**
 * @type {(sought: import('./parts').Sought, segment: Run | Block, cover: import('./cover').Cover) => number | null}
 *   null if all of it is scanned
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
    if (!(err instanceof DamagedRun)) throw err
    sought.onDamaged(segment, err)
    return null
  }
}

/** @param {readonly import('@millrace/where').Filter[]} filters @returns {string[]} */
function listPaths (filters) {
  return [...new Set(filters.flatMap((filter) => {
    if ('any' in filter) return listPaths(filter.any)
    if ('all' in filter) return listPaths(filter.all)
    return 'not' in filter ? listPaths([filter.not]) : [showPath(filter.path, null)]
  }))]
}

exports.explainParts = explainParts
