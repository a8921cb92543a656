'use strict'
// Caches verified pages, for reads of single records.

const { Admission } = require('@millrace/block-file')
const { trampoline } = require('@millrace/flow')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, ChunkHeader, FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, checkPage,
  readChunkHeader
} = require('@millrace/framing')

// Reading a page into its cache slot takes a third longer than into memory that was just used. So while the cache is
// full, a page must be missed this often before it replaces another one.
const MISS_COUNT_WHEN_FULL = 4
const NOWHERE = -1
/** So many records of a page are listed. It takes an eightieth of the page. */
const LISTED_MAX = 100

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)
const NO_VIEW = new DataView(new ArrayBuffer(0))

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Page} Page
 */

/**
 * Lists where the whole records of cached pages begin. To walk over those before the wanted one takes longer than all
 * else of a read from the cache: each is in memory that the processor does not have at hand. Appends only add to a
 * page, and whoever erases drops it, so what is listed stays right.
 */
class RecordStarts {
  constructor () {
    this._starts = new Uint16Array(0)
    /** By slot. */
    this._counts = new Uint8Array(0)
  }

  /**
   * Whether a whole record is known to begin there.
   * @param {number} slot  of the cached page; NOWHERE if it is in none
   * @param {number} at  the offset in the page, if no position was skipped
   */
  has (slot, at) {
    if (slot === NOWHERE) return false
    const starts = this._starts
    let low = slot * LISTED_MAX
    let high = low + this._counts[slot] - 1
    while (low <= high) {
      const middle = low + high >> 1
      const start = starts[middle]
      if (start === at) return true
      if (start < at) low = middle + 1
      else high = middle - 1
    }
    return false
  }

  /**
   * @param {number} slot
   * @param {Page & { view: DataView }} page  verified
   * @param {import('@millrace/framing').Rules} rules
   */
  list (slot, page, rules) {
    if (slot >= this._counts.length) this._grow(slot + 1)
    this._counts[slot] = rules.hasGaps ? 0 : this._fill(slot * LISTED_MAX, page, rules.shift)
  }

  /** @type {(first: number, page: Page & { view: DataView }, shift: number) => number} how many */
  _fill (first, { view, offset, start, end }, shift) {
    const starts = this._starts
    const stop = offset + Math.min(end - start, PAGE_SIZE - CHUNK_SIZE_MIN + 1)
    let count = 0
    for (let chunk = offset; chunk < stop;) {
      readChunkHeader(view, chunk, header)
      if (header.position !== start + chunk - offset + shift) return 0
      const chunkEnd = chunk + CHUNK_HEADER_SIZE + header.size
      for (let at = chunk + CHUNK_HEADER_SIZE + header.continued; chunkEnd - at >= LENGTH_SIZE;) {
        const word = view.getUint32(at)
        const type = word >>> 30
        if (type === FRAME_TYPES.PADDING) break
        const next = at + LENGTH_SIZE + (type === FRAME_TYPES.GAP ? 0 : word & FRAME_LENGTH_MASK)
        if (type === FRAME_TYPES.RECORD && next <= chunkEnd) starts[first + count++] = at - offset
        if (count === LISTED_MAX) return count
        at = next
      }
      chunk = chunkEnd
    }
    return count
  }

  /** @param {number} slotCount  at least */
  _grow (slotCount) {
    const { _starts: starts, _counts: counts } = this
    const length = Math.max(2 * counts.length, slotCount)
    this._starts = new Uint16Array(length * LISTED_MAX)
    this._counts = new Uint8Array(length)
    this._starts.set(starts)
    this._counts.set(counts)
  }

  release () {
    this._starts = new Uint16Array(0)
    this._counts = new Uint8Array(0)
  }
}

const header = new ChunkHeader()

class PageCache {
  /** @param {CheckedStore} store */
  constructor (store) {
    this._store = store
    this._cache = store.blocks.createCache(PAGE_SIZE)
    /** Once a page is cached. @type {RecordStarts | null} */
    this.starts = null
    // Memory that was given back must not stay alive.
    this._cache.onRelease.push(() => {
      Object.assign(this.page, { bytes: NO_BYTES, view: NO_VIEW })
      this.starts?.release()
    })
    this._admission = new Admission(this._cache, { withRoom: 1, whenFull: MISS_COUNT_WHEN_FULL })
    /** The page that `look` found. @type {Page & { view: DataView }} */
    this.page = { bytes: NO_BYTES, view: NO_VIEW, offset: 0, start: 0, end: 0 }
    /** The slot that the page is in; NOWHERE if it is in none. */
    this.slot = NOWHERE
    // Holds the last page that is not worth caching yet.
    this._scratch = NO_BYTES
    this._scratchView = this.page.view
    this._scratchStart = NOWHERE
    /** Pages that `lookWaiting` has read; null for a page that failed. @type {Map<number, Page | null> | null} */
    this._awaited = null
    // The first page that `look` did not find.
    this._missing = NOWHERE
  }

  /**
   * Reads a page without waiting, if that is possible and the page verifies.
   * @param {number} start  of the page, within the log
   * @returns {boolean}  whether `page` is set. It is valid until another page is asked for, or anything is written
   */
  look (start) {
    const { page, _cache: cache } = this
    page.start = start
    page.end = Math.min(start + PAGE_SIZE, this._store.end)
    if (start === this._scratchStart) {
      cache.hitCount++
      this._pointToScratch()
      return true
    }
    const found = cache.find(start / PAGE_SIZE)
    if (found !== -1) {
      this._pointToSlot(found)
      return true
    }
    const awaited = this._awaited?.get(start)
    if (awaited === null) return false
    if (awaited?.end === page.end) {
      this.slot = NOWHERE
      const { bytes } = awaited
      Object.assign(page, awaited, { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) })
      return true
    }
    if (this._readNow(start)) return true
    if (this._missing === NOWHERE) this._missing = start
    return false
  }

  /** Whether the page is there. @type {(start: number) => boolean} */
  _readNow (start) {
    const index = start / PAGE_SIZE
    if (!this._admission.isWorthIt(index, false)) return this._readToScratch(start)
    // The page is read straight into its slot, because a copy would take as long as the read.
    this._pointToSlot(this._cache.claim(index))
    if (!this._readPage()) {
      this._cache.disclaim(index)
      return false
    }
    this._listStarts(this.slot, this.page)
    return true
  }

  /** Whether the page is there. @type {(start: number) => boolean} */
  _readToScratch (start) {
    if (this._scratch === NO_BYTES) {
      this._scratch = Buffer.allocUnsafeSlow(PAGE_SIZE)
      this._scratchView = new DataView(this._scratch.buffer, 0, PAGE_SIZE)
    }
    this._scratchStart = NOWHERE
    this._pointToScratch()
    if (!this._readPage()) return false
    // Without a cache, nothing is kept.
    if (this._cache.slotCount > 0) this._scratchStart = start
    return true
  }

  /** @type {(slot: number, page: Page & { view: DataView }) => void} */
  _listStarts (slot, page) {
    this.starts ??= new RecordStarts()
    this.starts.list(slot, page, this._store.rules)
  }

  /** Whether `page` was read without waiting, and verifies. */
  _readPage () {
    const { page } = this
    const isRead = this._store.blocks.readIntoNow(page.bytes, page.offset, page.end - page.start, page.start)
    return isRead && this._check(page) === null
  }

  /** @param {number} offset */
  _pointToSlot (offset) {
    const { page, _cache: { arena, view, slot } } = this
    page.bytes = arena
    page.view = view
    page.offset = offset
    this.slot = slot
  }

  _pointToScratch () {
    const { page } = this
    page.bytes = this._scratch
    page.view = this._scratchView
    page.offset = 0
    this.slot = NOWHERE
  }

  /**
   * Runs a function that looks at pages. While a page is missing, reads it, waits, and runs the function again.
   * @template T
   * @param {() => T} run  calls `look`, and returns something even if a page is missing
   * @param {(err: Error | null, result: T) => void} cb  the first failed read, and the last result of `run`
   */
  lookWaiting (run, cb) {
    const { blocks } = this._store
    /** @type {Map<number, Page | null>} */
    const awaited = new Map()
    /** @type {Error | null} */
    let failure = null
    let { rewriteCount } = blocks
    trampoline((next) => {
      if (rewriteCount !== blocks.rewriteCount) {
        awaited.clear()
        failure = null
        rewriteCount = blocks.rewriteCount
      }
      this._awaited = awaited
      this._missing = NOWHERE
      const result = run()
      this._awaited = null
      const start = this._missing
      if (start === NOWHERE) return cb(failure, result)
      this.read(start, (err, page) => {
        failure ??= err
        awaited.set(start, page ? this._keep(page) : null)
        next()
      })
    })
  }

  /** The place of a cached page may go to another page. @type {(page: Page) => Page} */
  _keep (page) {
    const { bytes, offset, start, end } = page
    if (!this._cache.owns(bytes)) return page
    return { ...page, bytes: Buffer.from(bytes.subarray(offset, offset + end - start)), offset: 0 }
  }

  /**
   * @param {number} start  of the page, within the log
   * @param {(err: Error | null, page?: Page) => void} cb  valid until another page is asked for, or anything is written
   */
  read (start, cb) {
    const { blocks } = this._store
    const end = this._endOf(start)
    const slot = this._cache.find(start / PAGE_SIZE)
    if (slot !== -1) return cb(null, { bytes: this._cache.arena, offset: slot, start, end })
    const bytes = Buffer.allocUnsafe(end - start)
    const { rewriteCount } = blocks
    blocks.readInto(bytes, start, (err) => {
      if (err) return cb(err)
      // The page was changed during the read.
      if (rewriteCount !== blocks.rewriteCount || end !== this._endOf(start)) return this.read(start, cb)
      const page = { bytes, offset: 0, start, end }
      const damage = this._check(page)
      if (damage) return cb(this._store.damageError(damage))
      this._put(page)
      cb(null, page)
    })
  }

  /** @param {Page} page  verified */
  _put ({ bytes, start, end }) {
    const { _cache: cache } = this
    if (cache.slotCount === 0) return
    const offset = cache.claim(start / PAGE_SIZE)
    bytes.copy(cache.arena, offset)
    this._listStarts(cache.slot, { bytes: cache.arena, view: cache.view, offset, start, end })
  }

  /** Adds appended bytes to cached pages. @type {(bytes: Buffer, position: number) => void} */
  patch (bytes, position) {
    this._cache.patch(bytes, position)
    this._dropScratch(position, position + bytes.length)
  }

  /** @type {(start: number, end: number) => void} */
  drop (start, end) {
    this._cache.drop(start, end)
    this._dropScratch(start, end)
  }

  /** @type {(start: number, end: number) => void} */
  _dropScratch (start, end) {
    if (start < this._scratchStart + PAGE_SIZE && end > this._scratchStart) this._scratchStart = NOWHERE
  }

  stats () {
    const { hitCount, missCount, slotCount } = this._cache
    return { hitCount, missCount, slotCount, blockSize: PAGE_SIZE }
  }

  /** @param {Page} page */
  _check (page) {
    const { rules, unfinished } = this._store
    return checkPage(page, rules, unfinished)
  }

  /** @param {number} start */
  _endOf (start) {
    return Math.min(start + PAGE_SIZE, this._store.end)
  }
}

exports.PageCache = PageCache
