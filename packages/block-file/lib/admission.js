'use strict'
// Decides when a block is worth caching of which only a few bytes are wanted at a time. Reading them alone is cheap,
// and finding them in the cache is cheaper; so they are read alone until that has cost about as much as reading the
// block would have, which at most doubles the cost, whatever comes. So a log that is many times the cache is read at
// random without ever filling it with what is not used again; a hot part of it is soon there.

// While the cache has room, a block that is wanted a second time may as well be in it.
const MISS_COUNT_WITH_ROOM = 2
// Reading a few bytes takes as long as reading so many more of a block, and copying them into the cache.
const SIZE_PER_MISS = 2048
const COUNT_MAX = 32
// So many blocks share one count, in a file that is many times the cache.
const COUNTS_PER_SLOT = 8

/** @typedef {import('./block-cache').BlockCache} BlockCache */

class Admission {
  /**
   * @param {BlockCache} cache
   * @param {object} [counts]  how often a block must be missed to be worth caching
   * @param {number} [counts.withRoom]  while none has to go for it
   * @param {number} [counts.whenFull]
   */
  constructor (cache, { withRoom = MISS_COUNT_WITH_ROOM, whenFull = countFor(cache.blockSize) } = {}) {
    this._cache = cache
    this._countWithRoom = withRoom
    this._countWhenFull = whenFull
    /** How often each block was missed lately. @type {Uint8Array | null} */
    this._counts = null
    this._countsLeft = 0
  }

  /**
   * @param {number} blockIndex  of a block that is not in the cache, and of which some bytes are wanted
   * @param {boolean} inOrder  whether others of it will be wanted next
   * @returns {boolean}  whether it is worth caching
   */
  isWorthIt (blockIndex, inOrder) {
    const { _cache: cache } = this
    if (cache.slotCount === 0) return false
    if (inOrder) return true
    const counts = (this._counts ??= new Uint8Array(2 ** Math.ceil(Math.log2(COUNTS_PER_SLOT * cache.slotCount))))
    if (this._countsLeft === 0) this._forgetHalf(counts)
    this._countsLeft--
    const index = blockIndex & (counts.length - 1)
    const count = counts[index] + 1
    const isWorthIt = count >= (cache.hasRoom ? this._countWithRoom : this._countWhenFull)
    counts[index] = isWorthIt ? 0 : count
    return isWorthIt
  }

  /**
   * What was missed long ago counts less. In the time between, blocks that fit into the cache together would each have
   * been missed often enough.
   * @param {Uint8Array} counts
   */
  _forgetHalf (counts) {
    this._countsLeft = this._countWhenFull * this._cache.slotCount
    for (let index = 0; index < counts.length; index++) counts[index] >>>= 1
  }
}

/** @param {number} blockSize  in bytes */
function countFor (blockSize) {
  return Math.max(MISS_COUNT_WITH_ROOM, Math.min(COUNT_MAX, Math.ceil(blockSize / SIZE_PER_MISS)))
}

exports.Admission = Admission
