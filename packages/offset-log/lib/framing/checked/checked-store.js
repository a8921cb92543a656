'use strict'
// A log of the checked framing, once it is open: what its readers and writers share, and where each of them is found.

const { Turns } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { BackwardReader } = require('./backward-reader')
const { Checkpoints } = require('./checkpoints')
const { measureCompacted } = require('./compactor')
const { Eraser } = require('./eraser')
const { findCut, readCut } = require('./find-cut')
const { findPage } = require('./find-page')
const { ForwardReader } = require('./forward-reader')
const { FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RECORD_SIZE_MAX } = require('./layout')
const { packCommit, packedSizeMax } = require('./pack-commit')
const { PageCache } = require('./page-cache')
const { RecordPeeker } = require('./peek-record')
const { readRecord, scanFor } = require('./read-record')
const { Session } = require('./session')
const { damageError } = require('./record-reader')
const { TailFollower } = require('./tail-follower')

// Growing the file makes every sync write its size as well; so it grows by this much at a time.
const RESERVE_SIZE = 64 * 1024

/**
 * @typedef {import('../../log-file').LogFile} LogFile
 * @typedef {import('../../append-group').AppendGroup} AppendGroup
 * @typedef {import('../../log-file').Framed} Framed
 * @typedef {import('../../log-file').Mark} Mark
 * @typedef {import('../../range').Range & Pick<import('./record-reader').Wanted, 'onLoss'>} StoreRange
 * @typedef {import('./chunk-cursor').Damage} Damage
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./pack-commit').Tail} Tail
 * @typedef {import('../../follower').News} News
 * @typedef {(err: Error | null) => void} Done
 */

class CheckedStore {
  /**
   * @param {LogFile} file
   * @param {import('./head').Head} head
   */
  constructor (file, head) {
    const { header } = head
    this.name = 'checked'
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
    /** @type {import('./chunk-header').Rules} */
    this.rules = {
      verify: file.verify,
      salt: header.salt,
      shift: header.base - HEAD_SIZE,
      hasGaps: header.hasGaps,
      hasJumps: header.hasJumps
    }
    /** Deletions that a crash cut off in a log that may not be written, by chunk. @type {Map<number, Entry[]>} */
    this.unfinished = new Map()
    this.pages = new PageCache(this, file.cacheSize)
    /** Finds one record at once, if it can. */
    this.peek = new RecordPeeker(this)
    this.checkpoints = new Checkpoints(this, head)
    this.epoch = head.slot?.epoch ?? 0
    this.session = new Session(head, file.blocks.wasIntact)
    /**
     * Where positions were left out since the log was opened, and how far they were ahead before.
     * @type {Array<{ start: number, position: number, shift: number }>}
     */
    this._jumps = []
    /** Where the next commit will begin. @type {Tail} */
    this.tail = { end: HEAD_SIZE, shift: this.rules.shift, identity: header.salt }
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
    this._turns = new Turns()
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
    return FILE_SIZE_MAX - this.tail.end - this.tail.shift - this.session.jumpFrom(this.tail)
  }

  /** Whether the next open will find all there is to know in a slot. */
  get isClean () {
    return this.checkpoints.isClean
  }

  /** Whether there is nothing to be done before the log is closed. */
  get isFinished () {
    return this.checkpoints.isFinished
  }

  /**
   * Whether a commit must wait until `prepareAppend` has called back.
   * @param {number} size  at most
   */
  needsPreparing (size) {
    const { session, tail } = this
    const isUnknown = session.isKept && !session.isVouchedFor && !session.isBehindLoss
    return isUnknown || !session.canReach(tail.end + tail.shift + session.jumpFrom(tail) + size)
  }

  /**
   * Nobody may see a record before it is on stable storage how far records may go: if the power then takes them, their
   * positions are known not to be free.
   * @param {number} size  that the next commit has at most
   * @param {Done} cb
   */
  prepareAppend (size, cb) {
    const { session, tail, file: { durability }, blocks } = this
    const begin = tail.end + tail.shift + session.jumpFrom(tail)
    const vouch = (/** @type {Done} */ cb) => {
      if (session.isVouchedFor || session.isBehindLoss) return cb(null)
      session.isVouchedFor = true
      // Who cannot is taken for one that may have lost something, and no harm is done.
      blocks.vouch(true, () => cb(null))
    }
    if (session.canReach(begin + size)) return vouch(cb)
    durability.runExclusive((done) => this.checkpoints.raiseCeiling(begin, (err) => {
      done()
      if (err) cb(err)
      else vouch(cb)
    }))
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
    const { isBehindLoss } = this.session
    const shift = tail.shift + this.session.jumpFrom(tail)
    const durable = this.checkpoints.durableEnd + shift
    const packed = packCommit(group, { ...tail, shift }, { salt, epoch, durable, isBehindLoss }, target)
    return {
      bytes: packed.bytes,
      written: () => {
        if (isBehindLoss) this.noteJump(tail, shift)
        this.session.noteJump()
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
  noteJump ({ end, shift: before }, shift) {
    this._jumps.push({ start: end, position: end + shift, shift: before })
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @returns {number}
   */
  toPhysicalEnd (logEnd) {
    for (const { start, position, shift } of this._jumps) {
      if (logEnd <= position) return Math.min(this.end, start, logEnd - shift)
    }
    return Math.min(this.end, logEnd - this.tail.shift)
  }

  /**
   * @param {number} seq
   * @param {(err: Error | null, pageStart?: number) => void} cb  the page where a record of that seq would begin
   */
  findPage (seq, cb) {
    findPage(this, seq, cb)
  }

  /** Whether positions run ahead anywhere, be it only behind an unclean end. */
  get hasJumps () {
    return this.rules.hasJumps && this.tail.shift !== this.rules.shift
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
   * @param {number} seq  where somebody goes on
   * @param {(err: Error | null) => void} cb  ERR_LOG_SEQ_LOST if what was there was lost
   */
  checkBound (seq, cb) {
    if (!this.hasJumps || seq >= this.logEnd) return cb(null)
    findPage(this, seq, (err, pageStart = 0) => {
      if (err) return cb(null)
      scanFor(this, seq, this.pageBefore(pageStart), false, (err) => cb(isOfLoss(err) ? err : null))
    })
  }

  /**
   * @param {number} before  a seq
   * @param {(err: Error | null, seq?: number) => void} cb  of the last record before it that is not deleted; -1 if none
   */
  findLast (before, cb) {
    const wanted = { from: 0, stop: before, isWanted: null, skipsDamage: true }
    findPage(this, Math.min(before, this.logEnd) - 1, (err, pageStart = 0) => {
      const reader = new BackwardReader(this, wanted, err ? HEAD_SIZE : Math.max(HEAD_SIZE, pageStart))
      reader.next(this.logEnd, (err, chunk) => {
        // One that is too large to be looked at is there all the same.
        if (err) return isTooLarge(err) ? cb(null, err.offset) : cb(err)
        cb(null, chunk && chunk.count > 0 ? chunk.seqs[0] : -1)
      })
    })
  }

  /**
   * @param {StoreRange} range
   * @param {import('../../codec').RecordFilter | null} isWanted
   * @param {(err: Error | null, reader?: ForwardReader | BackwardReader) => void} cb
   */
  openReader (range, isWanted, cb) {
    const { from, stop, skipsDamage = false, onLoss, isKept, at } = range
    const wanted = { from, stop, isWanted, skipsDamage, onLoss, isKept, provesTogether: true }
    if (at === undefined) return this._openReader(wanted, range.reverse, cb)
    // It may be another file by now.
    const isPage = at + PAGE_SIZE <= this.blocks.size.value
    const read = isPage ? readCut : (/** @type {any} */ store, /** @type {any} */ at, /** @type {any} */ cb) => cb(null)
    read(this, at, (err, seq) => {
      if (err || seq !== from) this._openReader(wanted, false, cb)
      else cb(null, new ForwardReader(this, wanted, at))
    })
  }

  /**
   * @param {import('./record-reader').Wanted} wanted
   * @param {boolean} reverse
   * @param {(err: Error | null, reader?: ForwardReader | BackwardReader) => void} cb
   */
  _openReader (wanted, reverse, cb) {
    const { from, stop, skipsDamage } = wanted
    const bound = reverse ? Math.min(stop, this.logEnd) - 1 : Math.min(from, this.logEnd)
    findPage(this, Math.max(bound, 0), (err, pageStart = 0) => {
      if (err && !skipsDamage) return cb(err)
      const page = Math.max(HEAD_SIZE, err ? HEAD_SIZE : pageStart)
      if (!reverse) return cb(null, new ForwardReader(this, wanted, this.hasJumps ? this.pageBefore(page) : page))
      this.checkBound(stop, (err) => err ? cb(err) : cb(null, new BackwardReader(this, wanted, page)))
    })
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {(err: Error | null, extent?: import('../../log-file').Extent) => void} cb
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
   * @param {number} from
   * @param {number} limit
   * @param {(err: Error | null, cut?: import('../../log-file').Cut | null) => void} cb
   */
  findCut (from, limit, cb) {
    findCut(this, from, limit, cb)
  }

  /**
   * @param {unknown} seq
   * @param {(err: Error | null, found?: import('./read-record').Found) => void} cb
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
    measureCompacted(this, (err, size = 0) => cb(null, err ? null : Math.max(0, end - size)))
  }

  /** @returns {Mark}  what a sync that begins now will have covered */
  mark () {
    const { tail: { end, shift, identity }, last } = this
    return { since: this.file.writtenSince, end, shift, identity, last }
  }

  /** @param {Done} cb */
  prepareSync (cb) {
    this.checkpoints.rewriteUntrusted(cb)
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

/** @param {Error | null} err */
function isOfLoss (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_SEQ_LOST'
}

/**
 * @param {Error} err
 * @returns {err is LogError}
 */
function isTooLarge (err) {
  return err instanceof LogError && err.code === 'ERR_RECORD_TOO_LARGE'
}

exports.CheckedStore = CheckedStore
