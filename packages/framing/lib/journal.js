'use strict'
// The journal of a deletion says which bytes of which chunks will change. It is on stable storage before the first of
// them changes, so that the next open can finish an interrupted deletion. It never holds a byte of a record.

const { ChunkHeader, ERASED_COUNT_OFFSET, checkChunk } = require('./chunk-header')
const { crc32 } = require('./crc32')
const {
  CHUNK_HEADER_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, LENGTH_SIZE, PAGE_SIZE, U48_MAX
} = require('./layout')

const JOURNAL_HEADER_SIZE = 20
const ENTRY_HEADER_SIZE = 6 + CHUNK_HEADER_SIZE + 2
const PATCH_SIZE = 8
/** How many patches of one chunk fit into a journal. */
const PATCH_COUNT_MAX = Math.floor((JOURNAL_SIZE - JOURNAL_HEADER_SIZE - ENTRY_HEADER_SIZE) / PATCH_SIZE)

/**
 * @typedef {object} Patch  a change of a chunk's payload
 * @property {number} offset  in the payload
 * @property {number} mark  the new length field at the offset; 0 where a record continues from the page before
 * @property {number} size  how many bytes after the length field, or at the offset, become zeros
 */

/** @typedef {{ position: number, header: Buffer, patches: Patch[] }} Entry  physical; the new header; changes */

/**
 * @typedef {object} Journal
 * @property {number} round  rises with every deletion; an odd round is in the second area
 * @property {number | null} erasedCount  records and pieces ever erased in the file, with these; null if unknown
 * @property {Entry[]} entries
 */

/** Whether the entries fit into one journal. @type {(entries: Entry[]) => boolean} */
function fitsJournal (entries) {
  const patchCount = entries.reduce((count, { patches }) => count + patches.length, 0)
  return JOURNAL_HEADER_SIZE + entries.length * ENTRY_HEADER_SIZE + patchCount * PATCH_SIZE <= JOURNAL_SIZE
}

/** Fills a whole area. @type {(journal: Journal, salt: number) => Buffer} */
function encodeJournal ({ round, erasedCount, entries }, salt) {
  const bytes = Buffer.alloc(JOURNAL_SIZE)
  bytes.writeUIntBE(round, 4, 6)
  bytes.writeUIntBE(erasedCount === null ? 0 : erasedCount + 1, 10, 6)
  bytes.writeUInt16BE(entries.length, 16)
  let offset = JOURNAL_HEADER_SIZE
  for (const { position, header, patches } of entries) {
    bytes.writeUIntBE(position, offset, 6)
    header.copy(bytes, offset + 6)
    bytes.writeUInt16BE(patches.length, offset + 6 + CHUNK_HEADER_SIZE)
    offset += ENTRY_HEADER_SIZE
    for (const patch of patches) {
      bytes.writeUInt16BE(patch.offset, offset)
      bytes.writeUInt16BE(patch.size, offset + 2)
      bytes.writeUInt32BE(patch.mark, offset + 4)
      offset += PATCH_SIZE
    }
  }
  bytes.writeUInt32BE(crc32(bytes.subarray(4), salt), 0)
  return bytes
}

// Reads a whole area. Null if no writer makes such a journal.
/** @type {(bytes: Buffer, salt: number) => Journal | null} */
function decodeJournal (bytes, salt) {
  if (crc32(bytes.subarray(4), salt) !== bytes.readUInt32BE(0)) return null
  /** @type {Entry[]} */
  const entries = []
  let offset = JOURNAL_HEADER_SIZE
  for (let left = bytes.readUInt16BE(16); left > 0; left--) {
    if (offset + ENTRY_HEADER_SIZE > JOURNAL_SIZE) return null
    const position = bytes.readUIntBE(offset, 6)
    const header = Buffer.from(bytes.subarray(offset + 6, offset + 6 + CHUNK_HEADER_SIZE))
    const patchCount = bytes.readUInt16BE(offset + 6 + CHUNK_HEADER_SIZE)
    offset += ENTRY_HEADER_SIZE
    if (offset + patchCount * PATCH_SIZE > JOURNAL_SIZE) return null
    const entry = { position, header, patches: decodePatches(bytes, offset, patchCount) }
    if (!isInChunk(entry)) return null
    entries.push(entry)
    offset += patchCount * PATCH_SIZE
  }
  // A chunk that came many times would make finishing slower than reading.
  if (new Set(entries.map(({ position }) => position)).size < entries.length) return null
  const round = bytes.readUIntBE(4, 6)
  const erasedCount = bytes.readUIntBE(10, 6)
  if (round === U48_MAX || erasedCount > U48_MAX / 2) return null
  return { round, erasedCount: erasedCount === 0 ? null : erasedCount - 1, entries }
}

// Whether the chunk lies within a page, each patch within the chunk, and all patches together are no larger than it.
/** @type {(entry: Entry) => boolean} */
function isInChunk ({ position, header, patches }) {
  const size = header.readUInt16BE(8)
  if (position < HEAD_SIZE || position % PAGE_SIZE + CHUNK_HEADER_SIZE + size > PAGE_SIZE) return false
  let sum = 0
  for (const patch of patches) {
    const patchSize = patch.size + (patch.mark === 0 ? 0 : LENGTH_SIZE)
    if (patch.offset + patchSize > size) return false
    sum += patchSize
  }
  return sum <= size
}

/** @type {(bytes: Buffer, start: number, count: number) => Patch[]} */
function decodePatches (bytes, start, count) {
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * PATCH_SIZE
    return { offset: bytes.readUInt16BE(at), size: bytes.readUInt16BE(at + 2), mark: bytes.readUInt32BE(at + 4) }
  })
}

/** Changes a chunk, from its header on, in place. @type {(entry: Entry, chunk: Buffer) => void} */
function applyEntry ({ header, patches }, chunk) {
  header.copy(chunk)
  const payload = chunk.subarray(CHUNK_HEADER_SIZE)
  for (const { offset, size, mark } of patches) {
    if (mark !== 0 && offset + LENGTH_SIZE > payload.length) continue
    const start = mark === 0 ? offset : payload.writeUInt32BE(mark, offset)
    payload.fill(0, start, start + size)
  }
}

/** Whether two heads have the same deletions in progress. @type {(a: Buffer, b: Buffer) => boolean} */
function haveSameJournals (a, b) {
  const [start] = JOURNAL_POSITIONS
  const end = JOURNAL_POSITIONS[JOURNAL_POSITIONS.length - 1] + JOURNAL_SIZE
  return a.compare(b, start, end, start, end) === 0
}

/**
 * Finishes the deletions that a crash interrupted in one chunk.
 * @param {Entry[]} entries  of this chunk, oldest first
 * @param {Buffer} chunk  from its header on; changed in place, unless it has as many erased records already
 * @param {import('./chunk-header').Rules} rules
 * @returns {boolean}  whether the chunk is good now; if not, it is damaged in another way
 */
function finishChunk (entries, chunk, rules) {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const now = new ChunkHeader()
  const { position } = entries[0]
  const strict = { ...rules, verify: true }
  const isWhole = () => checkChunk(chunk, view, 0, position, chunk.length, strict, now) === null
  for (const entry of entries) {
    if (isWhole() && now.erasedCount >= entry.header.readUInt16BE(ERASED_COUNT_OFFSET)) continue
    // The file may have been cut off inside the chunk.
    if (CHUNK_HEADER_SIZE + entry.header.readUInt16BE(8) > chunk.length) return false
    applyEntry(entry, chunk)
  }
  return isWhole()
}

/**
 * For a log that may not be written, or not yet: notes what to apply to the bytes that it reads. `journals`: oldest
 * first.
 * @type {(store: { unfinished: Map<number, Entry[]> }, journals: Journal[]) => void}
 */
function rememberErasures ({ unfinished }, journals) {
  for (const [position, entries] of entriesByChunk(journals)) unfinished.set(position, entries)
}

/** By position of the chunk. `journals`: oldest first. @type {(journals: Journal[]) => Map<number, Entry[]>} */
function entriesByChunk (journals) {
  /** @type {Map<number, Entry[]>} */
  const chunks = new Map()
  for (const entry of journals.flatMap(({ entries }) => entries)) {
    chunks.set(entry.position, [...(chunks.get(entry.position) ?? []), entry])
  }
  return chunks
}

exports.PATCH_COUNT_MAX = PATCH_COUNT_MAX
exports.fitsJournal = fitsJournal
exports.encodeJournal = encodeJournal
exports.decodeJournal = decodeJournal
exports.applyEntry = applyEntry
exports.haveSameJournals = haveSameJournals
exports.finishChunk = finishChunk
exports.entriesByChunk = entriesByChunk
exports.rememberErasures = rememberErasures
