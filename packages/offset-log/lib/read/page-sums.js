'use strict'
// Compares the pages of a log of lines with their checksums, which the table in `<log>.sums` has. A page is 16 KiB of
// the log.

const { promisesOf, toCallback } = require('@millrace/flow')
const { CRC_SIZE, SUMMED_SIZE, SUMS_SIZE, TABLE_SIZE, countPages, crc32 } = require('@millrace/framing')

const CHUNK_PAGES = TABLE_SIZE / CRC_SIZE
/** Of the table, in memory: for 4 GiB of the log. */
const CHUNKS_MAX = 64

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} SumsFile
 * @typedef {{ bytes: Buffer, seen: Uint8Array }} Chunk  a part of the table, and for each of its pages 1 if it was
 *   found right since the log was opened
 */

class PageSums {
  /** @type {Map<number, Chunk>} */
  #chunks = new Map()

  /** @param {SumsFile | null} sums  open; null if there are none yet */
  constructor (sums) {
    this.sums = sums
  }

  /**
   * Whether the checksums of all pages of a range are in memory, or could be read at once.
   * @type {(start: number, end: number) => boolean}
   */
  canCheck (start, end) {
    for (let chunk = chunkOf(start); chunk <= chunkOf(end); chunk++) {
      if (!this.#chunks.has(chunk) && !this.#loadNow(chunk)) return false
    }
    return true
  }

  /** Reads them. @type {(start: number, end: number, cb: (err: Error | null) => void) => void} */
  load (start, end, cb) {
    toCallback(this.#load(start, end), cb)
  }

  /** @type {(start: number, end: number) => Promise<void>} */
  async #load (start, end) {
    for (let chunk = chunkOf(start); chunk <= chunkOf(end); chunk++) {
      if (this.#chunks.has(chunk)) continue
      const bytes = Buffer.alloc(TABLE_SIZE)
      const size = this.#sizeOf(chunk)
      const sums = /** @type {SumsFile} */ (this.sums)
      if (size > 0) await promisesOf(sums).readInto(bytes.subarray(0, size), positionOf(chunk))
      this.#add(chunk, bytes)
    }
  }

  /** @param {number} chunk */
  #loadNow (chunk) {
    const bytes = Buffer.alloc(TABLE_SIZE)
    const size = this.#sizeOf(chunk)
    if (size > 0 && !this.sums?.readIntoNow(bytes, 0, size, positionOf(chunk))) return false
    this.#add(chunk, bytes)
    return true
  }

  /** @type {(chunk: number, bytes: Buffer) => void} */
  #add (chunk, bytes) {
    if (this.#chunks.size >= CHUNKS_MAX) this.#chunks.clear()
    this.#chunks.set(chunk, { bytes, seen: new Uint8Array(CHUNK_PAGES) })
  }

  /** How many bytes of a part of the table are in the file. @param {number} chunk */
  #sizeOf (chunk) {
    const size = this.sums === null ? 0 : this.sums.size.value - positionOf(chunk)
    return Math.max(0, Math.min(TABLE_SIZE, size))
  }

  /** The checksum of a page; 0 if none is known. Call it after `load`. @param {number} page */
  sumOf (page) {
    const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES))
    return chunk?.bytes.readUInt32BE(CRC_SIZE * (page % CHUNK_PAGES)) ?? 0
  }

  /**
   * Whether a page has its checksum, or none is known. Call it after `load`, or if `canCheck`.
   * @type {(page: number, bytes: Buffer, start: number) => boolean} `start`: where the page begins in `bytes`
   */
  check (page, bytes, start) {
    const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES))
    const index = page % CHUNK_PAGES
    const wanted = chunk?.bytes.readUInt32BE(CRC_SIZE * index)
    if (chunk === undefined || wanted === 0) return true
    if (crc32(bytes.subarray(start, start + SUMMED_SIZE)) !== wanted) return false
    chunk.seen[index] = 1
    return true
  }

  /**
   * Whether nothing is left to check in a range: its whole pages were found right, or have no checksum.
   * @type {(start: number, end: number) => boolean}
   */
  hasSeen (start, end) {
    for (let page = countPages(start); page * SUMMED_SIZE < end; page++) {
      const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES))
      if (chunk === undefined) return false
      const index = page % CHUNK_PAGES
      if (chunk.seen[index] === 0 && chunk.bytes.readUInt32BE(CRC_SIZE * index) !== 0) return false
    }
    return true
  }

  /** The table gets these. @type {(firstPage: number, crcs: number[]) => void} */
  put (firstPage, crcs) {
    for (let index = 0; index < crcs.length; index++) {
      const page = firstPage + index
      const chunk = this.#chunks.get(Math.floor(page / CHUNK_PAGES))
      chunk?.bytes.writeUInt32BE(crcs[index], CRC_SIZE * (page % CHUNK_PAGES))
    }
  }

  /** The writer in another process may have added checksums. */
  forget () {
    this.#chunks.clear()
  }

  /** Of a log that is only read. */
  async close () {
    if (this.sums !== null) await promisesOf(this.sums).close()
  }
}

/** The part of the table for a position in the log. @param {number} position */
function chunkOf (position) {
  return Math.floor(countPages(position) / CHUNK_PAGES)
}

/** Where a part of the table is in the file. @param {number} chunk */
function positionOf (chunk) {
  return SUMS_SIZE + chunk * TABLE_SIZE
}

exports.CHUNK_PAGES = CHUNK_PAGES
exports.PageSums = PageSums
