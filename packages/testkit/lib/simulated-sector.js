'use strict'
// An immutable sector of 512 bytes. Disks share it. Its hash is computed at most once.

const SECTOR_SIZE = 512
const WORD_COUNT = SECTOR_SIZE / 4
// Sectors that are written together lie together, so reading them again is one copy.
const ARENA_SIZE = 256 * 1024

/** @typedef {{ bytes: Buffer, words: Int32Array }} Arena */

class Sector {
  /**
   * @param {Arena} arena
   * @param {number} start  of the sector in the arena
   */
  constructor (arena, start) {
    this.arena = arena
    this.start = start
    this._isHashed = false
    this._low = 0
    this._high = 0
  }

  /** 32 bits of a hash of the content: 0 for zeros. */
  get low () {
    if (!this._isHashed) this._hash()
    return this._low
  }

  /** 32 other bits: 0 for zeros. */
  get high () {
    if (!this._isHashed) this._hash()
    return this._high
  }

  /** @returns {Buffer}  the sector's own memory; do not change it */
  view () {
    return this.arena.bytes.subarray(this.start, this.start + SECTOR_SIZE)
  }

  /** A sector with the first `size` bytes of this one, then zeros. @type {(size: number) => Sector} */
  cut (size) {
    const cut = makeSectors(1)[0]
    this.arena.bytes.copy(cut.arena.bytes, cut.start, this.start, this.start + size)
    cut.arena.bytes.fill(0, cut.start + size, cut.start + SECTOR_SIZE)
    return cut
  }

  // Not a CRC, because all data that ends with its own CRC has the same CRC.
  _hash () {
    const [low, high] = hashWords(this.arena.words, this.start / 4)
    this._low = low ^ ZERO_HASH[0]
    this._high = high ^ ZERO_HASH[1]
    this._isHashed = true
  }
}

/** @param {Int32Array} words @param {number} first */
function hashWords (words, first) {
  let low = 0x2f0b4a27
  let high = 0x7a5662b1
  for (let index = first; index < first + WORD_COUNT; index++) {
    const word = words[index]
    low = Math.imul(low ^ word, 0x5bd1e995)
    low ^= low >>> 15
    high = Math.imul(high + word | 0, 0x1b873593)
    high ^= high >>> 13
  }
  return [low, high]
}

const ZERO_HASH = hashWords(new Int32Array(WORD_COUNT), 0)

let arena = makeArena(ARENA_SIZE)
let arenaUsed = 0

/** @type {(size: number) => Arena} */
function makeArena (size) {
  const bytes = Buffer.allocUnsafeSlow(size)
  return { bytes, words: new Int32Array(bytes.buffer) }
}

/**
 * @param {number} count
 * @returns {Sector[]}  adjoining; their bytes are not initialised, so fill them before use
 */
function makeSectors (count) {
  const size = count * SECTOR_SIZE
  const isLarge = size > ARENA_SIZE / 4
  if (!isLarge && arenaUsed + size > ARENA_SIZE) {
    arena = makeArena(ARENA_SIZE)
    arenaUsed = 0
  }
  const home = isLarge ? makeArena(size) : arena
  const start = isLarge ? 0 : arenaUsed
  if (!isLarge) arenaUsed += size
  const sectors = []
  for (let index = 0; index < count; index++) sectors.push(new Sector(home, start + index * SECTOR_SIZE))
  return sectors
}

const ZERO_SECTOR = new Sector({ bytes: Buffer.alloc(SECTOR_SIZE), words: new Int32Array(WORD_COUNT) }, 0)

/**
 * @param {Sector[]} sectors  of a file
 * @param {Buffer} target
 * @param {number} offset  in the target
 * @param {number} position  in the file
 * @param {number} length  the range must lie within the sectors
 */
function copyOut (sectors, target, offset, position, length) {
  const end = position + length
  while (position < end) {
    let index = Math.floor(position / SECTOR_SIZE)
    const { arena, start } = sectors[index]
    const within = position - index * SECTOR_SIZE
    let size = SECTOR_SIZE - within
    while (position + size < end && isNext(sectors[index], sectors[index + 1])) {
      size += SECTOR_SIZE
      index++
    }
    if (size > end - position) size = end - position
    arena.bytes.copy(target, offset, start + within, start + within + size)
    offset += size
    position += size
  }
}

/** @param {Sector} sector @param {Sector} other */
function isNext (sector, other) {
  return other.start === sector.start + SECTOR_SIZE && other.arena === sector.arena
}

exports.Sector = Sector
exports.SECTOR_SIZE = SECTOR_SIZE
exports.ZERO_SECTOR = ZERO_SECTOR
exports.copyOut = copyOut
exports.makeSectors = makeSectors
