'use strict'
// Reads the undeleted records of a range from the last to the first. A page can only be verified by walking it
// forwards. So each page is walked forwards, and the records found in it are delivered backwards.

const {
  ENTRY, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, assembleRecord, findReach, findRecordEnd
} = require('@millrace/framing')
const { RecordReader } = require('./checked-reader')

const { ENTERED, AT_END, DAMAGED } = ENTRY
const UNKNOWN = -1
const NOWHERE = -1

/** @typedef {import('../record-run').RecordRun} RecordRun */

class BackwardReader extends RecordReader {
  /**
   * @param {import('../checked-store').CheckedStore} store
   * @param {import('./checked-reader').Wanted} wanted
   * @param {number} pageStart  of the page with the range's last frame
   */
  constructor (store, wanted, pageStart) {
    super(store, wanted, pageStart)
    this._page = pageStart
    this._begunAt = pageStart
    /** The page's records in order, three numbers each. Those from `_foundCount` on were delivered. @type {number[]} */
    this._found = []
    this._foundCount = 0
    this._foundPage = pageStart
    /** How far a record reaches that began before the page read last. */
    this._keepEnd = 0
    /** The chain crc that the page's last chunk must have, by the page after it. */
    this._nextPrevious = UNKNOWN
    /** The same for the page that `_found` is of. */
    this._foundNextPrevious = UNKNOWN
    this._isDone = false
    /** Where the last lost range begins. A loss that ends there belongs to the same range. */
    this._lostStart = Infinity
    /** Where the lost ranges of the page begin that are counted, in case the page is read again. @type {number[]} */
    this._counted = []
    this._countedPage = NOWHERE
    /** Whether the range can have no record after the page read last. Without compaction a page has only one place. */
    this._isPlaced = !store.rules.hasGaps
    this._meetMissing()
  }

  /** What is missing after the file's end comes first in this direction. */
  _meetMissing () {
    const { missing, tail } = this._store
    if (missing === null || this._stop <= missing.start + tail.shift) return
    if (this._skipsDamage) this._countLost(missing.start, missing.end)
    else this._error = this._store.damageError(missing)
  }

  /** @type {(start: number, end: number) => void} */
  _countLost (start, end) {
    if (this._counted.includes(start)) return
    this._counted.push(start)
    super._countLost(start, end)
    if (end === this._lostStart) this.lost.count--
    this._lostStart = Math.min(this._lostStart, start)
  }

  /** Whether no record of the range can follow. */
  get isDone () {
    return this._isDone
  }

  /**
   * Continues from a delivered record, with bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    const seq = this._records.seqs[index]
    this._stop = seq + 1
    this._rereadFound()
  }

  /** Records were deleted, perhaps some of those that were found and not delivered. */
  _rereadStale () {
    if (this._foundCount > 0) this._rereadFound()
    else this._reread(this._page, this._nextPrevious)
  }

  /** Reads the page again that was read last: what was found there is not all delivered. */
  _rereadFound () {
    this._isDone = false
    this._error = null
    this._reread(this._foundPage, this._foundNextPrevious)
  }

  /**
   * @param {number} logEnd  logical position of the log's end
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is valid until the next call, and empty only
   *   at the end. Damage is reported after the records that follow it. May run before `next` returns
   */
  next (logEnd, cb) {
    const { _records: run } = this
    const limit = this._store.toPhysicalEnd(logEnd)
    run.clear()
    for (;;) {
      if (this._isStale) this._rereadStale()
      if (this._foundCount > 0) {
        this._deliver()
        return cb(null, run)
      }
      if (this._error) return cb(this._error)
      if (this._isDone || this._page < HEAD_SIZE) return cb(null, run)
      if (this._holdsPage(limit)) {
        if (!this._tryPage(limit)) return this._lookAgain(() => this.next(logEnd, cb))
        continue
      }
      let isLoaded = false
      let isSync = true
      this._load(limit, (err) => {
        if (err) return cb(err)
        isLoaded = true
        if (!isSync) this.next(logEnd, cb)
      })
      isSync = false
      if (!isLoaded) return
    }
  }

  /** @type {(pageStart: number, nextPrevious: number) => void} */
  _reread (pageStart, nextPrevious) {
    this._page = pageStart
    this._foundCount = 0
    this._keepEnd = 0
    this._nextPrevious = nextPrevious
    this._noteFresh()
    this._cursor.restart(pageStart)
  }

  /** @param {number} limit */
  _holdsPage (limit) {
    const { _cursor: cursor, _page: page } = this
    cursor.begin(page)
    return page >= limit || cursor.holds(Math.max(this._keepEnd, Math.min(limit, page + PAGE_SIZE)))
  }

  /** @type {(limit: number, cb: (err: Error | null) => void) => void} */
  _load (limit, cb) {
    const { _page: page } = this
    const to = Math.max(this._keepEnd, Math.min(limit, page + PAGE_SIZE))
    this._window.loadBackward(to, to - page, HEAD_SIZE, cb)
  }

  /** Delivers found records, last first, until the run is full. */
  _deliver () {
    const { _records: run, _found: found } = this
    run.buffer = this._cursor.window.buffer
    while (this._foundCount > 0 && !run.isFull) {
      this._foundCount -= 3
      const at = this._foundCount
      run.add(found[at], found[at + 1], found[at + 2])
      this._stop = found[at]
    }
  }

  /** False if the page looks damaged and must be read again first. @type {(limit: number) => boolean} */
  _tryPage (limit) {
    const page = this._page
    this._damageStart = NOWHERE
    if (page !== this._countedPage) this._counted = []
    this._countedPage = page
    const { _lostStart, _lostEnd, _isPlaced, _nextPrevious, _counted: { length: count } } = this
    const lost = { ...this.lost }
    this._readPage(limit)
    if (this._damageStart === NOWHERE || !this._isSuspect(this._damageStart)) return true
    Object.assign(this, { lost, _lostStart, _lostEnd, _isPlaced })
    this._counted.length = count
    this._error = null
    this._isDone = false
    this._reread(page, _nextPrevious)
    return false
  }

  /**
   * Finds the wanted records of the page, and moves to the page before it. If more bytes are needed first, it
   * finds nothing yet.
   * @param {number} limit
   */
  _readPage (limit) {
    const { _cursor: cursor, _page: page } = this
    const end = Math.min(limit, page + PAGE_SIZE)
    let first = { previous: UNKNOWN, firstSeq: Infinity, keepEnd: 0 }
    let chainCrc = UNKNOWN
    this._foundCount = 0
    while (cursor.chunkEnd < end) {
      const status = cursor.enter(end)
      if (status === DAMAGED) this._passDamage(end)
      if (status === AT_END) break
      chainCrc = status === DAMAGED ? UNKNOWN : cursor.header.chainCrc
      if (status !== ENTERED) continue
      if (cursor.chunkStart === page) first = this._describeFirst(end)
      if (!this._walkFrames(limit)) {
        this._foundCount = 0
        return
      }
    }
    this._checkLink(chainCrc, first.previous, end)
    if (!this._isPlaced && !this._provePlace(first, end, limit)) return
    this._foundNextPrevious = this._nextPrevious
    this._nextPrevious = first.previous
    this._keepEnd = first.keepEnd
    this._isDone = this._error === null && first.firstSeq <= this._from
    this._foundPage = page
    this._page = page - PAGE_SIZE
  }

  /**
   * A page of a compacted log does not say where it belongs. If the first one that is read is from further on, the
   * range would seem to be over. A page that reaches beyond the range is the right one. Any other must be followed by
   * a page that begins after the range: it names the chunk before it. False if that page must be read first.
   * @param {{ previous: number, firstSeq: number }} first  of the page
   * @param {number} end  of the page
   * @param {number} limit
   */
  _provePlace ({ previous, firstSeq }, end, limit) {
    this._isPlaced = true
    if (end >= limit) return true
    if (this._page !== this._begunAt) {
      if (previous === UNKNOWN || firstSeq < this._stop) this._meetBrokenLink(end)
      return true
    }
    this._isPlaced = false
    this._reread(end, UNKNOWN)
    return false
  }

  /**
   * Describes the page's first chunk for the check of the page before it.
   * @param {number} end  of the page
   */
  _describeFirst (end) {
    const { continued, size, previous, firstSeq } = this._cursor.header
    const goesOn = continued === size && this._keepEnd > end
    return { previous, firstSeq, keepEnd: continued === 0 ? 0 : goesOn ? this._keepEnd : end }
  }

  /**
   * In this direction, records before the damage come after it.
   * @param {number} end
   */
  _passDamage (end) {
    const cursor = this._cursor
    // Where the first chunk of a page in a compacted log belongs, only the chunk says.
    const isPlaced = !this._store.rules.hasGaps || cursor.at > this._page
    const isBehind = isPlaced && cursor.position >= this._stop
    if (!isBehind && this._meetDamage(end)) return
    // Damage after the range does not matter.
    if (!isBehind) this._foundCount = 0
    cursor.skipTo(Math.min(end, cursor.findNextHeader(end)))
  }

  /** Notes the wanted records of the chunk. False if more bytes are needed first. @type {(limit: number) => boolean} */
  _walkFrames (limit) {
    const { _cursor: cursor } = this
    while (cursor.chunkEnd - cursor.at >= LENGTH_SIZE) {
      const word = cursor.window.view.getUint32(cursor.at - cursor.window.start)
      const size = word & FRAME_LENGTH_MASK
      const type = word >>> 30
      if (type === FRAME_TYPES.PADDING) break
      if (type === FRAME_TYPES.GAP) {
        cursor.passGap(size)
      } else if (type === FRAME_TYPES.RECORD && this._wants(cursor.position, size)) {
        if (!this._takeRecord(size, limit)) return false
      } else {
        cursor.at = Math.min(cursor.at + LENGTH_SIZE + size, cursor.chunkEnd)
      }
    }
    return true
  }

  /** @type {(seq: number, size: number) => boolean} */
  _wants (seq, size) {
    if (seq < this._from) return false
    if (seq >= this._stop) {
      this._isPlaced = true
      return false
    }
    if (this._isAllowed(seq, size)) return true
    this._foundCount = 0
    return false
  }

  /** False if more bytes are needed first. @type {(size: number, limit: number) => boolean} */
  _takeRecord (size, limit) {
    const { _cursor: cursor } = this
    const seq = cursor.position
    const dataStart = cursor.at + LENGTH_SIZE - cursor.window.start
    if (cursor.at + LENGTH_SIZE + size <= cursor.chunkEnd) {
      this._note(seq, dataStart, dataStart + size)
      cursor.at += LENGTH_SIZE + size
      return true
    }
    const recordEnd = findRecordEnd(cursor, size)
    const needed = recordEnd <= limit ? findReach(cursor, size, recordEnd, limit) : 0
    if (recordEnd <= limit && !cursor.holds(needed)) {
      this._keepEnd = needed
      return false
    }
    const isWhole = recordEnd <= limit ? assembleRecord(cursor, size, limit) : cursor.fail('LENGTH')
    if (isWhole) {
      this._note(seq, dataStart, dataStart + size)
    } else {
      const damage = /** @type {import('@millrace/framing').Damage} */ (cursor.damage)
      this._damageStart = damage.start
      if (!this._skipsDamage) this._fail(damage)
    }
    // A record that continues on the next page is the last of its page.
    cursor.at = cursor.chunkEnd = Math.max(cursor.chunkEnd, this._page + PAGE_SIZE)
    return true
  }

  /** @type {(seq: number, start: number, end: number) => void} */
  _note (seq, start, end) {
    this._found[this._foundCount++] = seq
    this._found[this._foundCount++] = start
    this._found[this._foundCount++] = end
  }

  /**
   * @param {number} chainCrc  of the page's last chunk
   * @param {number} previous  the chain crc that its first chunk names: of the first page, the salt
   * @param {number} end
   */
  _checkLink (chainCrc, previous, end) {
    const fitsNext = this._nextPrevious === UNKNOWN || chainCrc === UNKNOWN || chainCrc === this._nextPrevious
    const fitsStart = this._page !== HEAD_SIZE || previous === UNKNOWN || previous === this._store.rules.salt
    if (!(fitsNext && fitsStart) && !this._error) this._meetBrokenLink(end)
  }

  /** @param {number} end  of the page, which does not belong here, or the next one does not */
  _meetBrokenLink (end) {
    this._damageStart = this._page
    if (this._skipsDamage) this._countLost(this._page, end)
    else this._fail({ start: this._page, end, fault: 'NEXT_LINK' })
  }

  /** @param {import('@millrace/framing').Damage} damage */
  _fail (damage) {
    this._foundCount = 0
    this._error = this._store.damageError(damage)
  }
}

exports.BackwardReader = BackwardReader
