'use strict'
// Writes a run file: the bytes in order, a checksum for each page, the footer. Written aside, synced, renamed, and the
// folder synced: a run that has its name is whole.

const path = require('node:path')
const { randomBytes } = require('node:crypto')
const { keepOwnership, writeWhole } = require('@millrace/block-file')
const { promisesOf, toPromise } = require('@millrace/flow')
const { crc32 } = require('@millrace/framing')
const { writeList } = require('./posting-list')
const {
  DOUBLE_SIZE, ENTRY_SIZE, FORMAT, GROUP_SIZE, LIST, MAGIC, PAGE_SIZE, TRAILER_SIZE, WORD_SIZE
} = require('./run-format')

/** Bytes that wait in memory to be written. */
const PENDING_SIZE = 256 * 1024
/** Of the records of a shorter list a count looks at each, unless all lists of the path have their long hashes. */
const ID_COUNT_MIN = 16
const NAME_SIZE = 6
const SEQ_DIGITS = 16

/** @typedef {import('./posting-list').LongHash} LongHash */
/** @typedef {import('@millrace/block-file').Storage} Storage */

/** Bytes that are written one after the other. Who adds them calls `flush` now and then. */
class PageWriter {
  #handle
  #written = 0
  /** @type {number[]} */
  #checksums = []

  /** @param {import('@millrace/block-file').StorageHandle} handle */
  constructor (handle) {
    this.#handle = handle
    this.bytes = Buffer.allocUnsafe(PENDING_SIZE + PAGE_SIZE)
    this.filled = 0
  }

  /** Where the next byte will be in the file. */
  get position () {
    return this.#written + this.filled
  }

  get isFull () {
    return this.filled >= PENDING_SIZE
  }

  /** @param {number} size */
  makeRoom (size) {
    if (this.filled + size <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.filled + size))
    this.bytes.copy(larger, 0, 0, this.filled)
    this.bytes = larger
  }

  /** @param {number} value */
  addWord (value) {
    this.makeRoom(WORD_SIZE)
    this.filled = this.bytes.writeUInt32LE(value, this.filled)
  }

  /** @param {number} value */
  addDouble (value) {
    this.makeRoom(DOUBLE_SIZE)
    this.filled = this.bytes.writeDoubleLE(value, this.filled)
  }

  /** Adds zeros until the position is a multiple. @param {number} size */
  align (size) {
    const rest = this.position % size
    if (rest === 0) return
    this.makeRoom(size)
    this.bytes.fill(0, this.filled, this.filled += size - rest)
  }

  /** Writes the whole pages, if there are many. */
  async flush () {
    if (!this.isFull) return
    await this.#writePages()
  }

  async #writePages () {
    const size = this.filled - this.filled % PAGE_SIZE
    for (let at = 0; at < size; at += PAGE_SIZE) this.#checksums.push(crc32(this.bytes.subarray(at, at + PAGE_SIZE)))
    await this.#write(this.bytes.subarray(0, size))
    this.bytes.copyWithin(0, size, this.filled)
    this.filled -= size
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
    const checksums = Buffer.alloc(this.#checksums.length * WORD_SIZE)
    this.#checksums.forEach((checksum, index) => checksums.writeUInt32LE(checksum, index * WORD_SIZE))
    const known = { format: FORMAT, dataSize: this.#written, checksum: crc32(checksums) }
    const text = Buffer.from(JSON.stringify({ ...footer, ...known }))
    const trailer = Buffer.alloc(TRAILER_SIZE)
    trailer.writeUInt32LE(text.length, 0)
    trailer.writeUInt32LE(crc32(text), WORD_SIZE)
    MAGIC.copy(trailer, 2 * WORD_SIZE)
    await this.#write(Buffer.concat([checksums, text, trailer]))
  }
}

/** Writes the keys of one path. They come in the order of their short hashes. */
class KeyWriter {
  #writer
  #records
  #hasIds
  #start
  #count = 0
  #entries = new Uint32Array(2 * GROUP_SIZE)
  /** @type {Array<{ short: number, place: number }>} */
  #fences = []

  /**
   * @param {PageWriter} writer
   * @param {number} records
   * @param {boolean} hasIds  whether each key has its long hash with it
   */
  constructor (writer, records, hasIds) {
    writer.align(WORD_SIZE)
    this.#writer = writer
    this.#records = records
    this.#hasIds = hasIds
    this.#start = writer.position
  }

  /**
   * @param {number} short  hash
   * @param {ArrayLike<number>} ordinals  ascending, each once
   * @param {number} count
   * @param {LongHash | null} id  of all their values, if it is one
   */
  add (short, ordinals, count, id) {
    const place = this.#writer.position - this.#start
    const kept = this.#hasIds || count >= ID_COUNT_MIN ? id : null
    const isList = count > 1 || kept !== null
    if (isList) writeList(this.#writer, ordinals, count, this.#records, kept)
    const at = this.#count % GROUP_SIZE
    this.#entries[2 * at] = short
    this.#entries[2 * at + 1] = isList ? (LIST | place) >>> 0 : ordinals[0]
    this.#count++
    if (at + 1 === GROUP_SIZE) this.#endGroup(GROUP_SIZE)
  }

  /** @param {number} size */
  #endGroup (size) {
    const writer = this.#writer
    writer.align(WORD_SIZE)
    this.#fences.push({ short: this.#entries[0], place: writer.position - this.#start })
    writer.makeRoom(size * ENTRY_SIZE)
    for (let at = 0; at < 2 * size; at++) writer.filled = writer.bytes.writeUInt32LE(this.#entries[at], writer.filled)
  }

  /** @returns {import('./run-format').KeySection} */
  end () {
    const rest = this.#count % GROUP_SIZE
    if (rest > 0) this.#endGroup(rest)
    const fences = this.#writer.position
    for (const { short } of this.#fences) this.#writer.addWord(short)
    for (const { place } of this.#fences) this.#writer.addWord(place)
    return { start: this.#start, size: fences - this.#start, count: this.#count, fences, hasIds: this.#hasIds }
  }
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

  /** @returns {import('./run-format').ValueSection} */
  end () {
    const rest = this.#count % GROUP_SIZE
    if (rest > 0) this.#endChunk(rest)
    this.#writer.align(DOUBLE_SIZE)
    const fences = this.#writer.position
    for (const value of this.#fences) this.#writer.addDouble(value)
    return { start: this.#start, count: this.#count, fences }
  }
}

/**
 * Makes a run file.
 * @param {Storage} storage
 * @param {string} folder
 * @param {string | null} like  a file whose owner and mode it gets, and that must be there
 * @param {{ from: number, to: number }} range
 * @param {(writer: PageWriter) => Promise<object>} write  adds the sections, and gives the footer
 * @param {() => Promise<boolean>} isStillRight  called when all is written and synced, before the file gets its name
 * @returns {Promise<string | null>}  the name; null if it is not right any more
 */
async function writeRunFile (storage, folder, like, { from, to }, write, isStillRight) {
  // A name is never given twice: who has the old file open would not notice.
  const stem = [from, to].map((seq) => String(seq).padStart(SEQ_DIGITS, '0')).join('-')
  const name = `${stem}-${randomBytes(NAME_SIZE).toString('hex')}.run`
  const [target, temporary] = [path.join(folder, name), path.join(folder, `${name}.new`)]
  const calls = promisesOf(storage)
  // Of a log that was moved, the old folder must not be made again.
  if (like !== null) await promisesOf(await calls.open(like, { flags: 'r', createFolder: false })).close()
  const handle = await calls.open(temporary, { flags: 'r+', createFolder: true })
  let isDone = false
  try {
    try {
      const writer = new PageWriter(handle)
      await writer.end(await write(writer))
      // The log may be read by others than the owner of this process.
      if (like !== null) await keepOwnership(storage, like, temporary)
      await promisesOf(handle).sync()
    } finally {
      await promisesOf(handle).close()
    }
    if (!await isStillRight()) return null
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
exports.writeRunFile = writeRunFile
