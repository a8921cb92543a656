'use strict'
// The store of a log of the checked framing: the state that its readers and writers share, and the entry to each of
// them.

const { LogError } = require('@millrace/errors')
const { SyncBudget, trampoline } = require('@millrace/flow')
const {
  CHUNK_HEADER_SIZE, ChunkHeader, FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RECORD_SIZE_MAX, SeqReservation,
  damageError, packCommit, packedSizeMax, readChunkHeader
} = require('@millrace/framing')
const { Checkpoints } = require('./append/checkpoints')
const { Eraser } = require('./append/eraser')
const { measureCompacted } = require('./compactor')
const { FileWords, WORDS_RECORD_SIZE_MAX, isWordsRecord } = require('./file-words')
const { BackwardReader } = require('./read/checked-backward-reader')
const { TailFollower } = require('./read/follow-checked')
const { ForwardReader } = require('./read/checked-reader')
const { RecordPeeker, findPage, readRecord, scanFor } = require('./read/checked-record')
const { PageCache } = require('./read/page-cache')

// A sync that must also write the file's size is slower, so the file grows by this much at a time.
const RESERVE_SIZE = 64 * 1024

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('@millrace/framing').Damage} Damage
 * @typedef {import('@millrace/framing').Entry} Entry
 * @typedef {import('@millrace/framing').Packed} Packed
 * @typedef {Packed & { words?: import('./file-words').WordsWritten }} Framed
 * @typedef {import('@millrace/framing').Tail} Tail
 * @typedef {import('./read/checked-reader').StoreRange} StoreRange
 * @typedef {(err: Error | null, reader?: ForwardReader | BackwardReader) => void} Opened
 * @typedef {(err: Error | null) => void} Done
 */

class CheckedStore {
  /**
   * @param {LogFile} file
   * @param {import('@millrace/framing').Head} head
   */
  constructor (file, head) {
    const { header } = head
    this.name = 'checked'
    this.isChecked = /** @type {const} */ (true)
    this.isLines = /** @type {const} */ (false)
    /** The name of the codec in the head; null if there is none. @type {string | null} */
    this.codecName = header.codec || null
    this.supports = { atomicBatch: true, onCorrupt: true, compact: true, del: true, uniqueSeqs: true }
    /** The words of a file with a dictionary; null without. */
    this.words = header.hasWords ? new FileWords() : null
    /** A packed record takes at most one byte more than the record. */
    const packing = this.words === null ? 0 : 1
    this.recordSizeMax = RECORD_SIZE_MAX - packing
    /** The size of a frame less that of its record. */
    this.frameOverhead = LENGTH_SIZE + packing
    this.reserveSize = RESERVE_SIZE
    /** Any record can be framed. */
    this.checkRecord = null
    this.file = file
    this.blocks = file.blocks
    this.path = file.blocks.path
    /** Of records as they are in the file. */
    this.maxRecordSize = Math.max(file.maxRecordSize + packing, packing * WORDS_RECORD_SIZE_MAX)
    this.header = header
    /** @type {import('@millrace/framing').Rules} */
    this.rules = {
      verify: file.verify,
      salt: header.salt,
      shift: header.base - HEAD_SIZE,
      hasGaps: header.hasGaps
    }
    /** Unfinished deletions of a log that may not be written, by chunk. @type {Map<number, Entry[]>} */
    this.unfinished = new Map()
    /** Null until a page is wanted: whoever only appends and streams needs none. @type {PageCache | null} */
    this._pages = null
    /** @type {RecordPeeker | null} */
    this._peek = null
    this.checkpoints = new Checkpoints(this, head)
    this.epoch = head.slot?.epoch ?? 0
    this.reservation = new SeqReservation(head, ['intact', 'unsynced'].includes(file.blocks.past))
    /**
     * Where positions were skipped, after unclean ends.
     * @type {Array<{ start: number, position: number, shift: number }>}
     */
    this._skipped = []
    /** Where the last written commit ends. @type {Tail} */
    this.tail = { end: HEAD_SIZE, shift: this.rules.shift, chainCrc: header.salt }
    /** Physical position after the last readable commit. */
    this.end = HEAD_SIZE
    /** Logical position after the last readable record. */
    this.logEnd = 0
    /** What should lie after the file's end but is missing. @type {Damage | null} */
    this.missing = null
    /** Seq of the last written record that is not deleted, -1 if none. */
    this.last = -1
    /** How many records, and pieces of records, were ever erased; null if unknown. @type {number | null} */
    this.erasedCount = null
    /** The value of `last` for the part of the log that was durable when it was opened. */
    this.durableLast = -1
    this._turns = new SyncBudget()
    /** Null until the first deletion. @type {Eraser | null} */
    this.eraser = null
    /** @type {TailFollower | null} */
    this._tailFollower = null
    /** Only a log that follows compares them. */
    this._headBytes = file.blocks.flags === 'r' ? head.bytes : null
  }

  /** Verified pages, for reads of single records. */
  get pages () {
    return (this._pages ??= new PageCache(this))
  }

  /** Gets a record without waiting, if it can. */
  get peek () {
    return (this._peek ??= new RecordPeeker(this))
  }

  /** Names the log. */
  get id () {
    return this.header.id
  }

  /** Logical position where the next commit begins. */
  get nextPosition () {
    const { reservation, tail } = this
    return tail.end + tail.shift + (reservation.isAfterLoss ? reservation.sizeToSkip(tail) : 0)
  }

  /** How many bytes can still be appended. */
  get room () {
    return FILE_SIZE_MAX - this.nextPosition
  }

  /** How many bytes one write of frames of this total size takes at most. @param {number} size */
  writeSizeMax (size) {
    return packedSizeMax(this.words === null ? size : this.words.framesSizeMax(size, this.nextPosition))
  }

  /**
   * @param {import('./commit').Frameable} group  becomes one commit; its `seqs` are set
   * @param {Buffer} target  large enough; the result uses its memory, until the next call
   * @returns {Framed}
   */
  frame (group, target) {
    const { tail, epoch, rules: { salt }, nextPosition } = this
    const { isAfterLoss } = this.reservation
    const shift = nextPosition - tail.end
    const durable = this.checkpoints.durableEnd + shift
    const writer = { salt, epoch, durable, isAfterLoss }
    if (this.words === null) return packCommit(group, { ...tail, shift }, writer, target)
    const { packed, words } = this.words.pack(group, nextPosition)
    return Object.assign(packCommit(packed, { ...tail, shift }, writer, target), { words })
  }

  /** @param {Framed} framed  was written to the file */
  noteWritten ({ tail, seq, words }) {
    if (words) this.words?.noteWritten(words)
    if (this.reservation.isAfterLoss) {
      this.noteSkipped(this.tail, tail.shift)
      this.reservation.noteSkipped()
    }
    this.tail = tail
    this.last = seq
  }

  /** @param {Packed} packed  becomes readable */
  show ({ bytes, tail }) {
    if (this._pages !== null) this._pages.patch(bytes, tail.end - bytes.length)
    this.setEnd(tail)
  }

  /** @param {{ end: number, shift: number }} tail  of what is readable */
  setEnd ({ end, shift }) {
    this.end = end
    this.logEnd = end + shift
  }

  /**
   * Notes that positions were skipped.
   * @param {{ end: number, shift: number }} tail  before the skipped positions
   * @param {number} shift  after them
   */
  noteSkipped ({ end, shift: before }, shift) {
    this._skipped.push({ start: end, position: end + shift, shift: before })
  }

  /** Whether any positions were skipped, even only after the last record. */
  get hasSkippedSeqs () {
    return this.tail.shift !== this.rules.shift
  }

  /**
   * @param {number} logEnd  a logical position, not below the log's end when it was opened
   * @returns {number}  the physical end of the log up to there
   */
  toPhysicalEnd (logEnd) {
    const { end, tail } = this
    for (const { start, position, shift } of this._skipped) {
      if (logEnd <= position) return Math.min(end, start, logEnd - shift)
    }
    return Math.min(end, logEnd - tail.shift)
  }

  /**
   * Where a reader begins if positions were skipped. A page from before a recovery may then seem to be the right one.
   * The reader can tell, because that page does not follow the page before it.
   * @param {number} pageStart
   */
  pageBefore (pageStart) {
    return Math.max(HEAD_SIZE, pageStart - PAGE_SIZE)
  }

  /** @type {(range: StoreRange, cb: Opened) => void} */
  openReader (range, cb) {
    const { from, stop, reverse, skipsDamage } = range
    // The first page needs no search.
    if (!reverse && from - this.rules.shift <= HEAD_SIZE) return cb(null, new ForwardReader(this, range, HEAD_SIZE))
    const bound = reverse ? Math.min(stop, this.logEnd) - 1 : Math.min(from, this.logEnd)
    findPage(this, Math.max(bound, 0), (err, pageStart = 0) => {
      if (err && !skipsDamage) return cb(err)
      // If damage prevents finding the page, the reader walks the whole log from one end.
      const page = err ? this._outermostPage(reverse) : Math.max(HEAD_SIZE, pageStart)
      if (!reverse) return cb(null, new ForwardReader(this, range, this.hasSkippedSeqs ? this.pageBefore(page) : page))
      this._checkBound(stop, (err) => err ? cb(err) : cb(null, new BackwardReader(this, range, page)))
    })
  }

  /** @param {boolean} isLast */
  _outermostPage (isLast) {
    const lastByte = isLast ? Math.max(HEAD_SIZE, this.end - 1) : HEAD_SIZE
    return lastByte - lastByte % PAGE_SIZE
  }

  /**
   * @param {number} seq  the bound where reading begins
   * @param {Done} cb  ERR_LOG_SEQ_LOST if the records there were lost
   */
  _checkBound (seq, cb) {
    if (!this.hasSkippedSeqs || seq >= this.logEnd) return cb(null)
    findPage(this, seq, (err, pageStart = 0) => {
      if (err) return cb(null)
      scanFor(this, seq, this.pageBefore(pageStart), false, (err) => cb(hasCode(err, 'ERR_LOG_SEQ_LOST') ? err : null))
    })
  }

  /**
   * For opening and following: damage is not looked at again.
   * @param {number} before  a seq
   * @param {(err: Error | null, seq?: number) => void} cb  the last undeleted record below `before`; -1 if none
   */
  findLast (before, cb) {
    const range = { from: 0, stop: before, skipsDamage: true, looksAgain: false }
    findPage(this, Math.min(before, this.logEnd) - 1, (err, pageStart = 0) => {
      const reader = new BackwardReader(this, range, err ? this._outermostPage(true) : Math.max(HEAD_SIZE, pageStart))
      trampoline((next) => reader.next(this.logEnd, (err, records) => {
        // A record that is too large to be read still counts.
        if (err) return hasCode(err, 'ERR_RECORD_TOO_LARGE') ? cb(null, err.offset) : cb(err)
        if (!records || records.count === 0) return cb(null, -1)
        const index = this.words === null ? 0 : findRecordIndex(records)
        if (index === -1) next()
        else cb(null, records.seqs[index])
      }))
    })
  }

  /** Where the records are in the file, from the first one on. */
  get extent () {
    return { start: HEAD_SIZE + CHUNK_HEADER_SIZE, end: this.end }
  }

  /**
   * Finds the first record that begins on the page of a position, or on a later one. Nothing is verified: whoever reads
   * from there is told of damage.
   * @param {number} physical
   * @param {(err: Error | null, found?: { seq: number, position: number } | null) => void} cb  `seq`: the lowest that
   *   the record can have; `position`: in the file. Null if there is no such record
   */
  findOnPage (physical, cb) {
    const bytes = Buffer.alloc(CHUNK_HEADER_SIZE)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const header = new ChunkHeader()
    let page = physical - physical % PAGE_SIZE
    trampoline((next) => {
      if (page + CHUNK_HEADER_SIZE > this.end) return cb(null, null)
      this.blocks.readInto(bytes, page, (err) => {
        if (err) return cb(err)
        readChunkHeader(view, 0, header)
        // A record that fills the page may continue on the next one.
        const start = CHUNK_HEADER_SIZE + header.continued
        if (header.size > 0 && start < PAGE_SIZE) return cb(null, { seq: header.firstSeq, position: page + start })
        page += PAGE_SIZE
        next()
      })
    })
  }

  /** @type {(seq: unknown, cb: (err: Error | null, found?: import('./getter').Found) => void) => void} */
  readRecord (seq, cb) {
    readRecord(this, seq, (err, found) => err ? cb(err) : this._turns.deliver(cb, found))
  }

  /** @type {(seqs: number[], cb: Done) => void} */
  deleteRecords (seqs, cb) {
    this.eraser ??= new Eraser(this, 0)
    this.eraser.erase(seqs, cb)
  }

  /**
   * Finds what another process committed. Refresh the file's size first.
   * @type {(cb: (err: Error | null, news?: import('./follower').News) => void) => void}
   */
  follow (cb) {
    this._tailFollower ??= new TailFollower(this, /** @type {Buffer} */ (this._headBytes))
    this._tailFollower.follow(cb)
  }

  /** Empties the caches, because another process may have changed the file. */
  forget () {
    this._pages?.drop(0, Infinity)
    this.blocks.invalidate()
  }

  cacheStats () {
    return this.pages.stats()
  }

  /** @returns {Promise<number | null>}  bytes that a compaction would free; null if damaged */
  async measureReclaimable () {
    const { end } = this
    const size = await measureCompacted(this).catch(() => null)
    return size === null ? null : Math.max(0, end - size)
  }

  /**
   * @param {number} seen  how many deletions a reader found
   * @param {number} limit  where it stopped
   */
  miscount (seen, limit) {
    return new LogError('ERR_LOG_CORRUPT', `${this.erasedCount} records were deleted from ${this.path}, but ${seen} are found deleted: ` +
      `part of the file before ${limit} is older than a deletion. Keep a copy of the file`,
    { offset: HEAD_SIZE, path: this.path })
  }

  /** @param {Damage} damage */
  damageError (damage) {
    return damageError(damage, this.path)
  }
}

/** The index of the first record that is no words record; -1 if none. @param {import('./record-run').RecordRun} run */
function findRecordIndex ({ buffer, starts, ends, count }) {
  for (let index = 0; index < count; index++) if (!isWordsRecord(buffer, starts[index], ends[index])) return index
  return -1
}

/** @type {(err: Error | null, code: string) => err is LogError} */
function hasCode (err, code) {
  return err instanceof LogError && err.code === code
}

exports.CheckedStore = CheckedStore
