'use strict'
// Cursors: passes over the records of a source, a batch at a time, whatever its format; and a reader that hands them
// out one by one.

const { setImmediate } = require('node:timers/promises')
const { LogError } = require('@millrace/errors')
const { call, trampoline } = require('@millrace/flow')

// A file of nothing but damage must not fill the reader's memory.
const LOST_RANGES_MAX = 1000
const BATCH_COUNT_MAX = 1000
const BATCH_SIZE_MAX = 1024 * 1024

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {ReturnType<typeof import('@millrace/offset-log').OffsetLog>} Log
 * @typedef {{ what: string, offset: number, size: number }} LostRange
 */

/**
 * Some records in order. There may be none, and still more to come.
 * @typedef {object} Batch
 * @property {number[]} seqs
 * @property {Buffer[]} records  the receiver's own
 * @property {boolean} isEnd  nothing comes after these
 */

/**
 * A position in a source, and what the pass has met so far.
 * @typedef {object} Cursor
 * @property {number} position  in the file: how much of it is done
 * @property {number} total  the position at the end
 * @property {number | null} deleted  how many records are marked as deleted; null if the format does not tell
 * @property {Losses} lost
 * @property {{ offset: number, size: number } | null} torn  the end of a last write that was cut off
 * @property {() => Promise<Batch>} next  throws at damage, after the records before it
 * @property {() => Promise<void>} close
 */

/** What a pass over a source has left out because of damage. */
class Losses {
  constructor () {
    /** How many ranges of the file. */
    this.count = 0
    /** How many bytes. */
    this.size = 0
    /** @type {LostRange[]} the first of them, if the format tells where they are */
    this.ranges = []
  }

  /**
   * @param {string} what  is wrong
   * @param {number} offset  in the file
   * @param {number} size  in bytes
   */
  add (what, offset, size) {
    this.count++
    this.size += size
    if (this.ranges.length < LOST_RANGES_MAX) this.ranges.push({ what, offset, size })
  }
}

/**
 * Over a file of blocks.
 * @implements {Cursor}
 */
class BlockCursor {
  #blocks
  #walkBlock
  #blockSize
  #skipsDamage
  /** @type {Error | null} */
  #error = null

  /**
   * @param {BlockFile} blocks  open
   * @param {object} format
   * @param {import('./formats').WalkBlock} format.walkBlock
   * @param {number} format.blockSize  in bytes
   * @param {number} format.size  how much of the file to read
   * @param {boolean} format.skipsDamage
   */
  constructor (blocks, { walkBlock, blockSize, size, skipsDamage }) {
    this.#blocks = blocks
    this.#walkBlock = walkBlock
    this.#blockSize = blockSize
    this.#skipsDamage = skipsDamage
    this.position = 0
    this.total = size
    this.deleted = 0
    this.lost = new Losses()
    /** @type {Cursor['torn']} */
    this.torn = null
  }

  /** @returns {Promise<Batch>}  the records of a block */
  async next () {
    if (this.#error) throw this.#error
    if (this.position >= this.total) return { seqs: [], records: [], isEnd: true }
    // A buffer of its own for each block: the records are parts of it, and need no copies.
    const block = Buffer.allocUnsafeSlow(Math.min(this.#blockSize, this.total - this.position))
    await call(this.#blocks, 'readInto', block, this.position)
    return this.#walk(block)
  }

  async close () {}

  /**
   * @param {Buffer} block
   * @returns {Batch}
   */
  #walk (block) {
    const start = this.position
    const { records, deletedCount, flaw, rest, torn } = this.#walkBlock(block, this.#blockSize)
    this.position += block.length
    this.deleted += deletedCount
    if (flaw) this.#addDamage(flaw, start)
    if (torn) this.torn = { offset: start + torn.start, size: torn.end - torn.start }
    const found = flaw && !this.#error ? [...records, ...rest] : records
    return {
      seqs: found.map(({ seq }) => start + seq),
      records: found.map((record) => block.subarray(record.start, record.end)),
      isEnd: false
    }
  }

  /**
   * @param {import('./formats').Flaw} flaw
   * @param {number} blockStart
   */
  #addDamage ({ what, start, end }, blockStart) {
    const offset = blockStart + start
    if (this.#skipsDamage) return this.lost.add(what, offset, end - start)
    const { path } = this.#blocks
    this.#error = new LogError('ERR_LOG_CORRUPT', `${path} is damaged from ${offset} to ${blockStart + end}: ${what}. ` +
      'Keep a copy of it; onCorrupt: \'skip\' leaves these bytes out and says so', { offset, path })
  }
}

/**
 * Over a file that offset-log reads.
 * @implements {Cursor}
 */
class LogCursor {
  #skipsDamage
  #blocks
  #overhead
  #stream
  /** @type {Error | null} */
  #error = null

  /**
   * @param {object} source
   * @param {Log} source.log  open, without a codec
   * @param {number} source.end  where its records end
   * @param {boolean} [source.skipsDamage]
   * @param {BlockFile | null} [source.blocks]  the same file; without it deleted records are not counted
   * @param {number | null} [source.overhead]  what a frame takes beside its data, in bytes; null if that varies
   */
  constructor ({ log, end, skipsDamage = false, blocks = null, overhead = null }) {
    this.#skipsDamage = skipsDamage
    this.#blocks = blocks
    this.#overhead = overhead
    this.#stream = log.stream(skipsDamage && log.supports.onCorrupt ? { onCorrupt: 'skip' } : {})
    this.position = 0
    this.total = end
    /** @type {number | null} */
    this.deleted = overhead === null ? null : 0
    this.lost = new Losses()
    const { recovery } = log
    this.torn = recovery && recovery.size > 0 && recovery.damage.length === 0
      ? { offset: recovery.offset, size: recovery.size }
      : null
  }

  /** @returns {Promise<Batch>} */
  async next () {
    if (this.#error) throw this.#error
    /** @type {Batch} */
    const batch = { seqs: [], records: [], isEnd: false }
    const end = await this.#read(batch)
    for (const [index, seq] of batch.seqs.entries()) {
      if (this.deleted !== null && seq > this.position) await this.#countDeleted(seq)
      this.position = seq + batch.records[index].length + (this.#overhead ?? 0)
    }
    if (end === null) return batch
    if (end === true) {
      const { count, size } = this.#stream.lost
      Object.assign(this.lost, { count, size })
      await this.#countDeleted(this.total)
      this.position = this.total
    } else if (this.#skipsDamage && end instanceof LogError && end.code === 'ERR_LOG_CORRUPT') {
      // Behind damage, the offset framings have no place at which reading could begin again.
      const offset = end.offset ?? this.position
      this.lost.add(end.message, offset, Math.max(0, (this.#blocks?.size.value ?? this.total) - offset))
    } else {
      this.#error = end
      if (batch.records.length === 0) throw end
      return batch
    }
    return { ...batch, isEnd: true }
  }

  /** @returns {Promise<void>} */
  close () {
    return new Promise((resolve) => this.#stream(true, () => resolve()))
  }

  /**
   * @param {Batch} batch  gets records until it is full
   * @returns {Promise<Error | true | null>}  how the stream ended; null if it has not
   */
  #read (batch) {
    let size = 0
    // A callback for each record and a promise for each batch: a promise for each record takes several times as long.
    return new Promise((resolve) => trampoline((next) => this.#stream(null, (end, item) => {
      if (end) return resolve(end)
      batch.seqs.push(item.seq)
      batch.records.push(item.value)
      size += item.value.length
      if (batch.records.length < BATCH_COUNT_MAX && size < BATCH_SIZE_MAX) next()
      else resolve(null)
    })))
  }

  /**
   * The log passes over the frames of deleted records: what lies between two records is theirs.
   * @param {number} end  of these frames
   */
  async #countDeleted (end) {
    const overhead = this.#overhead
    if (this.#blocks === null || overhead === null || this.deleted === null) return
    for (let at = this.position; at < end; this.deleted++) at += overhead + await call(this.#blocks, 'readUInt32BE', at)
  }
}

/** Hands out the records of a cursor one by one. */
class RecordReader {
  /** @type {Batch} */
  #batch = { seqs: [], records: [], isEnd: false }
  #index = 0

  /** @param {Cursor} cursor */
  constructor (cursor) {
    this.cursor = cursor
  }

  /** Whether there is a record at hand. */
  get hasRecord () {
    return this.#index < this.#batch.records.length
  }

  /** Whether all records were handed out. */
  get isEnd () {
    return !this.hasRecord && this.#batch.isEnd
  }

  /** Of the record at hand. */
  get seq () {
    return this.#batch.seqs[this.#index]
  }

  /** The record at hand. */
  get bytes () {
    return this.#batch.records[this.#index]
  }

  /** How much of the source is done. */
  get position () {
    return Math.min(this.hasRecord ? this.seq : this.cursor.position, this.total)
  }

  /** The position at the end. */
  get total () {
    return this.cursor.total
  }

  /** Goes on to the next one. */
  advance () {
    this.#index++
  }

  /** Waits until there is a record at hand, or the end. */
  async fill () {
    while (!this.hasRecord && !this.#batch.isEnd) {
      // Each batch in a turn of its own: a long run must not hold up the event loop.
      await setImmediate()
      this.#batch = await this.cursor.next()
      this.#index = 0
    }
  }
}

exports.BlockCursor = BlockCursor
exports.LogCursor = LogCursor
exports.Losses = Losses
exports.RecordReader = RecordReader
