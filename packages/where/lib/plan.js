'use strict'
// A filter as a codec works through it: `not` moved to the single conditions, lists inside lists joined; and which
// searches say that a record may fulfil all of that.

const { createUnionSearch } = require('./select')

/** Each of them is tried several times before the best is known. */
const SEARCHES_MAX = 6
/** A search for each of more alternatives takes longer than to look at every record. */
const ALTERNATIVES_MAX = 8

/** @typedef {import('./where').Condition} Condition */
/** @typedef {import('./where').Filter} Filter */
/** @typedef {import('./select').Search} Search */

/**
 * @typedef {object} Leaf
 * @property {Condition} condition  never `exists: false`
 * @property {boolean} isWanted  false if it must not hold
 */

/**
 * @typedef {object} Plan
 * @property {boolean} isAny  whether one of its parts must hold, instead of all
 * @property {Leaf[]} leaves
 * @property {Plan[]} nodes  each of the other kind than this one
 */

/**
 * Makes a tree of `any` and `all` out of filters. Its leaves are conditions.
 * @param {Filter[]} filters  from `parseWhere`
 * @returns {Plan}  all of it must hold
 */
function planWhere (filters) {
  const plan = createNode(false)
  for (const filter of filters) addPart(plan, filter, true)
  return plan
}

/** @param {boolean} isAny @returns {Plan} */
function createNode (isAny) {
  return { isAny, leaves: [], nodes: [] }
}

/**
 * @param {Plan} node
 * @param {Filter} filter
 * @param {boolean} isWanted
 */
function addPart (node, filter, isWanted) {
  if ('not' in filter) return addPart(node, filter.not, !isWanted)
  if (!('any' in filter) && !('all' in filter)) {
    const isAbsence = filter.exists === false
    const condition = isAbsence ? { path: filter.path, exists: true } : filter
    node.leaves.push({ condition, isWanted: isWanted !== isAbsence })
    return
  }
  const parts = 'any' in filter ? filter.any : filter.all
  const isAny = 'any' in filter === isWanted
  const target = isAny === node.isAny || parts.length === 1 ? node : createNode(isAny)
  for (const part of parts) addPart(target, part, isWanted)
  if (target !== node) node.nodes.push(target)
}

/** @typedef {(condition: Condition) => Iterable<Search>} SearchCondition  for what it needs, the best one first */

/**
 * Makes the searches for a plan, out of those for each condition.
 * @param {Plan} plan
 * @param {SearchCondition} searchCondition
 * @returns {Search[]}  each finds every record that fulfils the plan
 */
function createSearches (plan, searchCondition) {
  const searches = []
  for (const search of searchNode(plan, searchCondition)) {
    searches.push(search)
    if (searches.length === SEARCHES_MAX) break
  }
  return searches
}

/** @type {(node: Plan, searchCondition: SearchCondition) => Iterable<Search>} */
function * searchNode (node, searchCondition) {
  if (node.isAny) {
    const search = searchAlternatives(node, searchCondition)
    if (search !== null) yield search
    return
  }
  // What must not be there has nothing that a record must contain.
  for (const { condition, isWanted } of node.leaves) if (isWanted) yield * searchCondition(condition)
  for (const child of node.nodes) yield * searchNode(child, searchCondition)
}

/** @type {(node: Plan, searchCondition: SearchCondition) => Search | null} */
function searchAlternatives ({ leaves, nodes }, searchCondition) {
  if (leaves.length + nodes.length > ALTERNATIVES_MAX || leaves.some(({ isWanted }) => !isWanted)) return null
  const all = [
    ...leaves.map(({ condition }) => takeFirst(searchCondition(condition))),
    ...nodes.map((child) => takeFirst(searchNode(child, searchCondition)))
  ]
  const found = all.filter((search) => search !== undefined)
  return found.length === all.length && found.length > 0 ? createUnionSearch(found) : null
}

/**
 * @template T
 * @param {Iterable<T>} items
 * @returns {T | undefined}
 */
function takeFirst (items) {
  // What a generator returns is none of them.
  const { value, done } = items[Symbol.iterator]().next()
  return done ? undefined : value
}

exports.planWhere = planWhere
exports.createSearches = createSearches
