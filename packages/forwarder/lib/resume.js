'use strict'
// Where a forwarder begins. The log may not be the one that the cursor has seen: a power cut took its end, a backup was
// restored, retention removed its beginning, or somebody put another file there. The cursor then goes back to a record
// that it can prove to have passed, so that nothing is missing. What lies behind that record is sent again.

const crypto = require('node:crypto')
const { crc32 } = require('@millrace/framing')
const { findBeginning } = require('./dropped')

/**
 * @typedef {import('./cursor').Position} Position
 * @typedef {import('./cursor').Point} Point
 * @typedef {import('@millrace/offset-log').Source<any>} Source
 */

/** The checksum was not noted. */
const NO_CRC = -1

/** What the log says of a point. @typedef {'same' | 'other' | 'absent' | 'gone' | 'retained'} Verdict */

/**
 * @typedef {object} Resumption
 * @property {Position} position
 * @property {string | null} problem  why the forwarder begins elsewhere than the cursor says; null if it does not
 */

/**
 * @param {any} log  loaded
 * @param {string | null} logId
 * @param {{ position: Position | null, isDamaged: boolean }} saved
 * @param {'first' | 'next'} start  where to begin without a cursor
 * @returns {Promise<Resumption>}
 */
async function findResumption (log, logId, { position, isDamaged }, start) {
  const id = crypto.randomBytes(16).toString('hex')
  const from = position?.from ?? await findBeginning(log)
  /** @type {Position} */
  const fresh = { log: logId, id, seq: -1, from, end: null, step: 0, points: [], forwarded: 0, refused: 0, sink: null }
  if (isDamaged) return { position: fresh, problem: 'the cursor is damaged' }
  if (position === null) return { position: { ...fresh, seq: start === 'next' ? log.since.value : -1 }, problem: null }
  // A log has no id before its head is written, and none in the offset framings.
  const hasIds = position.log !== null && logId !== null
  if (hasIds && position.log !== logId) {
    fresh.from = await findBeginning(log)
    return { position: fresh, problem: `the cursor belongs to another log, ${position.log}` }
  }
  return checkPosition(log, { ...position, from, log: logId ?? position.log }, hasIds)
}

/**
 * @param {any} log
 * @param {Position} position
 * @param {boolean} hasIds  whether it is the same log, by its id
 * @returns {Promise<Resumption>}
 */
async function checkPosition (log, position, hasIds) {
  const { seq, step, points } = position
  if (seq === -1) return { position, problem: null }
  const verdict = await judge(log, points.find((point) => point[1] === seq) ?? [step, seq, NO_CRC])
  // What retention has removed is for the reader to notice. Of a deleted record only the id of the log can tell.
  if (verdict === 'same' || verdict === 'retained' || (verdict === 'absent' && hasIds)) return { position, problem: null }
  const problem = PROBLEMS[verdict]
  for (const point of points) {
    if (point[1] >= seq || await judge(log, point) !== 'same') continue
    const older = points.filter((other) => other[1] <= point[1])
    return { position: { ...position, seq: point[1], end: null, points: older }, problem }
  }
  // What was dropped before was forwarded, or reported.
  const from = await findBeginning(log)
  return { position: { ...position, seq: -1, from, end: null, points: [] }, problem }
}

const PROBLEMS = {
  gone: 'the log no longer has the record at the cursor: a power cut took it, or an older copy was put in place',
  other: 'the log has another record at the cursor',
  absent: 'the log has no record at the cursor'
}

/**
 * Whether the log has a record at a point, and the same one.
 * @type {(log: any, point: Point) => Promise<Verdict>}
 */
async function judge (log, [, seq, crc]) {
  if (seq > log.since.value) return 'gone'
  /** @type {Verdict} */
  let verdict = 'absent'
  try {
    await log.scan({ gte: seq, lte: seq, limit: 1 }, (/** @type {any} */ { buffer, starts, ends }) => {
      verdict = crc === NO_CRC || crc32(buffer.subarray(starts[0], ends[0])) === crc ? 'same' : 'other'
    })
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_LOG_SEQ_LOST') return 'gone'
    if (err.code === 'ERR_LOG_SEQ_RETAINED') return 'retained'
    if (err.code === 'ERR_LOG_CORRUPT') return 'absent'
    throw err
  }
  return verdict
}

/**
 * The position behind a record. Of older points few are kept, the fewer the older they are: the point of step s stays
 * for 4 * 2^z steps, where 2^z is the largest power of two that divides s.
 * @param {Position} position
 * @param {{ seq: number, crc: number }} last
 * @param {{ forwarded: number, refused: number }} counts  records
 * @param {object | null} [sink]  what the sink wants to have noted
 * @returns {Position}
 */
function advance (position, { seq, crc }, counts, sink = position.sink ?? null) {
  const step = position.step + 1
  const points = position.points.filter(([made]) => step - made < 4 * (made & -made))
  points.unshift([step, seq, crc])
  const forwarded = position.forwarded + counts.forwarded
  const refused = position.refused + counts.refused
  return { ...position, seq, step, points, end: null, forwarded, refused, sink }
}

/**
 * The position that a sink asks for.
 * @param {Position} position
 * @param {number} seq  of the last record that the sink has
 * @param {object | null} sink  what it wants to have noted
 * @returns {Position}
 */
function moveTo (position, seq, sink) {
  if (seq === position.seq) return { ...position, sink }
  return { ...position, seq, sink, end: null, points: position.points.filter((point) => point[1] <= seq) }
}

exports.findResumption = findResumption
exports.moveTo = moveTo
exports.advance = advance
