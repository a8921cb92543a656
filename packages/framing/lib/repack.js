'use strict'
// Packs the records that compaction keeps into as few pages as they need, each with the seq that it had. What is left
// out between two records becomes a gap, or a page that begins further on. Bytes only, no I/O.

const { LogError } = require('@millrace/errors')
const { ChunkHeader, writeChunkHeader } = require('./chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE,
  SPLIT_SIZE_MIN
} = require('./layout')

// The position of a chunk that begins with the rest of a record is known once its first frame is.
const UNKNOWN = -1

/** @typedef {import('./pack-commit').Tail} Tail */

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
  /** Logical position of the next frame, if it follows the one before. */
  #logical
  /** Where in the page the open chunk begins: with it, unless something was lost in front of the chunk. */
  #start = 0
  /** Logical position of the open chunk. */
  #position = UNKNOWN
  /** Where a chunk must begin that comes after an unclean end; UNKNOWN when none is due. */
  #skippedTo = UNKNOWN
  /** Whether the open chunk is such a one. */
  #isBehindLoss = false

  /**
   * @param {object} log
   * @param {number} log.salt
   * @param {number} log.epoch
   * @param {number} log.base  logical position of the first page
   * @param {string} log.path  for errors
   * @param {(bytes: Buffer) => void} onPage  gets a page, or the last part of one; good until it returns
   */
  constructor ({ salt, epoch, base, path }, onPage) {
    this.#salt = salt
    this.#base = this.#logical = base
    this.#path = path
    this.#onPage = onPage
    this.#header.epoch = epoch
    // Nothing of the new file is on stable storage while it is being written.
    this.#header.durable = base
    this.#header.previous = salt
  }

  /** How large the file is so far. */
  get end () {
    return this.#pageStart + this.#offset
  }

  /**
   * @param {number} seq  above those before
   * @param {Buffer} buffer
   * @param {number} start
   * @param {number} end
   */
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

  /**
   * Keeps an unclean end.
   * @param {number} end  logical position where the records before it ended, whatever was left out before that
   * @param {number} position  where they go on
   */
  skipSeqs (end, position) {
    this.#endAt(end)
    this.#skippedTo = position
  }

  /**
   * @param {number} logicalEnd  where the log ends, whatever was left out before it
   * @returns {Tail}
   */
  finish (logicalEnd) {
    this.#endAt(logicalEnd)
    if (this.#offset > 0) this.#putPage()
    return { end: this.#pageStart, shift: logicalEnd - this.#pageStart, chainCrc: this.#header.previous }
  }

  /**
   * The last chunk ends exactly there.
   * @param {number} logicalEnd
   */
  #endAt (logicalEnd) {
    if (this.#skippedTo !== UNKNOWN || logicalEnd > this.#base) this.#fillTo(logicalEnd)
    if (this.#isOpen) this.#closeChunk(0)
  }

  get #isOpen () {
    return this.#offset > this.#start
  }

  /**
   * Ends with a gap, in a chunk of its own if need be.
   * @param {number} logicalEnd
   */
  #fillTo (logicalEnd) {
    this.#openBehindLoss()
    if (this.#isOpen) {
      if (this.#position === UNKNOWN) this.#placeChunk(logicalEnd)
      const gap = logicalEnd - this.#logical
      if (gap === 0) return
      if (gap < LENGTH_SIZE) throw this.#behind(logicalEnd)
      const fits = PAGE_SIZE - this.#offset >= LENGTH_SIZE && gap - LENGTH_SIZE <= FRAME_LENGTH_MASK
      if (fits) return this.#putLength(FRAME_TYPES.GAP, gap - LENGTH_SIZE)
      this.#padPage()
    }
    this.#openChunk(0)
    this.#placeChunk(logicalEnd - LENGTH_SIZE)
    this.#putLength(FRAME_TYPES.GAP, 0)
  }

  /**
   * Makes room for a frame that begins at this logical position.
   * @param {number} seq
   * @param {number} size  how much of it must fit in the page
   */
  #beginFrame (seq, size) {
    this.#openBehindLoss()
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

  /** Nothing more begins in the page. */
  #padPage () {
    const room = PAGE_SIZE - this.#offset
    if (room >= LENGTH_SIZE) this.#putLength(FRAME_TYPES.PADDING, room - LENGTH_SIZE)
    this.#page.fill(0, this.#offset)
    this.#offset = PAGE_SIZE
    this.#closeChunk(0)
  }

  /** Behind an unclean end a chunk begins where it began, in whatever page that is now. */
  #openBehindLoss () {
    if (this.#skippedTo === UNKNOWN) return
    if (PAGE_SIZE - this.#offset < CHUNK_SIZE_MIN) {
      this.#page.fill(0, this.#offset)
      this.#offset = PAGE_SIZE
      this.#putPage()
    }
    this.#openChunk(0)
    this.#position = this.#skippedTo
    this.#logical = this.#skippedTo + CHUNK_HEADER_SIZE
    this.#isBehindLoss = true
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

  /**
   * The chunk is where its first frame wants it.
   * @param {number} seq
   */
  #placeChunk (seq) {
    const position = seq - CHUNK_HEADER_SIZE - this.#header.continued
    if (position < this.#pageStart - HEAD_SIZE + this.#base) throw this.#behind(seq)
    this.#position = position
    this.#logical = seq
  }

  /** @param {number} flags */
  #closeChunk (flags) {
    const [header, start, end] = [this.#header, this.#start, this.#offset]
    header.size = end - start - CHUNK_HEADER_SIZE
    header.flags = flags | (this.#isBehindLoss ? CHUNK_FLAGS.BEHIND_LOSS : 0)
    // One that is nothing but a piece of a record follows the chunk before.
    header.position = this.#position === UNKNOWN ? this.#logical - (end - start) : this.#position
    writeChunkHeader(header, this.#page, start, this.#salt)
    header.previous = header.crc
    this.#start = end
    this.#isBehindLoss = false
    if (end === PAGE_SIZE) this.#putPage()
  }

  #putPage () {
    this.#onPage(this.#page.subarray(0, this.#offset))
    this.#pageStart += this.#offset
    this.#start = this.#offset = 0
  }

  /**
   * @param {number} type
   * @param {number} size
   */
  #putLength (type, size) {
    this.#offset = this.#page.writeUInt32BE(type * 2 ** 30 + size, this.#offset)
    this.#logical += LENGTH_SIZE
  }

  /**
   * No writer of this version makes such a log; then nothing is changed.
   * @param {number} seq
   */
  #behind (seq) {
    return new LogError('ERR_NOT_SUPPORTED', `compact: the record ${seq} of ${this.#path} would move away from the start ` +
      'of the file, so it cannot keep its seq; nothing was changed', { offset: seq, path: this.#path })
  }
}

exports.Repacker = Repacker
