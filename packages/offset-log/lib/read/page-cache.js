'use strict'
// Caches verified pages, for reads of single records.

const { Admission } = require('@millrace/block-file')
const { trampoline } = require('@millrace/flow')
const { PAGE_SIZE, checkPage } = require('@millrace/framing')

// Reading a page into its cache slot takes a third longer than into memory that was just used. So while the cache is
// full, a page must be missed this often before it replaces another one.
const MISS_COUNT_WHEN_FULL = 4
const NOWHERE = -1

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)
const NO_VIEW = new DataView(new ArrayBuffer(0))

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Page} Page
 */

class PageCache {
  /** @param {CheckedStore} store */
  constructor (store) {
    this._store = store
    this._cache = store.blocks.createCache(PAGE_SIZE)
    // Memory that was given back must not stay alive.
    this._cache.onRelease.push(() => Object.assign(this.page, { bytes: NO_BYTES, view: NO_VIEW }))
    this._admission = new Admission(this._cache, { withRoom: 1, whenFull: MISS_COUNT_WHEN_FULL })
    /** The page that `look` found. @type {Page & { view: DataView }} */
    this.page = { bytes: NO_BYTES, view: NO_VIEW, offset: 0, start: 0, end: 0 }
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
    if (this._readPage()) return true
    this._cache.disclaim(index)
    return false
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

  /** Whether `page` was read without waiting, and verifies. */
  _readPage () {
    const { page } = this
    const isRead = this._store.blocks.readIntoNow(page.bytes, page.offset, page.end - page.start, page.start)
    return isRead && this._check(page) === null
  }

  /** @param {number} offset */
  _pointToSlot (offset) {
    const { page, _cache: { arena, view } } = this
    page.bytes = arena
    page.view = view
    page.offset = offset
  }

  _pointToScratch () {
    const { page } = this
    page.bytes = this._scratch
    page.view = this._scratchView
    page.offset = 0
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
      this._cache.put(start / PAGE_SIZE, bytes, 0, bytes.length)
      cb(null, page)
    })
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
