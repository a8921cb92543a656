'use strict'
// Compares what a log has with what it may have: a beginning of the commits, each whole, with all that was promised.

const { Violation } = require('./violation')

/**
 * @typedef {import('./ledger').Expectation} Expectation
 * @typedef {import('./ledger').ExpectedCommit} ExpectedCommit
 * @typedef {import('./ledger').RecordEntry} RecordEntry
 * @typedef {{ seq: number, buffer: Buffer, start: number, end: number }} Found  a record as a log delivered it
 */

/**
 * @param {Expectation} expectation
 * @param {Found[]} found  in the order of the log
 * @returns {Map<RecordEntry, number>}  the seqs of the records that are there
 * @throws {Violation}
 */
function compare ({ commits }, found) {
  checkOrder(found)
  /** @type {Map<RecordEntry, number>} */
  const matched = new Map()
  let position = 0
  let absentFrom = commits.length
  for (let index = 0; index < commits.length; index++) {
    const expected = commits[index]
    const next = matchCommit(expected, found, position, matched)
    if (next === -1 && !expected.isOptional) {
      absentFrom = index
      break
    }
    if (next !== -1) position = next
  }
  if (position < found.length) throw explainSurplus(commits, found, position, absentFrom)
  for (const expected of commits.slice(absentFrom)) {
    if (expected.isRequired && expected.records.some(({ status }) => status === 'there')) {
      throw new Violation('promised lost', `${describeCommit(expected)} was promised and is not there; ` +
        `the log has ${found.length} records, the last one at ${found.length > 0 ? found[found.length - 1].seq : 'none'}`)
    }
  }
  return matched
}

/** @param {Found[]} found */
function checkOrder (found) {
  for (let index = 1; index < found.length; index++) {
    if (found[index].seq > found[index - 1].seq) continue
    throw new Violation('wrong answer', `record ${found[index].seq} comes after ${found[index - 1].seq}`)
  }
}

/**
 * @param {ExpectedCommit} expected
 * @param {Found[]} found
 * @param {number} position  in `found`
 * @param {Map<RecordEntry, number>} matched  gets the commit's records
 * @returns {number}  the position after it, or -1 when it is not there
 * @throws {Violation} when half of it is there, or what was deleted
 */
function matchCommit (expected, found, position, matched) {
  const before = position
  let missing = null
  for (const { record, status } of expected.records) {
    const candidate = found[position]
    if (candidate === undefined || !isSame(record, candidate)) {
      if (status === 'there') missing = record
      continue
    }
    // Of two records without bytes the deleted one cannot be told when its seq is unknown.
    if (status === 'gone') {
      throw new Violation('promised lost', `record ${record.id} at ${candidate.seq} was deleted for good and is back`)
    }
    matched.set(record, candidate.seq)
    position++
  }
  if (missing === null) return position
  if (position === before) return -1
  if (expected.isOptional) {
    for (const { record } of expected.records) matched.delete(record)
    return -1
  }
  throw new Violation('half a commit', `of ${describeCommit(expected)}, ${position - before} are there and record ` +
    `${missing.id} is not`)
}

/**
 * @param {RecordEntry} record
 * @param {Found} candidate
 */
function isSame (record, { seq, buffer, start, end }) {
  if (record.seq !== null && record.seq !== seq) return false
  const isEqual = end - start === record.bytes.length && record.bytes.compare(buffer, start, end) === 0
  // Where a commit is that may not be there, another one may have been appended.
  if (!isEqual && record.seq !== null && !record.commit?.isUncertain) {
    throw new Violation('wrong answer', `record ${record.id} at ${seq} has other bytes than were appended`)
  }
  return isEqual
}

/**
 * @param {ExpectedCommit[]} commits
 * @param {Found[]} found
 * @param {number} position
 * @param {number} absentFrom
 * @returns {Violation}
 */
function explainSurplus (commits, found, position, absentFrom) {
  const surplus = found[position]
  const what = `record ${position} of ${found.length}, ${surplus.end - surplus.start} bytes at ${surplus.seq}`
  for (const later of commits.slice(absentFrom)) {
    for (const { record } of later.records) {
      if (!record.bytes.equals(surplus.buffer.subarray(surplus.start, surplus.end))) continue
      const absent = commits[absentFrom]
      if (later === absent) return new Violation('half a commit', `${what} is of ${describeCommit(later)}, but not all of it is there`)
      if (later.isRequired || absent.isRequired) {
        return new Violation('promised lost', `${what} is of ${describeCommit(later)}, but ${describeCommit(absent)} is missing`)
      }
      return new Violation('never appended', `${what} is of ${describeCommit(later)}, but ${describeCommit(absent)} before it is missing`)
    }
  }
  return new Violation('never appended', `${what} was not appended, or not there`)
}

/** @param {ExpectedCommit} expected */
function describeCommit ({ commit, records }) {
  const ids = records.map(({ record }) => `${record.id}${record.seq === null ? '' : ` at ${record.seq}`}`)
  const few = ids.length > 6 ? [...ids.slice(0, 3), '...', ids[ids.length - 1]] : ids
  return `commit ${commit.index} (record${ids.length === 1 ? '' : 's'} ${few.join(', ')})`
}

exports.compare = compare
