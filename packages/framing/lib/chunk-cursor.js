'use strict'
// Walks a checked log chunk by chunk, in a window over the file, and enters only chunks that verify.

const { Piece, isZero } = require('@millrace/flow')
const {
  CRC_SIZE, ChunkHeader, PAYLOAD_CRC_OFFSET, PAYLOAD_SIZE_OFFSET, checkChunk, findHeaderAt, isHeaderAt
} = require('./chunk-header')
const { crc32, crc32OfFew, createShiftTable, shift } = require('./crc32')
const { finishChunk } = require('./journal')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, LENGTH_SIZE, PAGE_SIZE, endOfPage } = require('./layout')

/** How `enter` ended. */
const ENTRY = Object.freeze({ ENTERED: 0, NEEDS_BYTES: 1, AT_END: 2, DAMAGED: 3 })
const UNKNOWN = -1
// For less, one sum per chunk is quicker: the tables for a common sum take 1 to 4 ms, once.
const PROVEN_SIZE_MIN = 2 * PAGE_SIZE

/**
 * @typedef {import('./chunk-header').Rules} Rules
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./faults').Damage} Damage
 * @typedef {import('./faults').Fault} Fault
 */

/**
 * Bytes of the file, from position `start` to `end`. The cursor's caller fills it. `view` shows `buffer`.
 * @typedef {{ readonly buffer: Buffer, readonly view: DataView, readonly start: number, readonly end: number,
 *   forget: () => void }} Window
 */

/**
 * Walks over the chunks and frames of a checked log, and verifies each chunk that it enters.
 * @template {Window} [W=Window]
 */
class ChunkCursor {
  /**
   * @param {W} window
   * @param {Rules} rules
   * @param {Map<number, Entry[]>} unfinished  by chunk: entries of journals, applied to the bytes that the cursor reads
   * @param {number} pageStart
   * @param {boolean} [provesTogether]  whether one checksum proves all chunks in the window: for a caller that enters
   *   all of them
   */
  constructor (window, rules, unfinished, pageStart, provesTogether = false) {
    this._rules = rules
    this._unfinished = unfinished
    this.window = window
    /** The header of the chunk that was entered last. */
    this.header = new ChunkHeader()
    /** Physical position of the next byte. */
    this.at = pageStart
    /** Where the entered chunk begins and ends. When `at` is its end, the next chunk is due. */
    this.chunkStart = pageStart
    this.chunkEnd = pageStart
    /** Logical position less physical position, from `at` on. */
    this.shift = rules.shift
    /** How many bytes from `at` on the window must hold for the next step. */
    this.need = 0
    /** @type {Damage | null} why the next chunk cannot be entered */
    this.damage = null
    /** The sum of `erasedCount` over the entered chunks. */
    this.erasedCount = 0
    this._chainCrc = UNKNOWN
    this._epoch = 0
    this._provesTogether = provesTogether && rules.verify
    /** @type {ChunkRun | null} */
    this._run = null
  }

  /** Logical position of the next byte. */
  get position () {
    return this.at + this.shift
  }

  // Begins at a page, with bytes read anew: joining records has changed those in the window.
  /** @type {(pageStart: number) => void} */
  restart (pageStart) {
    this.window.forget()
    this.begin(pageStart)
  }

  /** Begins at a page whose bytes in the window are unchanged. @type {(pageStart: number) => void} */
  begin (pageStart) {
    this.at = this.chunkStart = this.chunkEnd = pageStart
    this.damage = null
    this._chainCrc = UNKNOWN
    this._epoch = 0
    this._run?.forget()
  }

  /** Continues after a known chunk, with bytes read anew. @type {(tail: import('./pack-commit').Tail) => void} */
  resume ({ end, shift, chainCrc }) {
    this.restart(end)
    this.shift = shift
    this._chainCrc = chainCrc
  }

  /** A place for `goBack`: the start of the entered chunk, or of the next one if this one is done. */
  mark () {
    const { header, at, chunkStart, chunkEnd, shift, _epoch: epoch } = this
    if (at === chunkEnd) return { end: at, shift, chainCrc: this._chainCrc, epoch }
    return { end: chunkStart, shift: header.position - chunkStart, chainCrc: header.previous, epoch: header.epoch }
  }

  // Goes back, with bytes read anew. The chunk there must be linked to the one before it, as it was the first time.
  /** @type {(mark: ReturnType<ChunkCursor['mark']>) => void} */
  goBack (mark) {
    this.resume(mark)
    this._epoch = mark.epoch
  }

  /** Sets the chain crc that the next chunk must name. @type {(chainCrc: number) => void} */
  expect (chainCrc) {
    this._chainCrc = chainCrc
  }

  /** Whether the window holds the bytes from `at` to `end`, which `need` counts. @type {(end: number) => boolean} */
  holds (end) {
    const { window, at } = this
    this.need = end - at
    return window.start <= at && window.end >= end && window.start < window.end
  }

  /** Enters the next chunk. The log ends at `limit`. Returns one of ENTRY. @type {(limit: number) => number} */
  enter (limit) {
    if (this.chunkEnd >= limit) return ENTRY.AT_END
    this.at = this.chunkEnd
    let room = PAGE_SIZE - this.at % PAGE_SIZE
    if (room < CHUNK_SIZE_MIN) {
      const fillerEnd = Math.min(limit, this.at + room)
      if (!this.holds(fillerEnd)) return ENTRY.NEEDS_BYTES
      const { buffer, start } = this.window
      if (!isZero(buffer, this.at - start, fillerEnd - start)) return this._fail(this.at + room, 'FILLER')
      this.at = this.chunkEnd = fillerEnd
      if (this.at === limit) return ENTRY.AT_END
      room = PAGE_SIZE
    }
    const pageEnd = Math.min(limit, this.at + room)
    if (!this.holds(pageEnd)) return ENTRY.NEEDS_BYTES
    if (pageEnd - this.at < CHUNK_HEADER_SIZE) return this._fail(pageEnd, 'HEADER')
    const fault = this._check(pageEnd, this._provesTogether && this._isProven(limit))
    if (fault !== null) return this._fail(pageEnd, fault)
    const { header, at } = this
    this.chunkStart = at
    this.chunkEnd = at + CHUNK_HEADER_SIZE + header.size
    this.shift = header.position - at
    this._chainCrc = header.chainCrc
    this._epoch = header.epoch
    this.erasedCount += header.erasedCount
    this.at = at + CHUNK_HEADER_SIZE + header.continued
    return ENTRY.ENTERED
  }

  // Passes the gap at the cursor. Without compaction it moves nothing: positions follow from places.
  /** @type {(size: number) => void} */
  passGap (size) {
    this.at += LENGTH_SIZE
    if (this._rules.hasGaps) this.shift += size
  }

  /** Whether the header of the chunk that cannot be entered is whole. */
  get hasHeader () {
    const { window: { buffer, view, start, end }, at, shift } = this
    return at + CHUNK_HEADER_SIZE <= end && isHeaderAt(buffer, view, at - start, at + shift, this._rules)
  }

  // Physical position of the next header after `at`, at most the end of the page or log.
  /** @type {(limit: number) => number} */
  findNextHeader (limit) {
    const pageEnd = Math.min(limit, endOfPage(this.at))
    const { window: { buffer, view, start, end }, shift } = this
    const last = Math.min(pageEnd, end) - CHUNK_HEADER_SIZE
    // Without this, a file of zeros would be searched byte by byte.
    const isHeld = this.at >= start && last >= this.at
    if (isHeld && isZero(buffer, this.at - start, last + CHUNK_HEADER_SIZE - start)) return pageEnd
    const found = findHeaderAt(buffer, view, this.at + 1 - start, last - start, start + shift, this._rules)
    return found === -1 ? pageEnd : start + found
  }

  // Continues after damage, at a position that `findNextHeader` gave. The next chunk must have at least this epoch.
  /** @type {(physical: number, epoch?: number) => void} */
  skipTo (physical, epoch = this._epoch) {
    this.at = this.chunkStart = this.chunkEnd = physical
    this.damage = null
    this._chainCrc = UNKNOWN
    this._epoch = epoch
    // The run may have divided these bytes into other chunks.
    this.proveNone(this.window.end)
  }

  /**
   * Sums the chunks up to `end` one by one, because one of them is damaged; after 0 all that follow are proven again,
   * because the window has lost its bytes.
   * @type {(end: number) => void}
   */
  proveNone (end) {
    this._run?.forget(end)
  }

  /** The entered chunk contradicts its neighbours. Returns false. @type {(fault: Fault) => boolean} */
  fail (fault) {
    this.damage = { start: this.chunkStart, end: this.chunkEnd, fault }
    this.at = this.chunkStart
    return false
  }

  /** Whether a common checksum has proven the chunk at `at`. @type {(limit: number) => boolean} */
  _isProven (limit) {
    const { window: { buffer, view, start, end }, at } = this
    if (this._run === null || at >= this._run.triedEnd) {
      const heldEnd = Math.min(end, limit)
      if (heldEnd - at < PROVEN_SIZE_MIN) return false
      this._run ??= new ChunkRun(this._rules.salt)
      this._run.prove(buffer, view, at - start, heldEnd - start, at)
    }
    return at < this._run.provenEnd
  }

  /** @type {(pageEnd: number, isProven: boolean) => Fault | null} */
  _check (pageEnd, isProven) {
    const { window: { buffer, view, start }, header, at } = this
    const entries = this._unfinished.get(at)
    if (entries) finishChunk(entries, buffer.subarray(at - start, pageEnd - start), this._rules)
    // Finishing a deletion changes bytes, so what was proven before does not count.
    const isWhole = isProven && entries === undefined
    const fault = checkChunk(buffer, view, at - start, at, pageEnd - start, this._rules, header, isWhole)
    if (fault !== null) return fault
    if (this._chainCrc !== UNKNOWN && header.previous !== this._chainCrc) return 'LINK'
    return header.epoch < this._epoch ? 'EPOCH' : null
  }

  /** @type {(end: number, fault: Fault) => number} */
  _fail (end, fault) {
    this.damage = { start: this.at, end, fault }
    return ENTRY.DAMAGED
  }
}

// Proves the headers and payloads of many chunks by one checksum over all their bytes. The checksums in the headers
// determine what it must be. One call of native code per chunk would cost a quarter of what the sum of a page takes.

/** The payload size of nearly all chunks of a log that was written in bulk. */
const FULL_SIZE = PAGE_SIZE - CHUNK_HEADER_SIZE
const SIZE_BITS = 14

/**
 * Tables for shifts: by a header, by a full payload, and by 1, 2, 4 bytes and so on, which are made when first needed.
 * `field` is the checksum of zeros in place of a header's first field, shifted to the header's end.
 * @typedef {{ header: Int32Array, full: Int32Array, powers: Int32Array[], field: number }} Tables
 */

/** Made when first needed. @type {Tables | null} */
let tables = null

/** @returns {Tables} */
function createTables () {
  const zeros = Buffer.alloc(CRC_SIZE)
  return {
    header: createShiftTable(CHUNK_HEADER_SIZE),
    full: createShiftTable(FULL_SIZE),
    powers: [],
    field: shift(createShiftTable(CHUNK_HEADER_SIZE - CRC_SIZE), crc32OfFew(zeros, 0, CRC_SIZE, 0))
  }
}

/** Proves many chunks of a log in one go, by the chain of their checksums. */
class ChunkRun {
  /** @param {number} salt  of the file */
  constructor (salt) {
    this._tables = (tables ??= createTables())
    // The salt seeds the checksums of all headers.
    const zeros = Buffer.alloc(CHUNK_HEADER_SIZE - CRC_SIZE)
    const [salted, plain] = [salt, 0].map((seed) => crc32OfFew(zeros, 0, zeros.length, seed))
    this._constant = this._tables.field ^ salted ^ plain
    /** Up to this position of the file the chunks are proven. */
    this.provenEnd = 0
    /** Up to this position a proof was tried. From `provenEnd` on a chunk may be damaged, so each is summed alone. */
    this.triedEnd = 0
    /** What the checksum of all bytes must be, as a signed number. */
    this._expected = 0
  }

  /** Forgets what is proven. Up to `until` each chunk is summed alone. @type {(until?: number) => void} */
  forget (until = 0) {
    this.provenEnd = 0
    this.triedEnd = until
  }

  // Tries to prove the chunks from `start` on, an offset in `bytes` and `view`, which begin at the same byte.
  // `physical` is that chunk's position in the file. The bytes, or the log, end at `end`.
  /** @type {(bytes: Buffer, view: DataView, start: number, end: number, physical: number) => void} */
  prove (bytes, view, start, end, physical) {
    const runEnd = this._walk(view, start, end, physical)
    // A single chunk is left to the caller, who sums it on entering.
    this.triedEnd = physical + Math.max(runEnd - start, 1)
    this.provenEnd = physical
    if (runEnd === start) return
    const sum = crc32(new Piece(bytes.buffer, bytes.byteOffset + start, runEnd - start))
    if ((sum | 0) === this._expected) this.provenEnd = this.triedEnd
  }

  // Computes `_expected`. Returns where the last whole chunk ends, or `start` if there are fewer than two.
  /** @type {(view: DataView, start: number, end: number, physical: number) => number} */
  _walk (view, start, end, physical) {
    const { _constant: constant, _tables: { header, full } } = this
    let offset = start
    let pageEnd = start + PAGE_SIZE - physical % PAGE_SIZE
    let [count, sum] = [0, 0]
    while (Math.min(pageEnd, end) - offset >= CHUNK_SIZE_MIN) {
      const size = view.getUint16(offset + PAYLOAD_SIZE_OFFSET)
      const chunkEnd = offset + CHUNK_HEADER_SIZE + size
      if (chunkEnd > pageEnd || chunkEnd > end) break
      // Append to the sum: the header's first field; the rest of the header, whose sum it is; the payload.
      const atField = sum ^ view.getInt32(offset, true)
      const atPayload = shift(header, atField) ^ view.getInt32(offset) ^ constant
      const atEnd = size === FULL_SIZE ? shift(full, atPayload) : this._shiftBy(size, atPayload)
      sum = atEnd ^ view.getInt32(offset + PAYLOAD_CRC_OFFSET)
      offset = chunkEnd
      if (offset === pageEnd) pageEnd += PAGE_SIZE
      count++
    }
    this._expected = sum
    return count < 2 ? start : offset
  }

  /** @type {(size: number, crc: number) => number} */
  _shiftBy (size, crc) {
    const { powers } = this._tables
    if (powers.length === 0) for (let bit = 0; bit < SIZE_BITS; bit++) powers.push(createShiftTable(1 << bit))
    for (let bit = 0; size >>> bit !== 0; bit++) if (size >>> bit & 1) crc = shift(powers[bit], crc)
    return crc
  }
}

exports.ChunkCursor = ChunkCursor
exports.ENTRY = ENTRY
exports.ChunkRun = ChunkRun
