'use strict'
// Packs the records that compaction keeps into as few pages as possible. Each record keeps its seq: what is left out
// between two records becomes a gap, or a page that begins further on. Works on bytes, without any I/O.

const { LogError } = require('@millrace/errors')
const { ChunkHeader, writeChunkHeader } = require('./chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE,
  SPLIT_SIZE_MIN
} = require('./layout')

// If a chunk begins with the rest of a record, its position is unknown until its first frame comes.
const UNKNOWN = -1

/** @typedef {import('./pack-commit').Tail} Tail */

/** Writes records into pages again, with the seqs that they have. */
class Repacker {
  #salt
  #base
  #path
  #onPage
  #page = Buffer.alloc(PAGE_SIZE)
  #header = new ChunkHeader()
  /** Physical position of the page. */
  #pageStart = HEAD_SIZE
  /** Bytes of the page that are filled. */
  #offset = 0
  /** Logical position of the next frame, if nothing is left out before it. */
  #logical
  /** Where in the page the open chunk begins: with the page, unless the chunk is next to an unclean end. */
  #start = 0
  /** Logical position of the open chunk. */
  #position = UNKNOWN
  /** Where the first chunk after an unclean end must begin; UNKNOWN if none is due. */
  #skippedTo = UNKNOWN
  /** Whether the open chunk is the first one after an unclean end. */
  #isAfterLoss = false

  /**
   * @param {object} log
   * @param {number} log.salt
   * @param {number} log.epoch
   * @param {number} log.base  logical position of the first page
   * @param {string} log.path  for errors
   * @param {(bytes: Buffer) => void} onPage  gets each page, or the last part of one; valid until it returns
   */
  constructor ({ salt, epoch, base, path }, onPage) {
    this.#salt = salt
    this.#base = this.#logical = base
    this.#path = path
    this.#onPage = onPage
    this.#header.epoch = epoch
    // Nothing of the new file is on stable storage yet.
    this.#header.durable = base
    this.#header.previous = salt
  }

  // Adds a record, with a seq above those before.
  /** @type {(seq: number, buffer: Buffer, start: number, end: number) => void} */
  add (seq, buffer, start, end) {
    const size = end - start
    this.#beginFrame(seq, LENGTH_SIZE + Math.min(size, SPLIT_SIZE_MIN))
    this.#putLength(FRAME_TYPES.RECORD, size)
    for (;;) {
      const count = Math.min(end - start, PAGE_SIZE - this.#offset)
      buffer.copy(this.#page, this.#offset, start, start + count)
      this.#offset += count
      this.#logical += count
      start += count
      if (start === end) return
      this.#closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
      this.#openChunk(Math.min(end - start, PAGE_SIZE - CHUNK_HEADER_SIZE))
    }
  }

  // Keeps an unclean end: the records before it ended at `end`, and continue at `position`. Both are logical.
  /** @type {(end: number, position: number) => void} */
  skipSeqs (end, position) {
    this.#endAt(end)
    this.#skippedTo = position
  }

  /** Ends the log at `logicalEnd`, even if its last records are left out. @type {(logicalEnd: number) => Tail} */
  finish (logicalEnd) {
    this.#endAt(logicalEnd)
    if (this.#offset > 0) this.#putPage()
    return { end: this.#pageStart, shift: logicalEnd - this.#pageStart, chainCrc: this.#header.previous }
  }

  /** Ends the last chunk exactly there. @type {(logicalEnd: number) => void} */
  #endAt (logicalEnd) {
    if (this.#skippedTo !== UNKNOWN || logicalEnd > this.#base) this.#fillTo(logicalEnd)
    if (this.#isOpen) this.#closeChunk(0)
  }

  get #isOpen () {
    return this.#offset > this.#start
  }

  /** Fills up with a gap, in a chunk of its own if necessary. @type {(logicalEnd: number) => void} */
  #fillTo (logicalEnd) {
    this.#openAfterLoss()
    if (this.#isOpen) {
      if (this.#position === UNKNOWN) this.#placeChunk(logicalEnd)
      const gap = logicalEnd - this.#logical
      // The last bytes of a page are too few for a frame.
      if (gap < 0) throw this.#behind(logicalEnd)
      if (gap < LENGTH_SIZE) return
      const fits = PAGE_SIZE - this.#offset >= LENGTH_SIZE && gap - LENGTH_SIZE <= FRAME_LENGTH_MASK
      if (fits) return this.#putLength(FRAME_TYPES.GAP, gap - LENGTH_SIZE)
      if (this.#isTooNear(logicalEnd)) return
      this.#padPage()
    }
    this.#openChunk(0)
    this.#placeChunk(logicalEnd - LENGTH_SIZE)
    this.#putLength(FRAME_TYPES.GAP, 0)
  }

  // The last record crossed the end of its page, and now ends there. So the page has no room for a gap, and in the next
  // page a gap would end too late. Only a few bytes of that record and a header are missing, so no seq is used twice.
  /** @type {(logicalEnd: number) => boolean} */
  #isTooNear (logicalEnd) {
    const room = PAGE_SIZE - this.#offset
    return room < LENGTH_SIZE && !this.#canBegin(logicalEnd - CHUNK_SIZE_MIN, this.#pageStart + PAGE_SIZE)
  }

  // Makes room for a frame at `seq`, of which `size` bytes must fit into the page.
  /** @type {(seq: number, size: number) => void} */
  #beginFrame (seq, size) {
    this.#openAfterLoss()
    if (this.#isOpen && this.#position === UNKNOWN) this.#placeChunk(seq)
    const gap = seq - this.#logical
    const gapSize = gap === 0 || !this.#isOpen ? 0 : LENGTH_SIZE
    const isGapTooLarge = gap - LENGTH_SIZE > FRAME_LENGTH_MASK
    if (this.#isOpen && (isGapTooLarge || PAGE_SIZE - this.#offset < gapSize + size)) this.#padPage()
    if (!this.#isOpen) {
      this.#openChunk(0)
      this.#placeChunk(seq)
    } else if (gap !== 0) {
      if (gap < LENGTH_SIZE) throw this.#behind(seq)
      this.#putLength(FRAME_TYPES.GAP, gap - LENGTH_SIZE)
      this.#logical = seq
    }
  }

  #padPage () {
    const room = PAGE_SIZE - this.#offset
    if (room >= LENGTH_SIZE) this.#putLength(FRAME_TYPES.PADDING, room - LENGTH_SIZE)
    this.#page.fill(0, this.#offset)
    this.#offset = PAGE_SIZE
    this.#closeChunk(0)
  }

  /** The first chunk after an unclean end keeps its position, whatever page it lies in. */
  #openAfterLoss () {
    if (this.#skippedTo === UNKNOWN) return
    if (PAGE_SIZE - this.#offset < CHUNK_SIZE_MIN) {
      this.#page.fill(0, this.#offset)
      this.#offset = PAGE_SIZE
      this.#putPage()
    }
    this.#openChunk(0)
    this.#position = this.#skippedTo
    this.#logical = this.#skippedTo + CHUNK_HEADER_SIZE
    this.#isAfterLoss = true
    this.#skippedTo = UNKNOWN
  }

  /** @param {number} continued */
  #openChunk (continued) {
    this.#header.continued = continued
    this.#position = UNKNOWN
    this.#start = this.#offset
    this.#offset += CHUNK_HEADER_SIZE
    this.#logical += CHUNK_HEADER_SIZE
  }

  /** Gives the chunk the position that its first frame needs. @type {(seq: number) => void} */
  #placeChunk (seq) {
    const position = seq - CHUNK_HEADER_SIZE - this.#header.continued
    if (!this.#canBegin(position, this.#pageStart)) throw this.#behind(seq)
    this.#position = position
    this.#logical = seq
  }

  /** Records only move towards the start of the file. @type {(position: number, pageStart: number) => boolean} */
  #canBegin (position, pageStart) {
    return position >= pageStart - HEAD_SIZE + this.#base
  }

  /** @param {number} flags */
  #closeChunk (flags) {
    const [header, start, end] = [this.#header, this.#start, this.#offset]
    header.size = end - start - CHUNK_HEADER_SIZE
    header.flags = flags | (this.#isAfterLoss ? CHUNK_FLAGS.AFTER_LOSS : 0)
    // A chunk that is only a piece of a record follows the chunk before.
    header.position = this.#position === UNKNOWN ? this.#logical - (end - start) : this.#position
    writeChunkHeader(header, this.#page, start, this.#salt)
    header.previous = header.crc
    this.#start = end
    this.#isAfterLoss = false
    if (end === PAGE_SIZE) this.#putPage()
  }

  #putPage () {
    this.#onPage(this.#page.subarray(0, this.#offset))
    this.#pageStart += this.#offset
    this.#start = this.#offset = 0
  }

  /** @type {(type: number, size: number) => void} */
  #putLength (type, size) {
    this.#offset = this.#page.writeUInt32BE(type * 2 ** 30 + size, this.#offset)
    this.#logical += LENGTH_SIZE
  }

  /** No writer of this version makes a log where this happens. @type {(seq: number) => LogError} */
  #behind (seq) {
    return new LogError('ERR_NOT_SUPPORTED', `compact: the record ${seq} of ${this.#path} would move away from the start ` +
      'of the file, so it cannot keep its seq; nothing was changed', { offset: seq, path: this.#path })
  }
}

exports.Repacker = Repacker
