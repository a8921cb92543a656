'use strict'
// Pages for whoever wants one record: each is verified when it is read from the file, and kept.

const { BlockCache } = require('@millrace/block-file')
const { checkPage } = require('./check-page')
const { PAGE_SIZE } = require('./layout')

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
  }

  /**
   * @param {number} start  of the page, within the log
   * @param {(err: Error | null, page?: Page) => void} cb  the page is good until another one is asked for, or written
   */
  read (start, cb) {
    const { blocks, rules, unfinished } = this._store
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
      const damage = checkPage(page, rules, unfinished)
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

  /** @param {number} start */
  _endOf (start) {
    return Math.min(start + PAGE_SIZE, this._store.end)
  }
}

exports.PageCache = PageCache
