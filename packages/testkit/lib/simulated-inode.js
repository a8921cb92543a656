'use strict'
// One file of the simulated disk: what readers see, what the medium holds, and what a crash may make of the difference.

const SECTOR_SIZE = 512

class Inode {
  constructor () {
    /** @type {Buffer} what readers see */
    this.cache = Buffer.alloc(0)
    /** @type {Buffer} what is on stable storage */
    this.medium = Buffer.alloc(0)
    /** @type {Map<number, Buffer[]>} by sector: the versions written since the last sync */
    this.unsynced = new Map()
    /** @type {number[]} the sizes that the file had since the last sync */
    this.sizes = []
    /** @type {Map<number, Buffer>} by sector: what it held before it was last synced */
    this.previous = new Map()
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} position
   */
  write (bytes, position) {
    if (bytes.length === 0) return
    const end = position + bytes.length
    if (end > this.cache.length) this._resize(end)
    this.cache.set(bytes, position)
    this._noteSectors(position, end)
  }

  /** @param {number} size */
  truncate (size) {
    const before = this.cache.length
    this._resize(size)
    if (size > before) this._noteSectors(before, size)
  }

  /** All of it is on stable storage now. */
  sync () {
    for (const sector of this.unsynced.keys()) this.previous.set(sector, copySector(this.medium, sector))
    const synced = resized(this.medium, this.cache.length)
    for (const sector of this.unsynced.keys()) putSector(synced, sector, copySector(this.cache, sector))
    this.medium = synced
    this._forgetUnsynced()
  }

  /** A failed sync, as on Linux: what was dirty counts as clean, and is not on the medium. */
  loseUnsynced () {
    this._forgetUnsynced()
  }

  /** Readers see the medium again. Unsynced changes that a sync would still write are lost, as with a lost machine. */
  dropCache () {
    this.cache = Buffer.from(this.medium)
    this._forgetUnsynced()
  }

  /**
   * @param {(count: number, what: string) => number} pick
   * @returns {Inode}  what is left after the power went
   */
  crash (pick) {
    const sizes = [this.medium.length, ...this.sizes]
    const size = sizes[pick(sizes.length, 'size')]
    const medium = resized(this.medium, size)
    for (const [sector, versions] of this.unsynced) {
      if (sector * SECTOR_SIZE >= size) continue
      // 0: the old bytes. Then each version whole, and each torn: every byte old or new.
      const outcome = pick(1 + 2 * versions.length, `sector ${sector}`)
      if (outcome === 0) continue
      const version = versions[(outcome - 1) % versions.length]
      const isTorn = outcome > versions.length
      putSector(medium, sector, isTorn ? tear(copySector(medium, sector), version, pick) : version)
    }
    const after = new Inode()
    after.medium = medium
    after.cache = Buffer.from(medium)
    return after
  }

  /** @param {number} size */
  _resize (size) {
    this.cache = resized(this.cache, size)
    this.sizes.push(size)
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  _noteSectors (start, end) {
    for (let sector = Math.floor(start / SECTOR_SIZE); sector * SECTOR_SIZE < end; sector++) {
      const versions = this.unsynced.get(sector) ?? []
      versions.push(copySector(this.cache, sector))
      this.unsynced.set(sector, versions)
    }
  }

  _forgetUnsynced () {
    this.unsynced = new Map()
    this.sizes = []
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {Buffer}  a copy of that size, zeros behind what there was
 */
function resized (bytes, size) {
  const copy = Buffer.alloc(size)
  bytes.copy(copy, 0, 0, Math.min(size, bytes.length))
  return copy
}

/**
 * @param {Buffer} bytes
 * @param {number} sector
 */
function copySector (bytes, sector) {
  return resized(bytes.subarray(sector * SECTOR_SIZE, (sector + 1) * SECTOR_SIZE), SECTOR_SIZE)
}

/**
 * @param {Buffer} bytes
 * @param {number} sector
 * @param {Buffer} content
 */
function putSector (bytes, sector, content) {
  content.copy(bytes, sector * SECTOR_SIZE, 0, Math.max(0, Math.min(SECTOR_SIZE, bytes.length - sector * SECTOR_SIZE)))
}

/**
 * @param {Buffer} before
 * @param {Buffer} after
 * @param {(count: number, what: string) => number} pick
 */
function tear (before, after, pick) {
  // Eight bytes at a time by choice, since 2^512 mixtures are more than anybody can ask for.
  for (let start = 0; start < SECTOR_SIZE; start += 8) {
    const mask = pick(256, 'bytes')
    for (let bit = 0; bit < 8; bit++) if (mask & (1 << bit)) before[start + bit] = after[start + bit]
  }
  return before
}

exports.Inode = Inode
exports.SECTOR_SIZE = SECTOR_SIZE
