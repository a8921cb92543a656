'use strict'
// Every state that a power cut may leave of a simulated disk, by choices that can be listed, hashed and written down.

const { trimmed } = require('./simulated-inode')
const { SECTOR_SIZE, ZERO_SECTOR } = require('./simulated-sector')

// A sector's outcome is the number of the version that is kept, 0 for the old bytes, and TEAR times the seed of a tear.
const TEAR = 4096

/**
 * @typedef {import('./simulated-sector').Sector} Sector
 * @typedef {import('./simulated-inode').Inode} Inode
 * @typedef {import('./simulated-disk').SimulatedDisk} SimulatedDisk
 */

/**
 * @typedef {object} Choice  what the power cut keeps; all zeros keeps what is durable
 * @property {number[]} names  by folder: how many of the changes of its names
 * @property {number[]} sizes  by file: which of its sizes
 * @property {number[]} sectors  by unsynced sector: its outcome
 */

/**
 * @typedef {object} UnsyncedSector
 * @property {number} file  index of the file
 * @property {number} index  of the sector in it
 * @property {Sector} before
 * @property {Sector[]} versions
 */

/**
 * @typedef {{ size: number, survivors: Array<[number, Sector]> }} Survivor
 * @typedef {{ low: number, high: number }} Sum
 *
 * What one choice leaves. The hash has 53 bits, of all names, sizes and bytes.
 * @typedef {{ hash: number, toDisk: () => SimulatedDisk }} Image
 */

class CrashPoint {
  /** @param {SimulatedDisk} disk  must not change any more */
  constructor (disk) {
    this._disk = disk
    /** @type {Array<{ folder: string, count: number }>}  changes of names that are not durable */
    this.folders = [...disk._nameChanges].map(([folder, changes]) => ({ folder, count: changes.length }))
    /** @type {Array<{ name: string, sizes: number[] }>}  the first size is the durable one */
    this.files = []
    /** @type {UnsyncedSector[]} */
    this.sectors = []
    /** @type {Inode[]} */
    this._inodes = []
    /** @type {Sum[][]}  by file and size: of what is durable */
    this._baseSums = []
    for (const [name, inode] of reachable(disk)) this._addFile(name, inode)
  }

  /** @returns {Choice}  what is durable, and nothing else */
  none () {
    return { names: this.folders.map(() => 0), sizes: this.files.map(() => 0), sectors: this.sectors.map(() => 0) }
  }

  /** @returns {Choice}  everything as it was last written */
  all () {
    return {
      names: this.folders.map(({ count }) => count),
      sizes: this.files.map(({ sizes }, index) => sizes.indexOf(this._inodes[index].cacheSize)),
      sectors: this.sectors.map(({ versions }) => versions.length)
    }
  }

  /**
   * @param {Choice} choice
   * @returns {Image}
   */
  choose (choice) {
    /** @type {Survivor[]} */
    const survivors = this.files.map(({ sizes }, index) => ({ size: sizes[choice.sizes[index]], survivors: [] }))
    for (let at = 0; at < this.sectors.length; at++) {
      const outcome = choice.sectors[at]
      if (outcome === 0) continue
      const { file, index, before, versions } = this.sectors[at]
      const { size } = survivors[file]
      if (index * SECTOR_SIZE >= size) continue
      const version = versions[outcome % TEAR - 1]
      const kept = outcome < TEAR ? version : tearBySeed(before, version, Math.floor(outcome / TEAR))
      survivors[file].survivors.push([index, trimmed(kept, index, size)])
    }
    let nameIndex = 0
    const names = this._disk._namesAfter(() => choice.names[nameIndex++])
    const toDisk = () => this._disk._survive(names, (inode) => {
      const { size, survivors: kept } = survivors[this._inodes.indexOf(inode)]
      return inode.survive(size, kept)
    })
    return { hash: this._hash(names, survivors, choice), toDisk }
  }

  /**
   * @param {string} name
   * @param {Inode} inode
   */
  _addFile (name, inode) {
    const file = this.files.length
    this.files.push({ name, sizes: [...new Set([inode.mediumSize, ...inode.sizes, inode.cacheSize])] })
    this._inodes.push(inode)
    this._baseSums.push([])
    for (const [index, versions] of inode.unsynced) {
      this.sectors.push({ file, index, before: inode.medium[index] ?? ZERO_SECTOR, versions })
    }
  }

  /**
   * Sums over sectors, so that images which differ in a few sectors cost no more than these.
   * @param {Map<string, Inode>} names
   * @param {Survivor[]} survivors
   * @param {Choice} choice
   * @returns {number}
   */
  _hash (names, survivors, choice) {
    let low = 0
    let high = 0
    for (const [name, inode] of names) {
      const file = this._inodes.indexOf(inode)
      const { size } = survivors[file]
      const sum = { ...this._baseSum(file, choice.sizes[file]) }
      for (const [index, content] of survivors[file].survivors) {
        addSector(sum, trimmed(inode.medium[index] ?? ZERO_SECTOR, index, size), index, -1)
        addSector(sum, content, index, 1)
      }
      const nameHash = hashName(name) + size | 0
      low = low + mix(sum.low, nameHash) | 0
      high = high + mix(sum.high, nameHash) | 0
    }
    return (high >>> 11) * 2 ** 32 + (low >>> 0)
  }

  /**
   * @param {number} file
   * @param {number} sizeIndex
   */
  _baseSum (file, sizeIndex) {
    const known = this._baseSums[file][sizeIndex]
    if (known) return known
    const { medium } = this._inodes[file]
    const size = this.files[file].sizes[sizeIndex]
    const sum = { low: 0, high: 0 }
    for (let index = 0; index < medium.length && index * SECTOR_SIZE < size; index++) {
      addSector(sum, trimmed(medium[index], index, size), index, 1)
    }
    this._baseSums[file][sizeIndex] = sum
    return sum
  }
}

/**
 * @param {SimulatedDisk} disk
 * @returns {Map<string, Inode>}  every file that a crash may leave, by a name that it has or had
 */
function reachable (disk) {
  /** @type {Map<Inode, string>} */
  const labels = new Map()
  const add = (/** @type {string} */ name, /** @type {Inode | null} */ inode) => {
    if (inode && !labels.has(inode)) labels.set(inode, name)
  }
  for (const [name, inode] of disk._durableNames) add(name, inode)
  for (const changes of disk._nameChanges.values()) {
    for (const change of changes) for (const [name, inode] of change) add(name, inode)
  }
  const files = new Map()
  // Two files may have had one name, one after the other.
  for (const [inode, name] of labels) files.set(files.has(name) ? `${name} (${files.size})` : name, inode)
  return files
}

/**
 * Zeros add nothing, so that a hole and zeros are the same.
 * @param {Sum} sum  changed
 * @param {Sector} sector
 * @param {number} index
 * @param {1 | -1} sign  -1 to take it out
 */
function addSector (sum, { low, high }, index, sign) {
  if (low === 0 && high === 0) return
  sum.low = sum.low + sign * mix(low, index + 1) | 0
  sum.high = sum.high + sign * mix(high, index + 1) | 0
}

/** @param {number} hash @param {number} salt */
function mix (hash, salt) {
  let mixed = hash ^ Math.imul(salt, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** @param {string} name */
function hashName (name) {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  return hash
}

/**
 * @param {Sector} before
 * @param {Sector} after
 * @param {number} seed  from 1
 * @returns {Sector}  the old bytes up to somewhere and then the new ones, or the reverse, or any mixture
 */
function tearBySeed (before, after, seed) {
  const torn = before.cut(SECTOR_SIZE)
  const bytes = torn.view()
  const source = after.view()
  const at = (mix(seed, 1) >>> 0) % SECTOR_SIZE
  if (seed % 3 === 0) source.copy(bytes, 0, 0, at)
  else if (seed % 3 === 1) source.copy(bytes, at, at)
  else for (let index = 0; index < SECTOR_SIZE; index++) if (mix(seed, index) & 1) bytes[index] = source[index]
  return torn
}

exports.CrashPoint = CrashPoint
exports.TEAR = TEAR
