'use strict'
// Reads the log in bounded pieces. A scan finds the sizes of the next records without decoding them, so that no more is
// decoded than fits. A stream then gives the values of just these. Nothing stays open in between.

const { crc32 } = require('@millrace/framing')

const NOTHING = { count: 0, size: 0 }

/**
 * A record on its way to the sink.
 * @typedef {object} Entry
 * @property {number} seq
 * @property {any} value
 * @property {number} size  of its bytes in the log
 * @property {number} crc  of these bytes
 * @property {Error | null} error  why it does not decode
 */

/**
 * @typedef {object} Bounds  the first record may be larger
 * @property {number} countMax
 * @property {number} sizeMax
 * @property {AbortSignal} signal
 * @property {'skip'} [onRetained]  goes on with the next record that the log still has
 */

/** Damage that was skipped; `size` is in bytes of the log. @typedef {{ count: number, size: number }} Lost */

/**
 * @typedef {object} Piece
 * @property {Entry[]} entries
 * @property {number} end  the seq of the last record that was read; it may have been deleted meanwhile
 * @property {boolean} isCut  whether the bounds ended the read, so that there may be more
 * @property {Lost} lost  damage up to `end`
 * @property {Lost} lostAtEnd  damage after `end`: a read that begins there meets it again
 */

/**
 * @param {any} log  loaded
 * @param {number} after  the seq of the record before; -1 for none
 * @param {Bounds} bounds
 * @returns {Promise<Piece>}
 */
async function readPiece (log, after, { countMax, sizeMax, signal, onRetained }) {
  // Without a choice, damage ends the read.
  const skipping = { onCorrupt: log.supports.onCorrupt ? /** @type {const} */ ('skip') : undefined, onRetained }
  /** @type {Entry[]} */
  const found = []
  let total = 0
  let isCut = false
  const { lost } = await log.scan({ gt: after, limit: countMax, ...skipping, signal }, (/** @type {any} */ run) => {
    const { buffer, count, seqs, starts, ends } = run
    for (let i = 0; i < count; i++) {
      const size = ends[i] - starts[i]
      isCut = found.length > 0 && total + size > sizeMax
      if (isCut) return false
      total += size
      found.push({ seq: seqs[i], value: undefined, size, crc: crc32(buffer.subarray(starts[i], ends[i])), error: null })
    }
  })
  if (found.length === 0) return { entries: [], end: after, isCut: false, lost: NOTHING, lostAtEnd: lost }
  const end = found[found.length - 1].seq
  const entries = await decode(log, after, found, { ...skipping, signal })
  isCut ||= found.length === countMax
  if (lost.count === 0) return { entries, end, isCut, lost, lostAtEnd: lost }
  const { lost: passed } = await log.scan({ gt: after, lte: end, ...skipping, signal }, () => {})
  const lostAtEnd = { count: lost.count - passed.count, size: lost.size - passed.size }
  return { entries, end, isCut, lost: passed, lostAtEnd }
}

/**
 * @param {any} log
 * @param {number} after
 * @param {Entry[]} found  gets the values
 * @param {{ onCorrupt: 'skip' | undefined, onRetained: 'skip' | undefined, signal: AbortSignal }} options
 * @returns {Promise<Entry[]>}  without those that were deleted meanwhile
 */
async function decode (log, after, found, options) {
  const lte = found[found.length - 1].seq
  /** @type {Set<Entry>} */
  const missing = new Set()
  let next = 0
  while (next < found.length) {
    try {
      const gt = next === 0 ? after : found[next - 1].seq
      for await (const { seq, value } of log.stream({ gt, lte, ...options })) {
        while (found[next].seq < seq) missing.add(found[next++])
        found[next++].value = value
      }
      while (next < found.length) missing.add(found[next++])
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ERR_CODEC_DECODE') throw err
      missing.add(found[next++])
    }
  }
  /** @type {Set<Entry>} */
  const gone = new Set()
  for (const entry of missing) if (!await decodeAgain(log, entry, options.signal)) gone.add(entry)
  return gone.size === 0 ? found : found.filter((entry) => !gone.has(entry))
}

/**
 * A record that the stream left out: it does not decode, or it was deleted.
 * @type {(log: any, entry: Entry, signal: AbortSignal) => Promise<boolean>} false if it is no longer there
 */
async function decodeAgain (log, entry, signal) {
  let isThere = false
  try {
    const range = { gte: entry.seq, lte: entry.seq, onCorrupt: 'error', onRetained: 'skip' }
    for await (const { value } of log.stream({ ...range, signal })) {
      entry.value = value
      isThere = true
    }
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ERR_CODEC_DECODE') throw err
    entry.error = err
    isThere = true
  }
  return isThere
}

/** The bytes of a record; null if it is no longer there. @type {(log: any, seq: number) => Promise<Buffer | null>} */
async function readBytes (log, seq) {
  /** @type {Buffer | null} */
  let bytes = null
  await log.scan({ gte: seq, lte: seq, onRetained: 'skip', limit: 1 }, (/** @type {any} */ { buffer, starts, ends }) => {
    bytes = Buffer.from(buffer.subarray(starts[0], ends[0]))
  })
  return bytes
}

exports.readPiece = readPiece
exports.readBytes = readBytes
