'use strict'
// Whether what a log answered fits together, and what may be there at all.

const { crc32 } = require('node:zlib')
const { Failure, ensure, ensureSame, show } = require('../answers')
const { Violation } = require('../violation')

/** Of the record that is appended before the one of a size that the plan says. */
const FIRST_SIZE = 'first'.length

/**
 * @param {import('./question-log').Plan} plan
 * @param {Record<string, any>} answers
 * @throws {Violation}
 */
function judgeLog (plan, answers) {
  const { opened, changeCount, afterwards } = answers
  if (plan.flags === 'r' && changeCount > 0) throw new Violation('wrote', `${changeCount} changes to files of a log opened with "r"`)
  const expected = opened instanceof Failure ? [opened.code, 'ERR_LOG_CLOSED'] : ['ERR_LOG_CLOSED']
  ensure(afterwards === undefined || expected.includes(afterwards.code), () => `a closed log answers ${show(afterwards)}`)
  if (opened instanceof Failure) return
  if (plan.order === 'always' || (plan.order === 'whole' && hasLostNothing(answers))) judgeOrder(answers)
  if (plan.known && plan.verify) judgeKnown(plan.known, answers)
  // What was appended is found by its position.
  if (answers.written && plan.verify && !plan.isSteady) judgeWritten(plan, answers)
}

/** @param {Record<string, any>} answers */
function hasLostNothing ({ forward, backward }) {
  return [forward, backward].every(({ end }) => end instanceof Failure || end.count === 0)
}

/** @param {Record<string, any>} answers */
function judgeOrder ({ forward, backward, gets }) {
  for (let index = 3; index < forward.items.length; index += 3) {
    const [before, seq] = [forward.items[index - 3], forward.items[index]]
    ensure(before < seq, () => `a scan gives ${seq} after ${before}`)
  }
  const isWhole = !(forward.end instanceof Failure) && !(backward.end instanceof Failure)
  if (isWhole) ensureSame('a scan and a reverse one, reversed', forward.items, reversed(backward.items))
  const found = new Map()
  for (let index = 0; index < forward.items.length; index += 3) {
    found.set(forward.items[index], forward.items.slice(index, index + 3))
  }
  for (const [seq, data] of gets) {
    if (data instanceof Failure || !found.has(seq)) continue
    ensureSame(`get and a scan, of ${seq}`, [seq, data.length, crc32(data)], found.get(seq))
  }
}

/** @param {number[]} items */
function reversed (items) {
  const result = []
  for (let index = items.length - 3; index >= 0; index -= 3) result.push(...items.slice(index, index + 3))
  return result
}

/**
 * Nothing was sealed again: so nothing can be read that was never written there.
 * @param {import('./make-bases').Known[]} known
 * @param {Record<string, any>} answers
 */
function judgeKnown (known, { forward, backward, skipping, range, gets }) {
  const keys = new Set(known.map((record) => record.join()))
  for (const { items } of [forward, backward, skipping ?? forward, range ?? forward]) {
    for (let index = 0; index < items.length; index += 3) {
      const key = items.slice(index, index + 3).join()
      ensure(keys.has(key), () => `a record that was never appended: seq, size and checksum ${key}`)
    }
  }
  for (const [seq, data] of gets) {
    if (data instanceof Failure) continue
    ensure(keys.has([seq, data.length, crc32(data)].join()), () => `get(${seq}) gives ${data.length} bytes that were never appended there`)
  }
}

/**
 * @param {import('./question-log').Plan} plan
 * @param {Record<string, any>} answers
 */
function judgeWritten ({ append, maxRecordSize, order }, { written, again, recovery, closed }) {
  const { seq, other, got, synced } = written
  if (seq instanceof Failure) {
    const isTooLarge = seq.code === 'ERR_RECORD_TOO_LARGE' && Math.max(append, FIRST_SIZE) > maxRecordSize
    const isDamaged = recovery !== null && recovery.damage.length > 0 && seq.code === 'ERR_LOG_READ_ONLY'
    // Noise may be a legacy log, in which nothing is what a deleted record looks like.
    const isNothing = seq.code === 'ERR_RECORD_UNREPRESENTABLE' && append === 0
    // Logs that are made by hand name a codec of their own, which bytes may read, and add nothing to.
    const isRefused = seq.code === 'ERR_CODEC_MISMATCH'
    const isExpected = isTooLarge || isDamaged || isNothing || isRefused || seq.code === 'ERR_LOG_FULL'
    ensure(isExpected, () => `append fails with ${show(seq)}`)
    return
  }
  // Where positions have gaps the way to a record leads over pages that may be damaged.
  const isHidden = (/** @type {any} */ data) => order === 'whole' && data.code === 'ERR_LOG_CORRUPT'
  /** @type {(data: any) => boolean} */
  const isSame = (data) => data instanceof Uint8Array && data.length === append && data.every((byte) => byte === 0xa7)
  const isData = (/** @type {any} */ data) => isSame(data) || isHidden(data)
  ensure(synced === undefined, () => `sync fails with ${show(synced)}`)
  ensure(closed === undefined, () => `close fails with ${show(closed)}`)
  ensure(isData(got), () => `what was appended at ${seq} reads ${show(got)}`)
  ensure(other instanceof Failure || other > seq, () => `two appends give ${seq} and ${show(other)}`)
  ensure(!(again.opened instanceof Failure), () => `the log does not open again: ${show(again)}`)
  ensure(isData(again.got), () => `what was appended at ${seq} reads ${show(again.got)} after reopening`)
  // Damage before it, in the same page, hides it from streams.
  const [last] = again.last.items
  const expected = other instanceof Failure ? seq : other
  ensure(again.last.end instanceof Failure || last === expected, () => `the last record after reopening: ${show(again.last)}`)
}

exports.judgeLog = judgeLog
