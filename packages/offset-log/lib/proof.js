'use strict'
// Proves that a log still has what a reader of it has seen: a view, a forwarder, the counts of a server. The log may be
// another one, or an older copy whose seqs were given again to other records; a power cut may have taken its end, or
// another program may have changed a text in place.
//
// A log that can, proves everything up to the place: read/prove-record.js says what that takes of a file. The points,
// checksums of the last records, only count where it cannot: in an offset framing, in a log that is none of this suite,
// after a compaction or damage, and for a place that an earlier version has saved.

const { crc32 } = require('@millrace/framing')

/** Of one, the record may be deleted later. */
const POINT_COUNT = 8

/** @typedef {import('./read/prove-record').Proofs} Proofs */
/** A record, and the checksum of its bytes, if it was noted. @typedef {[seq: number, crc?: number]} Point */

/**
 * @typedef {object} Place
 * @property {string | null} log  its id; null if it has none
 * @property {number} cursor  the seq of the last record that was seen; -1 if none was
 * @property {import('./read/prove-record').ProofPart[] | null} [proof]  of everything up to there; null if the log has
 *   none. An earlier version saved none
 * @property {Point[]} points
 */

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

const OTHER = 'the log has other records than those that were seen'

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
 * The place of a reader, to be saved with what it has read. It may lie after what is durable.
 * @type {(log: any, cursor: number) => Promise<Place>} `log`: loaded
 */
async function provePlace (log, cursor) {
  const { id = null } = await log.stats()
  const proof = cursor === -1 ? null : await askProofs(log, (proofs) => proofs.prove(cursor))
  return { log: id, cursor, proof, points: await readPoints(log, cursor) }
}

/**
 * Why a place is not proven; null if it is.
 * @param {any} log  loaded
 * @param {Place} place
 * @returns {Promise<string | null>}
 */
async function findDoubt (log, place) {
  const { log: seenId, cursor, proof } = place
  const { id: logId = null } = await log.stats()
  const hasIds = seenId !== null && logId !== null
  if (hasIds && seenId !== logId) return 'what was saved belongs to another log'
  if (cursor === -1) return null
  const likeness = proof ? await askProofs(log, (proofs) => proofs.compare(proof)) : null
  if (likeness === null || likeness === 'unknown') return await comparePoints(log, place, hasIds)
  return likeness === 'same' ? null : OTHER
}

/** @type {(log: any, place: Place, hasIds: boolean) => Promise<string | null>} as of `findDoubt` */
async function comparePoints (log, { cursor, points }, hasIds) {
  // The record at the cursor was deleted before the place was saved: it must not be there now, either.
  const isGap = points[0]?.[0] !== cursor
  let isProven = false
  // All of them: another record at one of the seqs may have the same bytes.
  for (const [seq, crc] of isGap ? [[cursor, null], ...points] : points) {
    const verdict = await judgeRecord(log, Number(seq), crc)
    isProven ||= verdict === 'same'
    if (verdict === 'lost' || verdict === 'missing') return 'the log does not have the last records that were seen'
    if (verdict === 'other') return OTHER
  }
  // Else all of them were deleted, dropped or damaged since.
  return isProven || hasIds ? null : 'the last records that were seen are gone'
}

/**
 * A number that stands for a record and all before it, in the same file. A log of several files has others after those
 * that it had.
 * @type {(log: any, seq: number) => Promise<number | null>} `log`: loaded. Null if it cannot prove it
 */
async function proveRecord (log, seq) {
  return (await askProofs(log, (proofs) => proofs.proveRecord(seq)))?.crc ?? null
}

/** @type {<T>(log: any, ask: (proofs: Proofs) => Promise<T>) => Promise<T | null>} null if the log has no proofs */
async function askProofs (log, ask) {
  return await log._askProofs?.(ask) ?? null
}

/**
 * Whether a log has a record, and the same one.
 * @param {any} log  loaded
 * @param {number} seq
 * @param {number | null} [crc]  null of a record that was deleted. If there is none, any record is the same
 * @param {number} [proof]  as of `proveRecord`: what is before it must be the same, too
 * @returns {Promise<Verdict>}
 */
async function judgeRecord (log, seq, crc, proof) {
  const found = proof === undefined ? null : await askProofs(log, (proofs) => proofs.proveRecord(seq))
  if (found !== null && found.crc === proof) return 'same'
  if (found !== null && !found.isRepacked) return 'other'
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
exports.provePlace = provePlace
exports.proveRecord = proveRecord
exports.readPoints = readPoints
