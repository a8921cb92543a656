'use strict'
// One file of the simulated disk: what readers see, what the medium holds, and what a crash makes of the difference.

const { SECTOR_SIZE, ZERO_SECTOR, copyOut, makeSectors } = require('./simulated-sector')

/** @typedef {import('./simulated-sector').Sector} Sector */

// A file system notes for each block of this many sectors whether it was ever written.
const BLOCK_SECTORS = 8

class Inode {
  constructor () {
    /** What readers see. After the file's size, the last sector has zeros. @type {Sector[]} */
    this.cache = []
    this.cacheSize = 0
    /** What is durable. @type {Sector[]} */
    this.medium = []
    this.mediumSize = 0
    /** By sector: the versions written since the last sync. The lists never change. @type {Map<number, Sector[]>} */
    this.unsynced = new Map()
    /** The sizes that the file had since the last sync. @type {number[]} */
    this.sizes = []
    /** By sector: its content before its last sync. @type {Map<number, Sector>} */
    this.previous = new Map()
    /**
     * Blocks that were new when a sync failed. As on ext4, they stay marked as never written: writing them again in
     * place brings nothing to the medium, although the sync succeeds. A truncation before them removes the mark.
     * @type {Set<number>}
     */
    this.unwritten = new Set()
  }

  /** @returns {Inode}  an independent copy */
  clone () {
    return Object.assign(new Inode(), this, {
      cache: this.cache.slice(),
      medium: this.medium.slice(),
      unsynced: new Map(this.unsynced),
      sizes: this.sizes.slice(),
      previous: new Map(this.previous),
      unwritten: new Set(this.unwritten)
    })
  }

  /**
   * @param {Buffer} target
   * @param {number} offset  in the target
   * @param {number} length
   * @param {number} position  in the file
   * @returns {number}  how many bytes were read
   */
  read (target, offset, length, position) {
    const count = Math.max(0, Math.min(length, this.cacheSize - position))
    copyOut(this.cache, target, offset, position, count)
    return count
  }

  /** @returns {Buffer}  a copy of what readers see */
  contents () {
    return flatten(this.cache, this.cacheSize)
  }

  /**
   * @param {Buffer} source
   * @param {number} start  in the source
   * @param {number} length
   * @param {number} position  in the file
   */
  write (source, start, length, position) {
    if (length === 0) return
    const end = position + length
    const before = this.cacheSize
    if (end > before) this._resize(end)
    const first = Math.floor(position / SECTOR_SIZE)
    const last = Math.ceil(end / SECTOR_SIZE) - 1
    const written = makeSectors(last - first + 1)
    const { bytes } = written[0].arena
    // The first and the last sector keep the bytes around the new ones.
    copyOut([this.cache[first]], bytes, written[0].start, 0, SECTOR_SIZE)
    if (last > first) copyOut([this.cache[last]], bytes, written[last - first].start, 0, SECTOR_SIZE)
    source.copy(bytes, written[0].start + position - first * SECTOR_SIZE, start, start + length)
    for (let index = 0; index < written.length; index++) this._put(first + index, written[index])
    // A gap before the write becomes zeros, whatever the medium holds there.
    if (position > before) this._noteZeros(before, first)
  }

  /** @param {number} size */
  truncate (size) {
    const before = this.cacheSize
    for (const block of this.unwritten) if (block * BLOCK_SECTORS * SECTOR_SIZE >= size) this.unwritten.delete(block)
    this._resize(size)
    if (size > before) this._noteZeros(before, Math.ceil(size / SECTOR_SIZE))
  }

  sync () {
    for (const sector of this.unsynced.keys()) this.previous.set(sector, this.medium[sector] ?? ZERO_SECTOR)
    this.medium = resized(this.medium, this.mediumSize, this.cacheSize)
    this.mediumSize = this.cacheSize
    for (const sector of this.unsynced.keys()) {
      if (sector < this.cache.length) this.medium[sector] = this.arriving(sector, this.cache[sector])
    }
    this._forgetUnsynced()
  }

  /** A sync fails as on Linux: dirty sectors count as clean, but are not on the medium. */
  loseUnsynced () {
    for (const sector of this.unsynced.keys()) {
      const block = Math.floor(sector / BLOCK_SECTORS)
      if (block * BLOCK_SECTORS * SECTOR_SIZE >= this.mediumSize) this.unwritten.add(block)
    }
    this._forgetUnsynced()
  }

  /** What the medium shows after a sector is written. @type {(sector: number, content: Sector) => Sector} */
  arriving (sector, content) {
    return this.unwritten.has(Math.floor(sector / BLOCK_SECTORS)) ? ZERO_SECTOR : content
  }

  /** Readers see the medium again. Unsynced changes are lost. */
  dropCache () {
    this.cache = this.medium.slice()
    this.cacheSize = this.mediumSize
    // The file system reads the marks again, so later writes to these blocks arrive.
    this.unwritten.clear()
    this._forgetUnsynced()
  }

  /**
   * Changes the medium in place, and drops the cache.
   * @type {(change: (medium: Buffer, previous: Map<number, Buffer>) => void) => void}
   */
  damage (change) {
    const bytes = flatten(this.medium, this.mediumSize)
    change(bytes, new Map([...this.previous].map(([sector, content]) => [sector, Buffer.from(content.view())])))
    const { previous } = this
    Object.assign(this, new Inode())
    this.write(bytes, 0, bytes.length, 0)
    this.sync()
    this.previous = previous
  }

  /** What is left after a power cut. @type {(pick: (count: number, what: string) => number) => Inode} */
  crash (pick) {
    const sizes = [this.mediumSize, ...this.sizes]
    const size = sizes[pick(sizes.length, 'size')]
    /** @type {Array<[number, Sector]>} */
    const survivors = []
    for (const [sector, versions] of this.unsynced) {
      if (sector * SECTOR_SIZE >= size) continue
      // Outcome 0 keeps the old bytes. Then follow all versions whole, then all versions torn.
      const outcome = pick(1 + 2 * versions.length, `sector ${sector}`)
      if (outcome === 0) continue
      const version = versions[(outcome - 1) % versions.length]
      const isTorn = outcome > versions.length
      survivors.push([sector, isTorn ? tear(this.medium[sector] ?? ZERO_SECTOR, version, pick) : version])
    }
    return this.survive(size, survivors)
  }

  /**
   * @param {number} size
   * @param {Array<[sector: number, content: Sector]>} survivors  before `size`
   * @returns {Inode}  the medium at that size with the survivors, all of it durable
   */
  survive (size, survivors) {
    const after = new Inode()
    after.medium = resized(this.medium.slice(), this.mediumSize, size)
    after.mediumSize = size
    for (const [sector, content] of survivors) {
      after.medium[sector] = trimmed(this.arriving(sector, content), sector, size)
    }
    after.cache = after.medium.slice()
    after.cacheSize = size
    return after
  }

  /** @param {number} size */
  _resize (size) {
    this.cache = resized(this.cache, this.cacheSize, size)
    this.cacheSize = size
    this.sizes.push(size)
  }

  /** @type {(sector: number, content: Sector) => void} */
  _put (sector, content) {
    this.cache[sector] = content
    const versions = this.unsynced.get(sector)
    this.unsynced.set(sector, versions ? [...versions, content] : [content])
  }

  /** @type {(startOffset: number, endSector: number) => void} */
  _noteZeros (start, endSector) {
    for (let sector = Math.floor(start / SECTOR_SIZE); sector < endSector; sector++) {
      this._put(sector, this.cache[sector])
    }
  }

  _forgetUnsynced () {
    this.unsynced = new Map()
    this.sizes = []
  }
}

/**
 * @param {Sector[]} sectors  changed in place
 * @param {number} before  their size in bytes
 * @param {number} size
 * @returns {Sector[]}  the same list; new bytes are zeros
 */
function resized (sectors, before, size) {
  const count = Math.ceil(size / SECTOR_SIZE)
  if (size < before) {
    sectors.length = count
    if (count > 0) sectors[count - 1] = trimmed(sectors[count - 1], count - 1, size)
  }
  while (sectors.length < count) sectors.push(ZERO_SECTOR)
  return sectors
}

/**
 * @param {Sector} content
 * @param {number} sector
 * @param {number} size  of the file, in bytes
 * @returns {Sector}  the content, with zeros after the end of the file
 */
function trimmed (content, sector, size) {
  const rest = size - sector * SECTOR_SIZE
  return rest >= SECTOR_SIZE || content === ZERO_SECTOR ? content : content.cut(rest)
}

/** @param {Sector[]} sectors @param {number} size */
function flatten (sectors, size) {
  const bytes = Buffer.allocUnsafe(size)
  copyOut(sectors, bytes, 0, 0, size)
  return bytes
}

/** @type {(before: Sector, after: Sector, pick: (count: number, what: string) => number) => Sector} */
function tear (before, after, pick) {
  const torn = before.cut(SECTOR_SIZE)
  const bytes = torn.view()
  // `pick` chooses eight bytes at a time, old or new: it cannot choose among 2^512 mixtures at once.
  for (let start = 0; start < SECTOR_SIZE; start += 8) {
    const mask = pick(256, 'bytes')
    for (let bit = 0; bit < 8; bit++) if (mask & (1 << bit)) bytes[start + bit] = after.view()[start + bit]
  }
  return torn
}

exports.Inode = Inode
exports.trimmed = trimmed
