'use strict'
// The filters --since, --until and --level on the bytes of a record: as its codec would compile them; and besides they
// count the records that have no time or no level, since whoever filters must be told of these.

const { createLogCheck, createMatch } = require('@millrace/where')

/**
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {{ untimed: number, unlevelled: number }} Tally  records that were left out, since they have none
 * @typedef {import('@millrace/where').Select} Select
 * @typedef {Parameters<Select>[0] & { seqs?: Float64Array }} Records
 * @typedef {((buf: Buffer, start: number, end: number, seq?: number) => boolean) & { select?: Select }} Test
 */

/**
 * @param {(where: Filter[]) => Test} compile  of the codec
 * @param {(buf: Buffer, start: number, end: number) => any} decode
 * @param {Tally} tally
 * @returns {(where: Filter[]) => Test}
 */
function countUnknown (compile, decode, tally) {
  return (where) => {
    const ofLogs = where.filter(isOfLogs)
    if (ofLogs.length === 0) return compile(where)
    const others = where.filter((filter) => !isOfLogs(filter))
    const isOther = others.length === 0 ? null : compile(others)
    const isWanted = createLogTest(ofLogs, decode, tally)
    /** @type {Test} */
    const test = (buf, start, end, seq) => {
      return (isOther === null || isOther(buf, start, end)) && isWanted(buf, start, end, seq)
    }
    return isOther?.select === undefined ? test : Object.assign(test, { select: narrow(isOther.select, isWanted) })
  }
}

/** @param {Filter} filter @returns {filter is Condition} */
function isOfLogs (filter) {
  return 'time' in filter || 'level' in filter
}

/** @type {(conditions: Condition[], decode: (buf: Buffer, start: number, end: number) => any, tally: Tally) => Test} */
function createLogTest (conditions, decode, tally) {
  const checks = conditions.map((condition) => {
    return condition.path.length === 0 ? createLogCheck(condition) : () => undefined
  })
  const parts = conditions.map((condition) => {
    const { path, time } = condition
    const any = time === undefined ? { path, level: {} } : { path, time: {} }
    // Of a field that --where names, it is told that no record has it.
    const ofLevel = path.length === 0 ? /** @type {const} */ ('unlevelled') : null
    const missing = time === undefined ? ofLevel : /** @type {const} */ ('untimed')
    return { isWanted: createMatch([condition]), isKnown: createMatch([any]), missing }
  })
  const counted = { low: Infinity, high: -Infinity }
  /** Records are read again if the file may have changed meanwhile. @param {number | undefined} seq */
  const isFirst = (seq) => {
    if (seq === undefined) return true
    if (seq >= counted.low && seq <= counted.high) return false
    counted.low = Math.min(counted.low, seq)
    counted.high = Math.max(counted.high, seq)
    return true
  }
  return (buf, start, end, seq) => {
    let isKnown = true
    for (const check of checks) {
      const answer = check(buf, start, end)
      if (answer === false) return false
      if (answer === undefined) isKnown = false
    }
    if (isKnown) return true
    let value
    try {
      value = decode(buf, start, end)
    } catch {
      return false
    }
    const failed = parts.find(({ isWanted }) => !isWanted(value))
    if (failed === undefined) return true
    // A record with another time is not wanted, whatever its level would be.
    if (failed.missing !== null && !failed.isKnown(value) && isFirst(seq)) tally[failed.missing]++
    return false
  }
}

/**
 * Of what a search has found, what is wanted besides.
 * @type {(select: Select, isWanted: Test) => Select}
 */
function narrow (select, isWanted) {
  return (records, picked) => {
    const { buffer, seqs, starts, ends } = /** @type {Records} */ (records)
    const count = select(records, picked)
    let kept = 0
    for (let place = 0; place < count; place++) {
      const index = picked[place]
      if (isWanted(buffer, starts[index], ends[index], seqs?.[index])) picked[kept++] = index
    }
    return kept
  }
}

exports.countUnknown = countUnknown
