'use strict'
// Reads blocks through a bounded cache, and decides which blocks are worth caching. The cache has equal slots with
// clock replacement, in arenas that are added as it is used; readers get copies. `Slab` gives them memory.
//
// Invariant: a cached block holds every byte of its block that lies below the file's size. The writer patches cached
// blocks after each write, and the reader caches complete blocks only.

const { LogError } = require('@millrace/errors')
const { allocateShared, Piece, trampoline } = require('@millrace/flow')
const { fetch, rangeError } = require('./whole-io')

/** @typedef {import('./shared-cache').SharedCacheHandle} SharedCache */

const NO_SLOT = -1
// With more slots, the bookkeeping of small blocks would take more memory than their bytes.
const SLOT_COUNT_MAX = 65536
/** The first memory of a cache. The next arena is as large as all before it, so that nothing is copied. */
const ARENA_SIZE_MIN = 64 * 1024
const NO_BYTES = Buffer.alloc(0)
const NO_VIEW = new DataView(new ArrayBuffer(0))

/** Keeps blocks of a file in memory, up to a size. The block that was not used for longest makes room for a new one. */
class BlockCache {
  /**
   * @param {number} blockSize  in bytes
   * @param {number | SharedCache} memory  how many bytes the cache may have, none if below one block; or what it shares
   *   with others
   */
  constructor (blockSize, memory) {
    const [size, shared] = typeof memory === 'number' ? [memory, null] : [memory.size, memory]
    this.blockSize = blockSize
    /** How many there may be. */
    this.slotCount = Math.min(Math.floor(size / blockSize), SLOT_COUNT_MAX)
    this.hitCount = 0
    this.missCount = 0
    /** Where the block is that was found or claimed last. @type {Buffer} */
    this.arena = NO_BYTES
    /** Of the arena. @type {DataView} */
    this.view = NO_VIEW
    /** The number of its slot. */
    this.slot = NO_SLOT
    /** Of the slots that there are, in bytes. */
    this.size = 0
    /** Called when the memory is given back: nothing may keep the arena. @type {Array<() => void>} */
    this.onRelease = []
    /** Whether the others with which it shares need all memory. */
    this.isRefused = false
    this._shared = shared
    /** @type {Array<{ bytes: Buffer, view: DataView, firstSlot: number }>} */
    this._arenas = []
    /** Its index, by slot. */
    this._arenaOf = new Uint8Array(0)
    /** @type {Map<number, number>} */
    this._slotOfBlock = new Map()
    this._blockOfSlot = new Float64Array(0)
    this._wasUsed = new Uint8Array(0)
    this._hand = 0
  }

  /** Whether a block can be added without replacing another. */
  get hasRoom () {
    return this._slotOfBlock.size < (this.isRefused ? this._wasUsed.length : this.slotCount)
  }

  /** Whether the block is cached. @param {number} blockIndex */
  has (blockIndex) {
    return this._slotOfBlock.has(blockIndex)
  }

  /** Position of the block in `arena`, valid until the next call; or -1. @type {(blockIndex: number) => number} */
  find (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex)
    if (slot === undefined) {
      this.missCount++
      return NO_SLOT
    }
    this.hitCount++
    this._wasUsed[slot] = 1
    return this._enter(slot)
  }

  /** Whether bytes may be of another block soon. @param {Buffer} bytes */
  owns (bytes) {
    return this._arenas.some((arena) => arena.bytes === bytes)
  }

  /** Gives the position of a slot in `arena`. @param {number} slot */
  _enter (slot) {
    const { bytes, view, firstSlot } = this._arenas[this._arenaOf[slot]]
    this.arena = bytes
    this.view = view
    this.slot = slot
    return (slot - firstSlot) * this.blockSize
  }

  /**
   * Copies a block into the cache.
   * @type {(blockIndex: number, source: Buffer, sourceStart: number, sourceEnd: number) => void}
   */
  put (blockIndex, source, sourceStart, sourceEnd) {
    if (this.slotCount === 0) return
    const target = this.claim(blockIndex)
    source.copy(this.arena, target, sourceStart, sourceEnd)
  }

  /**
   * Takes a slot for a block and returns its position in `arena`. The caller must fill it, or call `disclaim`, before
   * anything else runs.
   * @type {(blockIndex: number) => number}
   */
  claim (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex) ?? this._freeSlot()
    this._slotOfBlock.set(blockIndex, slot)
    this._blockOfSlot[slot] = blockIndex
    this._wasUsed[slot] = 0
    return this._enter(slot)
  }

  /** Frees the slot that was claimed just now; the next `claim` gets it. @param {number} blockIndex */
  disclaim (blockIndex) {
    const slot = this._slotOfBlock.get(blockIndex)
    if (slot === undefined) return
    this._slotOfBlock.delete(blockIndex)
    this._blockOfSlot[slot] = NO_SLOT
    this._hand = slot
  }

  /** Updates cached blocks with bytes that were just written. @type {(bytes: Buffer, position: number) => void} */
  patch (bytes, position) {
    this._eachCached(position, position + bytes.length, (slot, blockStart) => {
      const from = Math.max(position, blockStart)
      const to = Math.min(position + bytes.length, blockStart + this.blockSize)
      const target = this._enter(slot)
      bytes.copy(this.arena, target + from - blockStart, from - position, to - position)
    })
  }

  /** Forgets the blocks that touch a range; `end` may be Infinity. @type {(start: number, end: number) => void} */
  drop (start, end) {
    this._eachCached(start, end, (slot) => {
      this._slotOfBlock.delete(this._blockOfSlot[slot])
      this._blockOfSlot[slot] = NO_SLOT
    })
  }

  /** @type {(start: number, end: number, visit: (slot: number, blockStart: number) => void) => void} */
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

  /** The clock rule: takes the first slot that was not used since the hand last passed it. */
  _freeSlot () {
    if (this._slotOfBlock.size >= this._wasUsed.length && this.hasRoom) this._grow()
    for (;;) {
      const slot = this._hand
      this._hand = (this._hand + 1) % this._wasUsed.length
      const blockIndex = this._blockOfSlot[slot]
      if (blockIndex === NO_SLOT) return slot
      if (this._wasUsed[slot] === 0) {
        this._slotOfBlock.delete(blockIndex)
        return slot
      }
      this._wasUsed[slot] = 0
    }
  }

  _grow () {
    const { blockSize, _wasUsed: { length: before } } = this
    const least = Math.ceil(ARENA_SIZE_MIN / blockSize)
    const slotCount = Math.min(this.slotCount, Math.max(2 * before, least))
    const size = (slotCount - before) * blockSize
    if (this._shared !== null && !this._shared.take(this, size)) {
      this.isRefused = true
      return
    }
    const { _blockOfSlot: blockOfSlot, _wasUsed: wasUsed, _arenaOf: arenaOf } = this
    this._setSlots(slotCount)
    this._blockOfSlot.set(blockOfSlot)
    this._wasUsed.set(wasUsed)
    this._arenaOf.set(arenaOf)
    this._arenaOf.fill(this._arenas.length, before)
    const bytes = Buffer.allocUnsafeSlow(size)
    this._arenas.push({ bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size), firstSlot: before })
    this._hand = before
  }

  /** @param {number} count */
  _setSlots (count) {
    this.size = count * this.blockSize
    this._blockOfSlot = new Float64Array(count).fill(NO_SLOT)
    this._wasUsed = new Uint8Array(count)
    this._arenaOf = new Uint8Array(count)
  }

  /** Forgets all blocks, and gives all memory back. */
  release () {
    const { size } = this
    this._slotOfBlock.clear()
    this._setSlots(0)
    this._arenas = []
    this.arena = NO_BYTES
    this.view = NO_VIEW
    this._hand = 0
    this.isRefused = false
    for (const forget of this.onRelease) forget()
    this._shared?.giveBack(this, size)
  }
}

/** The blocks of a file; the first use makes it. @type {(file: OpenFile) => BlockCache} */
function cacheOf (file) {
  return (file.cache ??= new BlockCache(file.blockSize, file.memory))
}

// The reader of ranges: it takes bytes from the cache, from what was read ahead, or from the file.

// Larger reads of a warm file gain nothing: copying costs more than the calls by then.
const AHEAD_SIZE_MAX = 256 * 1024
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./whole-io').OpenFile} OpenFile */

class Reader {
  #file
  #cache
  #aheadSizeMax
  #aheadSize = 0
  #expectedStart = -1
  /** The bytes that were read ahead. Each is handed out at most once, so its receiver owns it. */
  #ahead = { span: /** @type {Buffer} */ (NOTHING), start: 0, end: 0, rewriteCount: 0 }
  /** @type {Buffer | null} kept for the next fetch: allocating it would cost more than the read */
  #spare = null

  /** @param {OpenFile} file */
  constructor (file) {
    this.#file = file
    this.#cache = cacheOf(file)
    this.#aheadSizeMax = Math.min(AHEAD_SIZE_MAX, this.#cache.slotCount * file.blockSize / 4)
  }

  /** Where `findCached` has found a block. */
  get arena () {
    return this.#cache.arena
  }

  // Returns bytes of the caller's own if they were read ahead or lie in one cached block, otherwise null.
  /** @type {(start: number, end: number) => Buffer | null} */
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
    this.#cache.arena.copy(bytes, 0, offset, offset + end - start)
    return bytes
  }

  // Returns the position of the range in `arena`, valid until the next read. Returns -1 if the range does not lie in
  // one cached block.
  /** @type {(start: number, end: number) => number} */
  findCached (start, end) {
    const cache = this.#cache
    const { blockSize } = this.#file
    const blockIndex = Math.floor(start / blockSize)
    const blockStart = blockIndex * blockSize
    if (end > blockStart + blockSize || !cache.has(blockIndex)) return -1
    return cache.find(blockIndex) + start - blockStart
  }

  // Reads a range below the file's size into memory of the caller's own. `cb` may run before `read` returns.
  /** @type {(start: number, end: number, cb: (err: Error | null, bytes?: Buffer) => void) => void} */
  read (start, end, cb) {
    const { size, rangeLock } = this.#file
    const result = Buffer.allocUnsafe(end - start)
    let position = start
    let { rewriteCount } = this.#file
    trampoline((next) => {
      if (rewriteCount !== this.#file.rewriteCount) {
        // An overwrite came in between. The result must not mix bytes from before and after it, so start again.
        rewriteCount = this.#file.rewriteCount
        position = start
        if (end > size.value) return cb(rangeError('read', start, end, this.#file))
      }
      position = this.#copyCached(result, start, position, end)
      if (position === end) return cb(null, result)
      if (position > start && !rangeLock.isFree(start, end)) {
        // An overwrite is running. The result must not mix bytes from before and after it, so wait and start again.
        return rangeLock.read(start, end, (release) => {
          release()
          position = start
          next()
        })
      }
      this.#fetchBlocks(position, end, (err, span, spanStart, spanEnd) => {
        if (rewriteCount !== this.#file.rewriteCount) return next()
        if (err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ') return cb(err)
        // The unreadable bytes may lie beside the range, in its first or last block or in the read-ahead. Try it alone.
        if (err) return fetch(this.#file, result, start, (err) => cb(err, result))
        const upTo = Math.min(end, spanEnd)
        span.copy(result, position - start, position - spanStart, upTo - spanStart)
        position = upTo
        if (span !== this.#ahead.span && span.length <= AHEAD_SIZE_MAX) this.#spare = span
        next()
      })
    })
  }

  // Copies cached bytes into `result`, whose first byte is the file's at `start`. Begins at `position`; returns the
  // first position that is not cached, or `end`.
  /** @type {(result: Buffer, start: number, position: number, end: number) => number} */
  #copyCached (result, start, position, end) {
    const cache = this.#cache
    const { blockSize } = this.#file
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

  // Fetches the blocks from `position` up to `end`, and more if the file is being read in order.
  /**
   * @type {(position: number, end: number, cb: (err: Error | null, span: Buffer, spanStart: number, spanEnd: number) =>
   *   void) => void}
   */
  #fetchBlocks (position, end, cb) {
    const { blockSize, size } = this.#file
    const spanStart = Math.floor(position / blockSize) * blockSize
    // The read-ahead doubles with each miss that begins where the last fetch ended. Any other miss ends it.
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
      // After an overwrite the span may be stale.
      if (rewriteCount === this.#file.rewriteCount) this.#offerToCache(span, spanStart, spanEnd)
      // The bytes before `end` go to the read that called.
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

  // Caches the span, unless it is longer than the longest read-ahead: it would push out blocks that are used again.
  /** @type {(span: Buffer, spanStart: number, spanEnd: number) => void} */
  #offerToCache (span, spanStart, spanEnd) {
    const cache = this.#cache
    const { blockSize, size } = this.#file
    if (spanEnd - spanStart > Math.max(this.#aheadSizeMax, blockSize)) return
    for (let blockStart = spanStart; blockStart < spanEnd; blockStart += blockSize) {
      const blockEnd = Math.min(blockStart + blockSize, spanEnd)
      // An append may have made the last block longer during the read, so that the span lacks its end.
      if (blockEnd < Math.min(blockStart + blockSize, size.value)) continue
      const blockIndex = blockStart / blockSize
      if (!cache.has(blockIndex)) cache.put(blockIndex, span, blockStart - spanStart, blockEnd - spanStart)
    }
  }
}

// Admission decides whether to cache a block if only a few of its bytes are wanted. Reading those bytes alone is cheap,
// and finding them in the cache is cheaper. So a block is cached once its small reads have cost about as much as
// reading the block: that at most doubles the total cost. Random reads of a log much larger than the cache then do not
// fill it with blocks that are not used again, and the hot part of a log is soon cached.

// While the cache has room, the second miss is enough.
const MISS_COUNT_WITH_ROOM = 2
// Reading a few bytes takes as long as reading and caching this many bytes more of a block.
const SIZE_PER_MISS = 2048
const COUNT_MAX = 32
// The number of miss counts. In a file much larger than the cache, blocks share counts.
const COUNTS_PER_SLOT = 8
/** Counts are kept for at least so many. */
const SLOT_COUNT_MIN = 16

/** Decides whether a block that is not cached is worth a place: only if it is missed again and again. */
class Admission {
  /**
   * @param {BlockCache} cache
   * @param {{ withRoom?: number | undefined, whenFull?: number | undefined }} [counts]  how many misses it takes
   */
  constructor (cache, { withRoom = MISS_COUNT_WITH_ROOM, whenFull = countFor(cache.blockSize) } = {}) {
    this._cache = cache
    this._countWithRoom = withRoom
    this._countWhenFull = whenFull
    /** Recent misses, by block index modulo length. */
    this._counts = new Uint8Array(0)
    this._countsLeft = 0
  }

  /**
   * Counts a miss, and says whether the block should be cached now.
   * @param {number} blockIndex  of a block that is not cached, and some bytes of it are wanted
   * @param {boolean} inOrder  whether its next bytes will be wanted soon
   */
  isWorthIt (blockIndex, inOrder) {
    const { _cache: cache } = this
    if (cache.slotCount === 0) return false
    if (inOrder) return true
    if (this._countsLeft === 0) this._forgetHalf()
    this._countsLeft--
    const { _counts: counts } = this
    const index = blockIndex & (counts.length - 1)
    const count = counts[index] + 1
    const isWorthIt = count >= (cache.hasRoom ? this._countWithRoom : this._countWhenFull)
    counts[index] = isWorthIt ? 0 : count
    return isWorthIt
  }

  /**
   * Halves all counts, so that old misses count less. Between two halvings, every block of a set that fits into the
   * cache can be missed often enough. There are as many counts as the cache, as large as it is now, needs.
   */
  _forgetHalf () {
    const slotCount = Math.max(SLOT_COUNT_MIN, this._cache.size / this._cache.blockSize)
    const length = 2 ** Math.ceil(Math.log2(COUNTS_PER_SLOT * slotCount))
    this._countsLeft = this._countWhenFull * slotCount
    if (length !== this._counts.length) this._counts = new Uint8Array(length)
    else for (let index = 0; index < length; index++) this._counts[index] >>>= 1
  }
}

/** @param {number} blockSize  in bytes */
function countFor (blockSize) {
  return Math.max(MISS_COUNT_WITH_ROOM, Math.min(COUNT_MAX, Math.ceil(blockSize / SIZE_PER_MISS)))
}

// A slab is memory for small values: one allocation for many values. No byte is handed out twice, so a receiver may
// keep its piece.

// A kept value keeps its whole slab alive, so a slab is not larger. Smaller slabs waste more bytes at their ends.
const SLAB_SIZE = 16 * 1024
// Larger copies get memory of their own.
const COPIED_SIZE_MAX = SLAB_SIZE / 4
const ALIGNMENT = 8

/** Copies small pieces of bytes into memory that they share. */
class Slab {
  constructor () {
    /** The current slab; a new one replaces it when it is used up. */
    this.bytes = Buffer.alloc(0)
    this.view = new DataView(this.bytes.buffer, 0, 0)
    this._memory = this.bytes.buffer
    this._size = 0
    this._used = 0
  }

  /** Finds `size` free bytes; returns their position in `bytes`. They stay free until `take`. @param {number} size */
  reserve (size) {
    if (this._used + size > this._size) this._renew(size)
    return this._used
  }

  /** Takes bytes that were reserved, as the caller's own. @type {(start: number, end: number) => Buffer} */
  take (start, end) {
    this._used = (end + ALIGNMENT - 1) & -ALIGNMENT
    return new Piece(this._memory, start, end - start)
  }

  /** Copies bytes, as the caller's own. @type {(source: Buffer, start: number, end: number) => Buffer} */
  copy (source, start, end) {
    const size = end - start
    if (size > COPIED_SIZE_MAX) {
      const own = Buffer.allocUnsafeSlow(size)
      source.copy(own, 0, start, end)
      return own
    }
    if (this._used + size > this._size) this._renew(size)
    const offset = this._used
    source.copy(this.bytes, offset, start, end)
    return this.take(offset, offset + size)
  }

  /** @param {number} size  that the new slab must hold at least */
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
exports.cacheOf = cacheOf
