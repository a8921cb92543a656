'use strict'
// A bounded cache of blocks: one arena of equal slots, replaced by the clock rule. What goes out is always a copy.
//
// Invariant: a cached block holds every byte of its block that lies below the file's size. The writer keeps it so by
// patching what it wrote; the reader by offering only blocks that are complete.

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

exports.BlockCache = BlockCache
