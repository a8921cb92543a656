'use strict'
// A run file that is open: what it covers, and its keys and values, read by pages that are checked.

const { readWhole } = require('@millrace/block-file')
const { promisesOf, toPromise } = require('@millrace/flow')
const { crc32 } = require('@millrace/framing')
const { PostingList } = require('./posting-list')
const { checkFooter } = require('./run-footer')
const {
  DOUBLE_SIZE, DamagedRun, FOOTER_SIZE_MAX, GROUP_SIZE, LIST, MAGIC, PAGE_SIZE, TRAILER_SIZE, WORD_SIZE, headSizeOf
} = require('./run-format')
const { SeqReader } = require('./seqs')
const { firstIndex } = require('./sorting')

/** How many short hashes there are. */
const HASHES = 2 ** 32
/** So far from where an entry was guessed to be, it is looked for close by; then by halves. */
const GUESSED = 8
const PAGE_SHIFT = 12
const PAGE_MASK = PAGE_SIZE - 1
/** So many short hashes are read at once. */
const HASHES_AT_ONCE = 4096
const GROUPS_AT_ONCE = HASHES_AT_ONCE / GROUP_SIZE
const KEY_SIZE_MAX = 3 * WORD_SIZE
const WORD_BITS = 32
/** For one read, which ends in the turn of the event loop in which it began. */
const READ = Buffer.allocUnsafeSlow(HASHES_AT_ONCE * KEY_SIZE_MAX + PAGE_SIZE)

/**
 * @typedef {import('./run-files').RunFile} RunFile
 * @typedef {import('./run-format').Footer} Footer
 * @typedef {{ shorts: Uint32Array, places: Uint32Array, sizes: Uint32Array }} Fences  `sizes`: of references
 * @typedef {import('./run-format').KeySection} KeySection
 * @typedef {import('./run-format').ValueSection} ValueSection
 * @typedef {import('@millrace/block-file').StorageHandle} StorageHandle
 */

const NONE = Buffer.alloc(0)

/** Where somebody is who reads all keys of a path, in the order of their hashes. */
class KeyCursor {
  /** Of the next key. */
  index = 0
  /** The bytes of all lists so far, at least. */
  listed = 0
  /** The short hash; Infinity after the last key. */
  short = -1
  /** As `Run.find` gives it. @type {number | PostingList} */
  found = -1
  /** @type {number | null} */
  id = null

  /** @param {number} slot */
  constructor (slot) {
    this.slot = slot
  }
}

/**
 * A run. What reads it throws DamagedRun if a page is not what was written, GoneRun if the file was removed, and
 * UnreadRun if it cannot be read now.
 */
class Run {
  #file
  #checksums
  #cache
  /** Of its pages in the cache; 0 if one is not there. None before the first one. */
  #places = new Int32Array(0)
  /** By path, once they are needed. @type {Array<Fences | undefined>} */
  #fences = []
  /** @type {Uint32Array | null} */
  #odd = null
  #seqs

  /**
   * @param {RunFile} file
   * @param {number} size  of the file
   * @param {Footer} footer
   * @param {Buffer} checksums
   * @param {import('./run-pages').RunPages} cache
   */
  constructor (file, size, footer, checksums, cache) {
    this.#file = file
    this.name = file.name
    this.size = size
    this.footer = footer
    this.#checksums = checksums
    this.#cache = cache
    this.from = footer.from
    this.to = footer.to
    this.records = footer.records
    this.#seqs = new SeqReader(this, footer.seqTable, footer.records)
    /** The id of the key that was found last; null if it is not known. @type {number | null} */
    this.foundId = null
    /**
     * Whether records in it were deleted since. `asked`: a count would be quicker if it were known.
     * @type {'unknown' | 'asked' | 'none' | 'some'}
     */
    this.losses = footer.isClean ? 'unknown' : 'some'
    this.isOpen = true
  }

  /** Whether nothing in it was deleted, for certain. */
  get isClean () {
    return this.losses === 'none'
  }

  /** A record in it is deleted. */
  noteLoss () {
    this.losses = 'some'
  }

  /** Where a page begins in the cache. @param {number} index */
  #page (index) {
    return (this.#places[index] || this.#load(index)) - 1 << PAGE_SHIFT
  }

  /** @param {number} index @returns {number}  its place */
  #load (index) {
    const count = this.footer.dataSize / PAGE_SIZE
    const isThere = this.isOpen && index >= 0 && index < count
    if (!isThere) throw new DamagedRun(`there is no page ${index}`)
    if (this.#places.length === 0) this.#places = new Int32Array(count)
    const place = this.#cache.take()
    this.#readPages(index, this.#cache.bytes.subarray((place - 1) * PAGE_SIZE, place * PAGE_SIZE))
    this.#cache.give(place, this.#places, index)
    return place
  }

  /** @type {(index: number, target: Buffer) => void} as many as `target` has room for */
  #readPages (index, target) {
    const size = this.#file.readSync(target, index * PAGE_SIZE)
    for (let at = 0, page = index; at < target.length; at += PAGE_SIZE, page++) {
      if (size < at + PAGE_SIZE) throw new DamagedRun(`page ${page} is cut off`)
      const sum = crc32(target.subarray(at, at + PAGE_SIZE))
      if (sum !== this.#checksums.readUInt32LE(page * WORD_SIZE)) throw new DamagedRun(`page ${page} is damaged`)
    }
  }

  /** @param {number} offset  a multiple of 4 */
  wordAt (offset) {
    const page = this.#page(offset >>> PAGE_SHIFT)
    return this.#cache.view.getUint32(page + (offset & PAGE_MASK), true)
  }

  /** @param {number} offset  a multiple of 8 */
  #double (offset) {
    const page = this.#page(offset >>> PAGE_SHIFT)
    return this.#cache.view.getFloat64(page + (offset & PAGE_MASK), true)
  }

  /**
   * Gives bytes that are valid until the next page is read; fewer if the data ends there.
   * @type {(offset: number, size: number) => Buffer}
   */
  read (offset, size) {
    const end = Math.min(offset + size, this.footer.dataSize)
    // What is empty may be at the end, where no page is.
    if (offset >= end) return NONE
    const within = offset & PAGE_MASK
    const isInPage = within + end - offset <= PAGE_SIZE
    if (isInPage) {
      const start = this.#page(offset >>> PAGE_SHIFT) + within
      return this.#cache.bytes.subarray(start, start + end - offset)
    }
    const bytes = Buffer.allocUnsafe(end - offset)
    for (let at = offset; at < end;) {
      const start = at & PAGE_MASK
      const count = Math.min(PAGE_SIZE - start, end - at)
      const page = this.#page(at >>> PAGE_SHIFT)
      this.#cache.bytes.copy(bytes, at - offset, page + start, page + start + count)
      at += count
    }
    return bytes
  }

  /** The same of one byte; 0 after the end. @param {number} offset */
  byteAt (offset) {
    if (offset >= this.footer.dataSize) return 0
    const page = this.#page(offset >>> PAGE_SHIFT)
    return this.#cache.bytes[page + (offset & PAGE_MASK)]
  }

  /** @type {(offset: number, count: number) => Uint32Array} */
  #words (offset, count) {
    const bytes = this.read(offset, count * WORD_SIZE)
    if (bytes.length < count * WORD_SIZE) throw new DamagedRun('a section that is cut off')
    const words = new Uint32Array(count)
    for (let index = 0; index < count; index++) words[index] = bytes.readUInt32LE(index * WORD_SIZE)
    return words
  }

  /** @param {number} ordinal */
  seqOf (ordinal) {
    if (ordinal < 0 || ordinal >= this.records) throw new DamagedRun(`there is no record ${ordinal}`)
    const seq = this.footer.base + this.#seqs.distanceOf(ordinal)
    if (seq >= this.to) throw new DamagedRun(`a record at ${seq}, after the end`)
    return seq
  }

  /** Gives the ordinal of the first record at the seq or after it. @param {number} seq */
  ordinalFrom (seq) {
    if (seq <= this.from) return 0
    if (seq >= this.to) return this.records
    return this.#seqs.ordinalFrom(seq - this.footer.base)
  }

  /** The ordinals of odd records, ascending. */
  get odd () {
    if (this.#odd === null) {
      const odd = this.#words(this.footer.oddStart, this.footer.oddCount)
      const isRight = odd.every((ordinal, index) => ordinal < this.records && (index === 0 || odd[index - 1] < ordinal))
      if (!isRight) throw new DamagedRun('odd records that are out of order')
      this.#odd = odd
    }
    return this.#odd
  }

  /** Of records in the range that were deleted when the run was made: it lacks them. @returns {Generator<number>} */
  * erased () {
    const { erasedStart, erasedSeqs } = this.footer
    for (let index = 0; index < erasedSeqs; index++) yield this.#double(erasedStart + index * DOUBLE_SIZE)
  }

  /**
   * @param {number} slot  of a path
   * @param {number} short  hash
   * @returns {number | PostingList}  the ordinal, if there is only one; -1 if there is none. `foundId` is its id
   */
  find (slot, short) {
    const section = this.footer.keys[slot]
    const { start, count } = section
    if (count === 0) return -1
    const { shorts, places } = this.#fencesOf(slot)
    const group = findGroup(shorts, short)
    if (group < 0) return -1
    const size = keysIn(section, group)
    const hashes = start + places[group]
    let [low, high] = [0, size - 1]
    // Hashes are spread evenly, so where one is can be guessed, nearly always to within a few entries.
    const first = shorts[group]
    const spread = (group === shorts.length - 1 ? HASHES : shorts[group + 1]) - first
    let middle = Math.min(high, Math.floor((short - first) / spread * size))
    for (let step = 1; low <= high; step *= 2) {
      const found = this.wordAt(hashes + middle * WORD_SIZE)
      if (found === short) return this.#read(slot, group, middle)
      const isBelow = found < short
      if (isBelow) low = middle + 1
      else high = middle - 1
      const next = isBelow ? middle + step : middle - step
      middle = next < low || next > high || step > GUESSED ? low + high >> 1 : next
    }
    return -1
  }

  /** What a key of a group has. @type {(slot: number, group: number, index: number) => number | PostingList} */
  #read (slot, group, index) {
    const section = this.footer.keys[slot]
    const { places, sizes } = this.#fencesOf(slot)
    const count = keysIn(section, group)
    const offset = section.start + places[group]
    const id = section.hasIds ? this.wordAt(offset + (count + index) * WORD_SIZE) : null
    const reference = this.#bytesAt(offset + count * headSizeOf(section) + index * sizes[group], sizes[group])
    const isList = (reference & LIST) === LIST
    const found = isList ? new PostingList(this, section.start + (reference >>> 1), id) : reference >>> 1
    this.foundId = typeof found === 'number' ? id : found.id
    return found
  }

  /** A number of up to four bytes. @type {(offset: number, size: number) => number} */
  #bytesAt (offset, size) {
    const shift = offset % WORD_SIZE * 8
    const at = offset - offset % WORD_SIZE
    const unused = WORD_BITS - 8 * size
    let word = this.wordAt(at) >>> shift
    if (shift > unused) word |= this.wordAt(at + WORD_SIZE) << WORD_BITS - shift
    return (word & -1 >>> unused) >>> 0
  }

  /** @param {number} slot */
  #fencesOf (slot) {
    const known = this.#fences[slot]
    if (known !== undefined) return known
    const section = this.footer.keys[slot]
    const { size, count, fences } = section
    const groups = Math.ceil(count / GROUP_SIZE)
    const words = this.#words(fences, 2 * groups)
    const places = words.subarray(groups).map((word) => word - word % WORD_SIZE)
    const sizes = words.subarray(groups).map((word) => word % WORD_SIZE + 1)
    places.forEach((place, group) => {
      const end = place + keysIn(section, group) * (headSizeOf(section) + sizes[group])
      if (end > size) throw new DamagedRun('a group that is not in its section')
    })
    return (this.#fences[slot] = { shorts: words.subarray(0, groups), places, sizes })
  }

  /** The short hash of one of the keys of a path. @type {(slot: number, index: number) => number} */
  hashAt (slot, index) {
    const place = this.#fencesOf(slot).places[Math.floor(index / GROUP_SIZE)]
    return this.wordAt(this.footer.keys[slot].start + place + index % GROUP_SIZE * WORD_SIZE)
  }

  /**
   * Reads short hashes of the keys of a path. It leaves the pages in memory alone: who reads all hashes once would put
   * them in the place of pages that are asked for.
   * @type {(slot: number, index: number, target: Uint32Array) => number} how many, from `index` on
   */
  readHashes (slot, index, target) {
    const section = this.footer.keys[slot]
    const { places, sizes } = this.#fencesOf(slot)
    const keySize = headSizeOf(section)
    const from = Math.floor(index / GROUP_SIZE)
    let to = from + 1
    // Groups whose lists are elsewhere are adjacent.
    const isNext = () => places[to] === places[to - 1] + GROUP_SIZE * (keySize + sizes[to - 1])
    while (to < places.length && to < from + GROUPS_AT_ONCE && isNext()) to++
    const start = section.start + places[from]
    const end = section.start + places[to - 1] + keysIn(section, to - 1) * WORD_SIZE
    const first = start >>> PAGE_SHIFT
    const last = end - 1 >>> PAGE_SHIFT
    if (!this.isOpen || last >= this.footer.dataSize / PAGE_SIZE) throw new DamagedRun(`there is no page ${last}`)
    const bytes = READ.subarray(0, (last + 1 - first) * PAGE_SIZE)
    this.#readPages(first, bytes)
    let read = 0
    for (let group = from; group < to; group++) {
      const hashes = section.start + places[group] - first * PAGE_SIZE
      const count = keysIn(section, group)
      for (let at = group === from ? index % GROUP_SIZE : 0; at < count && read < target.length; at++) {
        target[read++] = bytes.readUInt32LE(hashes + at * WORD_SIZE)
      }
    }
    return read
  }

  /** Takes the next key of a path. @param {KeyCursor} cursor */
  readKey (cursor) {
    const { size, count } = this.footer.keys[cursor.slot]
    if (cursor.index === count) {
      cursor.short = Infinity
      return
    }
    const { slot, index } = cursor
    cursor.index++
    const short = this.hashAt(slot, index)
    const found = this.#read(slot, Math.floor(index / GROUP_SIZE), index % GROUP_SIZE)
    // Lists that share bytes could have more ordinals than any file.
    if (typeof found !== 'number') cursor.listed += found.sizeMin
    if (short <= cursor.short || cursor.listed > size) throw new DamagedRun('keys that are out of order')
    cursor.short = short
    cursor.found = found
    cursor.id = this.foundId
  }

  /** The value at an index, in ascending order. @type {(section: ValueSection, index: number) => number} */
  valueAt ({ start, count }, index) {
    const chunk = Math.floor(index / GROUP_SIZE)
    return this.#double(start + chunk * GROUP_SIZE * (DOUBLE_SIZE + WORD_SIZE) + index % GROUP_SIZE * DOUBLE_SIZE)
  }

  /** The record that has it. @type {(section: ValueSection, index: number) => number} */
  valueOrdinal ({ start, count }, index) {
    const chunk = Math.floor(index / GROUP_SIZE)
    const size = Math.min(GROUP_SIZE, count - chunk * GROUP_SIZE)
    const ordinals = start + chunk * GROUP_SIZE * (DOUBLE_SIZE + WORD_SIZE) + size * DOUBLE_SIZE
    return this.wordAt(ordinals + index % GROUP_SIZE * WORD_SIZE)
  }

  /**
   * @param {ValueSection} section
   * @param {import('./block').Interval} interval
   * @returns {{ first: number, end: number }}  the indexes of the values in it
   */
  findValues (section, { min, max }) {
    const { count, fences } = section
    const chunks = Math.ceil(count / GROUP_SIZE)
    const seek = (/** @type {(value: number) => boolean} */ isAfter) => {
      // In the last chunk whose first value is not after it, or at its end.
      const chunk = Math.max(0, firstIndex(chunks, (index) => isAfter(this.#double(fences + index * DOUBLE_SIZE))) - 1)
      const start = chunk * GROUP_SIZE
      const size = Math.min(GROUP_SIZE, count - start)
      return start + firstIndex(size, (index) => isAfter(this.valueAt(section, start + index)))
    }
    const first = seek((value) => value >= min)
    return { first, end: Math.max(first, seek((value) => value > max)) }
  }

  /** Drops what is in memory. It never fails: nothing was written. */
  async close () {
    if (!this.isOpen) return
    this.isOpen = false
    this.#places.fill(0)
    await this.#file.close()
  }
}

/** How many are in a group. @type {(section: KeySection, group: number) => number} */
function keysIn ({ count }, group) {
  return Math.min(GROUP_SIZE, count - group * GROUP_SIZE)
}

/**
 * The last group that begins with the hash or below it; -1 if none does. It is guessed, as an entry of a group is.
 * @type {(shorts: Uint32Array, short: number) => number}
 */
function findGroup (shorts, short) {
  let group = Math.floor(short / HASHES * shorts.length)
  for (let left = GUESSED; left > 0; left--) {
    if (group >= 0 && shorts[group] > short) group--
    else if (group + 1 < shorts.length && shorts[group + 1] <= short) group++
    else return group
  }
  return firstIndex(shorts.length, (index) => shorts[index] > short) - 1
}

/**
 * @param {import('./run-files').RunFiles} files
 * @param {string} name
 * @param {import('./run-pages').RunPages} cache
 * @returns {Promise<Run>}
 * @throws {DamagedRun} if the file is not as it was written
 */
function openRun (files, name, cache) {
  return files.open(name, async (file, handle) => {
    const size = await promisesOf(handle).size()
    const trailer = await readAt(handle, size - TRAILER_SIZE, TRAILER_SIZE)
    const footerSize = trailer.readUInt32LE(0)
    const isRun = trailer.subarray(2 * WORD_SIZE).equals(MAGIC) && footerSize <= FOOTER_SIZE_MAX
    if (!isRun) throw new DamagedRun('it does not end as a run does')
    const text = await readAt(handle, size - TRAILER_SIZE - footerSize, footerSize)
    if (crc32(text) !== trailer.readUInt32LE(WORD_SIZE)) throw new DamagedRun('its footer is damaged')
    const footer = checkFooter(JSON.parse(text.toString()), size)
    const checksums = await readAt(handle, footer.dataSize, footer.dataSize / PAGE_SIZE * WORD_SIZE)
    if (crc32(checksums) !== footer.checksum) throw new DamagedRun('its checksums are damaged')
    if (footer.dataSize + checksums.length + footerSize + TRAILER_SIZE !== size) throw new DamagedRun('it has another size')
    return new Run(file, size, footer, checksums, cache)
  })
}

/** @type {(handle: StorageHandle, position: number, size: number) => Promise<Buffer>} */
async function readAt (handle, position, size) {
  if (position < 0) throw new DamagedRun('it is too short')
  const bytes = Buffer.alloc(size)
  const count = size === 0 ? 0 : await toPromise((cb) => readWhole(handle, bytes, position, cb))
  if (count < size) throw new DamagedRun('it is cut off')
  return bytes
}

exports.HASHES_AT_ONCE = HASHES_AT_ONCE
exports.KeyCursor = KeyCursor
exports.Run = Run
exports.openRun = openRun
