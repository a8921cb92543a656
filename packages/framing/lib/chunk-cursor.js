'use strict'
// Goes from chunk to chunk of a checked log in a window over the file, and lets nothing through that does not verify.

const { Piece } = require('@millrace/flow')
const {
  CRC_SIZE, ChunkHeader, PAYLOAD_CRC_OFFSET, PAYLOAD_SIZE_OFFSET, checkChunk, findHeaderAt, isHeaderAt
} = require('./chunk-header')
const { crc32, crc32OfFew, createShiftTable, shift } = require('./crc32')
const { finishChunk } = require('./journal')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, LENGTH_SIZE, PAGE_SIZE, endOfPage, isZero } = require('./layout')

/** How an attempt to enter the next chunk ended. */
const ENTRY = Object.freeze({ ENTERED: 0, NEEDS_BYTES: 1, AT_END: 2, DAMAGED: 3 })
const UNKNOWN = -1
// For less, a sum for each is soon made: the tables that one for all needs take 1 to 4 ms, once.
const PROVEN_SIZE_MIN = 2 * PAGE_SIZE
const NO_VIEW = new DataView(new ArrayBuffer(0))

/**
 * @typedef {import('./chunk-header').Rules} Rules
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./faults').Damage} Damage
 * @typedef {import('./faults').Fault} Fault
 */

/**
 * Bytes of the file, from position `start` to `end`. Whoever drives the cursor fills it.
 * @typedef {{ readonly buffer: Buffer, readonly start: number, readonly end: number, forget: () => void }} Window
 */

/** @template {Window} [W=Window] */
class ChunkCursor {
  /**
   * @param {W} window
   * @param {Rules} rules
   * @param {Map<number, Entry[]>} unfinished  deletions that a crash cut off and that nobody may finish, by chunk
   * @param {number} pageStart
   */
  constructor (window, rules, unfinished, pageStart) {
    this._rules = rules
    this._unfinished = unfinished
    this.window = window
    /** @type {DataView} */
    this.view = NO_VIEW
    /** @type {Buffer | null} what it is a view of */
    this._viewed = null
    /** The header of the chunk that was entered last. */
    this.header = new ChunkHeader()
    /** Physical position of the next byte. */
    this.at = pageStart
    /** Where the entered chunk begins and ends; `at` is its end when the next one is to be entered. */
    this.chunkStart = pageStart
    this.chunkEnd = pageStart
    /** Logical position less the physical one, from `at` on. */
    this.shift = rules.shift
    /** How many bytes from `at` are needed to go on. */
    this.need = 0
    /** @type {Damage | null} why the next chunk cannot be entered */
    this.damage = null
    /** How many erased frames the chunks had that were entered. */
    this.erasedCount = 0
    this._chainCrc = UNKNOWN
    this._epoch = 0
    this._provesTogether = false
    /** @type {ChunkRun | null} */
    this._run = null
  }

  /**
   * From now on all chunks that the window holds may be proven at once, before the first of them is entered. For
   * whoever will enter them all.
   */
  proveTogether () {
    this._provesTogether = this._rules.verify
  }

  /** Logical position of the next byte. */
  get position () {
    return this.at + this.shift
  }

  /**
   * Begins anew, with bytes read anew: records may have been put together in those at hand.
   * @param {number} pageStart
   */
  restart (pageStart) {
    this.window.forget()
    this.begin(pageStart)
  }

  /**
   * Begins at a page whose bytes nobody has changed.
   * @param {number} pageStart
   */
  begin (pageStart) {
    this.at = this.chunkStart = this.chunkEnd = pageStart
    this.damage = null
    this._chainCrc = UNKNOWN
    this._epoch = 0
    this._run?.forget()
  }

  /**
   * Begins behind a chunk that is known, with bytes read anew.
   * @param {import('./pack-commit').Tail} tail
   */
  resume ({ end, shift, chainCrc }) {
    this.restart(end)
    this.shift = shift
    this._chainCrc = chainCrc
  }

  /** Where one can go back to, to read again what comes there: the chunk to be entered next, or the entered one. */
  mark () {
    const { header, at, chunkStart, chunkEnd, shift, _epoch: epoch } = this
    if (at === chunkEnd) return { end: at, shift, chainCrc: this._chainCrc, epoch }
    return { end: chunkStart, shift: header.position - chunkStart, chainCrc: header.previous, epoch: header.epoch }
  }

  /**
   * Goes back, with bytes read anew: what comes there must follow what came before it as it had to the first time.
   * @param {ReturnType<ChunkCursor['mark']>} mark
   */
  goBack (mark) {
    this.resume(mark)
    this._epoch = mark.epoch
  }

  /**
   * Says what the chunk before the next one is.
   * @param {number} chainCrc
   */
  expect (chainCrc) {
    this._chainCrc = chainCrc
  }

  /** Whether the window holds the bytes from `at` to there. @param {number} end */
  holds (end) {
    const { window } = this
    this._lookAgain()
    return window.start <= this.at && window.end >= end && window.start < window.end
  }

  /**
   * The window was filled, or could not be.
   * @param {Error | null} err
   */
  noteLoaded (err) {
    // What it held is gone.
    if (err) this.proveNone(0)
    this._lookAgain()
  }

  /**
   * Enters the chunk that begins where the last one ended.
   * @param {number} limit  how far the log reaches
   * @returns {number}  one of ENTRY
   */
  enter (limit) {
    if (this.chunkEnd >= limit) return ENTRY.AT_END
    this.at = this.chunkEnd
    let room = PAGE_SIZE - this.at % PAGE_SIZE
    if (room < CHUNK_SIZE_MIN) {
      const fillerEnd = Math.min(limit, this.at + room)
      if (!this._holdsNext(fillerEnd)) return ENTRY.NEEDS_BYTES
      const { buffer, start } = this.window
      if (!isZero(buffer, this.at - start, fillerEnd - start)) return this._fail(this.at + room, 'FILLER')
      this.at = this.chunkEnd = fillerEnd
      if (this.at === limit) return ENTRY.AT_END
      room = PAGE_SIZE
    }
    const pageEnd = Math.min(limit, this.at + room)
    if (!this._holdsNext(pageEnd)) return ENTRY.NEEDS_BYTES
    if (pageEnd - this.at < CHUNK_HEADER_SIZE) return this._fail(pageEnd, 'HEADER')
    const fault = this._check(pageEnd, this._provesTogether && this._isProven(limit))
    if (fault !== null) return this._fail(pageEnd, fault)
    this._goInto()
    return ENTRY.ENTERED
  }

  /**
   * Passes the gap at the cursor. In a file that was never compacted none moves anything: there every position follows
   * from its place.
   * @param {number} size
   */
  passGap (size) {
    this.at += LENGTH_SIZE
    if (this._rules.hasGaps) this.shift += size
  }

  /** Whether the header of the chunk that cannot be entered is whole. */
  get hasHeader () {
    const { window: { buffer, start, end }, view, at, shift } = this
    return at + CHUNK_HEADER_SIZE <= end && isHeaderAt(buffer, view, at - start, at + shift, this._rules)
  }

  /**
   * Looks for the next place, from one byte after `at` on, that has a chunk's header; at the latest the next page.
   * @param {number} limit
   * @returns {number}  physical
   */
  findNextHeader (limit) {
    const pageEnd = Math.min(limit, endOfPage(this.at))
    const { window: { buffer, start, end }, view, shift } = this
    const last = Math.min(pageEnd, end) - CHUNK_HEADER_SIZE
    // So a file of zeros takes no longer than reading it.
    const isHeld = this.at >= start && last >= this.at
    if (isHeld && isZero(buffer, this.at - start, last + CHUNK_HEADER_SIZE - start)) return pageEnd
    const found = findHeaderAt(buffer, view, this.at + 1 - start, last - start, start + shift, this._rules)
    return found === -1 ? pageEnd : start + found
  }

  /**
   * Goes on behind damage.
   * @param {number} physical  what `findNextHeader` gave
   * @param {number} [epoch]  the least that what comes there may have
   */
  skipTo (physical, epoch = this._epoch) {
    this.at = this.chunkStart = this.chunkEnd = physical
    this.damage = null
    this._chainCrc = UNKNOWN
    this._epoch = epoch
    // It may be no place where a chunk was taken to begin.
    this.proveNone(this.window.end)
  }

  /** @param {number} end  up to where chunks are to be summed one by one, since one of them is damaged */
  proveNone (end) {
    this._run?.forget(end)
  }

  /**
   * The entered chunk is not what its neighbours make of it.
   * @param {Fault} fault
   */
  fail (fault) {
    this.damage = { start: this.chunkStart, end: this.chunkEnd, fault }
    this.at = this.chunkStart
    return false
  }

  /** The window may have a new buffer. */
  _lookAgain () {
    const { buffer } = this.window
    if (buffer === this._viewed) return
    this._viewed = buffer
    this.view = new DataView(buffer.buffer)
  }

  /** @param {number} end */
  _holdsNext (end) {
    this.need = end - this.at
    return this.holds(end)
  }

  /**
   * @param {number} limit
   * @returns {boolean}  whether the chunk at `at` has the sums that it says
   */
  _isProven (limit) {
    const { window: { buffer, start, end }, view, at } = this
    if (this._run === null || at >= this._run.triedEnd) {
      const heldEnd = Math.min(end, limit)
      if (heldEnd - at < PROVEN_SIZE_MIN) return false
      this._run ??= new ChunkRun(this._rules.salt)
      this._run.prove(buffer, view, at - start, heldEnd - start, at)
    }
    return at < this._run.provenEnd
  }

  /**
   * @param {number} pageEnd
   * @param {boolean} isProven
   * @returns {Fault | null}
   */
  _check (pageEnd, isProven) {
    const { window: { buffer, start }, view, header, at } = this
    const entries = this._unfinished.get(at)
    if (entries) finishChunk(entries, buffer.subarray(at - start, pageEnd - start), this._rules)
    // What was finished has other bytes now.
    const isWhole = isProven && entries === undefined
    const fault = checkChunk(buffer, view, at - start, at, pageEnd - start, this._rules, header, isWhole)
    if (fault !== null) return fault
    if (this._chainCrc !== UNKNOWN && header.previous !== this._chainCrc) return 'LINK'
    return header.epoch < this._epoch ? 'EPOCH' : null
  }

  /** The chunk at `at` is good: its fields are what to go on with. */
  _goInto () {
    const { header, at } = this
    this.chunkStart = at
    this.chunkEnd = at + CHUNK_HEADER_SIZE + header.size
    this.shift = header.position - at
    this._chainCrc = header.chainCrc
    this._epoch = header.epoch
    this.erasedCount += header.erasedCount
    this.at = at + CHUNK_HEADER_SIZE + header.continued
  }

  /**
   * @param {number} end
   * @param {Fault} fault
   */
  _fail (end, fault) {
    this.damage = { start: this.at, end, fault }
    return ENTRY.DAMAGED
  }
}

// Proves many chunks, headers and payloads, by one checksum over all of them: what it should be follows from the sums
// that their headers say. To ask native code for each of them is a quarter of what a page's sum takes.

/** Nearly all chunks of a log that was written in bulk have so much payload. */
const FULL_SIZE = PAGE_SIZE - CHUNK_HEADER_SIZE
const SIZE_BITS = 14

/**
 * @typedef {object} Tables  for shifts by sizes
 * @property {Int32Array} header
 * @property {Int32Array} full
 * @property {Int32Array[]} powers  1, 2, 4 and so on: made when first needed
 * @property {number} field  what the sum of a header's first field becomes, were it zeros, at the header's end
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

class ChunkRun {
  /** @param {number} salt  of the file */
  constructor (salt) {
    this._tables = (tables ??= createTables())
    // The sums of all headers begin with the salt.
    const zeros = Buffer.alloc(CHUNK_HEADER_SIZE - CRC_SIZE)
    const [salted, plain] = [salt, 0].map((seed) => crc32OfFew(zeros, 0, zeros.length, seed))
    this._constant = this._tables.field ^ salted ^ plain
    /** Up to where in the file chunks have the sums that they say. */
    this.provenEnd = 0
    /** Up to where that was looked at. From `provenEnd` on one of them may be damaged: they are summed one by one. */
    this.triedEnd = 0
    /** What the sum of all bytes should be, as a signed number. */
    this._expected = 0
  }

  /**
   * Nothing is proven.
   * @param {number} [until]  up to where chunks are to be summed one by one
   */
  forget (until = 0) {
    this.provenEnd = 0
    this.triedEnd = until
  }

  /**
   * @param {Buffer} bytes
   * @param {DataView} view  over the same memory, from the same start
   * @param {number} start  offset of a chunk
   * @param {number} end  how far the bytes, and the log, reach
   * @param {number} physical  where the chunk is in the file
   */
  prove (bytes, view, start, end, physical) {
    const runEnd = this._walk(view, start, end, physical)
    // One that is the only one is summed by whoever enters it.
    this.triedEnd = physical + Math.max(runEnd - start, 1)
    this.provenEnd = physical
    if (runEnd === start) return
    const sum = crc32(new Piece(bytes.buffer, bytes.byteOffset + start, runEnd - start))
    if ((sum | 0) === this._expected) this.provenEnd = this.triedEnd
  }

  /**
   * @param {DataView} view
   * @param {number} start
   * @param {number} end
   * @param {number} physical
   * @returns {number}  where the last whole chunk ends; `start` where there are not two
   */
  _walk (view, start, end, physical) {
    const { _constant: constant, _tables: { header, full } } = this
    let offset = start
    let pageEnd = start + PAGE_SIZE - physical % PAGE_SIZE
    let [count, sum] = [0, 0]
    while (Math.min(pageEnd, end) - offset >= CHUNK_SIZE_MIN) {
      const size = view.getUint16(offset + PAYLOAD_SIZE_OFFSET)
      const chunkEnd = offset + CHUNK_HEADER_SIZE + size
      if (chunkEnd > pageEnd || chunkEnd > end) break
      // Behind the chunks before: the field of the header's sum, the rest of the header, whose sum it is, the payload.
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

  /**
   * @param {number} size
   * @param {number} crc
   */
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
