'use strict'
// Proves that a log still has what a reader of it has seen: a view, a forwarder, the counts of a server. The log may be
// another one, or an older copy whose seqs were given again to other records; or a power cut has taken its end. The
// checksums of the last records that were seen tell.

const { crc32 } = require('@millrace/framing')

/** Of one, the record may be deleted later. */
const POINT_COUNT = 8

/** A record, and the checksum of its bytes, if it was noted. @typedef {[seq: number, crc?: number]} Point */

/**
 * What a log says of a record: `lost`, if a power cut took it; `missing`, if no record has ever been at its seq.
 * @typedef {'same' | 'other' | 'deleted' | 'dropped' | 'damaged' | 'lost' | 'missing'} Verdict
 */

/** @type {Record<string, Verdict>} */
const VERDICTS = {
  'flumelog:deleted': 'deleted',
  ERR_LOG_SEQ_RETAINED: 'dropped',
  ERR_LOG_CORRUPT: 'damaged',
  ERR_CODEC_DECODE: 'damaged',
  ERR_LOG_SEQ_LOST: 'lost',
  ERR_RECORD_NOT_FOUND: 'missing'
}

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
 * @param {{ log: string | null, cursor: number, points: Point[] }} place  `log`: its id; null if it has none
 * @returns {Promise<string | null>}
 */
async function findDoubt (log, { log: seenId, cursor, points }) {
  const { id: logId = null } = await log.stats()
  const hasIds = seenId !== null && logId !== null
  if (hasIds && seenId !== logId) return 'what was saved belongs to another log'
  if (cursor === -1) return null
  // The record at the cursor was deleted before the place was saved: it must not be there now, either.
  const isGap = points[0]?.[0] !== cursor
  let isProven = false
  // All of them: another record at one of the seqs may have the same bytes.
  for (const [seq, crc] of isGap ? [[cursor, null], ...points] : points) {
    const verdict = await judgeRecord(log, Number(seq), crc)
    isProven ||= verdict === 'same'
    if (verdict === 'lost' || verdict === 'missing') return 'the log does not have the last records that were seen'
    if (verdict === 'other') return 'the log has other records than those that were seen'
  }
  // Else all of them were deleted, dropped or damaged since.
  return isProven || hasIds ? null : 'the last records that were seen are gone'
}

/**
 * Whether a log has a record, and the same one.
 * @param {any} log  loaded
 * @param {number} seq
 * @param {number | null} [crc]  null of a record that was deleted. If there is none, any record is the same
 * @returns {Promise<Verdict>}
 */
async function judgeRecord (log, seq, crc) {
  /** @type {Verdict | null} */
  let verdict = null
  try {
    await log.scan({ gte: seq, lte: seq, limit: 1 }, (/** @type {any} */ { buffer, starts, ends }) => {
      verdict = crc === undefined || crc32(buffer.subarray(starts[0], ends[0])) === crc ? 'same' : 'other'
    })
    // Nothing there: `get` says why.
    if (verdict === null) await log.get(seq)
  } catch (/** @type {any} */ err) {
    if (!Object.hasOwn(VERDICTS, err.code)) throw err
    verdict ??= VERDICTS[err.code]
  }
  return verdict ?? 'damaged'
}

exports.findDoubt = findDoubt
exports.judgeRecord = judgeRecord
exports.readPoints = readPoints
