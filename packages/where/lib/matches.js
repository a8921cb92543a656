'use strict'
// Whether a decoded value fulfils a filter: the oracle, which says what every codec must answer; and the same,
// prepared, for those that have a value in hand.

const { levelAt, timeAt } = require('./log-records')
const { isInRange } = require('./operators')

/** @typedef {import('./where').Condition} Condition */
/** @typedef {import('./where').Filter} Filter */
/** @typedef {import('./where').Step} Step */

/**
 * Says whether all filters hold for a decoded record: it walks the value and compares. Slow and obvious on purpose:
 * every codec must give the same answer, however a record is spelled.
 * @param {Filter[]} filters  from `parseWhere`
 * @param {unknown} value  a decoded record
 * @returns {boolean}  whether all of them hold
 */
function matches (filters, value) {
  return filters.every((filter) => holds(filter, value))
}

/** @type {(filter: Filter, value: unknown) => boolean} */
function holds (filter, value) {
  if ('any' in filter) return filter.any.some((part) => holds(part, value))
  if ('all' in filter) return filter.all.every((part) => holds(part, value))
  if ('not' in filter) return !holds(filter.not, value)
  const { present, value: found } = follow(filter.path, value)
  return filter.exists === undefined ? present && isFulfilled(filter, found) : filter.exists === present
}

/** @type {(condition: Condition, value: unknown) => boolean} */
function isFulfilled (condition, value) {
  const { path, equals, in: values, prefix, includes, time, level } = condition
  if (time !== undefined) return isWithin(time, timeAt(value, path.length === 0))
  if (level !== undefined) return isWithin(level, levelAt(value, path.length === 0))
  if (equals !== undefined) return value === equals
  if (values !== undefined) return values.some((one) => value === one)
  if (prefix !== undefined) return typeof value === 'string' && value.startsWith(prefix)
  if (includes === undefined) return isInRange(condition, value)
  if (!Array.isArray(value)) return false
  return value.some((element) => isFilter(includes) ? holds(includes, element) : element === includes)
}

/** @type {(bounds: import('./where').LogBounds, number: number | null) => boolean} */
function isWithin ({ gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity }, number) {
  return number !== null && number > gt && number >= gte && number < lt && number <= lte
}

/**
 * Whether an `includes` is a filter, instead of a value.
 * @param {Condition['includes']} includes
 * @returns {includes is Filter}
 */
function isFilter (includes) {
  return typeof includes === 'object' && includes !== null
}

/**
 * Only own properties of objects are followed, and elements of arrays: not what buffers, strings or prototypes have.
 * @param {readonly Step[]} path
 * @param {any} value
 * @returns {{ present: boolean, value?: unknown }}
 */
function follow (path, value) {
  for (const step of path) {
    if (!hasStep(value, step)) return { present: false }
    value = value[step]
  }
  return { present: true, value }
}

/** @type {(value: any, step: Step) => boolean} */
function hasStep (value, step) {
  if (Array.isArray(value)) return typeof step === 'number' && step < value.length
  return isObject(value) && Object.hasOwn(value, step)
}

/** @param {unknown} value */
function isObject (value) {
  return value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)
}

// The same, prepared.

/** From so many values on a set finds one faster. */
const SET_SIZE_MIN = 8

/** @typedef {(value: any) => boolean} Match */

/**
 * Makes a function that gives the answer of `matches`, faster for many values. The time that it takes does not depend
 * on how many values an `in` has.
 * @param {Filter[]} filters  from `parseWhere`
 * @returns {Match}
 */
function createMatch (filters) {
  const all = filters.map(createPart)
  return all.length === 1 ? all[0] : (value) => all.every((match) => match(value))
}

/** @type {(filter: Filter) => Match} */
function createPart (filter) {
  if ('all' in filter) return createMatch(filter.all)
  if ('any' in filter) {
    const parts = filter.any.map(createPart)
    return (value) => parts.some((match) => match(value))
  }
  if ('not' in filter) {
    const match = createPart(filter.not)
    return (value) => !match(value)
  }
  const { path, exists } = filter
  if (exists !== undefined) return (value) => follow(path, value).present === exists
  const isMatch = createValueMatch(filter)
  return (value) => {
    const { present, value: found } = follow(path, value)
    return present && isMatch(found)
  }
}

/**
 * Makes a function that says whether a value that was found at the path of a condition fulfils it.
 * @param {Condition} condition
 * @returns {Match}
 */
function createValueMatch (condition) {
  const { equals, in: values, includes, gt, gte, lt, lte } = condition
  if (equals !== undefined) return (value) => value === equals
  if (typeof (gt ?? gte ?? lt ?? lte) === 'number') return createNumberRange(condition)
  if (values !== undefined && values.length >= SET_SIZE_MIN) {
    /** @type {Set<unknown>} */
    const set = new Set(values)
    return (value) => set.has(value)
  }
  if (!isFilter(includes)) return (value) => isFulfilled(condition, value)
  const match = createPart(includes)
  return (value) => Array.isArray(value) && value.some(match)
}

/**
 * @param {Condition} condition  with numbers for bounds
 * @returns {Match}
 */
function createNumberRange ({ gt, gte, lt, lte }) {
  const [low, high] = [Number(gt ?? gte ?? -Infinity), Number(lt ?? lte ?? Infinity)]
  const [isAbove, isBelow] = [gt !== undefined, lt !== undefined]
  return (value) => typeof value === 'number' && (isAbove ? value > low : value >= low) &&
    (isBelow ? value < high : value <= high)
}

exports.matches = matches
exports.createMatch = createMatch
exports.createValueMatch = createValueMatch
exports.isFilter = isFilter
