'use strict'
// A bounded cache of blocks: one arena of equal slots, replaced by the clock rule. What goes out is always a copy.
// Reads through it, and ahead of a reader that goes through the file in order. What is worth caching.
//
// Invariant: a cached block holds every byte of its block that lies below the file's size. The writer keeps it so by
// patching what it wrote; the reader by offering only blocks that are complete.

const { LogError } = require('@millrace/errors')
const { allocateShared, Piece, trampoline } = require('@millrace/flow')
const { fetch, rangeError } = require('./whole-io')

const NO_SLOT = -1
// Small blocks would need more for their bookkeeping than for their bytes.
const SLOT_COUNT_MAX = 65536

class BlockCache {
  /**
   * @param {number} blockSize  in bytes
   * @param {number} cacheSize  in bytes; below one block there is no cache
   */
  constructor (blockSize, cacheSize) {
    this.blockSize = blockSize
    this.slotCount = Math.min(Math.floor(cacheSize / blockSize), SLOT_COUNT_MAX)
    this.hitCount = 0
    this.missCount = 0
    // Memory the kernel has not been asked to fill yet costs nothing, so the arena can be made whole, at first use.
    /** @type {Buffer | null} */
    this._arena = null
    /** @type {Map<number, number>} */
    this._slotOfBlock = new Map()
    this._blockOfSlot = new Float64Array(this.slotCount).fill(NO_SLOT)
    this._wasUsed = new Uint8Array(this.slotCount)
    this._hand = 0
  }

  get arena () {
    return (this._arena ??= Buffer.allocUnsafeSlow(this.slotCount * this.blockSize))
  }

  /** Whether a block can be put in without another having to go. */
  get hasRoom () {
    return this._slotOfBlock.size < this.slotCount
  }

  /** @param {number} blockIndex */
  has (blockIndex) {
    return this._slotOfBlock.has(blockIndex)
  }

  /**
   * @param {number} blockIndex
   * @returns {number}  where the block begins in `arena`, or -1; good until the next `put`
   */
  find (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex)
    if (slot === undefined) {
      this.missCount++
      return NO_SLOT
    }
    this.hitCount++
    this._wasUsed[slot] = 1
    return slot * this.blockSize
  }

  /**
   * @param {number} blockIndex
   * @param {Buffer} source  copied from
   * @param {number} sourceStart
   * @param {number} sourceEnd
   */
  put (blockIndex, source, sourceStart, sourceEnd) {
    if (this.slotCount > 0) source.copy(this.arena, this.claim(blockIndex), sourceStart, sourceEnd)
  }

  /**
   * Gives a block its place, where the caller must put its bytes before anything else happens, or disclaim it.
   * @param {number} blockIndex
   * @returns {number}  where it begins in `arena`
   */
  claim (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex) ?? this._freeSlot()
    this._slotOfBlock.set(blockIndex, slot)
    this._blockOfSlot[slot] = blockIndex
    this._wasUsed[slot] = 0
    return slot * this.blockSize
  }

  /** @param {number} blockIndex  claimed just now; its place is the next one to be given away */
  disclaim (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex)
    if (slot === undefined) return
    this._slotOfBlock.delete(blockIndex)
    this._blockOfSlot[slot] = NO_SLOT
    this._hand = slot
  }

  /**
   * Copies bytes that were just written to the file over the cached blocks that they touch.
   * @param {Buffer} bytes
   * @param {number} position  in the file
   */
  patch (bytes, position) {
    this._eachCached(position, position + bytes.length, (slot, blockStart) => {
      const from = Math.max(position, blockStart)
      const to = Math.min(position + bytes.length, blockStart + this.blockSize)
      bytes.copy(this.arena, slot * this.blockSize + from - blockStart, from - position, to - position)
    })
  }

  /**
   * Forgets every block that touches the range.
   * @param {number} start  position in the file
   * @param {number} end  position in the file, may be Infinity
   */
  drop (start, end) {
    this._eachCached(start, end, (slot) => {
      this._slotOfBlock.delete(this._blockOfSlot[slot])
      this._blockOfSlot[slot] = NO_SLOT
    })
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {(slot: number, blockStart: number) => void} visit
   */
  _eachCached (start, end, visit) {
    const first = Math.floor(start / this.blockSize)
    const last = Math.ceil(end / this.blockSize) - 1
    if (last - first >= this._slotOfBlock.size) {
      for (const [index, slot] of this._slotOfBlock) {
        if (index >= first && index <= last) visit(slot, index * this.blockSize)
      }
      return
    }
    for (let index = first; index <= last; index++) {
      const slot = this._slotOfBlock.get(index)
      if (slot !== undefined) visit(slot, index * this.blockSize)
    }
  }

  /** The clock rule: the first slot that nobody used since the hand last passed it. */
  _freeSlot () {
    for (;;) {
      const slot = this._hand
      this._hand = (this._hand + 1) % this.slotCount
      const blockIndex = this._blockOfSlot[slot]
      if (blockIndex === NO_SLOT) return slot
      if (this._wasUsed[slot] === 0) {
        this._slotOfBlock.delete(blockIndex)
        return slot
      }
      this._wasUsed[slot] = 0
    }
  }
}

// Reads ranges: from the cache, from what was read ahead, or from the file.

// Past this, longer reads of a warm file gain nothing: the copy is the cost, no longer the call.
const AHEAD_SIZE_MAX = 256 * 1024
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./whole-io').OpenFile} OpenFile */

class Reader {
  #file
  #aheadSizeMax
  #aheadSize = 0
  #expectedStart = -1
  /** What was read ahead last. Each of its bytes is handed out once at most, so whoever gets it owns it. */
  #ahead = { span: /** @type {Buffer} */ (NOTHING), start: 0, end: 0, rewriteCount: 0 }
  /** @type {Buffer | null} one buffer is kept for the next fetch: making it anew costs more than the read */
  #spare = null

  /** @param {OpenFile} file */
  constructor (file) {
    this.#file = file
    this.#aheadSizeMax = Math.min(AHEAD_SIZE_MAX, file.cache.slotCount * file.blockSize / 4)
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Buffer | null}  the caller's own, when it is at hand: read ahead, or in one cached block
   */
  readAtHand (start, end) {
    const { rewriteCount } = this.#file
    const ahead = this.#ahead
    if (start >= ahead.start && end <= ahead.end && rewriteCount === ahead.rewriteCount) {
      const offset = ahead.span.length - ahead.end
      ahead.start = end
      return ahead.span.subarray(start + offset, end + offset)
    }
    const offset = this.findCached(start, end)
    if (offset === -1) return null
    const bytes = Buffer.allocUnsafe(end - start)
    this.#file.cache.arena.copy(bytes, 0, offset, offset + end - start)
    return bytes
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {number}  where the bytes are in the cache's arena, until anything else is read; -1 unless in one block
   */
  findCached (start, end) {
    const { cache, blockSize } = this.#file
    const blockIndex = Math.floor(start / blockSize)
    const blockStart = blockIndex * blockSize
    if (end > blockStart + blockSize || !cache.has(blockIndex)) return -1
    return cache.find(blockIndex) + start - blockStart
  }

  /**
   * @param {number} start
   * @param {number} end  at most the file's size
   * @param {(err: Error | null, bytes?: Buffer) => void} cb  gets bytes of its own; may run before `read` returns
   */
  read (start, end, cb) {
    const { size, lock } = this.#file
    const result = Buffer.allocUnsafe(end - start)
    let position = start
    let { rewriteCount } = this.#file
    trampoline((next) => {
      if (rewriteCount !== this.#file.rewriteCount) {
        // What was copied so far and what comes now may be from before and after an overwrite: begin again.
        rewriteCount = this.#file.rewriteCount
        position = start
        if (end > size.value) return cb(rangeError('read', start, end, this.#file))
      }
      position = this.#copyCached(result, start, position, end)
      if (position === end) return cb(null, result)
      if (position > start && !lock.isFree(start, end)) {
        // What was copied is from before an overwrite that is under way; what comes may be from after it.
        return lock.read(start, end, (release) => {
          release()
          position = start
          next()
        })
      }
      this.#fetchBlocks(position, end, (err, span, spanStart, spanEnd) => {
        if (rewriteCount !== this.#file.rewriteCount) return next()
        if (err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ') return cb(err)
        // What lies beside the bytes that are wanted, in their block or ahead, may be what cannot be read.
        if (err) return fetch(this.#file, result, start, (err) => cb(err, result))
        const upTo = Math.min(end, spanEnd)
        span.copy(result, position - start, position - spanStart, upTo - spanStart)
        position = upTo
        if (span !== this.#ahead.span && span.length <= AHEAD_SIZE_MAX) this.#spare = span
        next()
      })
    })
  }

  /**
   * @param {Buffer} result
   * @param {number} start  the position of `result` in the file
   * @param {number} position  copied up to here
   * @param {number} end
   * @returns {number}  the position of the first byte that is not cached, or `end`
   */
  #copyCached (result, start, position, end) {
    const { cache, blockSize } = this.#file
    while (position < end) {
      const blockIndex = Math.floor(position / blockSize)
      const slotStart = cache.find(blockIndex)
      if (slotStart === -1) return position
      const blockStart = blockIndex * blockSize
      const upTo = Math.min(end, blockStart + blockSize)
      cache.arena.copy(result, position - start, slotStart + position - blockStart, slotStart + upTo - blockStart)
      position = upTo
    }
    return position
  }

  /**
   * Fetches the block at `position`, those up to `end`, and more when the file is being read in order.
   * @param {number} position
   * @param {number} end
   * @param {(err: Error | null, span: Buffer, spanStart: number, spanEnd: number) => void} cb
   */
  #fetchBlocks (position, end, cb) {
    const { blockSize, size } = this.#file
    const spanStart = Math.floor(position / blockSize) * blockSize
    // The window doubles while each miss begins where the last fetch ended, and closes when one does not.
    const aheadSize = spanStart !== this.#expectedStart
      ? 0
      : Math.min(this.#aheadSizeMax, Math.max(2 * this.#aheadSize, blockSize))
    this.#aheadSize = aheadSize
    const wanted = Math.max(end - spanStart, aheadSize)
    const spanEnd = Math.min(spanStart + Math.ceil(wanted / blockSize) * blockSize, size.value)
    this.#expectedStart = spanEnd
    const isAhead = spanEnd > end && aheadSize > 0
    const length = spanEnd - spanStart
    const span = isAhead ? allocateShared(length) : this.#takeBuffer(length)
    const { rewriteCount } = this.#file
    fetch(this.#file, span, spanStart, (err) => {
      if (err) return cb(err, span, spanStart, spanEnd)
      // What was changed meanwhile is not worth keeping.
      if (rewriteCount === this.#file.rewriteCount) this.#offerToCache(span, spanStart, spanEnd)
      // The bytes before `end` are for the read that made the fetch.
      if (isAhead) this.#ahead = { span, start: end, end: spanEnd, rewriteCount }
      cb(null, span, spanStart, spanEnd)
    })
  }

  /** @param {number} length */
  #takeBuffer (length) {
    const memory = this.#spare?.buffer
    this.#spare = null
    return memory && memory.byteLength >= length ? Buffer.from(memory, 0, length) : Buffer.allocUnsafeSlow(length)
  }

  /**
   * A range larger than a quarter of the cache would only push out what is used again.
   * @param {Buffer} span
   * @param {number} spanStart
   * @param {number} spanEnd
   */
  #offerToCache (span, spanStart, spanEnd) {
    const { cache, blockSize, size } = this.#file
    if (spanEnd - spanStart > Math.max(this.#aheadSizeMax, blockSize)) return
    for (let blockStart = spanStart; blockStart < spanEnd; blockStart += blockSize) {
      const blockEnd = Math.min(blockStart + blockSize, spanEnd)
      // An append may have grown the last block while it was read: then these bytes are not all of it.
      if (blockEnd < Math.min(blockStart + blockSize, size.value)) continue
      const blockIndex = blockStart / blockSize
      if (!cache.has(blockIndex)) cache.put(blockIndex, span, blockStart - spanStart, blockEnd - spanStart)
    }
  }
}

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

// Memory for small values, handed out piece by piece, and no piece twice: one allocation for many values, which whoever
// gets one may keep.

// Of a larger slab more would be kept by whoever keeps a single value; of smaller ones the last bytes are wasted more
// often.
const SLAB_SIZE = 16 * 1024
// A larger copy gets memory of its own.
const COPIED_SIZE_MAX = SLAB_SIZE / 4
const ALIGNMENT = 8

class Slab {
  constructor () {
    /** What is handed out of. It is replaced when it is used up. */
    this.bytes = Buffer.alloc(0)
    /** Over `bytes`. */
    this.view = new DataView(this.bytes.buffer, 0, 0)
    this._memory = this.bytes.buffer
    this._size = 0
    this._used = 0
  }

  /**
   * @param {number} size  in bytes
   * @returns {number}  where in `bytes` so many are free; they stay so until some are taken
   */
  reserve (size) {
    if (this._used + size > this._size) this._renew(size)
    return this._used
  }

  /**
   * @param {number} start  in `bytes`, where some were reserved, or behind it
   * @param {number} end
   * @returns {Buffer}  what was put there, the caller's own
   */
  take (start, end) {
    this._used = (end + ALIGNMENT - 1) & -ALIGNMENT
    return new Piece(this._memory, start, end - start)
  }

  /**
   * @param {Buffer} source
   * @param {number} start  in the source
   * @param {number} end
   * @returns {Buffer}  a copy, the caller's own
   */
  copy (source, start, end) {
    const size = end - start
    if (size > COPIED_SIZE_MAX) {
      const own = Buffer.allocUnsafeSlow(size)
      source.copy(own, 0, start, end)
      return own
    }
    const offset = this.reserve(size)
    source.copy(this.bytes, offset, start, end)
    return this.take(offset, offset + size)
  }

  /** @param {number} size  that must fit into it */
  _renew (size) {
    this._size = Math.max(SLAB_SIZE, size)
    this.bytes = allocateShared(this._size)
    this._memory = this.bytes.buffer
    this.view = new DataView(this._memory, 0, this._size)
    this._used = 0
  }
}

exports.BlockCache = BlockCache
exports.Reader = Reader
exports.Admission = Admission
exports.Slab = Slab
