'use strict'
// A log of the checked framing, once it is open: what its readers and writers share, and where each of them begins.

const { LogError } = require('@millrace/errors')
const { SyncBudget, toCallback, trampoline } = require('@millrace/flow')
const {
  CHUNK_HEADER_SIZE, ChunkHeader, FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RECORD_SIZE_MAX, SeqReservation,
  damageError, packCommit, packedSizeMax, readChunkHeader
} = require('@millrace/framing')
const { Checkpoints } = require('./append/checkpoints')
const { Eraser } = require('./append/eraser')
const { measureCompacted } = require('./compactor')
const { BackwardReader } = require('./read/backward-reader')
const { TailFollower } = require('./read/follow-log')
const { ForwardReader } = require('./read/forward-reader')
const { RecordPeeker, findPage, readRecord, scanFor } = require('./read/get-record')
const { PageCache } = require('./read/page-cache')

// Growing the file makes every sync write its size as well; so it grows by this much at a time.
const RESERVE_SIZE = 64 * 1024
// Pages that do nothing but go on with a record begin no partition. Not more are looked at than this: 16 MiB.
const PARTITION_PAGE_COUNT_MAX = 1024

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('@millrace/framing').Damage} Damage
 * @typedef {import('@millrace/framing').Entry} Entry
 * @typedef {import('@millrace/framing').Packed} Packed
 * @typedef {import('@millrace/framing').Tail} Tail
 * @typedef {import('./read/record-reader').StoreRange} StoreRange
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
    /** The name of the codec that the records are of; null if the log says none. @type {string | null} */
    this.codecName = header.codec || null
    this.supports = { atomicBatch: true, onCorrupt: true, compact: true }
    /** Whether the log has another file now. */
    this.isReplaced = false
    this.recordSizeMax = RECORD_SIZE_MAX
    /** Bytes that a frame has beside its record. */
    this.frameOverhead = LENGTH_SIZE
    /** How many bytes frames of so many take in one write at most. */
    this.writeSizeMax = packedSizeMax
    this.reserveSize = RESERVE_SIZE
    this.file = file
    this.blocks = file.blocks
    this.path = file.blocks.path
    this.maxRecordSize = file.maxRecordSize
    this.header = header
    /** @type {import('@millrace/framing').Rules} */
    this.rules = {
      verify: file.verify,
      salt: header.salt,
      shift: header.base - HEAD_SIZE,
      hasGaps: header.hasGaps
    }
    /** Deletions that a crash cut off in a log that may not be written, by chunk. @type {Map<number, Entry[]>} */
    this.unfinished = new Map()
    this.pages = new PageCache(this, file.cacheSize)
    /** Finds one record at once, if it can. */
    this.peek = new RecordPeeker(this)
    this.checkpoints = new Checkpoints(this, head)
    this.epoch = head.slot?.epoch ?? 0
    this.reservation = new SeqReservation(head, file.blocks.past === 'intact')
    /**
     * Where positions were left out, behind unclean ends.
     * @type {Array<{ start: number, position: number, shift: number }>}
     */
    this._skipped = []
    /** Where the next commit will begin. @type {Tail} */
    this.tail = { end: HEAD_SIZE, shift: this.rules.shift, chainCrc: header.salt }
    /** How far the log can be read, physically. */
    this.end = HEAD_SIZE
    /** What is missing behind the file's end. @type {Damage | null} */
    this.missing = null
    /** Seq of the last record written that is not deleted, -1 if none. */
    this.last = -1
    /** How many records, and pieces of them, were ever erased; null when that is not known. @type {number | null} */
    this.erasedCount = null
    /** What `last` was of all that was on stable storage when the log was opened. */
    this.durableLast = -1
    this._turns = new SyncBudget()
    this.eraser = new Eraser(this)
    /** @type {TailFollower | null} */
    this._tailFollower = null
    this._headBytes = head.bytes
  }

  /** Logical position after the last record that can be read. */
  get logEnd () {
    return this.file.end
  }

  /** Logical position where the next commit begins. */
  get nextPosition () {
    const { reservation, tail } = this
    return tail.end + tail.shift + reservation.sizeToSkip(tail)
  }

  /** How many bytes may still be appended. */
  get room () {
    return FILE_SIZE_MAX - this.nextPosition
  }

  /** Any record can be framed. */
  checkRecord () {
    return null
  }

  /**
   * @param {import('./appender').AppendGroup} group  what several callers append; all of it becomes one commit. It gets
   *   its seqs
   * @param {Buffer} target  large enough; good until the next call
   * @returns {Packed}
   */
  frame (group, target) {
    const { tail, epoch, rules: { salt } } = this
    const { isBehindLoss } = this.reservation
    const shift = this.nextPosition - tail.end
    const durable = this.checkpoints.durableEnd + shift
    return packCommit(group, { ...tail, shift }, { salt, epoch, durable, isBehindLoss }, target)
  }

  /** @param {Packed} packed  that is in the file now */
  noteWritten ({ tail, seq }) {
    if (this.reservation.isBehindLoss) this.noteSkipped(this.tail, tail.shift)
    this.reservation.noteSkipped()
    this.tail = tail
    this.last = seq
  }

  /** @param {Packed} packed  that can be read from now on */
  show ({ bytes, tail }) {
    this.pages.patch(bytes, tail.end - bytes.length)
    this.setEnd(tail)
  }

  /** @param {{ end: number, shift: number }} tail  of what can be read now */
  setEnd ({ end, shift }) {
    this.end = end
    this.file.end = end + shift
  }

  /**
   * From here on positions are further ahead of their places in the file than they were before.
   * @param {{ end: number, shift: number }} tail  in front of what is skipped
   * @param {number} shift  behind it
   */
  noteSkipped ({ end, shift: before }, shift) {
    this._skipped.push({ start: end, position: end + shift, shift: before })
  }

  /** Whether positions run ahead anywhere, be it only behind an unclean end. */
  get hasSkippedSeqs () {
    return this.tail.shift !== this.rules.shift
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @returns {number}  how far the log reaches in the file
   */
  toPhysicalEnd (logEnd) {
    const { end, tail } = this
    for (const { start, position, shift } of this._skipped) {
      if (logEnd <= position) return Math.min(end, start, logEnd - shift)
    }
    return Math.min(end, logEnd - tail.shift)
  }

  /**
   * Where positions are ahead a page that is from before recovery may seem to be the right one; but it does not follow
   * the one before it.
   * @param {number} pageStart
   */
  pageBefore (pageStart) {
    return Math.max(HEAD_SIZE, pageStart - PAGE_SIZE)
  }

  /**
   * @param {StoreRange} range
   * @param {Opened} cb
   */
  openReader (range, cb) {
    const { from, stop, reverse, skipsDamage, at } = range
    if (at !== undefined && at + PAGE_SIZE <= this.blocks.size.value) return this._openAt(range, at, cb)
    const bound = reverse ? Math.min(stop, this.logEnd) - 1 : Math.min(from, this.logEnd)
    findPage(this, Math.max(bound, 0), (err, pageStart = 0) => {
      if (err && !skipsDamage) return cb(err)
      // Where damage is in the way of finding the page, all of the log is gone through, from the end that comes first.
      const page = err ? this._outermostPage(reverse) : Math.max(HEAD_SIZE, pageStart)
      if (!reverse) return cb(null, new ForwardReader(this, range, this.hasSkippedSeqs ? this.pageBefore(page) : page))
      this._checkBound(stop, (err) => err ? cb(err) : cb(null, new BackwardReader(this, range, page)))
    })
  }

  /**
   * @param {StoreRange} range
   * @param {number} at
   * @param {Opened} cb
   */
  _openAt (range, at, cb) {
    this._readFirstSeq(at, (err, seq) => {
      // It may be another file by now.
      if (err || seq !== range.from) this.openReader({ ...range, at: undefined }, cb)
      else cb(null, new ForwardReader(this, range, at))
    })
  }

  /** @param {boolean} isLast */
  _outermostPage (isLast) {
    const lastByte = isLast ? Math.max(HEAD_SIZE, this.end - 1) : HEAD_SIZE
    return lastByte - lastByte % PAGE_SIZE
  }

  /**
   * @param {number} seq  where somebody goes on
   * @param {Done} cb  ERR_LOG_SEQ_LOST if what was there was lost
   */
  _checkBound (seq, cb) {
    if (!this.hasSkippedSeqs || seq >= this.logEnd) return cb(null)
    findPage(this, seq, (err, pageStart = 0) => {
      if (err) return cb(null)
      scanFor(this, seq, this.pageBefore(pageStart), false, (err) => cb(hasCode(err, 'ERR_LOG_SEQ_LOST') ? err : null))
    })
  }

  /**
   * @param {number} before  a seq
   * @param {(err: Error | null, seq?: number) => void} cb  of the last record before it that is not deleted; -1 if none
   */
  findLast (before, cb) {
    const range = { from: 0, stop: before, skipsDamage: true }
    findPage(this, Math.min(before, this.logEnd) - 1, (err, pageStart = 0) => {
      const reader = new BackwardReader(this, range, err ? this._outermostPage(true) : Math.max(HEAD_SIZE, pageStart))
      reader.next(this.logEnd, (err, records) => {
        // One that is too large to be looked at is there all the same.
        if (err) return hasCode(err, 'ERR_RECORD_TOO_LARGE') ? cb(null, err.offset) : cb(err)
        cb(null, records && records.count > 0 ? records.seqs[0] : -1)
      })
    })
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {(err: Error | null, extent?: import('./load').Extent) => void} cb
   */
  findExtent (from, stop, cb) {
    findPage(this, Math.min(from, this.logEnd), (err, page = 0) => {
      if (err) return cb(err)
      const start = Math.max(HEAD_SIZE, page)
      if (stop >= this.logEnd) return cb(null, { start, end: this.end })
      findPage(this, stop, (err, end = 0) => cb(err, { start, end }))
    })
  }

  /**
   * Where the log can be partitioned, to be read by two threads: at a page, between two records. What is read for it is
   * not verified: who reads up to there must say whether it is one.
   * @param {number} from  physical
   * @param {number} limit  physical
   * @param {(err: Error | null, start?: import('./load').PartitionStart | null) => void} cb  the first one between the
   *   two, or not far behind the first
   */
  findPartition (from, limit, cb) {
    let page = Math.ceil(from / PAGE_SIZE) * PAGE_SIZE
    const last = Math.min(limit, page + PARTITION_PAGE_COUNT_MAX * PAGE_SIZE) - PAGE_SIZE
    trampoline((next) => {
      if (page > last) return cb(null, null)
      this._readFirstSeq(page, (err, seq = null) => {
        if (err || seq !== null) return cb(err, seq === null ? null : { seq, at: page })
        page += PAGE_SIZE
        next()
      })
    })
  }

  /**
   * @param {number} page  physical
   * @param {(err: Error | null, seq?: number | null) => void} cb  the first seq that can begin on it; null if none can
   */
  _readFirstSeq (page, cb) {
    const bytes = Buffer.alloc(CHUNK_HEADER_SIZE)
    this.blocks.readInto(bytes, page, (err) => {
      if (err) return cb(err)
      const header = new ChunkHeader()
      readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, header)
      // Where a record fills the page it may go on.
      const isOne = header.size > 0 && CHUNK_HEADER_SIZE + header.continued < PAGE_SIZE
      cb(null, isOne ? header.firstSeq : null)
    })
  }

  /**
   * @param {unknown} seq
   * @param {(err: Error | null, found?: import('./getter').Found) => void} cb
   */
  readRecord (seq, cb) {
    readRecord(this, seq, (err, found) => err ? cb(err) : this._turns.deliver(cb, found))
  }

  /**
   * @param {number[]} seqs
   * @param {Done} cb
   */
  deleteRecords (seqs, cb) {
    this.eraser.erase(seqs, cb)
  }

  /**
   * Takes in what another process committed. The file's size must be known anew.
   * @param {(err: Error | null, news?: import('./follower').News) => void} cb
   */
  follow (cb) {
    this._tailFollower ??= new TailFollower(this, this._headBytes)
    this._tailFollower.follow(cb)
  }

  /** Forgets every byte that was kept: another process may have changed it. */
  forget () {
    this.pages.drop(0, Infinity)
    this.blocks.invalidate()
  }

  cacheStats () {
    return this.pages.stats()
  }

  /**
   * @param {(err: Error | null, size?: number | null) => void} cb  what a compaction would give back; null if
   *   damage is in the way
   */
  measureReclaimable (cb) {
    const { end } = this
    toCallback(measureCompacted(this), (err, size = 0) => cb(null, err ? null : Math.max(0, end - size)))
  }

  /**
   * @param {number} seen  how many deletions the log has
   * @param {number} limit  in front of that position
   */
  miscount (seen, limit) {
    return new LogError('ERR_LOG_CORRUPT', `${this.erasedCount} records were deleted from ${this.path}, but ${seen} are found deleted: ` +
      `part of the file before ${limit} is older than a deletion. Keep a copy of the file`,
    { offset: HEAD_SIZE, path: this.path })
  }

  /**
   * What a reader of all of the log finds by itself, for those who have read a part each.
   * @param {number} begunAt  where in the file the first of them began
   * @param {number} seen  how many deletions there are from there to the end
   */
  findMiscount (begunAt, seen) {
    if (begunAt !== HEAD_SIZE || this.erasedCount === null || this.erasedCount === seen) return null
    return this.miscount(seen, this.end)
  }

  /** @param {Damage} damage */
  damageError (damage) {
    return damageError(damage, this.path)
  }
}

/**
 * @param {Error | null} err
 * @param {string} code
 * @returns {err is LogError}
 */
function hasCode (err, code) {
  return err instanceof LogError && err.code === code
}

exports.CheckedStore = CheckedStore
