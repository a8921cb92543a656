'use strict'
// Every state in which a power cut may leave a simulated disk. A state is a list of choices, so it can be listed,
// hashed and stored.

const { trimmed } = require('./simulated-inode')
const { SECTOR_SIZE, ZERO_SECTOR } = require('./simulated-sector')

// The outcome of a sector: 0 keeps the old bytes, n keeps version n, and n plus TEAR times a seed tears version n.
const TEAR = 4096

/**
 * @typedef {import('./simulated-sector').Sector} Sector
 * @typedef {import('./simulated-inode').Inode} Inode
 * @typedef {import('./simulated-disk').SimulatedDisk} SimulatedDisk
 */

/**
 * @typedef {object} Choice  what the power cut keeps; all zeros keeps what is durable
 * @property {number[]} names  by folder: how many of its name changes
 * @property {number[]} sizes  by file: the index of its size
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
 * The result of one choice. The hash has 53 bits and covers all names, sizes and bytes.
 * @typedef {{ hash: number, toDisk: () => SimulatedDisk }} Image
 */

/**
 * Every state that a power cut may leave of a disk. A choice says what reached the medium: of the changed names of
 * each folder, of the sizes of each file, and of each unsynced sector, 0 (the old bytes), n (version n) or
 * `n + TEAR * seed` (a mixture of both). `choose(choice)` gives an image with a `hash` and `toDisk()`.
 */
class CrashPoint {
  /** @param {SimulatedDisk} disk  must not change afterwards */
  constructor (disk) {
    this._disk = disk
    /** The number of name changes that are not durable. @type {Array<{ folder: string, count: number }>} */
    this.folders = [...disk._nameChanges].map(([folder, changes]) => ({ folder, count: changes.length }))
    /** The first size is the durable one. @type {Array<{ name: string, sizes: number[] }>} */
    this.files = []
    /** @type {UnsyncedSector[]} */
    this.sectors = []
    /** @type {Inode[]} */
    this._inodes = []
    /** Sums of the durable bytes, by file and size. @type {Sum[][]} */
    this._baseSums = []
    for (const [name, inode] of reachable(disk)) this._addFile(name, inode)
  }

  /** Gives the choice that keeps only what is durable. @returns {Choice} */
  none () {
    return { names: this.folders.map(() => 0), sizes: this.files.map(() => 0), sectors: this.sectors.map(() => 0) }
  }

  /** Gives the choice that keeps everything as it was last written. @returns {Choice} */
  all () {
    return {
      names: this.folders.map(({ count }) => count),
      sizes: this.files.map(({ sizes }, index) => sizes.indexOf(this._inodes[index].cacheSize)),
      sectors: this.sectors.map(({ versions }) => versions.length)
    }
  }

  /**
   * Gives the image of a choice.
   * @type {(choice: Choice) => Image}
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
      // By what arrives on the medium: otherwise two images that differ would have the same hash.
      survivors[file].survivors.push([index, trimmed(this._inodes[file].arriving(index, kept), index, size)])
    }
    let nameIndex = 0
    const names = this._disk._namesAfter(() => choice.names[nameIndex++])
    const toDisk = () => this._disk._survive(names, (inode) => {
      const { size, survivors: kept } = survivors[this._inodes.indexOf(inode)]
      return inode.survive(size, kept)
    })
    return { hash: this._hash(names, survivors, choice), toDisk }
  }

  /** @type {(name: string, inode: Inode) => void} */
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
   * Starts from the cached sum of the durable sectors, so the cost depends only on how many sectors survive.
   * @type {(names: Map<string, Inode>, survivors: Survivor[], choice: Choice) => number}
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

  /** @type {(file: number, sizeIndex: number) => Sum} */
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
  // Two files may have had the same name at different times.
  for (const [inode, name] of labels) files.set(files.has(name) ? `${name} (${files.size})` : name, inode)
  return files
}

/**
 * Zeros add nothing, so a hole and zeros have the same sum.
 * @param {Sum} sum  changed in place
 * @param {Sector} sector
 * @param {number} index
 * @param {1 | -1} sign  -1 removes the sector
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
 * @param {number} seed  at least 1
 * @returns {Sector}  old bytes then new ones, new ones then old ones, or a mixture
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
