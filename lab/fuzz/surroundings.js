'use strict'
// What may surround the bytes under test, and must not matter: the memory before, after and under them, how they are
// read, and how fast.

const { seededRandom } = require('../torture/seeded')
const { MemoryStorage } = require('./memory-storage')

const NOISE_SIZE = 64 * 1024
const NOISE = Buffer.alloc(NOISE_SIZE)
const random = seededRandom(0x6e6f6973)
for (let at = 0; at < NOISE_SIZE; at++) NOISE[at] = random(256)

// After and before the bytes, at least.
const MARGIN_SIZE = 4096
const MEMORY_SIZE = 64 * 1024

const BLOCK_SIZES = [16, 1000, 4096, 16384, 65536]
const CACHE_SIZES = [0, 16384, 40000]
const TRANSFER_SIZES = [Infinity, Infinity, 5000, 100_000]
const READ_MS = [0, 0, 0, 3]

/**
 * @typedef {object} Placed
 * @property {Buffer} memory  with the bytes somewhere in it
 * @property {number} start  where they begin
 * @property {number} end
 */

class Surroundings {
  /**
   * @param {object} how
   * @param {string} how.name
   * @param {import('./library').Library} how.library
   * @param {boolean} how.isNoisy  whether fresh memory is noise, or zeros
   * @param {import('./steps').StepCounter | null} how.counter
   */
  constructor ({ name, library, isNoisy, counter }) {
    this.name = name
    this.library = library
    this.isNoisy = isNoisy
    this.counter = counter
    /** @type {MemoryStorage | null} of the case at hand, if it reads files */
    this.storage = null
    this._memory = Buffer.alloc(0)
  }

  /**
   * @param {number} pick
   * @param {boolean} isSteady  whether only memory may differ
   * @returns {{ blockSize: number, cache: number }}  options of a log that must not matter
   */
  choose (pick, isSteady) {
    if (!this.isNoisy || isSteady) return { blockSize: 65536, cache: 65536 }
    return { blockSize: BLOCK_SIZES[pick % BLOCK_SIZES.length], cache: CACHE_SIZES[pick % CACHE_SIZES.length] }
  }

  /**
   * @param {number} pick
   * @param {boolean} isSteady
   * @returns {number}  how long every read seems to take: slow ones are made asynchronously
   */
  chooseReadMs (pick, isSteady) {
    return this.isNoisy && !isSteady ? READ_MS[(pick >>> 3) % READ_MS.length] : 0
  }

  /**
   * @param {number} pick
   * @param {boolean} isSteady
   * @returns {MemoryStorage}
   */
  createStorage (pick, isSteady) {
    this.storage = new MemoryStorage(!this.isNoisy || isSteady
      ? { hasState: true }
      : {
          transferSizeMax: TRANSFER_SIZES[(pick >>> 5) % TRANSFER_SIZES.length],
          isAsync: (pick >>> 7) % 4 === 0,
          hasState: (pick >>> 9) % 4 > 0
        })
    return this.storage
  }

  /**
   * @param {Buffer} bytes
   * @param {number} shift  a small one
   * @returns {Placed}  good until the next call; nothing else of the memory has to do with the bytes
   */
  place (bytes, shift) {
    // An end of memory right after them is a surrounding, too.
    if (!this.isNoisy && shift % 2 === 0) {
      const memory = Buffer.from(new Uint8Array(bytes).buffer)
      return { memory, start: 0, end: bytes.length }
    }
    const start = MARGIN_SIZE + shift
    const end = start + bytes.length
    this._makeRoom(end + MARGIN_SIZE)
    const memory = this._memory
    if (this.isNoisy) fillWithNoise(memory, start - MARGIN_SIZE, end + MARGIN_SIZE)
    else memory.fill(0, start - MARGIN_SIZE, end + MARGIN_SIZE)
    bytes.copy(memory, start)
    // They may seem to go on.
    if (this.isNoisy && shift % 2 === 0) memory.copy(memory, end, start, Math.min(end, start + MARGIN_SIZE))
    return { memory, start, end }
  }

  /** @param {number} size */
  _makeRoom (size) {
    if (this._memory.length < size) this._memory = Buffer.from(new ArrayBuffer(Math.max(size, MEMORY_SIZE)))
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} [start]
 * @param {number} [end]
 */
function fillWithNoise (bytes, start = 0, end = bytes.length) {
  for (let at = start; at < end; at += NOISE_SIZE) NOISE.copy(bytes, at, 0, Math.min(NOISE_SIZE, end - at))
}

/** Memory that was used is as good as fresh, once the case is over that used it: from this size on it is used again. */
const RECYCLED_SIZE_MIN = 4096
const KEPT_COUNT_MAX = 64

/**
 * Fresh memory is whatever was there before; here it is zeros or noise.
 */
class FreshMemory {
  constructor () {
    this.isNoisy = false
    /** Whether what is handed out now is given back at the next call of `recycle`. */
    this.isRecycled = false
    /** @type {Map<number, Buffer[]>} by size: what nobody uses */
    this._free = new Map()
    /** @type {Buffer[]} */
    this._used = []
  }

  /** Nobody uses any more what was handed out before. */
  recycle () {
    for (const bytes of this._used.splice(0)) {
      const free = this._free.get(bytes.length)
      if (free === undefined) this._free.set(bytes.length, [bytes])
      else if (free.length < KEPT_COUNT_MAX) free.push(bytes)
    }
    // Sizes that come once in a while are not worth keeping.
    if (this._free.size > KEPT_COUNT_MAX) this._free.clear()
  }

  /** @returns {() => void}  puts back what was there */
  install () {
    const { alloc, allocUnsafe, allocUnsafeSlow } = Buffer
    const fresh = (/** @type {any} */ allocate) => (/** @type {number} */ size) => {
      const bytes = this._take(size, allocate)
      if (this.isNoisy) fillWithNoise(bytes)
      else bytes.fill(0)
      return bytes
    }
    const replaced = /** @type {any} */ (Buffer)
    replaced.allocUnsafe = fresh(allocUnsafe)
    replaced.allocUnsafeSlow = fresh(allocUnsafeSlow)
    replaced.alloc = (/** @type {number} */ size, /** @type {[]} */ ...filling) => {
      if (filling.length > 0 || !(size >= RECYCLED_SIZE_MIN)) return alloc(size, ...filling)
      return this._take(size, allocUnsafeSlow).fill(0)
    }
    return () => Object.assign(Buffer, { alloc, allocUnsafe, allocUnsafeSlow })
  }

  /**
   * @param {number} size
   * @param {(size: number) => Buffer} allocate
   * @returns {Buffer}
   */
  _take (size, allocate) {
    if (!this.isRecycled || !(size >= RECYCLED_SIZE_MIN)) return allocate(size)
    const bytes = this._free.get(size)?.pop() ?? allocate(size)
    // A part of a pool is not for whoever wants memory of its own. From Node.js 24 on pools have room for such sizes.
    if (bytes.buffer.byteLength === size) this._used.push(bytes)
    return bytes
  }
}

exports.FreshMemory = FreshMemory
exports.Surroundings = Surroundings
