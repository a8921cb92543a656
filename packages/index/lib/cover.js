'use strict'
// What an index can tell about a filter: which keys, numbers or times a record must have to fulfil it.

const { isFilter, planWhere } = require('@millrace/where')

/** To look up more keys takes longer than it helps. */
const KEYS_MAX = 256
/** Of a number of seconds, ms, microseconds or nanoseconds: where it begins to be one, and how many are a ms. */
const TIME_UNITS = [[1e8, 1e11, 1e-3], [1e11, 1e14, 1], [1e14, 1e17, 1e3], [1e17, 1e20, 1e6]]
/** Below it a number is ms, however small. */
const EARLY_MAX = 1e8
/** Numbers are rounded to a time. */
const ROUNDED_MS = 2

/**
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {import('@millrace/where').Plan} Plan
 * @typedef {import('@millrace/where').Primitive} Primitive
 * @typedef {import('@millrace/where').Step} Step
 * @typedef {import('./paths').DeclaredPath} DeclaredPath
 * @typedef {import('./block').Hash} Hash
 * @typedef {import('./block').Interval} Interval
 */

/**
 * What a record must have: one of the keys; a value in one of the intervals; all or one of the parts. `isExact`: with
 * a key of the same long hash, or a value there, it fulfils the filter for certain.
 * @typedef {{ kind: 'keys', slot: number, hashes: Hash[], isExact: boolean }} KeyCover
 * @typedef {{ kind: 'values', slot: number, numbers: Interval[], times: Interval[], isExact: boolean }} ValueCover
 * @typedef {{ kind: 'all' | 'any', parts: Cover[], isExact: boolean }} ListCover
 * @typedef {KeyCover | ValueCover | ListCover} Cover
 */

/** Finds the cover of filters. */
class Covering {
  #paths
  #hasher
  /** The slots that are used. @type {number[]} */
  used = []

  /** @param {readonly DeclaredPath[]} paths @param {import('./hash').Hasher} hasher */
  constructor (paths, hasher) {
    this.#paths = paths
    this.#hasher = hasher
  }

  /** @param {Filter[]} filters  from `parseWhere` @returns {Cover | null}  null if nothing is known */
  find (filters) {
    const [first] = filters
    // Most filters are one condition: they need no plan.
    if (filters.length === 1 && 'path' in first && first.exists === undefined) return this.#ofCondition(first)
    const plan = planWhere(filters)
    return plan.leaves.length + plan.nodes.length === 0 ? null : this.#ofPlan(plan)
  }

  /**
   * Hashes the value of filters that are one `equals`: most conditions are. The hasher has the key afterwards.
   * @param {Filter[]} filters  from `parseWhere`
   * @returns {number}  the slot of the path; -1 of other filters, which `find` may know
   */
  hashEquality (filters) {
    const [first] = filters
    if (filters.length !== 1 || !('path' in first) || first.equals === undefined) return -1
    const { path, equals } = first
    const slot = this.#slotOf(path, null, false)
    if (slot === -1 || (this.#paths[slot].range && typeof equals === 'number')) return -1
    this.#hasher.hashValue(equals)
    return slot
  }

  /** @param {number} slot */
  #use (slot) {
    if (!this.used.includes(slot)) this.used.push(slot)
  }

  /** @param {Plan} plan @returns {Cover | null} */
  #ofPlan ({ isAny, leaves, nodes }) {
    const parts = [
      ...leaves.map(({ condition, isWanted }) => isWanted ? this.#ofCondition(condition) : null),
      ...nodes.map((node) => this.#ofPlan(node))
    ]
    const isWhole = !parts.includes(null)
    const known = isAny ? parts.filter((part) => part !== null) : this.#narrow(parts.filter((part) => part !== null))
    if (isAny && !isWhole) return null
    if (!isAny && known.length === 0) return null
    if (known.length === 1 && isWhole) return known[0]
    return { kind: isAny ? 'any' : 'all', parts: known, isExact: false }
  }

  /**
   * Two bounds of one number, each by itself, are one interval: each alone may say little.
   * @param {Cover[]} parts  all of which a record must have
   * @returns {Cover[]}
   */
  #narrow (parts) {
    /** @type {Cover[]} */
    const narrowed = []
    for (const part of parts) {
      const isOne = this.#isOneInterval(part)
      const index = isOne ? narrowed.findIndex((other) => this.#isOneInterval(other) && other.slot === part.slot) : -1
      if (index === -1) narrowed.push(part)
      else narrowed[index] = intersect(/** @type {ValueCover} */ (narrowed[index]), /** @type {ValueCover} */ (part))
    }
    return narrowed
  }

  /** @param {Cover} cover @returns {cover is ValueCover} */
  #isOneInterval (cover) {
    // Elements of an array may be in one interval each.
    return cover.kind === 'values' && cover.times.length === 0 && cover.numbers.length <= 1 && this.#paths[cover.slot].each === null
  }

  /** @param {Condition} condition @returns {Cover | null} */
  #ofCondition (condition) {
    const { path, equals, in: values, includes, time } = condition
    if (equals !== undefined) return this.#ofValues(path, null, [equals])
    if (values !== undefined) return this.#ofValues(path, null, values)
    if (isFilter(includes)) return this.#ofElements(path, includes)
    if (includes !== undefined) return this.#ofValues(path, [], [includes])
    if (time !== undefined) return path.length === 0 ? null : this.#ofTime(path, null, time)
    return this.#ofRange(path, null, condition)
  }

  /**
   * A filter of elements is covered by what one element must have.
   * @type {(path: readonly Step[], filter: Filter) => Cover | null}
   */
  #ofElements (path, filter) {
    if ('any' in filter) {
      const parts = filter.any.map((part) => this.#ofElements(path, part))
      const known = parts.filter((part) => part !== null)
      return known.length < parts.length ? null : { kind: 'any', parts: known, isExact: false }
    }
    if ('all' in filter) {
      // Different elements may have the parts: then there are too many candidates, not too few.
      const known = filter.all.map((part) => this.#ofElements(path, part)).filter((part) => part !== null)
      return known.length === 0 ? null : { kind: 'all', parts: known, isExact: false }
    }
    if ('not' in filter) return null
    const { path: inside, equals, in: values, includes, time } = filter
    if (equals !== undefined) return this.#ofValues(path, inside, [equals])
    if (values !== undefined) return this.#ofValues(path, inside, values)
    if (includes !== undefined) return null
    if (time !== undefined) return inside.length === 0 ? null : this.#ofTime(path, inside, time)
    return this.#ofRange(path, inside, filter)
  }

  /** @type {(steps: readonly Step[], each: readonly Step[] | null, needsRange: boolean) => number} */
  #slotOf (steps, each, needsRange) {
    for (let slot = 0; slot < this.#paths.length; slot++) {
      const path = this.#paths[slot]
      const isEach = each === null ? path.each === null : path.each !== null && isSamePath(path.each, each)
      if (isEach && isSamePath(path.steps, steps) && (path.range || !needsRange)) return slot
    }
    return -1
  }

  /** @type {(steps: readonly Step[], each: readonly Step[] | null, values: readonly Primitive[]) => Cover | null} */
  #ofValues (steps, each, values) {
    const slot = this.#slotOf(steps, each, false)
    if (slot === -1 || values.length > KEYS_MAX) return null
    this.#use(slot)
    if (this.#paths[slot].range) return this.#ofMixed(slot, values)
    return this.#ofKeys(slot, values)
  }

  /**
   * Numbers of a path with ranges are found by themselves.
   * @type {(slot: number, values: readonly Primitive[]) => Cover}
   */
  #ofMixed (slot, values) {
    const own = new Set(values.filter((value) => typeof value === 'number'))
    const numbers = Array.from(own, (value) => ({ min: value, max: value }))
    const others = values.filter((value) => typeof value !== 'number')
    /** @type {Cover} */
    const cover = { kind: 'values', slot, numbers, times: [], isExact: this.#paths[slot].each === null }
    if (others.length === 0) return cover
    const keys = this.#ofKeys(slot, others)
    return numbers.length === 0 ? keys : { kind: 'any', parts: [cover, keys], isExact: false }
  }

  /** @type {(slot: number, values: readonly Primitive[]) => Cover} */
  #ofKeys (slot, values) {
    const { each } = this.#paths[slot]
    const hasher = this.#hasher
    /** @type {Hash[]} */
    const hashes = []
    const known = values.length === 1 ? null : new Set()
    for (const value of values) {
      hasher.hashValue(value)
      const { short, low, high } = hasher
      if (known !== null && known.size === known.add(`${low} ${high}`).size) continue
      hashes.push({ short, low, high })
    }
    // Texts that no UTF-8 can tell apart have one hash. A record may have several elements of a choice.
    const isExact = !values.some(isAmbiguous) && (each === null || hashes.length === 1)
    return { kind: 'keys', slot, hashes, isExact }
  }

  /** @type {(steps: readonly Step[], each: readonly Step[] | null, bounds: any) => Cover | null} */
  #ofRange (steps, each, { gt, gte, lt, lte }) {
    const isOfNumbers = [gt, gte, lt, lte].some((bound) => typeof bound === 'number')
    const slot = isOfNumbers ? this.#slotOf(steps, each, true) : -1
    if (slot === -1) return null
    this.#use(slot)
    const min = gt === undefined ? gte ?? -Infinity : nextUp(gt)
    const max = lt === undefined ? lte ?? Infinity : -nextUp(-lt)
    // After the last number there is none.
    const isEmpty = gt === Infinity || lt === -Infinity || min > max
    return { kind: 'values', slot, numbers: isEmpty ? [] : [{ min, max }], times: [], isExact: each === null }
  }

  /** @type {(steps: readonly Step[], each: readonly Step[] | null, bounds: any) => Cover | null} */
  #ofTime (steps, each, { gt, gte, lt, lte }) {
    const slot = this.#slotOf(steps, each, true)
    if (slot === -1) return null
    this.#use(slot)
    const min = gt ?? gte ?? -Infinity
    const max = lt ?? lte ?? Infinity
    const numbers = [{ min: Math.max(0, min), max: Math.min(EARLY_MAX, max + 1) }]
    for (const [first, last, perMs] of TIME_UNITS) {
      const [least, most] = [(min - ROUNDED_MS) * perMs, (max + ROUNDED_MS) * perMs]
      numbers.push({ min: Math.max(first, least), max: Math.min(last, most) })
    }
    const known = numbers.filter(({ min, max }) => min <= max)
    return { kind: 'values', slot, numbers: known, times: [{ min, max }], isExact: false }
  }
}

/** @type {(a: ValueCover, b: ValueCover) => ValueCover} */
function intersect (a, b) {
  const [one, other] = [a.numbers[0], b.numbers[0]]
  if (one === undefined || other === undefined) return { ...a, numbers: [], isExact: a.isExact && b.isExact }
  const [min, max] = [Math.max(one.min, other.min), Math.min(one.max, other.max)]
  return { ...a, numbers: min <= max ? [{ min, max }] : [], isExact: a.isExact && b.isExact }
}

/** @type {(a: readonly Step[], b: readonly Step[]) => boolean} */
function isSamePath (a, b) {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at === a.length && at === b.length
}

/** Whether it has half of a surrogate pair. @param {string} text */
function isHalf (text) {
  return !(/** @type {any} */ (text).isWellFormed())
}

/** @param {Primitive} value */
function isAmbiguous (value) {
  return typeof value === 'string' && (value.includes('\ufffd') || isHalf(value))
}

const double = new Float64Array(1)
const bits = new BigInt64Array(double.buffer)

/** Gives the smallest double above. @param {number} value */
function nextUp (value) {
  if (value === Infinity) return Infinity
  if (value === 0) return Number.MIN_VALUE
  double[0] = value
  bits[0] += value > 0 ? 1n : -1n
  return double[0]
}

exports.Covering = Covering
