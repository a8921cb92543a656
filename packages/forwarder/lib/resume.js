'use strict'
// Where a forwarder begins. The log may not be the one that the cursor has seen: a power cut took its end, a backup was
// restored, retention removed its beginning, or somebody put another file there. The cursor then goes back to a record
// that it can prove to have passed, so that nothing is missing. What lies after that record is sent again.

const crypto = require('node:crypto')
const { judgeRecord, proveRecord, readPoints } = require('@millrace/offset-log/composing')
const { findBeginning } = require('./dropped')
const { isText } = require('./log-watch')

/**
 * @typedef {import('./cursor').Position} Position
 * @typedef {import('./cursor').Point} Point
 * @typedef {import('@millrace/offset-log').Source<any>} Source
 */

/** The checksum was not noted. */
const NO_CRC = -1

/** What the log says of a point. @typedef {'same' | 'other' | 'absent' | 'gone' | 'dropped'} Verdict */

/**
 * @typedef {object} Resumption
 * @property {Position} position
 * @property {string | null} problem  why the forwarder begins elsewhere than the cursor says; null if it does not
 */

/**
 * @param {any} log  loaded
 * @param {{ id?: string | null, epoch?: number | null }} identity  of the log
 * @param {{ position: Position | null, isDamaged: boolean }} saved
 * @param {'first' | 'next'} start  where to begin without a cursor
 * @returns {Promise<Resumption>}
 */
async function findResumption (log, { id: logId = null, epoch = null }, { position, isDamaged }, start) {
  const from = position?.from ?? await findBeginning(log)
  const fresh = createPosition(logId, epoch, from)
  if (isDamaged) return { position: fresh, problem: 'the cursor is damaged' }
  if (position === null) return { position: start === 'next' ? await atEnd(log, fresh) : fresh, problem: null }
  // A log has no id before its head is written, and none in the offset framings.
  const hasIds = position.log !== null && logId !== null
  const isOther = hasIds && position.log !== logId
  if (isText(log)) return resumeText(log, { ...fresh, log: logId ?? position.log }, position)
  if (isOther) {
    fresh.from = await findBeginning(log)
    return { position: fresh, problem: `the cursor belongs to another log, ${position.log}` }
  }
  return checkPosition(log, { ...position, from, log: logId ?? position.log }, hasIds)
}

/** @type {(log: string | null, epoch: number | null, from: number) => Position} of a new cursor */
function createPosition (log, epoch, from) {
  const id = crypto.randomBytes(16).toString('hex')
  const counts = { step: 0, forwarded: 0, refused: 0 }
  return { log, epoch, id, seq: -1, from, end: null, ...counts, points: [], sink: null }
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
  if (verdict === 'same' || verdict === 'dropped' || (verdict === 'absent' && hasIds)) return { position, problem: null }
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

/**
 * The end of a log, for a cursor that has passed nothing yet.
 * @type {(log: any, position: Position) => Promise<Position>}
 */
async function atEnd (log, position) {
  const seq = log.since.value
  if (seq === -1) return { ...position, seq }
  const [last] = await readPoints(log, seq)
  const crc = last?.[0] === seq ? last[1] ?? NO_CRC : NO_CRC
  return { ...position, seq, points: [createPoint(0, seq, crc, await proveUpTo(log, seq))] }
}

/**
 * What stands for a record and all before it. Not of a text: whoever changes a line that was passed does not want all
 * after it to be sent again.
 * @type {(log: any, seq: number) => Promise<number | null>}
 */
async function proveUpTo (log, seq) {
  return isText(log) ? null : await proveRecord(log, seq)
}

/** @type {(step: number, seq: number, crc: number, proof: number | null) => Point} */
function createPoint (step, seq, crc, proof) {
  return proof === null ? [step, seq, crc] : [step, seq, crc, proof]
}

/** @type {(log: any, fresh: Position, position: Position) => Promise<Resumption>} `fresh`: says which log it is now */
async function resumeText (log, { log: logId, epoch, from }, position) {
  const isSame = position.log === logId && (epoch === null || position.epoch === epoch)
  // A batch that was begun may have other lines now.
  const end = isSame ? position.end : null
  const known = { ...position, from, end, log: logId, epoch: epoch ?? position.epoch ?? null }
  const { position: found, problem } = await provePosition(log, known)
  // What was sent before it had an id names the cursor instead; so must what comes after that.
  const keepsName = position.log === null && position.step > 0 && found.seq !== -1
  return { position: keepsName ? { ...found, log: null } : found, problem }
}

/**
 * Where to begin in a text: it may have been cut and written anew, and be as long again. So each line counts that was
 * noted, not only the last one. Whether it is another log by its id says less: anybody may remove what is beside it.
 * @type {(log: any, position: Position) => Promise<Resumption>}
 */
async function provePosition (log, position) {
  const { seq, step, points, moves = 0 } = position
  if (seq === -1) return { position, problem: null }
  const own = points.find((point) => point[1] === seq) ?? [step, seq, NO_CRC]
  /** @type {Point[]} */
  const proven = []
  /** @type {string | null} */
  let problem = null
  for (const point of [own, ...points.filter((point) => point[1] < seq)].reverse()) {
    const verdict = await judge(log, point)
    if (verdict === 'same') proven.unshift(point)
    else if (verdict !== 'dropped') {
      problem = PROBLEMS[verdict]
      break
    }
  }
  if (problem === null) return { position, problem }
  const last = proven[0]?.[1] ?? -1
  const from = last === -1 ? await findBeginning(log) : position.from
  return { position: { ...position, seq: last, from, end: null, points: proven, moves: moves + 1 }, problem }
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
async function judge (log, [, seq, crc, proof]) {
  const verdict = await judgeRecord(log, seq, crc === NO_CRC ? undefined : crc, proof)
  if (verdict === 'same' || verdict === 'other' || verdict === 'dropped') return verdict
  const isGone = verdict === 'lost' || (verdict === 'missing' && seq > log.since.value)
  return isGone ? 'gone' : 'absent'
}

/**
 * The position after a record. Of older points few are kept, the fewer the older they are: the point of step s stays
 * for 4 * 2^z steps, where 2^z is the largest power of two that divides s.
 * @param {Position} position
 * @param {{ seq: number, crc: number, proof?: number | null }} last
 * @param {{ forwarded: number, refused: number }} counts  records
 * @param {object | null} [sink]  what the sink wants to have noted
 * @returns {Position}
 */
function advance (position, { seq, crc, proof = null }, counts, sink = position.sink ?? null) {
  const step = position.step + 1
  const points = position.points.filter(([made]) => step - made < 4 * (made & -made))
  points.unshift(createPoint(step, seq, crc, proof))
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
exports.proveUpTo = proveUpTo
