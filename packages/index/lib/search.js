'use strict'
// Which records of one run, or of one block, may fulfil a filter. It gives their ordinals in the order of the read.

const { ordered } = require('./sorting')
const { ArrayWalk, CommonWalk, ListWalk, drain } = require('./walks')

/** If more of the records are candidates, to read all of them is faster. */
const SHARE_MAX = 0.04
/** So few candidates are always read alone. */
const FEW = 64
/** A list of so few is not compared with another one. */
const COMPARED_MIN = 16

/**
 * @typedef {import('./cover').Cover} Cover
 * @typedef {import('./run').Run} Run
 * @typedef {import('./block').Block} Block
 * @typedef {import('./posting-list').PostingList} PostingList
 * @typedef {import('./walks').Walk} Walk
 * @typedef {{ section: import('./run-format').ValueSection, first: number, end: number }} ValueRange
 *
 * @typedef {object} Found  what a run has for a cover
 * @property {number} count  of ordinals, at most
 * @property {number} expected  how many records, at a guess; never more than `count`
 * @property {number[]} singles
 * @property {PostingList[]} lists
 * @property {ValueRange[]} ranges
 * @property {Found[]} any  one of these
 * @property {Found[]} all  all of these, the smallest first
 */

/** @returns {Found} */
function nothing () {
  return { count: 0, expected: 0, singles: [], lists: [], ranges: [], any: [], all: [] }
}

/** Of a run that has nothing. @type {Found} */
const NOTHING = Object.freeze(nothing())

/** @type {(run: Run, cover: import('./cover').KeyCover) => Found} */
function findKeys (run, { slot, hashes }) {
  let found = NOTHING
  for (const { short } of hashes) {
    const one = run.find(slot, short)
    if (one === -1) continue
    if (found === NOTHING) found = nothing()
    if (typeof one === 'number') found.singles.push(one)
    else found.lists.push(one)
    found.count += typeof one === 'number' ? 1 : one.count
    found.expected = found.count
  }
  return found
}

/**
 * @param {Run} run
 * @param {Cover} cover
 * @returns {Found}
 */
function findInRun (run, cover) {
  if (cover.kind === 'keys') return findKeys(run, cover)
  const found = nothing()
  if (cover.kind === 'values') {
    const sections = [run.footer.numbers[cover.slot], run.footer.times[cover.slot]]
    for (const [index, intervals] of [cover.numbers, cover.times].entries()) {
      const section = /** @type {import('./run-format').ValueSection} */ (sections[index])
      for (const interval of intervals) {
        const { first, end } = run.findValues(section, interval)
        found.ranges.push({ section, first, end })
        found.count += end - first
      }
    }
  } else {
    const parts = cover.parts.map((part) => findInRun(run, part)).sort((a, b) => a.expected - b.expected)
    if (cover.kind === 'any') {
      found.any = parts
      found.count = parts.reduce((sum, { count }) => sum + count, 0)
    } else {
      found.all = parts
      found.count = parts[0].count
      // As if each of them said nothing about the others.
      const second = parts.length > 1 && isOneList(parts[1]) ? parts[1].expected / Math.max(1, run.records) : 1
      found.expected = parts[0].expected * Math.min(1, second)
    }
  }
  if (found.all.length === 0) found.expected = found.count
  return found
}

/** @param {Found} found */
function isOneList ({ singles, lists, ranges, any, all }) {
  return lists.length === 1 && singles.length + ranges.length + any.length + all.length === 0
}

/** Whether to read the candidates is faster than to read all. @param {number} expected @param {number} records */
function isSelective (expected, records) {
  return expected <= Math.max(FEW, SHARE_MAX * records)
}

/**
 * @param {Run} run
 * @param {Found} found
 * @param {{ low: number, high: number, reverse: boolean }} wanted  ordinals from `low` on and below `high`
 * @returns {Walk}
 */
function ordinalsOf (run, found, wanted) {
  const { odd } = run
  if (odd.length === 0) return walk(run, found, wanted)
  const isWanted = (/** @type {number} */ ordinal) => ordinal >= wanted.low && ordinal < wanted.high
  const others = drain(walk(run, found, { ...wanted, reverse: false }), [])
  return walkArray([...others, ...odd].filter(isWanted), wanted)
}

/** @type {(ordinals: number[], wanted: { reverse: boolean }) => Walk} */
function walkArray (ordinals, { reverse }) {
  const all = ordered(ordinals)
  return new ArrayWalk(reverse ? all.reverse() : all)
}

/** @type {(run: Run, found: Found, wanted: { low: number, high: number, reverse: boolean }) => Walk} */
function walk (run, found, wanted) {
  if (isOneList(found)) return new ListWalk(found.lists[0], wanted)
  if (found.all.length > 0) {
    const [first, second] = found.all
    const ordinals = walk(run, first, wanted)
    const isCompared = second !== undefined && isOneList(second) && first.count >= COMPARED_MIN
    return isCompared ? new CommonWalk(ordinals, second.lists[0]) : ordinals
  }
  return walkArray(collect(run, found, wanted, []), wanted)
}

/** @type {(run: Run, found: Found, wanted: { low: number, high: number }, target: number[]) => number[]} */
function collect (run, { singles, lists, ranges, any }, { low, high }, target) {
  const add = (/** @type {number} */ ordinal) => { if (ordinal >= low && ordinal < high) target.push(ordinal) }
  for (const ordinal of singles) add(ordinal)
  for (const list of lists) drain(new ListWalk(list, { low, high, reverse: false }), target)
  for (const { section, first, end } of ranges) {
    for (let index = first; index < end; index++) add(run.valueOrdinal(section, index))
  }
  for (const part of any) drain(walk(run, part, { low, high, reverse: false }), target)
  return target
}

/**
 * The same in memory.
 * @param {Block} block
 * @param {Cover} cover
 * @param {number} [max]  so many are few
 * @returns {number[] | null}  ordinals, ascending, each once; null if they are so many that to read all is faster
 */
function findInBlock (block, cover, max = Math.max(FEW, SHARE_MAX * block.count)) {
  if (cover.kind === 'keys') return block.keys[cover.slot].find(cover.hashes, max)
  if (cover.kind === 'values') {
    const numbers = block.numbers[cover.slot]?.find(cover.numbers) ?? []
    const found = ordered([...numbers, ...block.times[cover.slot]?.find(cover.times) ?? []])
    return found.length > max ? null : found
  }
  const found = findList(block, cover, max)
  return found === null || found.length > max ? null : found
}

/** @type {(block: Block, cover: import('./cover').ListCover, max: number) => number[] | null} */
function findList (block, cover, max) {
  const parts = cover.parts.map((part) => findInBlock(block, part, max))
  const known = parts.filter((part) => part !== null)
  if (cover.kind === 'any') return known.length < parts.length ? null : ordered(known.flat())
  if (known.length > 0) return known.reduce(intersect)
  // What many records have says little, but few may have all of it.
  return max === Infinity ? null : findInBlock(block, cover, Infinity)
}

/** Of two ascending lists what is in both. @type {(a: number[], b: number[]) => number[]} */
function intersect (a, b) {
  const both = []
  for (let one = 0, other = 0; one < a.length && other < b.length;) {
    const difference = a[one] - b[other]
    if (difference === 0) both.push(a[one])
    if (difference <= 0) one++
    if (difference >= 0) other++
  }
  return both
}

/**
 * How many records of a run fulfil a filter for certain, and which may.
 * @param {Run} run
 * @param {import('./cover').Cover} cover  an exact one, so no list
 * @param {{ low: number, high: number }} wanted
 * @returns {{ sure: number, unsure: number[] }}  `unsure`: ordinals, ascending
 */
function countInRun (run, cover, wanted) {
  const { low, high } = wanted
  const isWhole = low === 0 && high === run.records
  if (cover.kind !== 'keys') {
    const found = findInRun(run, cover)
    return { sure: isWhole ? found.count : collect(run, found, wanted, []).length, unsure: [] }
  }
  let sure = 0
  /** @type {number[]} */
  const unsure = []
  for (const hash of cover.hashes) {
    const found = run.find(cover.slot, hash.short)
    const { foundId } = run
    const isOther = found === -1 || (foundId !== null && foundId !== hash.low)
    if (isOther) continue
    if (foundId === null) takeFound(found, wanted, unsure)
    else if (isWhole) sure += typeof found === 'number' ? 1 : found.count
    else sure += takeFound(found, wanted, []).length
  }
  return { sure, unsure: ordered(unsure) }
}

/** @type {(found: number | PostingList, wanted: { low: number, high: number }, target: number[]) => number[]} */
function takeFound (found, { low, high }, target) {
  if (typeof found !== 'number') return drain(new ListWalk(found, { low, high, reverse: false }), target)
  if (found >= low && found < high) target.push(found)
  return target
}

exports.countInRun = countInRun
exports.findInBlock = findInBlock
exports.findInRun = findInRun
exports.isSelective = isSelective
exports.ordinalsOf = ordinalsOf
