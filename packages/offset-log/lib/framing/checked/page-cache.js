'use strict'
// Pages for whoever wants one record: each is verified when it is read from the file, and kept.

const { BlockCache } = require('@millrace/block-file')
const { checkPage } = require('./check-page')
const { PAGE_SIZE } = require('./layout')

/** @type {Buffer} */
const NO_BYTES = Buffer.alloc(0)

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./check-page').Page} Page
 */

class PageCache {
  /**
   * @param {CheckedStore} store
   * @param {number} cacheSize  in bytes
   */
  constructor (store, cacheSize) {
    this._store = store
    this._cache = new BlockCache(PAGE_SIZE, cacheSize)
    /** What `look` found. @type {Page & { view: DataView }} */
    this.page = { bytes: NO_BYTES, view: toView(NO_BYTES), offset: 0, start: 0, end: 0 }
    /** Where a page goes that there is no cache for. */
    this._scratch = NO_BYTES
  }

  /**
   * The same as `read` where nobody has to wait, and all is well with the page.
   * @param {number} start  of the page, within the log
   * @returns {boolean}  whether it is in `page`, where it is good until another one is asked for, or written
   */
  look (start) {
    const { blocks } = this._store
    const { page, _cache: cache } = this
    const index = start / PAGE_SIZE
    const found = cache.find(index)
    page.start = start
    page.end = this._endOf(start)
    if (found !== -1) {
      this._point(cache.arena, found)
      return true
    }
    const isCached = cache.slotCount > 0
    // It is read into its place in the cache: copying it there would take as long as reading it.
    if (isCached) this._point(cache.arena, cache.claim(index))
    else this._point((this._scratch = this._scratch === NO_BYTES ? Buffer.allocUnsafe(PAGE_SIZE) : this._scratch), 0)
    const isRead = blocks.readIntoNow(page.bytes, page.offset, page.end - start, start)
    if (isRead && this._check(page) === null) return true
    if (isCached) cache.disclaim(index)
    return false
  }

  /**
   * @param {Buffer} bytes
   * @param {number} offset
   */
  _point (bytes, offset) {
    const { page } = this
    if (page.bytes !== bytes) {
      page.bytes = bytes
      page.view = toView(bytes)
    }
    page.offset = offset
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
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  drop (start, end) {
    this._cache.drop(start, end)
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
