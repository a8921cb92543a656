'use strict'
// What a log has dropped by its limits: where a log begins, whether it has dropped anything since, and the first
// records that are left.

const { readPiece } = require('./reading')

/**
 * Where a log begins: from this seq on it has dropped nothing so far.
 * @param {any} log  loaded
 * @returns {Promise<number>}  0 if it has never dropped anything
 */
async function findBeginning (log) {
  if (typeof log.segments === 'function') {
    const segments = await log.segments()
    return segments.find((/** @type {{ kept: boolean }} */ { kept }) => !kept)?.base ?? 0
  }
  if (!await hasDropped(log, 0)) return 0
  return await findFirst(log, { onRetained: 'skip' }) ?? log.since.value + 1
}

/**
 * Whether a log has dropped records at or above a seq. A read from the very beginning does not tell that.
 * @type {(log: any, seq: number) => Promise<boolean>}
 */
async function hasDropped (log, seq) {
  try {
    await findFirst(log, { gte: Math.max(1, seq) })
    return false
  } catch (/** @type {any} */ err) {
    // Anything else is for the reader to notice.
    return err.code === 'ERR_LOG_SEQ_RETAINED'
  }
}

/** The seq of the first record of a range. @type {(log: any, range: object) => Promise<number | null>} */
async function findFirst (log, range) {
  let first = null
  const onCorrupt = log.supports?.onCorrupt ? 'skip' : undefined
  for await (const seq of log.stream({ ...range, values: false, limit: 1, onCorrupt })) first = seq
  return first
}

/**
 * Reads what a log has left after a seq. The seqs from the given one up to `to` are gone.
 * @type {(log: any, after: number, bounds: import('./reading').Bounds) =>
 *   Promise<{ piece: import('./reading').Piece, to: number }>}
 */
async function readLeft (log, after, bounds) {
  for (;;) {
    const since = log.since.value
    const piece = await readPiece(log, after, { ...bounds, onRetained: 'skip' })
    if (piece.entries.length > 0) return { piece, to: piece.entries[0].seq }
    // If the log has grown meanwhile, its new records may be there, after the end that it had when the read began.
    if (log.since.value === since) return { piece: { ...piece, end: Math.max(piece.end, since) }, to: since + 1 }
    bounds.signal.throwIfAborted()
  }
}

exports.findBeginning = findBeginning
exports.findFirst = findFirst
exports.hasDropped = hasDropped
exports.readLeft = readLeft
