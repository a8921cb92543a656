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
  /**
   * @param {object} log
   * @param {number} log.salt
   * @param {number} log.epoch
   * @param {number} log.base  logical position of the first page
   * @param {string} log.path  for errors
   * @param {(bytes: Buffer) => void} onPage  gets a page, or the last part of one; good until it returns
   */
  constructor ({ salt, epoch, base, path }, onPage) {
    this._salt = salt
    this._base = base
    this._path = path
    this._onPage = onPage
    this._page = Buffer.alloc(PAGE_SIZE)
    this._header = new ChunkHeader()
    this._header.epoch = epoch
    // Nothing of the new file is on stable storage while it is being written.
    this._header.durable = base
    this._header.previous = salt
    /** Physical position of the page. */
    this._pageStart = HEAD_SIZE
    /** Bytes of the page that are filled. */
    this._offset = 0
    /** Logical position of the next frame, if it follows the one before. */
    this._logical = base
    /** Where in the page the open chunk begins: with it, unless something was lost in front of the chunk. */
    this._start = 0
    /** Logical position of the open chunk. */
    this._position = UNKNOWN
    /** Where a chunk must begin that comes after an unclean end; UNKNOWN when none is due. */
    this._skippedTo = UNKNOWN
    /** Whether the open chunk is such a one. */
    this._isBehindLoss = false
  }

  /** How large the file is so far. */
  get end () {
    return this._pageStart + this._offset
  }

  /**
   * @param {number} seq  above those before
   * @param {Buffer} buffer
   * @param {number} start
   * @param {number} end
   */
  add (seq, buffer, start, end) {
    const size = end - start
    this._beginFrame(seq, LENGTH_SIZE + Math.min(size, SPLIT_SIZE_MIN))
    this._putLength(FRAME_TYPES.RECORD, size)
    for (;;) {
      const count = Math.min(end - start, PAGE_SIZE - this._offset)
      buffer.copy(this._page, this._offset, start, start + count)
      this._offset += count
      this._logical += count
      start += count
      if (start === end) return
      this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
      this._openChunk(Math.min(end - start, PAGE_SIZE - CHUNK_HEADER_SIZE))
    }
  }

  /**
   * Keeps an unclean end.
   * @param {number} end  logical position where the records before it ended, whatever was left out before that
   * @param {number} position  where they go on
   */
  skipSeqs (end, position) {
    this._endAt(end)
    this._skippedTo = position
  }

  /**
   * @param {number} logicalEnd  where the log ends, whatever was left out before it
   * @returns {Tail}
   */
  finish (logicalEnd) {
    this._endAt(logicalEnd)
    if (this._offset > 0) this._putPage()
    return { end: this._pageStart, shift: logicalEnd - this._pageStart, chainCrc: this._header.previous }
  }

  /**
   * The last chunk ends exactly there.
   * @param {number} logicalEnd
   */
  _endAt (logicalEnd) {
    if (this._skippedTo !== UNKNOWN || logicalEnd > this._base) this._fillTo(logicalEnd)
    if (this._isOpen) this._closeChunk(0)
  }

  get _isOpen () {
    return this._offset > this._start
  }

  /**
   * Ends with a gap, in a chunk of its own if need be.
   * @param {number} logicalEnd
   */
  _fillTo (logicalEnd) {
    this._openBehindLoss()
    if (this._isOpen) {
      if (this._position === UNKNOWN) this._settlePosition(logicalEnd)
      const gap = logicalEnd - this._logical
      if (gap === 0) return
      if (gap < LENGTH_SIZE) throw this._behind(logicalEnd)
      const fits = PAGE_SIZE - this._offset >= LENGTH_SIZE && gap - LENGTH_SIZE <= FRAME_LENGTH_MASK
      if (fits) return this._putLength(FRAME_TYPES.GAP, gap - LENGTH_SIZE)
      this._padPage()
    }
    this._openChunk(0)
    this._settlePosition(logicalEnd - LENGTH_SIZE)
    this._putLength(FRAME_TYPES.GAP, 0)
  }

  /**
   * Makes room for a frame that begins at this logical position.
   * @param {number} seq
   * @param {number} size  how much of it must fit in the page
   */
  _beginFrame (seq, size) {
    this._openBehindLoss()
    if (this._isOpen && this._position === UNKNOWN) this._settlePosition(seq)
    const gap = seq - this._logical
    const gapSize = gap === 0 || !this._isOpen ? 0 : LENGTH_SIZE
    const isGapTooLarge = gap - LENGTH_SIZE > FRAME_LENGTH_MASK
    if (this._isOpen && (isGapTooLarge || PAGE_SIZE - this._offset < gapSize + size)) this._padPage()
    if (!this._isOpen) {
      this._openChunk(0)
      this._settlePosition(seq)
    } else if (gap !== 0) {
      if (gap < LENGTH_SIZE) throw this._behind(seq)
      this._putLength(FRAME_TYPES.GAP, gap - LENGTH_SIZE)
      this._logical = seq
    }
  }

  /** Nothing more begins in the page. */
  _padPage () {
    const room = PAGE_SIZE - this._offset
    if (room >= LENGTH_SIZE) this._putLength(FRAME_TYPES.PADDING, room - LENGTH_SIZE)
    this._page.fill(0, this._offset)
    this._offset = PAGE_SIZE
    this._closeChunk(0)
  }

  /** Behind an unclean end a chunk begins where it began, in whatever page that is now. */
  _openBehindLoss () {
    if (this._skippedTo === UNKNOWN) return
    if (PAGE_SIZE - this._offset < CHUNK_SIZE_MIN) {
      this._page.fill(0, this._offset)
      this._offset = PAGE_SIZE
      this._putPage()
    }
    this._openChunk(0)
    this._position = this._skippedTo
    this._logical = this._skippedTo + CHUNK_HEADER_SIZE
    this._isBehindLoss = true
    this._skippedTo = UNKNOWN
  }

  /** @param {number} continued */
  _openChunk (continued) {
    this._header.continued = continued
    this._position = UNKNOWN
    this._start = this._offset
    this._offset += CHUNK_HEADER_SIZE
    this._logical += CHUNK_HEADER_SIZE
  }

  /**
   * The chunk is where its first frame wants it.
   * @param {number} seq
   */
  _settlePosition (seq) {
    const position = seq - CHUNK_HEADER_SIZE - this._header.continued
    if (position < this._pageStart - HEAD_SIZE + this._base) throw this._behind(seq)
    this._position = position
    this._logical = seq
  }

  /** @param {number} flags */
  _closeChunk (flags) {
    const { _header: header, _start: start, _offset: end } = this
    header.size = end - start - CHUNK_HEADER_SIZE
    header.flags = flags | (this._isBehindLoss ? CHUNK_FLAGS.BEHIND_LOSS : 0)
    // One that is nothing but a piece of a record follows the chunk before.
    header.position = this._position === UNKNOWN ? this._logical - (end - start) : this._position
    writeChunkHeader(header, this._page, start, this._salt)
    header.previous = header.crc
    this._start = end
    this._isBehindLoss = false
    if (end === PAGE_SIZE) this._putPage()
  }

  _putPage () {
    this._onPage(this._page.subarray(0, this._offset))
    this._pageStart += this._offset
    this._start = this._offset = 0
  }

  /**
   * @param {number} type
   * @param {number} size
   */
  _putLength (type, size) {
    this._offset = this._page.writeUInt32BE(type * 2 ** 30 + size, this._offset)
    this._logical += LENGTH_SIZE
  }

  /**
   * No writer of this version makes such a log; then nothing is changed.
   * @param {number} seq
   */
  _behind (seq) {
    return new LogError('ERR_NOT_SUPPORTED', `compact: the record ${seq} of ${this._path} would move away from the start ` +
      'of the file, so it cannot keep its seq; nothing was changed', { offset: seq, path: this._path })
  }
}

exports.Repacker = Repacker
