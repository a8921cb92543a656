'use strict'
// One bound for the memory of many caches. A cache takes more as it is used. When the bound is reached, a cache that
// was not used lately gives all of its memory back. If all of them are in use, those that have some memory get no more.

const { misuse, reasonOf } = require('@millrace/errors')

/** A cache begins with 64 KiB, so at least some have room. */
const SIZE_MIN = 256 * 1024
const SIZE_MAX = 2 ** 31

// Methods name it in full, because the declarations of other packages repeat them.
/** @typedef {import('./block-cache').BlockCache} BlockCache */

class SharedMemory {
  /** In bytes; never above `size`. */
  usedSize = 0
  /** Caches with memory, and how often each was asked when it was looked at last. @type {Map<BlockCache, number>} */
  #caches = new Map()

  /** @param {number} size  in bytes */
  constructor (size) {
    if (!Number.isSafeInteger(size) || size < SIZE_MIN || size > SIZE_MAX) {
      throw misuse(`SharedCache: expected a size from ${SIZE_MIN} to ${SIZE_MAX} bytes, got ${reasonOf(size)}`)
    }
    this.size = size
  }

  /**
   * @param {import('./block-cache').BlockCache} cache
   * @param {number} size  in bytes, that it wants in addition
   * @returns {boolean}  whether it gets them; a cache that has nothing always does
   */
  take (cache, size) {
    const isFirst = !this.#caches.has(cache)
    while (this.usedSize + size > this.size) {
      const other = this.#findIdle(cache, isFirst)
      if (other === undefined) return false
      other.release()
    }
    this.usedSize += size
    this.#caches.set(cache, countOf(cache))
    return true
  }

  /**
   * Gives memory back that a cache has taken.
   * @type {(cache: import('./block-cache').BlockCache, size: number) => void}
   */
  giveBack (cache, size) {
    if (!this.#caches.delete(cache)) return
    this.usedSize -= size
    for (const other of this.#caches.keys()) other.isRefused = false
  }

  /**
   * The clock rule, among caches.
   * @param {import('./block-cache').BlockCache} asking
   * @param {boolean} mustFind
   * @returns {import('./block-cache').BlockCache | undefined}
   */
  #findIdle (asking, mustFind) {
    for (const [cache, count] of [...this.#caches]) {
      if (cache === asking) continue
      if (countOf(cache) === count) return cache
      this.#caches.delete(cache)
      this.#caches.set(cache, countOf(cache))
    }
    return mustFind ? this.#caches.keys().next().value : undefined
  }
}

/** @param {BlockCache} cache */
function countOf ({ hitCount, missCount }) {
  return hitCount + missCount
}

/**
 * Memory for the caches of many files, with or without `new`: give it to each of them as its option `cache`.
 * @param {number} size  in bytes, of all caches together
 * @returns {SharedMemory}
 */
function SharedCache (size) {
  return new SharedMemory(size)
}
SharedCache.prototype = SharedMemory.prototype

/**
 * @typedef {object} SharedCacheHandle
 * @property {number} size  in bytes
 * @property {number} usedSize  in bytes; never above `size`
 * @property {(cache: BlockCache, size: number) => boolean} take
 * @property {(cache: BlockCache, size: number) => void} giveBack
 */

/** @type {{ new (size: number): SharedMemory, (size: number): SharedMemory, prototype: SharedMemory }} */
exports.SharedCache = /** @type {any} */ (SharedCache)
