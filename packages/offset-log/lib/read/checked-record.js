'use strict'
// Gets the record of a seq from verified pages of a checked log.

const { Slab } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, ChunkHeader, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE,
  UNSURE_GAP, findFrame, readChunkHeader, tooLargeToRead
} = require('@millrace/framing')
const { notFound } = require('../errors')
const { isWordsRecord, unreadable } = require('../file-words')
const { ForwardReader } = require('./checked-reader')

// A larger record is read past the cache, because it would push everything else out.
const CACHED_SIZE_MAX = 4 * PAGE_SIZE

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Frame} Frame
 * @typedef {import('@millrace/framing').Page} Page
 * @typedef {import('../getter').Found} Found
 */

/**
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {import('../errors').Call} call
 * @param {(err: Error | null, frame?: Frame, page?: Page) => void} cb  ERR_RECORD_NOT_FOUND if no record begins there
 */
function findRecord (store, seq, call, cb) {
  if (typeof seq !== 'number') return cb(misuse(`${call}: expected the seq of a record, got ${typeof seq}`))
  if (!Number.isSafeInteger(seq) || seq < 0 || seq >= store.logEnd) return cb(notFound(call, store.path, seq))
  findPage(store, seq, (err, start = 0) => {
    if (err) return cb(err)
    if (start < 0) return cb(notFound(call, store.path, seq))
    store.pages.read(start, (err, page) => {
      if (err || !page) return cb(err)
      const frame = findFrame(page, seq, store.rules.hasGaps)
      // In a compacted log a gap stands for deleted records.
      const isGap = frame !== null && frame.type === FRAME_TYPES.GAP
      const isMissing = frame === null || (isGap && !store.rules.hasGaps)
      const answer = () => isMissing ? cb(notFound(call, store.path, seq)) : cb(null, frame, page)
      if (frame !== UNSURE_GAP || !store.hasSkippedSeqs) return answer()
      // The record may have been lost, or the page may be from before the loss. A scan can tell.
      scanFor(store, seq, store.pageBefore(start), false, (err) => err ? cb(err) : answer())
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {(err: Error | null, found?: Found) => void} cb  ERR_RECORD_NOT_FOUND if no record begins there
 */
function readRecord (store, seq, cb) {
  const { peek, blocks, pages } = store
  const { rewriteCount } = blocks
  pages.lookWaiting(() => peek.find(/** @type {number} */ (seq)), (_, isFound) => {
    if (isFound) return cb(null, { data: peek.take(), isDeleted: false })
    const done = (/** @type {Error | null} */ err, /** @type {Found | undefined} */ found) => {
      unpackFound(store, seq, err, found, cb)
    }
    readUnusual(store, seq, (err, found) => {
      // The pages may be from before and after a deletion.
      if (rewriteCount !== blocks.rewriteCount) readRecord(store, seq, cb)
      else if (isDamage(err)) readPastDamage(store, /** @type {number} */ (seq), err, done)
      else done(err, found)
    })
  })
}

/**
 * Unpacks what was found, if the file has a dictionary.
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {Error | null} err
 * @param {Found | undefined} found
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function unpackFound (store, seq, err, found, cb) {
  const { words, file: { maxRecordSize } } = store
  if (err || !found || words === null || found.isDeleted) return cb(err, found)
  const { data } = found
  if (isWordsRecord(data, 0, data.length)) return cb(notFound('get', store.path, Number(seq)))
  try {
    words.unpackOne(data, 0, data.length)
  } catch (err) {
    return cb(unreadable(/** @type {LogError} */ (err), Number(seq)))
  }
  const { bytes, end } = words.output
  if (end > maxRecordSize) cb(tooLargeToRead(Number(seq), end, maxRecordSize))
  else cb(null, { data: Buffer.from(bytes.subarray(0, end)), isDeleted: false })
}

/**
 * Finds a record that is deleted or too large for the cache, or says why there is none.
 * @type {(store: CheckedStore, seq: unknown, cb: (err: Error | null, found?: Found) => void) => void}
 */
function readUnusual (store, seq, cb) {
  findRecord(store, seq, 'get', (err, frame, page) => {
    if (err || !frame || !page) return cb(err)
    if (frame.type !== FRAME_TYPES.RECORD) return cb(null, { data: Buffer.alloc(0), isDeleted: true })
    scanFor(store, /** @type {number} */ (seq), page.start, false, (err, data) => {
      if (err) cb(err)
      else cb(null, { data: data ?? Buffer.alloc(0), isDeleted: data === null })
    })
  })
}

/**
 * The damage may be in another part of the page, and the record intact.
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {Error} damage
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function readPastDamage (store, seq, damage, cb) {
  findPage(store, seq, (err, start = 0) => {
    if (err) return cb(damage)
    scanFor(store, seq, start, true, (err, data) => {
      if (err || !data) cb(damage)
      else cb(null, { data, isDeleted: false })
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {number} pageStart
 * @param {boolean} skipsDamage
 * @param {(err: Error | null, data?: Buffer | null) => void} cb  null if there is no such record
 */
function scanFor (store, seq, pageStart, skipsDamage, cb) {
  const reader = new ForwardReader(store, { from: seq, stop: seq + 1, skipsDamage, isSingle: true }, pageStart)
  reader.next(store.logEnd, (err, records) => {
    if (err || !records) return cb(err)
    const { buffer, starts, ends, count } = records
    cb(null, count === 0 ? null : Buffer.from(buffer.subarray(starts[0], ends[0])))
  })
}

/** @type {(err: Error | null) => err is LogError} */
function isDamage (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_CORRUPT'
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {(err: Error | null, pageStart?: number) => void} cb  the last page that begins at or below the seq; negative
 *   if there is none
 */
function findPage (store, seq, cb) {
  const page = store.peek.findPageNow(seq)
  if (page !== NOWHERE || seq - store.rules.shift < HEAD_SIZE) return cb(null, page)
  // An unreadable page only matters if no page was found.
  store.pages.lookWaiting(() => store.peek.findPageNow(seq), (err, page) => cb(page === NOWHERE ? err : null, page))
}

// Finds a record on pages that are cached or can be read without waiting. `get` spends its time here, so it allocates
// no object, closure or error. If it fails, `readRecord` waits for the pages, tries again, and says what is wrong.

const NOWHERE = -1
/** After the end of every chunk. */
const ANYWHERE = 2 ** 30
const TWO_32 = 2 ** 32

class RecordPeeker {
  /** @param {CheckedStore} store */
  constructor (store) {
    this._store = store
    this._pages = store.pages
    this._header = new ChunkHeader()
    this._slab = new Slab()
    /** Where the found record is. Invalid once anything else is read or awaited. */
    this.bytes = this._pages.page.bytes
    this.start = 0
    this.end = 0
    // Whether `bytes` is the record's own copy.
    this._isOwn = false
  }

  /** @returns {Buffer}  the found record; the caller owns it */
  take () {
    const { bytes, start, end } = this
    return this._isOwn ? bytes : this._slab.copy(bytes, start, end)
  }

  /**
   * @param {number} seq  any number
   * @returns {boolean}  whether it found a whole, undeleted record on verified pages
   */
  find (seq) {
    const { _store: store, _pages: { page } } = this
    if (store !== store.file.replacement.readable || !Number.isSafeInteger(seq) || seq >= store.logEnd) return false
    const pageStart = this.findPageNow(seq)
    if (pageStart === NOWHERE || !this._pages.look(pageStart)) return false
    const { view, offset } = page
    const { hasGaps, shift } = store.rules
    const { starts, slot } = this._pages
    const at = seq - shift - pageStart
    if (starts?.has(slot, at)) return this._settle(offset + at, 0, ANYWHERE)
    const stop = Math.min(offset + page.end - pageStart, offset + PAGE_SIZE - CHUNK_SIZE_MIN + 1)
    for (let chunk = offset; chunk < stop;) {
      const position = view.getUint16(chunk + 16) * TWO_32 + view.getUint32(chunk + 18)
      if (position > seq) return false
      const chunkEnd = chunk + CHUNK_HEADER_SIZE + view.getUint16(chunk + 8)
      if (hasGaps || position - chunk + chunkEnd > seq) {
        const at = walkTo(view, chunk, chunkEnd, seq - position + chunk, hasGaps)
        if (at !== NOWHERE) return this._settle(at, chunk, chunkEnd)
      }
      chunk = chunkEnd
    }
    return false
  }

  /**
   * @param {number} at  where the frame begins, in the page's bytes
   * @param {number} chunk  where its chunk begins
   * @param {number} chunkEnd
   * @returns {boolean}  whether the frame is a record, and all of it is at hand
   */
  _settle (at, chunk, chunkEnd) {
    const { _store: { maxRecordSize, words }, _pages: { page: { bytes, view } } } = this
    const word = view.getUint32(at)
    const size = word & FRAME_LENGTH_MASK
    if (word >>> 30 !== FRAME_TYPES.RECORD || size > maxRecordSize) return false
    const start = at + LENGTH_SIZE
    if (start + size > chunkEnd) {
      if (size > CACHED_SIZE_MAX || !this._assemble(start, size, chunk, chunkEnd)) return false
    } else {
      this.bytes = bytes
      this.start = start
      this.end = start + size
      this._isOwn = false
    }
    return words === null || this._unpack(words)
  }

  /** @type {(words: import('../file-words').FileWords) => boolean} whether it is a record that can be unpacked */
  _unpack (words) {
    if (isWordsRecord(this.bytes, this.start, this.end)) return false
    try {
      words.unpackOne(this.bytes, this.start, this.end)
    } catch {
      return false
    }
    const { bytes, end } = words.output
    this.bytes = bytes
    this.start = 0
    this.end = end
    this._isOwn = false
    return end <= this._store.file.maxRecordSize
  }

  /**
   * Assembles a record that continues on the next pages.
   * @param {number} start  of its first piece, in the page's bytes
   * @param {number} size  of the whole record
   * @param {number} chunk
   * @param {number} chunkEnd
   * @returns {boolean}
   */
  _assemble (start, size, chunk, chunkEnd) {
    const { _store: store, _pages: pages, _pages: { page }, _header: header } = this
    const own = Buffer.allocUnsafe(size)
    page.bytes.copy(own, 0, start, chunkEnd)
    readChunkHeader(page.view, chunk, header)
    for (let done = chunkEnd - start, next = page.start + PAGE_SIZE; done < size; next += PAGE_SIZE) {
      const { chainCrc } = header
      if (next >= store.end || !pages.look(next)) return false
      const piece = Math.min(size - done, PAGE_SIZE - CHUNK_HEADER_SIZE)
      readChunkHeader(page.view, page.offset, header)
      if (header.previous !== chainCrc || !header.hasRest(piece)) return false
      const from = page.offset + CHUNK_HEADER_SIZE
      page.bytes.copy(own, done, from, from + piece)
      done += piece
    }
    this.bytes = own
    this.start = 0
    this.end = size
    this._isOwn = true
    return true
  }

  /**
   * @param {number} seq
   * @returns {number}  the last page that begins at or below the seq; NOWHERE if there is none, or if the pages at hand
   *   do not tell
   */
  findPageNow (seq) {
    const { rules: { shift, hasGaps }, tail, end } = this._store
    const physical = seq - shift
    if (physical < HEAD_SIZE || end <= HEAD_SIZE) return NOWHERE
    const last = Math.min(physical, end - 1)
    const lastPage = last - last % PAGE_SIZE
    if (!hasGaps && tail.shift === shift) return lastPage
    // Gaps and skipped positions only move records towards the start of the file, and skipped ones by no more than at
    // the end of the log. So nearly always one of two pages is right: the last possible one, or the first possible one,
    // if the seq lies after the last skip.
    const afterSkips = seq - tail.shift
    if (!hasGaps && afterSkips >= HEAD_SIZE) {
      const page = afterSkips - afterSkips % PAGE_SIZE
      if (page < end && this._firstSeqOf(page) <= seq && this._header.position - page === tail.shift) return page
    }
    const firstSeq = this._firstSeqOf(lastPage)
    if (firstSeq <= seq) return lastPage
    if (firstSeq > seq) return this._bisect(seq, lastPage - PAGE_SIZE)
    // This page cannot be read, but may be the right one.
    return lastPage === HEAD_SIZE ? NOWHERE : this._bisect(seq, lastPage)
  }

  /** `high`: the last page to look at. @type {(seq: number, high: number) => number} */
  _bisect (seq, high) {
    let low = HEAD_SIZE
    while (low < high) {
      const middle = low + Math.ceil((high - low) / PAGE_SIZE / 2) * PAGE_SIZE
      const firstSeq = this._firstSeqOf(middle)
      // A page may begin at positions that the record before it has too, so its first frame counts.
      if (firstSeq <= seq) low = middle
      else if (firstSeq > seq) high = middle - PAGE_SIZE
      else return NOWHERE
    }
    return low
  }

  /** The seq of the first frame that begins on the page; NaN if unknown. @type {(page: number) => number} */
  _firstSeqOf (page) {
    if (!this._pages.look(page)) return NaN
    const { view, offset } = this._pages.page
    readChunkHeader(view, offset, this._header)
    return this._header.firstSeq
  }
}

/**
 * @param {DataView} view
 * @param {number} chunk
 * @param {number} chunkEnd
 * @param {number} wanted  where the frame begins if there is no gap before it
 * @param {boolean} hasGaps
 * @returns {number}  where it begins, or NOWHERE
 */
function walkTo (view, chunk, chunkEnd, wanted, hasGaps) {
  let at = chunk + CHUNK_HEADER_SIZE + view.getUint16(chunk + 28)
  while (chunkEnd - at >= LENGTH_SIZE && at < wanted) {
    const word = view.getUint32(at)
    const type = word >>> 30
    if (type === FRAME_TYPES.PADDING) return NOWHERE
    const size = word & FRAME_LENGTH_MASK
    at += LENGTH_SIZE
    if (type !== FRAME_TYPES.GAP) at += size
    else if (hasGaps) wanted -= size
  }
  return at === wanted && chunkEnd - at >= LENGTH_SIZE ? at : NOWHERE
}

exports.findPage = findPage
exports.findRecord = findRecord
exports.scanFor = scanFor
exports.readRecord = readRecord
exports.RecordPeeker = RecordPeeker
