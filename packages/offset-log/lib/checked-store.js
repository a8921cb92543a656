'use strict'
// A log of the checked framing, once it is open: what its readers and writers share, and where each of them is found.

const { LogError } = require('@millrace/errors')
const { SyncBudget, toCallback } = require('@millrace/flow')
const {
  FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RECORD_SIZE_MAX, SeqReservation, damageError, packCommit,
  packedSizeMax
} = require('@millrace/framing')
const { Checkpoints, SkippedSeqs, beginOfNext, needsPreparing, prepareAppend } = require('./append/checkpoints')
const { Eraser } = require('./append/eraser')
const { measureCompacted } = require('./compactor')
const { TailFollower } = require('./read/follow-log')
const { RecordPeeker, readRecord } = require('./read/get-record')
const { findExtent, findLast, findPage, findPartition, openReader } = require('./read/open-reader')
const { PageCache } = require('./read/page-cache')

// Growing the file makes every sync write its size as well; so it grows by this much at a time.
const RESERVE_SIZE = 64 * 1024

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./appender').AppendGroup} AppendGroup
 * @typedef {import('./load').Framed} Framed
 * @typedef {import('./load').Mark} Mark
 * @typedef {import('@millrace/framing').Damage} Damage
 * @typedef {import('@millrace/framing').Entry} Entry
 * @typedef {import('@millrace/framing').Tail} Tail
 * @typedef {import('./follower').News} News
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
    this._skippedSeqs = new SkippedSeqs()
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

  /** How many bytes may still be appended. */
  get room () {
    return FILE_SIZE_MAX - beginOfNext(this)
  }

  /** Whether the next open will find all there is to know in a slot. */
  get isClean () {
    return this.checkpoints.isClean
  }

  /** Whether there is nothing to be done before the log is closed. */
  get isFinished () {
    return this.checkpoints.isFinished
  }

  /** @param {number} size  @returns {boolean} */
  needsPreparing (size) {
    return needsPreparing(this, size)
  }

  /**
   * @param {number} size
   * @param {Done} cb
   */
  prepareAppend (size, cb) {
    prepareAppend(this, size, cb)
  }

  cacheStats () {
    return this.pages.stats()
  }

  /** Any record can be framed. */
  checkRecord () {
    return null
  }

  /**
   * @param {number} dataSize  bytes of records
   * @param {number} count  of them
   * @returns {number}  bytes of their frames
   */
  sizeOf (dataSize, count) {
    return dataSize + count * LENGTH_SIZE
  }

  /**
   * @param {number} size  of frames
   * @returns {number}  bytes that they take in one write at most
   */
  writeSizeMax (size) {
    return packedSizeMax(size)
  }

  /**
   * @param {AppendGroup} group  what several callers append; all of it becomes one commit. It gets its seqs
   * @param {Buffer} target  large enough; good until the next call
   * @returns {Framed}
   */
  frame (group, target) {
    const { tail, epoch, rules: { salt } } = this
    const { isBehindLoss } = this.reservation
    const shift = tail.shift + this.reservation.sizeToSkip(tail)
    const durable = this.checkpoints.durableEnd + shift
    const packed = packCommit(group, { ...tail, shift }, { salt, epoch, durable, isBehindLoss }, target)
    return {
      bytes: packed.bytes,
      written: () => {
        if (isBehindLoss) this.noteSkipped(tail, shift)
        this.reservation.noteSkipped()
        this.tail = packed.tail
        this.last = packed.seq
      },
      settle: () => {
        this.pages.patch(packed.bytes, tail.end)
        this.setEnd(packed.tail)
      }
    }
  }

  /** @param {Tail} tail  of what can be read now */
  setEnd ({ end, shift }) {
    this.end = end
    this.file.end = end + shift
  }

  /**
   * @param {{ end: number, shift: number }} tail  in front of it
   * @param {number} shift  behind it
   */
  noteSkipped (tail, shift) {
    this._skippedSeqs.note(tail, shift)
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @returns {number}
   */
  toPhysicalEnd (logEnd) {
    return this._skippedSeqs.toPhysicalEnd(logEnd, this)
  }

  /**
   * @param {number} seq
   * @param {(err: Error | null, pageStart?: number) => void} cb  the page where a record of that seq would begin
   */
  findPage (seq, cb) {
    findPage(this, seq, cb)
  }

  /** Whether positions run ahead anywhere, be it only behind an unclean end. */
  get hasSkippedSeqs () {
    return this.tail.shift !== this.rules.shift
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
   * @param {number} before  a seq
   * @param {(err: Error | null, seq?: number) => void} cb  of the last record before it that is not deleted; -1 if none
   */
  findLast (before, cb) {
    findLast(this, before, cb)
  }

  /**
   * @param {import('./read/open-reader').StoreRange} range
   * @param {import('./codec').RecordFilter | null} isWanted
   * @param {import('./read/open-reader').Opened} cb
   */
  openReader (range, isWanted, cb) {
    openReader(this, range, isWanted, cb)
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {(err: Error | null, extent?: import('./load').Extent) => void} cb
   */
  findExtent (from, stop, cb) {
    findExtent(this, from, stop, cb)
  }

  /**
   * @param {number} from
   * @param {number} limit
   * @param {(err: Error | null, start?: import('./load').PartitionStart | null) => void} cb
   */
  findPartition (from, limit, cb) {
    findPartition(this, from, limit, cb)
  }

  /**
   * @param {unknown} seq
   * @param {(err: Error | null, found?: import('./read/get-record').Found) => void} cb
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
   * @param {(err: Error | null, news?: News) => void} cb
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

  /**
   * @param {(err: Error | null, size?: number | null) => void} cb  what a compaction would give back; null if
   *   damage is in the way
   */
  measureReclaimable (cb) {
    const { end } = this
    toCallback(measureCompacted(this), (err, size = 0) => cb(null, err ? null : Math.max(0, end - size)))
  }

  /** @returns {Mark}  what a sync that begins now will have covered */
  mark () {
    const { tail: { end, shift, chainCrc }, last } = this
    return { since: this.file.writtenSince, end, shift, chainCrc, last }
  }

  /**
   * @param {Mark} mark
   * @param {boolean} isTimely  whether the last checkpoint is long ago
   */
  synced (mark, isTimely) {
    this.checkpoints.synced(mark, isTimely)
  }

  /** @param {Done} cb  all is on stable storage, and the next open need not look for the end */
  finish (cb) {
    this.checkpoints.finish(cb)
  }

  /** Whether all that was written is known here, and nothing is being erased: so the log can be finished at once. */
  get canFinishNow () {
    return this.blocks.size.value === this.tail.end && this.eraser.isIdle && this.checkpoints.canFinishNow
  }

  /** @throws what the file system says */
  finishNow () {
    this.checkpoints.finishNow()
  }

  /**
   * @param {number} seen  how many deletions the log has
   * @param {number} limit  in front of that position
   */
  miscount (seen, limit) {
    return new LogError('ERR_LOG_CORRUPT', `${this.erasedCount} records were deleted from ${this.path}, but ${seen} are: ` +
      `part of the file before ${limit} is from before a deletion. Keep a copy of the file`,
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

exports.CheckedStore = CheckedStore
