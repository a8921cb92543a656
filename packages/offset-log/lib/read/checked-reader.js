'use strict'
// Reads the undeleted records of a range, a run at a time: first what the readers of a checked log in both directions
// share, which is the run, damage and what was lost; then the one that reads in order. The records stay where they are
// in a window over the file.

const {
  CHUNK_FLAGS, ENTRY, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, ChunkCursor, assembleRecord,
  findReach, findRecordEnd, tooLargeToRead
} = require('@millrace/framing')
const { seqLost } = require('../errors')
const { RecordRun } = require('../record-run')

const { ENTERED, NEEDS_BYTES, AT_END, DAMAGED } = ENTRY
const NO_MARK = { end: 0, shift: 0, chainCrc: 0, epoch: 0 }
// More places than one read can meet again.
const CONFIRMED_COUNT_MAX = 65536

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Damage} Damage
 */

/**
 * @typedef {object} Wanted
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {boolean} [skipsDamage]
 * @property {boolean} [isSingle]  only one record is wanted, so its chunks need not be proven together. The caller
 *   reads again what looks damaged
 * @property {boolean} [looksAgain]  whether what looks damaged is read again after another look of the follower; true
 *   by default, unless `isSingle`. False for what a look reads: it would wait for its own end
 * @property {(end: number, position: number) => void} [onLoss]  called at each unclean end: the logical position where
 *   the log ended, and the one where it continues
 * @property {boolean} [keepsBytes]  whether the caller may keep the bytes of the runs
 * @property {boolean} [isStrict]  for copies: everything is verified, and no record is too large
 * @typedef {Wanted & { reverse: boolean }} StoreRange
 */

class RecordReader {
  /**
   * @param {CheckedStore} store
   * @param {Wanted} wanted
   * @param {number} pageStart  the first page to read
   * @param {boolean} [provesTogether]  see `ChunkCursor`
   */
  constructor (store, wanted, pageStart, provesTogether) {
    const { from, stop, skipsDamage = false, isSingle = false, isStrict = false, looksAgain = !isSingle } = wanted
    this._store = store
    this._from = from
    this._stop = stop
    this._skipsDamage = skipsDamage
    this._looksAgain = looksAgain
    this._onLoss = wanted.onLoss ?? (() => {})
    this._window = store.blocks.createSpanReader({ givesBuffers: wanted.keepsBytes })
    const rules = isStrict ? { ...store.rules, verify: true } : store.rules
    this._cursor = new ChunkCursor(this._window, rules, store.unfinished, pageStart, provesTogether)
    this._maxRecordSize = isStrict ? Infinity : store.maxRecordSize
    this._rewriteCount = store.blocks.rewriteCount
    this._records = new RecordRun()
    /** The next call fails with it. @type {Error | null} */
    this._error = null
    /** How many damaged ranges were skipped, and their bytes. */
    this.lost = { count: 0, size: 0 }
    this._lostEnd = -1
    /** Where the last damage is, -1 if none was met. */
    this._damageStart = -1
    /** A place that looks damaged, perhaps because a writer is changing it, and how often it was read again. */
    this._suspect = { start: -1, lookCount: 0 }
    /** Places that still looked damaged afterwards. @type {Set<number>} */
    this._confirmed = new Set()
  }

  /** Runs give no bytes to keep from now on: the reader waits at the end. */
  stopKeepingBytes () {
    this._window.settle()
  }

  /** Whether bytes were overwritten since they were read. */
  get _isStale () {
    return this._rewriteCount !== this._store.blocks.rewriteCount
  }

  /** All bytes are read anew from here on. */
  _noteFresh () {
    this._rewriteCount = this._store.blocks.rewriteCount
  }

  /**
   * Whether the record may be delivered. If not, the next call fails.
   * @type {(seq: number, size: number) => boolean}
   */
  _isAllowed (seq, size) {
    if (size <= this._maxRecordSize) return true
    this._error = tooLargeToRead(seq, size, this._maxRecordSize)
    return false
  }

  /**
   * Whether to read a place again before it counts as damaged, because the log's writer may be changing it.
   * @param {number} start  of the damage
   */
  _isSuspect (start) {
    const { follower } = this._store.file
    if (follower === null || !this._looksAgain || this._confirmed.has(start)) return false
    if (start !== this._suspect.start) this._suspect = { start, lookCount: 0 }
    if (this._suspect.lookCount < follower.lookCountMax) return true
    // Only places nearby can be met again.
    if (this._confirmed.size === CONFIRMED_COUNT_MAX) this._confirmed.clear()
    this._confirmed.add(start)
    return false
  }

  /** @param {() => void} next  runs when all bytes held are known to be stale */
  _lookAgain (next) {
    this._store.file.follower?.lookAgain(this._suspect.lookCount++, next)
  }

  /** Fails at damage, or counts and skips it. @type {(limit: number) => boolean} */
  _meetDamage (limit) {
    const cursor = this._cursor
    const damage = /** @type {Damage} */ (cursor.damage)
    this._damageStart = damage.start
    if (!this._skipsDamage) {
      this._error = this._store.damageError(damage)
      return false
    }
    const next = Math.min(limit, Math.max(cursor.findNextHeader(limit), damage.start + 1))
    this._countLost(damage.start, next)
    cursor.skipTo(next)
    return true
  }

  /** @type {(start: number, end: number) => void} */
  _countLost (start, end) {
    if (start !== this._lostEnd) this.lost.count++
    this.lost.size += end - start
    this._lostEnd = end
  }
}

class ForwardReader extends RecordReader {
  /**
   * @param {CheckedStore} store
   * @param {Wanted} wanted
   * @param {number} pageStart
   */
  constructor (store, wanted, pageStart) {
    super(store, wanted, pageStart, !wanted.isSingle)
    if (pageStart === HEAD_SIZE && store.rules.hasGaps) this._cursor.expect(store.rules.salt)
    this._isPastStop = false
    /** The page where the current run begins. */
    this._walkedPage = pageStart
    /** Of a reader that follows a writer: where to go back to if the run must be walked again. */
    this._walkedFrom = NO_MARK
    /** Whether damage follows the delivered records. */
    this._isDamageNext = false
    /** The first page that was read. */
    this.begunAt = pageStart
    /** Whether every chunk since then was walked exactly once. */
    this._isGapless = true
    /** Whether no record of the range can lie before the first chunk. Without compaction a page has only one place. */
    this._isPlaced = !store.rules.hasGaps
    /** The log's count has deletions up to here: a stream that was made earlier may end before some of them. */
    this._countedEnd = store.end
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    const { at, shift } = this._cursor
    return this._isPastStop || (at + shift >= this._stop && !this._mayGoBack)
  }

  /** The padding of a compacted page may reach beyond its positions, so the next page may begin at lower ones. */
  get _mayGoBack () {
    const { at, chunkEnd } = this._cursor
    return this._store.rules.hasGaps && at === chunkEnd && at % PAGE_SIZE === 0
  }

  /**
   * Continues from a delivered record, with bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    this._from = this._records.seqs[index]
    this._isPastStop = false
    this._error = null
    this._restart(this._walkedPage)
  }

  /**
   * @param {number} logEnd  logical position of the log's end
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is valid until the next call, and empty only
   *   at the end. Damage is reported after the records before it. May run before `next` returns
   */
  // eslint-disable-next-line complexity -- the hot loop of scans
  next (logEnd, cb) {
    const { _records: run, _cursor: cursor } = this
    const limit = this._store.toPhysicalEnd(logEnd)
    run.clear()
    for (;;) {
      if (this._error) return cb(this._error)
      if (this._isStale) this._goBack(cursor.mark())
      const status = this._isDamageNext ? DAMAGED : this._walk(limit)
      this._isDamageNext = status === DAMAGED && run.count > 0
      if (run.count > 0) {
        // If bytes are read again, these records must not be delivered again.
        this._from = run.seqs[run.count - 1] + 1
        return cb(null, run)
      }
      if (status === DAMAGED && this._isSuspect(damageOf(cursor).start)) return this._walkAgain(logEnd, cb)
      if (status === DAMAGED) {
        this._isGapless = false
        // The page that the range begins with may be lost.
        this._isPlaced = true
        this._meetDamage(limit)
        continue
      }
      if (status === AT_END) {
        if (this._missesErased(limit) && this._isSuspect(limit)) return this._countAgain(logEnd, cb)
        this._checkEnd(limit)
      }
      if (this._error) continue
      if (status !== NEEDS_BYTES) return cb(null, run)
      if (this._window.loadForwardNow(cursor.at, cursor.need, limit)) continue
      return this._window.loadForward(cursor.at, cursor.need, limit, (err) => {
        if (!err) return this.next(logEnd, cb)
        cursor.proveNone(0)
        cb(err)
      })
    }
  }

  /** @type {(logEnd: number, cb: (err: Error | null, records?: RecordRun) => void) => void} */
  _walkAgain (logEnd, cb) {
    const { end } = this._cursor.window
    this._lookAgain(() => {
      this._goBack(this._walkedFrom)
      this._cursor.proveNone(end)
      this.next(logEnd, cb)
    })
  }

  /**
   * Refreshes and compares again: the surplus deletions may be new ones.
   * @type {(logEnd: number, cb: (err: Error | null, records?: RecordRun) => void) => void}
   */
  _countAgain (logEnd, cb) {
    this._suspect.lookCount++
    this._store.file.follower?.refresh(() => this.next(logEnd, cb))
  }

  /** @param {number} pageStart */
  _restart (pageStart) {
    this._isGapless = this._isDamageNext = false
    this._noteFresh()
    this._cursor.restart(pageStart)
  }

  /** @param {ReturnType<ChunkCursor['mark']>} mark */
  _goBack (mark) {
    this._isGapless = this._isDamageNext = false
    this._noteFresh()
    this._cursor.goBack(mark)
  }

  /**
   * Walks to the end of the window.
   * @param {number} limit
   * @returns {number}  why it stopped; ENTERED if the run is full or the range is over
   */
  _walk (limit) {
    const { _records: run, _cursor: cursor } = this
    run.buffer = cursor.window.buffer
    this._walkedPage = cursor.at - cursor.at % PAGE_SIZE
    if (this._store.file.follower !== null) this._walkedFrom = cursor.mark()
    for (;;) {
      if (run.isFull || this._error || this.isDone) return ENTERED
      if (cursor.at === cursor.chunkEnd) {
        const end = cursor.at + cursor.shift
        const entry = cursor.enter(limit)
        if (entry !== ENTERED) return entry
        if (!this._isPlaced && !this._provePlace()) return DAMAGED
        if (cursor.header.flags & CHUNK_FLAGS.AFTER_LOSS) this._passLoss(end)
        continue
      }
      if (this._walkWholeRecords()) continue
      const status = this._passFrame(limit)
      if (status !== ENTERED) return status
    }
  }

  /**
   * A page of a compacted log does not say where it belongs. If the first one that is read is from further on, the
   * range would seem to be over. That cannot be if the page begins before the range, or is the first of the log: from
   * there on each chunk is linked to the next.
   */
  _provePlace () {
    const { header, chunkStart } = this._cursor
    this._isPlaced = header.firstSeq <= this._from || chunkStart === HEAD_SIZE
    return this._isPlaced || this._cursor.fail('LINK')
  }

  /**
   * A reader that resumes at a lost record must fail, not continue after the loss.
   * @param {number} end  logical position where the log ended
   */
  _passLoss (end) {
    const { _cursor: { header: { position } }, _from: from, _store: { path } } = this
    this._onLoss(end, position)
    if (end < from && from <= position) this._error = seqLost(path, from, end, position)
  }

  /**
   * Notes the records that lie whole in the entered chunk: nearly all records do.
   * @returns {boolean}  false at any other frame
   */
  _walkWholeRecords () {
    const { _cursor: cursor, _records: run, _from: from, _stop: stop } = this
    const { window: { view, start: base } } = cursor
    const { _maxRecordSize: maxRecordSize } = this
    const { seqs, starts, ends } = run
    const logicalBase = base + cursor.shift
    // Positions may be doubles. Offsets must be integers, or every frame would convert them again.
    const end = cursor.chunkEnd - base | 0
    const stopOffset = Math.max(0, Math.min(end, stop - logicalBase)) | 0
    const fromOffset = Math.max(0, Math.min(end, from - logicalBase)) | 0
    const room = seqs.length
    let { count } = run
    let offset = cursor.at - base | 0
    let isOrdinary = true
    while (end - offset >= LENGTH_SIZE && count < room) {
      // Read as a signed number: if one of the upper two bits is set, this is no ordinary record.
      const size = view.getInt32(offset)
      const frameEnd = offset + LENGTH_SIZE + size
      if (size < 0 || frameEnd > end || size > maxRecordSize || offset >= stopOffset) {
        isOrdinary = false
        break
      }
      if (offset >= fromOffset) {
        seqs[count] = offset + logicalBase
        starts[count] = offset + LENGTH_SIZE
        ends[count] = frameEnd
        count++
      }
      offset = frameEnd
    }
    run.take(count)
    // Fewer bytes than a length field are padding.
    cursor.at = end - offset < LENGTH_SIZE ? cursor.chunkEnd : base + offset
    return isOrdinary
  }

  /**
   * Passes the one frame at the cursor.
   * @param {number} limit
   */
  _passFrame (limit) {
    const { _cursor: cursor } = this
    const word = cursor.window.view.getUint32(cursor.at - cursor.window.start)
    const size = word & FRAME_LENGTH_MASK
    const type = word >>> 30
    if (type === FRAME_TYPES.RECORD) return this._passRecord(size, limit)
    if (type === FRAME_TYPES.PADDING) {
      cursor.at = cursor.chunkEnd
    } else if (type === FRAME_TYPES.ERASED) {
      cursor.at = Math.min(cursor.at + LENGTH_SIZE + size, cursor.chunkEnd)
    } else {
      cursor.passGap(size)
    }
    return ENTERED
  }

  /** @type {(size: number, limit: number) => number} */
  _passRecord (size, limit) {
    const { _cursor: cursor, _records: run } = this
    const seq = cursor.position
    if (seq >= this._stop) {
      this._isPastStop = true
      return ENTERED
    }
    if (seq < this._from) {
      cursor.at = Math.min(cursor.at + LENGTH_SIZE + size, cursor.chunkEnd)
      return ENTERED
    }
    if (!this._isAllowed(seq, size)) return ENTERED
    const recordEnd = findRecordEnd(cursor, size)
    if (recordEnd > limit) {
      cursor.fail('LENGTH')
      return DAMAGED
    }
    const needed = findReach(cursor, size, recordEnd, limit)
    if (!cursor.holds(needed)) return NEEDS_BYTES
    const dataStart = cursor.at + LENGTH_SIZE - cursor.window.start
    if (!assembleRecord(cursor, size, limit)) return DAMAGED
    run.add(seq, dataStart, dataStart + size)
    return ENTERED
  }

  /**
   * Checks at the end what no single chunk shows: that chunks are missing after the last one, or that a chunk is older
   * than a deletion. Such a chunk verifies; only the number of deletions gives it away.
   * @param {number} limit
   */
  _checkEnd (limit) {
    const { missing } = this._store
    if (missing && limit === missing.start) this._meetMissing(missing)
    else this._checkErasedCount(limit)
  }

  /** @param {Damage} missing */
  _meetMissing (missing) {
    if (this._skipsDamage) this._countLost(missing.start, missing.end)
    else this._error = this._store.damageError(missing)
  }

  /** Counts each byte once, even if it is read again. @type {(start: number, end: number) => void} */
  _countLost (start, end) {
    if (end > this._lostEnd) super._countLost(Math.max(start, this._lostEnd), end)
  }

  /**
   * Whether every chunk was walked, and they have another number of deletions than the log.
   * @param {number} limit
   */
  _missesErased (limit) {
    const { _cursor: cursor, _store: { erasedCount } } = this
    const isWhole = this.begunAt === HEAD_SIZE && limit >= this._countedEnd
    const isComplete = this._isGapless && isWhole && !this._isStale
    return isComplete && erasedCount !== null && erasedCount !== cursor.erasedCount
  }

  /** @param {number} limit */
  _checkErasedCount (limit) {
    if (!this._missesErased(limit)) return
    this._error = this._store.miscount(this._cursor.erasedCount, limit)
  }
}

/** @param {ChunkCursor} cursor  at damage */
function damageOf (cursor) {
  return /** @type {Damage} */ (cursor.damage)
}

exports.RecordReader = RecordReader
exports.ForwardReader = ForwardReader
