'use strict'
// A number that stands for a record of a file and all bytes before it: a file that was restored from an older copy, or
// that another program has written, may have another record at the same seq, or before it.
//
// - In a checked file it is the chain crc of the chunk in which the record ends. A deletion does not change it. A
//   compaction does: what it has written proves nothing about the file before it.
// - In a text file it is made of the checksums that the log itself has noted.
// - An offset framing has none.

const { toPromise } = require('@millrace/flow')
const { ChunkHeader, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, readChunkHeader } = require('@millrace/framing')
const { findRecord } = require('./checked-record')
const { proveLine } = require('./prove-line')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {import('@millrace/framing').Frame} Frame
 * @typedef {import('@millrace/framing').Page} Page
 *
 * @typedef {object} Proof
 * @property {number} crc
 * @property {boolean} isRepacked  whether a compaction has written it
 *
 * @typedef {[file: string, seq: number, crc: number, erased: number | null]} ProofPart  of one file: its name, the seq
 *   there, and how many records were deleted from it; null if that is unknown
 *
 * @typedef {'same' | 'other' | 'unknown'} Likeness
 *
 * @typedef {object} Proofs  what proves a log
 * @property {(seq: number) => Promise<Proof | null>} proveRecord  what stands for a record and all before it in its
 *   file
 * @property {(seq: number) => Promise<ProofPart[] | null>} prove  what proves the log up to a record, to be saved; null
 *   if nothing does
 * @property {(parts: ProofPart[]) => Promise<Likeness>} compare  whether it is the log that this was made of
 */

const UNREADABLE = ['ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_LOST', 'ERR_LOG_CORRUPT']
/** No text has this checksum. */
const NO_CRC = -1

/**
 * @type {(file: LogFile, seq: number) => Promise<Proof | null>} null: nothing is at the seq, it cannot
 *   be read, or the framing proves nothing
 */
function proveRecord ({ replacement }, seq) {
  return replacement.withOneFile(async (store) => {
    try {
      if (store.isLines) return await proveText(store, seq)
      return store.isChecked ? await proveChunk(store, seq) : null
    } catch (/** @type {any} */ err) {
      if (UNREADABLE.includes(err?.code)) return null
      throw err
    }
  })
}

/** @type {(store: LinesStore, seq: number) => Promise<Proof | null>} */
async function proveText (store, seq) {
  const crc = await proveLine(store, seq)
  return crc === null ? null : { crc, isRepacked: false }
}

/** @type {(store: CheckedStore, seq: number) => Promise<Proof | null>} */
async function proveChunk (store, seq) {
  const { pages, rules: { hasGaps }, header: { base } } = store
  const header = new ChunkHeader()
  /** @type {Frame} */
  const { type, size, at, chunkStart, chunkEnd } = await toPromise((cb) => findRecord(store, seq, 'get', (err, frame, page) => {
    // The cache may reuse the page's memory.
    if (frame && page && frame.type !== FRAME_TYPES.GAP) readHeader(page, frame.chunkStart, header)
    cb(err, frame)
  }))
  if (type === FRAME_TYPES.GAP) return null
  const isRepacked = hasGaps && header.durable === base
  let pageStart = chunkStart - chunkStart % PAGE_SIZE
  for (let rest = size - (chunkEnd - at - LENGTH_SIZE); rest > 0; rest -= header.continued) {
    const { chainCrc } = header
    pageStart += PAGE_SIZE
    await toPromise((cb) => pages.read(pageStart, (err, page) => {
      if (page) readHeader(page, pageStart, header)
      cb(err)
    }))
    if (header.previous !== chainCrc || header.continued === 0) return null
  }
  return { crc: header.chainCrc, isRepacked }
}

/** @type {(page: Page, chunkStart: number, header: ChunkHeader) => void} */
function readHeader ({ bytes, offset, start }, chunkStart, header) {
  readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset + chunkStart - start, header)
}

/**
 * What proves a file up to a record, to be saved with what was read.
 * @type {(file: LogFile, seq: number, name: string) => Promise<ProofPart | null>}  null: the file proves nothing
 */
async function proveFile (file, seq, name) {
  const proof = await proveRecord(file, seq)
  const { store } = file
  if (proof === null) return store.isLines ? [name, seq, NO_CRC, 0] : null
  return [name, seq, proof.crc, store.isChecked ? store.erasedCount : 0]
}

/**
 * Whether a file is the one that a part of a proof was made of.
 * @type {(file: LogFile, part: ProofPart) => Promise<Likeness>}
 */
async function compareFile (file, [, seq, crc, erased]) {
  const proof = await proveRecord(file, seq)
  if (proof === null) return 'unknown'
  const { store } = file
  // What was deleted before it was read is there again.
  const isOlder = erased !== null && store.isChecked && store.erasedCount !== null && store.erasedCount < erased
  if (proof.crc === crc && !isOlder) return 'same'
  return proof.isRepacked ? 'unknown' : 'other'
}

/** @type {(file: LogFile) => Proofs} of a log of one file, which needs no name */
function proofsOf (file) {
  return {
    proveRecord: (seq) => proveRecord(file, seq),
    prove: async (seq) => {
      const part = await proveFile(file, seq, '')
      return part && [part]
    },
    compare: ([part]) => compareFile(file, part)
  }
}

exports.compareFile = compareFile
exports.proofsOf = proofsOf
exports.proveFile = proveFile
exports.proveChunk = proveChunk
exports.proveRecord = proveRecord
