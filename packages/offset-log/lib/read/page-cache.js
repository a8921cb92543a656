'use strict'
// Pages for whoever wants one record: each is verified when it is read from the file, and kept.

const { Admission, BlockCache } = require('@millrace/block-file')
const { trampoline } = require('@millrace/flow')
const { PAGE_SIZE, checkPage } = require('@millrace/framing')

// A page takes a third longer to be read into its place in the cache, which is memory that was not used for long, than
// into a place that was used just now. So while another one has to go for it, only what is wanted often gets there.
const MISS_COUNT_WHEN_FULL = 4
const NOWHERE = -1

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Page} Page
 */

class PageCache {
  /**
   * @param {CheckedStore} store
   * @param {number} cacheSize  in bytes
   */
  constructor (store, cacheSize) {
    this._store = store
    this._cache = new BlockCache(PAGE_SIZE, cacheSize)
    this._admission = new Admission(this._cache, { withRoom: 1, whenFull: MISS_COUNT_WHEN_FULL })
    /** What `look` found. @type {Page & { view: DataView }} */
    this.page = { bytes: NO_BYTES, view: toView(NO_BYTES), offset: 0, start: 0, end: 0 }
    /** @type {DataView | null} */
    this._arenaView = null
    // Where a page goes that is not worth caching yet, and which one is there.
    this._scratch = NO_BYTES
    this._scratchView = this.page.view
    this._scratchStart = NOWHERE
    /** Of `lookWaiting`: what was read for it, null where that failed. @type {Map<number, Page | null> | null} */
    this._awaited = null
    // Which page was not there first.
    this._missing = NOWHERE
  }

  /**
   * The same as `read` where nobody has to wait, and all is well with the page.
   * @param {number} start  of the page, within the log
   * @returns {boolean}  whether it is in `page`, where it is good until another one is asked for, or written
   */
  look (start) {
    const { page, _cache: cache } = this
    page.start = start
    page.end = this._endOf(start)
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
      Object.assign(page, awaited, { view: toView(awaited.bytes) })
      return true
    }
    if (this._readNow(start)) return true
    if (this._missing === NOWHERE) this._missing = start
    return false
  }

  /**
   * @param {number} start
   * @returns {boolean}  whether the page is there
   */
  _readNow (start) {
    const index = start / PAGE_SIZE
    if (!this._admission.isWorthIt(index, false)) return this._readToScratch(start)
    // It is read into its place in the cache: copying it there would take as long as reading it.
    this._pointToSlot(this._cache.claim(index))
    if (this._readPage()) return true
    this._cache.disclaim(index)
    return false
  }

  /**
   * @param {number} start
   * @returns {boolean}  whether the page is there
   */
  _readToScratch (start) {
    if (this._scratch === NO_BYTES) {
      this._scratch = Buffer.allocUnsafeSlow(PAGE_SIZE)
      this._scratchView = toView(this._scratch)
    }
    this._scratchStart = NOWHERE
    this._pointToScratch()
    if (!this._readPage()) return false
    // Without a cache nothing is kept.
    if (this._cache.slotCount > 0) this._scratchStart = start
    return true
  }

  /** Whether `page` could be read at once, to where it points, and is as it should be. */
  _readPage () {
    const { page } = this
    const isRead = this._store.blocks.readIntoNow(page.bytes, page.offset, page.end - page.start, page.start)
    return isRead && this._check(page) === null
  }

  /** @param {number} offset */
  _pointToSlot (offset) {
    const { page, _cache: { arena } } = this
    page.bytes = arena
    page.view = (this._arenaView ??= toView(arena))
    page.offset = offset
  }

  _pointToScratch () {
    const { page } = this
    page.bytes = this._scratch
    page.view = this._scratchView
    page.offset = 0
  }

  /**
   * Looks at pages that may have to be waited for: the one that is missing is read, and then all of it is done anew.
   * @template T
   * @param {() => T} run  looks at pages by `look`, and copes where one is not there
   * @param {(err: Error | null, result: T) => void} cb  why a page could not be read, and what came out all the same
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
        awaited.set(start, page ?? null)
        next()
      })
    })
  }

  /**
   * @param {number} start  of the page, within the log
   * @param {(err: Error | null, page?: Page) => void} cb  the page is good until another one is asked for, or written
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
      // Something was written to the page, or erased from it, meanwhile.
      if (rewriteCount !== blocks.rewriteCount || end !== this._endOf(start)) return this.read(start, cb)
      const page = { bytes, offset: 0, start, end }
      const damage = this._check(page)
      if (damage) return cb(this._store.damageError(damage))
      this._cache.put(start / PAGE_SIZE, bytes, 0, bytes.length)
      cb(null, page)
    })
  }

  /**
   * Adds to the pages that are held what was appended behind them.
   * @param {Buffer} bytes
   * @param {number} position
   */
  patch (bytes, position) {
    this._cache.patch(bytes, position)
    this._dropScratch(position, position + bytes.length)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  drop (start, end) {
    this._cache.drop(start, end)
    this._dropScratch(start, end)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
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

/** @param {Buffer} buf */
function toView (buf) {
  return new DataView(buf.buffer, buf.byteOffset, buf.length)
}

exports.PageCache = PageCache
