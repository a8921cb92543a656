'use strict'
// Whether a file that has taken the place of a checked log's file goes on where the old one was read to: a compacted
// copy does, and a copy of the same bytes. An older copy that was put there and has grown does not, though it has the
// log's id.

const { promisesOf, toPromise } = require('@millrace/flow')
const { FRAME_TYPES, crc32 } = require('@millrace/framing')
const { findRecord, readRecord } = require('./checked-record')
const { proveChunk } = require('./prove-record')

/** @typedef {import('../checked-store').CheckedStore} CheckedStore */

/**
 * A record of a file that was read.
 * @typedef {object} Mark
 * @property {number} seq
 * @property {import('./prove-record').Proof | null} proof  of the chunk that has it
 * @property {number | null} crc  of its bytes; null if they are deleted
 */

/** So many records are looked for in the new file, the last first, until one of them is there. */
const MARK_COUNT = 16
/** Nothing can be told from it. */
const UNREADABLE = ['ERR_LOG_CORRUPT', 'ERR_LOG_SEQ_LOST']

/** @type {(store: CheckedStore) => Promise<Mark[]>} of the last records, as far as they can be read, the last first */
async function marksOf (store) {
  /** @type {Mark[]} */
  const marks = []
  try {
    for (let seq = store.last; seq >= 0 && marks.length < MARK_COUNT; seq = await promisesOf(store).findLast(seq)) {
      const mark = await readMark(store, seq)
      if (mark !== null) marks.push(mark)
    }
  } catch {
    // What was read before tells enough.
  }
  return marks
}

/** @type {(store: CheckedStore, seq: number) => Promise<Mark | null>} null if a compaction has left it out */
async function readMark (store, seq) {
  const { type } = await toPromise((cb) => findRecord(store, seq, 'get', cb))
  if (type === FRAME_TYPES.GAP) return null
  const { data, isDeleted } = await toPromise((cb) => readRecord(store, seq, cb))
  const crc = isDeleted ? null : crc32(data)
  return { seq, proof: await proveChunk(store, seq), crc }
}

/**
 * Whether nothing speaks against it.
 * @param {readonly Mark[]} marks  of the old file
 * @param {CheckedStore} store  of the new one
 */
async function goesOn (marks, store) {
  try {
    for (const mark of marks) {
      const found = await readMark(store, mark.seq)
      if (found !== null) return areAlike(mark, found)
    }
  } catch (/** @type {any} */ err) {
    // Another record is where it was, or the file ends before it.
    if (err.code === 'ERR_RECORD_NOT_FOUND') return false
    if (!UNREADABLE.includes(err.code)) throw err
  }
  return true
}

/** @type {(before: Mark, now: Mark) => boolean} */
function areAlike (before, now) {
  if (before.crc !== null && now.crc !== null && now.crc !== before.crc) return false
  // What a compaction has written proves nothing about what was there before.
  const isProven = before.proof !== null && now.proof !== null && !before.proof.isRepacked && !now.proof.isRepacked
  return !isProven || before.proof?.crc === now.proof?.crc
}

exports.goesOn = goesOn
exports.marksOf = marksOf
