'use strict'
// A filter over raw bytes: search many records for what one must have; then seek to the paths and compare in place. The
// answer is that of decoding and comparing.

const { createMatch, createSearches, createSelect, isFilter, parseWhere, planWhere } = require('@millrace/where')
const { decodeWhole } = require('./decode')
const { searchCondition } = require('./field-search')
const { createFieldTest } = require('./field-test')
const { fits, followProbes, isWhole, toFilterProbe } = require('./seek')
const { isWellFormed } = require('./text')

/**
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('@millrace/where').Step} Step
 * @typedef {import('@millrace/where').Plan} Plan
 * @typedef {(buf: Buffer, start: number, end: number) => boolean} Test
 */

const NO_BYTES = Buffer.alloc(0)
const NO_WORDS = new DataView(new ArrayBuffer(0))

/**
 * @param {import('@millrace/where').Where} where
 * @returns {Test & { select?: import('@millrace/where').Select }}  whether the record in these bytes fulfils it. Reads
 *   nothing outside them, never throws; for bytes that decode refuses the answer depends on nothing but them
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  const filters = parseWhere(where)
  if (filters.some(needsText)) return compileDecoding(filters)
  const plan = planWhere(filters)
  const { test, forget } = createWalk(plan)
  const select = createSelect(test, () => createSearches(plan, searchCondition))
  const compiled = /** @type {Test & { select: import('@millrace/where').Select }} */ (test)
  // A function that is assigned to a property where it is written lives in the old space: with it everything that it
  // refers to would stay until a full collection.
  /** @type {import('@millrace/where').Select} */
  const selectAndForget = (records, picked) => {
    const count = select(records, picked)
    forget()
    return count
  }
  compiled.select = selectAndForget
  return compiled
}

/**
 * Whether it asks for what cannot be told by bytes. Invalid UTF-8 decodes to U+FFFD, so a string with that character
 * has more spellings than one; and half a surrogate pair, which has none, has its place in the order of strings. The
 * time and the level of a logger's record may be in many places.
 * @type {(filter: Filter) => boolean}
 */
function needsText (filter) {
  if ('any' in filter) return filter.any.some(needsText)
  if ('all' in filter) return filter.all.some(needsText)
  if ('not' in filter) return needsText(filter.not)
  const { path, equals, in: values = [], gt, gte, lt, lte, prefix, includes, time, level } = filter
  if (time !== undefined || level !== undefined) return true
  if (isFilter(includes) && needsText(includes)) return true
  if (hasReplacement(equals) || hasReplacement(includes) || path.some(hasReplacement)) return true
  return values.some(hasReplacement) || [gt, gte, lt, lte, prefix].some(isUnclear)
}

/** @param {unknown} bound */
function isUnclear (bound) {
  return hasHalfPair(bound) || hasReplacement(bound)
}

/** @param {unknown} text @returns {boolean} */
function hasReplacement (text) {
  return typeof text === 'string' && text.includes('\ufffd')
}

/** @type {(filters: Filter[]) => Test} */
function compileDecoding (filters) {
  const isMatch = createMatch(filters)
  return (buf, start, end) => {
    try {
      return isMatch(decodeWhole(buf.subarray(start, end), false))
    } catch {
      return false
    }
  }
}

/** @param {unknown} text @returns {boolean} */
function hasHalfPair (text) {
  return typeof text === 'string' && !isWellFormed(text)
}

/**
 * The bytes that were tested last: kept until they are forgotten, or others come.
 * @typedef {{ buf: Buffer, words: DataView }} Memory
 */

/**
 * @param {Plan} plan
 * @returns {{ test: Test, forget: () => void }}
 */
function createWalk (plan) {
  /** @type {Memory} */
  const memory = { buf: NO_BYTES, words: NO_WORDS }
  const walk = createNodeWalk(plan, memory)
  return {
    test (buf, start, end) {
      if (buf !== memory.buf) {
        memory.buf = buf
        memory.words = new DataView(buf.buffer, buf.byteOffset, buf.length)
      }
      return walk(buf, start, end)
    },
    forget () {
      memory.buf = NO_BYTES
      memory.words = NO_WORDS
    }
  }
}

/** @type {(plan: Plan, memory: Memory) => Test} */
function createNodeWalk ({ isAny, leaves, nodes }, memory) {
  const possible = leaves.filter(({ condition }) => canHold(condition))
  // What cannot hold decides by itself, or makes no difference.
  const isDecided = leaves.some(({ condition, isWanted }) => !canHold(condition) && isWanted !== isAny)
  if (isDecided) return () => isAny
  const steps = possible.map(({ condition, isWanted }, index) => {
    const known = countShared(condition.path, possible[index - 1]?.condition.path)
    const createElementTest = (/** @type {Filter} */ filter) => createNodeWalk(planWhere([filter]), memory)
    const holdsAt = createFieldTest(condition, createElementTest)
    return { known, probes: condition.path.map(toFilterProbe), isWanted, holdsAt }
  })
  const children = nodes.map((node) => createNodeWalk(node, memory))
  // Where the path of the condition before was found, as far as it was: the next one begins where the two part.
  const found = new Array(1 + Math.max(0, ...steps.map(({ probes }) => probes.length))).fill(0)
  return (buf, start, end) => {
    found[0] = start
    let reached = 0
    for (let index = 0; index < steps.length; index++) {
      const { known, probes, holdsAt, isWanted } = steps[index]
      let isRight = false
      if (probes.length > 0 || fits(buf, start, end)) {
        reached = followProbes(buf, memory.words, end, probes, found, Math.min(known, reached))
        isRight = reached === probes.length
          ? holdsAt(buf, found[reached], end) === isWanted
          : !isWanted && isWhole(buf, found[reached], end)
      }
      if (isRight === isAny) return isAny
    }
    for (let index = 0; index < children.length; index++) if (children[index](buf, start, end) === isAny) return isAny
    return !isAny
  }
}

/**
 * Bytes never decode to half a surrogate pair: there is nothing at a path that has one, and nothing equals one.
 * @param {Condition} condition
 */
function canHold ({ path, equals, includes }) {
  return !path.some(hasHalfPair) && !hasHalfPair(equals) && !hasHalfPair(includes)
}

/**
 * @param {readonly Step[]} path
 * @param {readonly Step[]} [before]
 * @returns {number}  how many steps the two begin with together
 */
function countShared (path, before = []) {
  let count = 0
  while (count < path.length && count < before.length && path[count] === before[count]) count++
  return count
}

exports.compile = compile
