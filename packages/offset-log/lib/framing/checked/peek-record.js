'use strict'
// Finds the record that a seq names where that takes no waiting: on a page in the cache, or with one read of its page.
// Whatever is not as it nearly always is, is left to read-record.js, which says what is wrong.

const { Slab } = require('@millrace/block-file')
const { ChunkHeader, readChunkHeader } = require('./chunk-header')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE
} = require('./layout')

const NOWHERE = -1
// A larger record is read in one go, past the cache, which it would only empty.
const CACHED_SIZE_MAX = 4 * PAGE_SIZE
const TWO_32 = 2 ** 32

/** @typedef {import('./checked-store').CheckedStore} CheckedStore */

class RecordPeeker {
  /** @param {CheckedStore} store */
  constructor (store) {
    this._store = store
    this._pages = store.pages
    this._header = new ChunkHeader()
    this._slab = new Slab()
    /** Where the record is that was found; not to be used once anything else is read or awaited. */
    this.bytes = this._pages.page.bytes
    this.start = 0
    this.end = 0
    // Whether the bytes are nobody else's.
    this._isOwn = false
  }

  /** @returns {Buffer}  the record that was found, the caller's own */
  take () {
    const { bytes, start, end } = this
    return this._isOwn ? bytes : this._slab.copy(bytes, start, end)
  }

  /**
   * @param {number} seq  any number
   * @returns {boolean}  whether it was found: a whole record that is not deleted, on pages that verify
   */
  find (seq) {
    const { _store: store, _pages: { page } } = this
    if (store.isReplaced || !Number.isSafeInteger(seq) || seq >= store.logEnd) return false
    const pageStart = this._findPage(seq)
    if (pageStart === NOWHERE || !this._pages.look(pageStart)) return false
    const { view, offset } = page
    const { hasGaps } = store.rules
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
   * @param {number} at  where in the page's bytes the frame begins
   * @param {number} chunk  where its chunk does
   * @param {number} chunkEnd
   * @returns {boolean}  whether it is a record, and all of it is there
   */
  _settle (at, chunk, chunkEnd) {
    const { bytes, view } = this._pages.page
    const word = view.getUint32(at)
    const size = word & FRAME_LENGTH_MASK
    if (word >>> 30 !== FRAME_TYPES.RECORD || size > this._store.maxRecordSize) return false
    const start = at + LENGTH_SIZE
    if (start + size > chunkEnd) return size <= CACHED_SIZE_MAX && this._assemble(start, size, chunk, chunkEnd)
    this.bytes = bytes
    this.start = start
    this.end = start + size
    this._isOwn = false
    return true
  }

  /**
   * A record that goes on behind its page.
   * @param {number} start  of its first piece, in the page's bytes
   * @param {number} size  of the whole
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
      const { identity } = header
      if (next >= store.end || !pages.look(next)) return false
      const piece = Math.min(size - done, PAGE_SIZE - CHUNK_HEADER_SIZE)
      readChunkHeader(page.view, page.offset, header)
      if (header.previous !== identity || !header.hasRest(piece)) return false
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
   * As find-page.js does it.
   * @param {number} seq
   * @returns {number}  the page where its record would begin
   */
  _findPage (seq) {
    const { rules: { shift, hasGaps }, tail, end } = this._store
    const physical = seq - shift
    if (physical < HEAD_SIZE || end <= HEAD_SIZE) return NOWHERE
    const last = Math.min(physical, end - 1)
    const lastPage = last - last % PAGE_SIZE
    if (!hasGaps && tail.shift === shift) return lastPage
    const behindJumps = seq - tail.shift
    if (!hasGaps && behindJumps >= HEAD_SIZE) {
      const page = behindJumps - behindJumps % PAGE_SIZE
      if (page < end && this._firstSeqOf(page) <= seq && this._header.position - page === tail.shift) return page
    }
    return this._firstSeqOf(lastPage) <= seq ? lastPage : this._bisect(seq, lastPage)
  }

  /**
   * @param {number} seq
   * @param {number} end  a page that begins behind it
   * @returns {number}
   */
  _bisect (seq, end) {
    let low = HEAD_SIZE
    let high = end - PAGE_SIZE
    while (low < high) {
      const middle = low + Math.ceil((high - low) / PAGE_SIZE / 2) * PAGE_SIZE
      const firstSeq = this._firstSeqOf(middle)
      if (firstSeq <= seq) low = middle
      else if (firstSeq > seq) high = middle - PAGE_SIZE
      else return NOWHERE
    }
    return low
  }

  /**
   * @param {number} page
   * @returns {number}  of the first frame that begins on it; NaN when that cannot be told at once
   */
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
 * @param {number} wanted  where the frame begins, if nothing was left out before it
 * @param {boolean} hasGaps
 * @returns {number}  where it does, or NOWHERE
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

exports.RecordPeeker = RecordPeeker
