'use strict'
// Writes a run file: the bytes in order, a checksum for each page, the footer. Written aside, synced, renamed, and the
// folder synced: a run that has its name is whole.

const path = require('node:path')
const { randomBytes } = require('node:crypto')
const { keepOwnership, writeWhole } = require('@millrace/block-file')
const { promisesOf, toPromise } = require('@millrace/flow')
const { crc32 } = require('@millrace/framing')
const { STEP_WORK } = require('./pace')
const { BLOCK_COUNT, IN_ENTRY, writeFew, writeMany, writeSome } = require('./posting-list')
const {
  DOUBLE_SIZE, FORMAT, GROUP_SIZE, LIST, MAGIC, PAGE_SIZE, TRAILER_SIZE, WORD_SIZE
} = require('./run-format')

/** Bytes that wait in memory to be written. */
const PENDING_SIZE = 256 * 1024
/** Of the records of a shorter list a count looks at each, unless all keys of the path have their ids. */
const ID_COUNT_MIN = 16
/** Of the work for a record of a list that is written at once. */
const RECORD_WORK = 16
const NAME_SIZE = 6
const SEQ_DIGITS = 16

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** Of the work to compute a checksum. */
const PAGE_WORK = PAGE_SIZE / 8

/** Bytes that are written one after the other. Who adds them asks `isDue` after each piece of work. */
class PageWriter {
  #handle
  #written = 0
  #checksums = Buffer.alloc(0)
  #pageCount = 0

  /** @param {import('@millrace/block-file').StorageHandle} handle @param {import('./pace').Pace} pace */
  constructor (handle, pace) {
    this.#handle = handle
    this.pace = pace
    this.bytes = Buffer.allocUnsafeSlow(PENDING_SIZE + PAGE_SIZE)
    this.view = viewOf(this.bytes)
    this.filled = 0
  }

  /** Where the next byte will be in the file. */
  get position () {
    return this.#written + this.filled
  }

  get #isFull () {
    return this.filled >= PENDING_SIZE
  }

  /** @param {number} work  that was done @returns {boolean}  whether `rest` is due */
  isDue (work) {
    return this.pace.isDue(work) || this.#isFull
  }

  /** Writes the whole pages, if there are many, or lets others run. */
  async rest () {
    if (this.#isFull) await this.#writePages()
    if (this.pace.isDue(0)) await this.pace.rest()
  }

  /** @param {number} size */
  makeRoom (size) {
    if (this.filled + size <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.filled + size))
    this.bytes.copy(larger, 0, 0, this.filled)
    this.bytes = larger
    this.view = viewOf(larger)
  }

  /** @param {number} value */
  addWord (value) {
    this.makeRoom(WORD_SIZE)
    this.view.setUint32(this.filled, value, true)
    this.filled += WORD_SIZE
  }

  /** @param {number} value */
  addDouble (value) {
    this.makeRoom(DOUBLE_SIZE)
    this.view.setFloat64(this.filled, value, true)
    this.filled += DOUBLE_SIZE
  }

  /** Adds zeros until the position is a multiple. @param {number} size */
  align (size) {
    const rest = this.position % size
    if (rest === 0) return
    this.makeRoom(size)
    for (const end = this.filled + size - rest; this.filled < end; this.filled++) this.bytes[this.filled] = 0
  }

  /**
   * Adds some for each of many, in steps.
   * @param {number} count
   * @param {number} work  for each
   * @param {(index: number) => void} add
   */
  async addEach (count, work, add) {
    const size = Math.ceil(STEP_WORK / 8 / work)
    for (let from = 0; from < count; from += size) {
      const to = Math.min(count, from + size)
      addRange(from, to, add)
      if (this.isDue((to - from) * work)) await this.rest()
    }
  }

  async #writePages () {
    const size = this.filled - this.filled % PAGE_SIZE
    this.#makeRoomForChecksums(size / PAGE_SIZE)
    await this.pace.walk(size / PAGE_SIZE, PAGE_WORK, (from, to) => {
      for (let page = from; page < to; page++) {
        const checksum = crc32(this.bytes.subarray(page * PAGE_SIZE, (page + 1) * PAGE_SIZE))
        this.#checksums.writeUInt32LE(checksum, this.#pageCount++ * WORD_SIZE)
      }
    })
    await this.#write(this.bytes.subarray(0, size))
    this.bytes.copyWithin(0, size, this.filled)
    this.filled -= size
  }

  /** @param {number} pages */
  #makeRoomForChecksums (pages) {
    const size = (this.#pageCount + pages) * WORD_SIZE
    if (size <= this.#checksums.length) return
    const larger = Buffer.alloc(2 * size)
    this.#checksums.copy(larger)
    this.#checksums = larger
  }

  /** @param {Buffer} bytes */
  async #write (bytes) {
    await toPromise((cb) => writeWhole(this.#handle, bytes, this.#written, cb))
    this.#written += bytes.length
  }

  /** Writes what is left, and the end of the file. @param {object} footer  without the places that are known here */
  async end (footer) {
    this.align(PAGE_SIZE)
    await this.#writePages()
    const checksums = this.#checksums.subarray(0, this.#pageCount * WORD_SIZE)
    const known = { format: FORMAT, dataSize: this.#written, checksum: crc32(checksums) }
    const text = Buffer.from(JSON.stringify({ ...footer, ...known }))
    const trailer = Buffer.alloc(TRAILER_SIZE)
    trailer.writeUInt32LE(text.length, 0)
    trailer.writeUInt32LE(crc32(text), WORD_SIZE)
    MAGIC.copy(trailer, 2 * WORD_SIZE)
    await this.#write(Buffer.concat([checksums, text, trailer]))
  }
}

/** @type {(from: number, to: number, add: (index: number) => void) => void} */
function addRange (from, to, add) {
  for (let index = from; index < to; index++) add(index)
}

/** @param {Buffer} bytes */
function viewOf ({ buffer, byteOffset, length }) {
  return new DataView(buffer, byteOffset, length)
}

/** Writes the keys of one path. They come in the order of their short hashes. */
class KeyWriter {
  #writer
  #records
  #hasIds
  #start
  #count = 0
  #shorts = new Uint32Array(GROUP_SIZE)
  #ids = new Uint32Array(GROUP_SIZE)
  #references = new Uint32Array(GROUP_SIZE)
  /** The first short hash of each group. @type {number[]} */
  #fences = []
  /** Its place, and the size of references. @type {number[]} */
  #places = []

  /**
   * @param {PageWriter} writer
   * @param {number} records
   * @param {boolean} hasIds  whether each key has its id with it
   */
  constructor (writer, records, hasIds) {
    writer.align(WORD_SIZE)
    this.#writer = writer
    this.#records = records
    this.#hasIds = hasIds
    this.#start = writer.position
  }

  /** Whether a key of so many records has its id with it. @param {number} count */
  keepsId (count) {
    return this.#hasIds || count >= ID_COUNT_MIN
  }

  /** Whether a key of so many records takes `addMany`. @param {number} count */
  isMany (count) {
    return count > BLOCK_COUNT && count > this.#writer.pace.stepWork / RECORD_WORK
  }

  /**
   * Adds keys that one record has.
   * @param {Uint32Array} shorts  hashes, ascending
   * @param {Uint32Array} order  of each hash, which of the ordinals it has
   * @param {{ low: Uint32Array, ordinals: Uint32Array, count: number }} column
   * @param {number} from  the place of the first key
   * @param {number} limit  what is there is not added
   * @returns {number}  the place of the next key: one that several have, or any
   */
  addSingle (shorts, order, { low, ordinals, count }, from, limit) {
    const groupShorts = this.#shorts
    const ids = this.#ids
    const references = this.#references
    const hasIds = this.#hasIds
    let size = this.#count % GROUP_SIZE
    let at = from
    let short = shorts[at] | 0
    for (; at < limit && size < GROUP_SIZE; at++) {
      const next = at + 1 === count ? ~short : shorts[at + 1] | 0
      if (next === short) break
      const index = order[at]
      groupShorts[size] = short
      references[size] = ordinals[index] << 1
      if (hasIds) ids[size] = low[index] | 0
      size++
      short = next
    }
    this.#count += at - from
    if (size < GROUP_SIZE) return at
    this.#endGroup(GROUP_SIZE)
    return at
  }

  /**
   * @param {number} short  hash, also as a signed number
   * @param {ArrayLike<number>} ordinals  ascending, each once
   * @param {number} count
   * @param {number | null} id  of all their values, if it is one. It may be left out unless `keepsId`
   */
  add (short, ordinals, count, id) {
    const kept = this.keepsId(count) ? id : null
    const isAlone = count === 1 && (kept !== null || !this.#hasIds)
    if (isAlone) return this.#addEntry(short, 2 * ordinals[0], kept)
    const place = this.#writer.position - this.#start
    if (count <= BLOCK_COUNT) writeFew(this.#writer, ordinals, count, this.#listed(kept))
    else writeSome(this.#writer, ordinals, count, this.#records, this.#listed(kept))
    this.#addEntry(short, 2 * place + LIST, kept)
  }

  /**
   * As `add`.
   * @type {(short: number, ordinals: ArrayLike<number>, count: number, id: number | null) => Promise<void>}
   */
  async addMany (short, ordinals, count, id) {
    const place = this.#writer.position - this.#start
    await writeMany(this.#writer, ordinals, count, this.#records, this.#listed(id), this.#writer.pace)
    this.#addEntry(short, 2 * place + LIST, id)
  }

  /** What a list has of an id. @param {number | null} id */
  #listed (id) {
    return id !== null && this.#hasIds ? IN_ENTRY : id
  }

  /** @type {(short: number, reference: number, id: number | null) => void} */
  #addEntry (short, reference, id) {
    const at = this.#count % GROUP_SIZE
    this.#shorts[at] = short
    this.#references[at] = reference
    this.#ids[at] = id ?? 0
    this.#count++
    if (at + 1 === GROUP_SIZE) this.#endGroup(GROUP_SIZE)
  }

  /** @param {number} size */
  #endGroup (size) {
    const writer = this.#writer
    writer.align(WORD_SIZE)
    const referenceSize = sizeOfLargest(this.#references, size)
    this.#fences.push(this.#shorts[0] | 0)
    this.#places.push(writer.position - this.#start + referenceSize - 1)
    writer.makeRoom(3 * size * WORD_SIZE)
    for (const words of this.#hasIds ? [this.#shorts, this.#ids] : [this.#shorts]) {
      putWords(writer.view, writer.filled, words, size, WORD_SIZE)
      writer.filled += size * WORD_SIZE
    }
    putWords(writer.view, writer.filled, this.#references, size, referenceSize)
    writer.filled += size * referenceSize
  }

  /** @returns {Promise<import('./run-format').KeySection>} */
  async end () {
    const rest = this.#count % GROUP_SIZE
    if (rest > 0) this.#endGroup(rest)
    const writer = this.#writer
    writer.align(WORD_SIZE)
    const fences = writer.position
    for (const words of [this.#fences, this.#places]) {
      await writer.addEach(words.length, 1, (index) => writer.addWord(words[index]))
    }
    return { start: this.#start, size: fences - this.#start, count: this.#count, fences, hasIds: this.#hasIds }
  }
}

/**
 * Puts words where each has the size: the next one is written over what is above it.
 * @type {(view: DataView, at: number, words: Uint32Array, count: number, size: number) => void}
 */
function putWords (view, at, words, count, size) {
  for (let index = 0; index < count; index++) view.setInt32(at + index * size, words[index] | 0, true)
}

/** How many bytes each word needs. @type {(words: Uint32Array, count: number) => number} */
function sizeOfLargest (words, count) {
  let bits = 1
  for (let index = 0; index < count; index++) bits |= words[index]
  return WORD_SIZE - (Math.clz32(bits) >>> 3)
}

/** Writes the numbers of one path, or the times. They come in ascending order. */
class ValueWriter {
  #writer
  #start
  #count = 0
  #values = new Float64Array(GROUP_SIZE)
  #ordinals = new Uint32Array(GROUP_SIZE)
  /** @type {number[]} */
  #fences = []

  /** @param {PageWriter} writer */
  constructor (writer) {
    writer.align(DOUBLE_SIZE)
    this.#writer = writer
    this.#start = writer.position
  }

  /** @param {number} value @param {number} ordinal */
  add (value, ordinal) {
    const at = this.#count++ % GROUP_SIZE
    this.#values[at] = value
    this.#ordinals[at] = ordinal
    if (at + 1 === GROUP_SIZE) this.#endChunk(GROUP_SIZE)
  }

  /** @param {number} size */
  #endChunk (size) {
    this.#fences.push(this.#values[0])
    for (let at = 0; at < size; at++) this.#writer.addDouble(this.#values[at])
    for (let at = 0; at < size; at++) this.#writer.addWord(this.#ordinals[at])
  }

  /** @returns {Promise<import('./run-format').ValueSection>} */
  async end () {
    const rest = this.#count % GROUP_SIZE
    if (rest > 0) this.#endChunk(rest)
    const writer = this.#writer
    writer.align(DOUBLE_SIZE)
    const fences = writer.position
    await writer.addEach(this.#fences.length, 1, (index) => writer.addDouble(this.#fences[index]))
    return { start: this.#start, count: this.#count, fences }
  }
}

/**
 * Writes the content of a file that is there, and syncs it.
 * @param {Storage} storage
 * @param {string} file
 * @param {import('./pace').Pace} pace
 * @param {(writer: PageWriter) => Promise<object>} write  adds the sections, and gives the footer
 * @returns {Promise<void>}
 */
async function writeContent (storage, file, pace, write) {
  // Who removes the file while it waits to be written must not see it made again.
  const handle = await promisesOf(storage).open(file, { flags: 'r+', createFolder: false, mustExist: true })
  try {
    const writer = new PageWriter(handle, pace)
    await writer.end(await write(writer))
    await promisesOf(handle).sync()
  } finally {
    await promisesOf(handle).close()
  }
}

/**
 * Makes an empty file, and its folder if that is missing.
 * @type {(storage: Storage, file: string, like: string | null) => Promise<void>}
 */
async function makeEmpty (storage, file, like) {
  const make = async (/** @type {boolean} */ createFolder) => {
    await promisesOf(await promisesOf(storage).open(file, { flags: 'r+', createFolder })).close()
  }
  try {
    return await make(false)
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ENOENT') throw err
  }
  if (like === null) return make(true)
  // Of a log that is moved, the old folder must not be made again: so it is made in the turn that finds the log there.
  const reading = /** @type {const} */ ({ flags: 'r', createFolder: false })
  const handle = storage.openSync?.(like, reading) ?? await promisesOf(storage).open(like, reading)
  await make(true).finally(() => promisesOf(handle).close())
  // Otherwise the owner of a log, of which root makes an index, could not keep that up to date.
  await keepOwnership(storage, like, path.dirname(file))
}

/**
 * Makes a run file.
 * @param {Storage} storage
 * @param {string} folder
 * @param {string | null} like  a file whose owner and mode it gets, and that must be there
 * @param {{ from: number, to: number }} range
 * @param {(file: string) => Promise<boolean>} write  its content, as `writeContent` does, in this thread or another
 *   one. False if it was not written
 * @param {() => Promise<boolean>} isStillRight  called when all is written and synced, before the file gets its name
 * @returns {Promise<string | null>}  the name; null if it was not written, or is not right any more
 */
async function writeRunFile (storage, folder, like, { from, to }, write, isStillRight) {
  // A name is never given twice: who has the old file open would not notice.
  const stem = [from, to].map((seq) => String(seq).padStart(SEQ_DIGITS, '0')).join('-')
  const name = `${stem}-${randomBytes(NAME_SIZE).toString('hex')}.run`
  const [target, temporary] = [path.join(folder, name), path.join(folder, `${name}.new`)]
  const calls = promisesOf(storage)
  // The folder of an index may be where a log was that was moved away alone.
  if (like !== null) await promisesOf(await calls.open(like, { flags: 'r', createFolder: false })).close()
  let isDone = false
  try {
    await makeEmpty(storage, temporary, like)
    // The log may be read by others than the owner of this process.
    if (like !== null) await keepOwnership(storage, like, temporary)
    if (!await write(temporary) || !await isStillRight()) return null
    await calls.rename(temporary, target)
    isDone = true
    await calls.syncFolder(folder)
    return name
  } finally {
    if (!isDone) await calls.unlink(temporary).catch(() => {})
  }
}

exports.KeyWriter = KeyWriter
exports.PageWriter = PageWriter
exports.ValueWriter = ValueWriter
exports.writeContent = writeContent
exports.writeRunFile = writeRunFile
