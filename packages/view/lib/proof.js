'use strict'
// Proves that a log still has what a view has seen. The log may be another one, or an older copy whose seqs were given
// again to other records; or a power cut has taken its end. The checksums of the last records that were seen tell.

const { crc32 } = require('@millrace/framing')

/** Of one, the record may be deleted later. */
const POINT_COUNT = 8

/** A record, and the checksum of its bytes. @typedef {[seq: number, crc: number]} Point */
/** What the log says of a point. @typedef {'same' | 'other' | 'gone' | 'unknown'} Verdict */

/**
 * The last records up to a seq, newest first.
 * @type {(log: any, cursor: number) => Promise<Point[]>}
 */
async function readPoints (log, cursor) {
  /** @type {Point[]} */
  const points = []
  try {
    await log.scan({ lte: cursor, reverse: true, limit: POINT_COUNT }, (/** @type {any} */ run) => {
      const { buffer, count, seqs, starts, ends } = run
      for (let i = 0; i < count; i++) points.push([seqs[i], crc32(buffer.subarray(starts[i], ends[i]))])
    })
  } catch (/** @type {any} */ err) {
    // What is damaged or dropped proves nothing.
    if (err.code !== 'ERR_LOG_CORRUPT' && err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
  }
  return points.sort((a, b) => b[0] - a[0])
}

/**
 * Why a place is not proven; null if it is.
 * @param {any} log  loaded
 * @param {import('./state-file').Place} place
 * @returns {Promise<string | null>}
 */
async function findDoubt (log, { log: seenId, cursor, points }) {
  const { id: logId = null } = await log.stats()
  const hasIds = seenId !== null && logId !== null
  if (hasIds && seenId !== logId) return 'it belongs to another log'
  if (cursor === -1) return null
  // The record at the cursor was deleted before the state was saved: it must not be there now, either.
  const isGap = points[0]?.[0] !== cursor
  for (const [seq, crc] of isGap ? [[cursor, null], ...points] : points) {
    const verdict = await judge(log, Number(seq), crc)
    if (verdict === 'same') return null
    if (verdict === 'gone') return 'the log does not have the last records that were folded'
    if (verdict === 'other') return 'the log has other records than those that were folded'
  }
  // All of them were deleted, dropped or damaged since.
  return hasIds ? null : 'the last records that were folded are gone'
}

/** @type {(log: any, seq: number, crc: number | null) => Promise<Verdict>} `crc`: null of a record that was deleted */
async function judge (log, seq, crc) {
  /** @type {Verdict | null} */
  let verdict = null
  try {
    await log.scan({ gte: seq, lte: seq, limit: 1 }, (/** @type {any} */ { buffer, starts, ends }) => {
      verdict = crc32(buffer.subarray(starts[0], ends[0])) === crc ? 'same' : 'other'
    })
    // Nothing there: `get` says why.
    if (verdict === null) await log.get(seq)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_LOG_SEQ_LOST' || err.code === 'ERR_RECORD_NOT_FOUND') return 'gone'
    if (!['flumelog:deleted', 'ERR_LOG_SEQ_RETAINED', 'ERR_LOG_CORRUPT', 'ERR_CODEC_DECODE'].includes(err.code)) throw err
  }
  return verdict ?? 'unknown'
}

/**
 * Whether a log has lost a record. After an open, the log may end before it only because it is deleted.
 * @type {(log: any, seq: number) => Promise<boolean>}
 */
async function isGone (log, seq) {
  return await judge(log, seq, null) === 'gone'
}

/** Whether a log has dropped its first records. @type {(log: any) => Promise<boolean>} */
async function hasDropped (log) {
  try {
    // A read from the very beginning does not tell.
    await log.scan({ gte: 1, limit: 1 }, () => {})
    return false
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_LOG_SEQ_RETAINED') return true
    if (err.code === 'ERR_LOG_CORRUPT') return false
    throw err
  }
}

exports.readPoints = readPoints
exports.findDoubt = findDoubt
exports.hasDropped = hasDropped
exports.isGone = isGone
