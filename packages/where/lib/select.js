'use strict'
// Which of many records fulfil a filter: search all of them at once for what such a record must have, and look closely
// only at those in which it is found. Which search, or none at all, is learned from the time that they take.

const PLACES_MAX = 1024
/** So few records are tested one by one: to search them would take longer. */
const FEW = 8
const FEW_SIZE = 64 * 1024
/** So often every strategy is tried at first: there are few records then, and code that is new is slow. */
const TRIAL_COUNT = 3
/** A strategy that is not in use may be better by now: each use of another one multiplies its expected time by this. */
const DECAY = 0.99
/**
 * Measured times are too long rather than too short: code may be new, or may have lost the processor. Of a longer time
 * than before only WEIGHT of the difference counts, and at most OUTLIER_FACTOR times the time before.
 */
const WEIGHT = 0.25
const OUTLIER_FACTOR = 2

/**
 * @typedef {object} Search  for what every record that fulfils the filter has
 * @property {(buf: Buffer, from: number, to: number, places: Uint32Array) => number} find  notes positions inside the
 *   places where it may be, at least one in each, ascending, until there is no room left. Gives how many
 */

/**
 * @typedef {object} Records
 * @property {number} count
 * @property {Buffer} buffer
 * @property {Uint32Array} starts  in the order of the file, or against it
 * @property {Uint32Array} ends
 */

/**
 * @typedef {(buf: Buffer, start: number, end: number) => boolean} Test
 * @typedef {(records: Records, picked: Uint32Array) => number} Select  notes the indexes of the records that fulfil the
 *   filter, in their order, and gives how many. `picked` has room for all
 */

/** A way to select records, and the time that it takes. */
class Strategy {
  #measured = Infinity
  #trialsLeft = TRIAL_COUNT

  /** @param {Select} select */
  constructor (select) {
    this.select = select
    /** Milliseconds a byte, as expected: 0 until it was measured often enough. */
    this.expected = 0
  }

  /** Another one was used. */
  decay () {
    this.expected *= DECAY
  }

  /** @param {number} cost  milliseconds a byte; 0 if the clock stood still, which says nothing */
  addCost (cost) {
    if (cost === 0) return
    const before = this.#measured
    const more = Math.min(cost, OUTLIER_FACTOR * before) - before
    this.#measured = more < 0 ? cost : before + WEIGHT * more
    if (--this.#trialsLeft <= 0) this.expected = this.#measured
  }
}

/**
 * Makes a function that selects from many records at once. It searches all records together for bytes that every
 * matching record must contain, and tests only the records that contain them: a search may find too many records, but
 * never misses one. Each search would be right, so it measures their times and uses the fastest; or none, if testing
 * every record is faster.
 * @param {Test} test  of one record
 * @param {() => Search[]} findSearches  each for something else that a record must have; called with the first records.
 *   A filter whose records an index finds never searches, and to make searches takes longer than to find one record
 * @param {{ alwaysSearches?: boolean }} [options]  `alwaysSearches`: whether any search takes less time than to test
 *   every record, as if testing means parsing; false by default
 * @returns {Select}
 */
function createSelect (test, findSearches, { alwaysSearches = false } = {}) {
  /** @type {Select | null} */
  let select = null
  return (records, picked) => {
    if (records.count === 0) return 0
    const areFew = records.count <= FEW && sizeOf(records) <= FEW_SIZE
    if (areFew && !alwaysSearches) return selectTested(records, test, picked)
    select ??= createFastest(test, findSearches(), alwaysSearches)
    return select(records, picked)
  }
}

/** @type {(test: Test, searches: Search[], alwaysSearches: boolean) => Select} */
function createFastest (test, searches, alwaysSearches) {
  /** Made for the first search. @type {Uint32Array | null} */
  let places = null
  /** @type {Select[]} */
  const selects = searches.map(({ find }) => (records, picked) => {
    places ??= new Uint32Array(PLACES_MAX)
    return selectFound(records, test, find, places, picked)
  })
  const isTried = !alwaysSearches || searches.length === 0
  if (isTried) selects.push((records, picked) => selectTested(records, test, picked))
  const strategies = selects.map((select) => new Strategy(select))
  if (strategies.length === 1) return strategies[0].select
  return (records, picked) => {
    const fastest = strategies.reduce((best, one) => one.expected < best.expected ? one : best)
    for (const other of strategies) if (other !== fastest) other.decay()
    const started = performance.now()
    const count = fastest.select(records, picked)
    fastest.addCost((performance.now() - started) / sizeOf(records))
    return count
  }
}

/** @param {Records} records  at least one @returns {number}  bytes, and those between them */
function sizeOf ({ starts, ends, count }) {
  const last = count - 1
  return 1 + Math.max(ends[0], ends[last]) - Math.min(starts[0], starts[last])
}

/**
 * @param {Records} records
 * @param {Test} test
 * @param {Uint32Array} picked
 */
function selectTested ({ buffer, starts, ends, count }, test, picked) {
  let pickedCount = 0
  for (let index = 0; index < count; index++) {
    if (test(buffer, starts[index], ends[index])) picked[pickedCount++] = index
  }
  return pickedCount
}

/**
 * @param {Records} records
 * @param {Test} test
 * @param {Search['find']} find
 * @param {Uint32Array} places  to be used for what is found
 * @param {Uint32Array} picked
 */
function selectFound ({ buffer, starts, ends, count }, test, find, places, picked) {
  const isForward = count === 0 || starts[0] <= starts[count - 1]
  const [first, step, stop] = isForward ? [0, 1, count] : [count - 1, -1, -1]
  const end = ends[stop - step]
  let [index, pickedCount] = [first, 0]
  while (index !== stop) {
    const placeCount = find(buffer, starts[index], end, places)
    for (let i = 0; i < placeCount && index !== stop; i++) {
      const place = places[i]
      while (index !== stop && ends[index] <= place) index += step
      // In a record that was looked at, between two, or in one that is not among these.
      if (index === stop || place < starts[index]) continue
      if (test(buffer, starts[index], ends[index])) picked[pickedCount++] = index
      index += step
    }
    if (placeCount < places.length) break
  }
  if (!isForward) picked.subarray(0, pickedCount).reverse()
  return pickedCount
}

/**
 * @param {Search[]} searches
 * @returns {Search}  for whatever one of them looks for
 */
function createUnionSearch (searches) {
  if (searches.length === 1) return searches[0]
  let found = new Uint32Array(0)
  return {
    find (buf, from, to, places) {
      if (found.length < searches.length * places.length) found = new Uint32Array(searches.length * places.length)
      let size = 0
      for (const { find } of searches) size += find(buf, from, to, found.subarray(size, size + places.length))
      // A search that had no room left has found all up to its last place: these are among the first that fit.
      const first = found.subarray(0, size).sort().subarray(0, places.length)
      places.set(first)
      return first.length
    }
  }
}

/**
 * Makes a search that leaves out some of the places that another one finds.
 * @param {Search} search
 * @param {(buf: Buffer, place: number, to: number) => boolean} mayBe  whether what was found there may be what is
 *   looked for; reads nothing at or after `to`
 * @returns {Search}
 */
function createCheckedSearch ({ find }, mayBe) {
  /** @type {Uint32Array | null} */
  let room = null
  return {
    find (buf, from, to, places) {
      const found = room ??= new Uint32Array(PLACES_MAX)
      let count = 0
      for (let at = from; ;) {
        const foundCount = find(buf, at, to, found)
        for (let index = 0; index < foundCount; index++) {
          if (!mayBe(buf, found[index], to)) continue
          places[count++] = found[index]
          if (count === places.length) return count
        }
        if (foundCount < found.length) return count
        at = found[foundCount - 1] + 1
      }
    }
  }
}

exports.createSelect = createSelect
exports.createUnionSearch = createUnionSearch
exports.createCheckedSearch = createCheckedSearch
