'use strict'
// Reads the records of a source of any format in batches, and hands them out one by one.

const { setImmediate } = require('node:timers/promises')
const { LogError } = require('@millrace/errors')
const { promisesOf, trampoline } = require('@millrace/flow')

// Bounds the memory that a file full of damage can take.
const LOST_RANGES_MAX = 1000
const BATCH_COUNT_MAX = 1000
const BATCH_SIZE_MAX = 1024 * 1024

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {ReturnType<typeof import('@millrace/offset-log').OffsetLog>} Log
 * @typedef {{ what: string, offset: number, size: number }} LostRange  bytes of the file
 * @typedef {{ seqs: number[], records: Buffer[] }} Batch  in order, perhaps empty; the receiver owns the records
 * @typedef {AsyncGenerator<Batch, void>} Batches  throws at damage, after the records before it
 */

/** @type {Batch} */
const NOTHING = { seqs: [], records: [] }

/** What a pass over a source left out because of damage. */
class Losses {
  count = 0
  size = 0
  /** @type {LostRange[]} the first of them, if the format tells where they are */
  ranges = []

  /** @param {LostRange} range */
  add (range) {
    this.count++
    this.size += range.size
    if (this.ranges.length < LOST_RANGES_MAX) this.ranges.push(range)
  }
}

/**
 * How far a pass is, and what it has met.
 * @typedef {object} Met
 * @property {number} position  in the file: everything before it is done
 * @property {number} total  the position at the end
 * @property {number | null} deleted  how many records are marked as deleted; null if the format does not tell
 * @property {Losses} lost
 * @property {{ offset: number, size: number } | null} torn  a last write that was cut off
 */

class RecordReader {
  #batches
  #batch = NOTHING
  #index = 0
  /** Whether all records were handed out; known after `fill`. */
  isEnd = false

  /**
   * @param {Met} met  the batches keep it up to date
   * @param {Batches} batches
   */
  constructor (met, batches) {
    this.met = met
    this.#batches = batches
  }

  /** Whether there is a current record. */
  get hasRecord () {
    return this.#index < this.#batch.records.length
  }

  get seq () {
    return this.#batch.seqs[this.#index]
  }

  get bytes () {
    return this.#batch.records[this.#index]
  }

  /** How much of the source is done. */
  get position () {
    const { position, total } = this.met
    return Math.min(this.hasRecord ? this.seq : position, total)
  }

  advance () {
    this.#index++
  }

  /** Waits until there is a current record, or the end. */
  async fill () {
    while (!this.hasRecord && !this.isEnd) {
      // Each batch has a turn of its own, so that a long run does not hold up the event loop.
      await setImmediate()
      const { value, done = false } = await this.#batches.next()
      this.#batch = value ?? NOTHING
      this.#index = 0
      this.isEnd = done
    }
  }

  async close () {
    await this.#batches.return()
  }
}

/**
 * Reads a file of blocks, which is open.
 * @param {BlockFile} blocks
 * @param {object} format
 * @param {import('./formats').WalkBlock} format.walkBlock
 * @param {number} format.blockSize  in bytes
 * @param {number} format.size  how much of the file to read
 * @param {boolean} format.skipsDamage
 * @returns {RecordReader}
 */
function readBlocks (blocks, { walkBlock, blockSize, size, skipsDamage }) {
  const met = { position: 0, total: size, deleted: 0, lost: new Losses(), torn: /** @type {Met['torn']} */ (null) }
  return new RecordReader(met, walkBlocks())

  /** One batch for each block. @returns {Batches} */
  async function * walkBlocks () {
    while (met.position < size) {
      const start = met.position
      // Each block has its own buffer: the records are parts of it and need no copies.
      const block = Buffer.allocUnsafeSlow(Math.min(blockSize, size - start))
      await promisesOf(blocks).readInto(block, start)
      const { records, deletedCount, flaw, rest, torn } = walkBlock(block, blockSize)
      met.position += block.length
      met.deleted += deletedCount
      if (torn) met.torn = { offset: start + torn.start, size: torn.end - torn.start }
      const damage = flaw && { what: flaw.what, offset: start + flaw.start, size: flaw.end - flaw.start }
      if (damage && skipsDamage) met.lost.add(damage)
      const found = skipsDamage ? [...records, ...rest] : records
      const seqs = found.map(({ seq }) => start + seq)
      yield { seqs, records: found.map(({ start, end }) => block.subarray(start, end)) }
      if (damage && !skipsDamage) throw damageError(blocks.path, damage)
    }
  }
}

/** @type {(path: string, damage: LostRange) => LogError} */
function damageError (path, { what, offset, size }) {
  return new LogError('ERR_LOG_CORRUPT', `${path} is damaged from ${offset} to ${offset + size}: ${what}. ` +
    'Keep a copy of it; onCorrupt: \'skip\' leaves these bytes out and says so', { offset, path })
}

/**
 * Reads a file that offset-log reads.
 * @param {object} source
 * @param {Log} source.log  open, without a codec
 * @param {number} source.end  where its records end
 * @param {boolean} [source.skipsDamage]
 * @param {BlockFile | null} [source.blocks]  the same file; without it deleted records are not counted
 * @param {number | null} [source.overhead]  how many bytes a frame takes beside its data; null if that varies
 * @returns {RecordReader}
 */
function readLog ({ log, end: total, skipsDamage = false, blocks = null, overhead = null }) {
  const { recovery } = log
  const isTorn = recovery && recovery.size > 0 && recovery.damage.length === 0
  /** @type {Met} */
  const met = {
    position: 0,
    total,
    deleted: overhead === null ? null : 0,
    lost: new Losses(),
    torn: isTorn ? { offset: recovery.offset, size: recovery.size } : null
  }
  return new RecordReader(met, readBatches())

  /** @returns {Batches} */
  async function * readBatches () {
    const stream = log.stream(skipsDamage && log.supports.onCorrupt ? { onCorrupt: 'skip' } : {})
    try {
      for (let end = null; end === null;) {
        /** @type {Batch} */
        const batch = { seqs: [], records: [] }
        end = await readBatch(stream, batch)
        for (const [index, seq] of batch.seqs.entries()) {
          if (seq > met.position) await countDeleted(seq)
          met.position = seq + batch.records[index].length + (overhead ?? 0)
        }
        const isSkipped = skipsDamage && end instanceof LogError && end.code === 'ERR_LOG_CORRUPT'
        if (end === true) await finish(stream)
        else if (isSkipped) loseRest(end)
        yield batch
        if (end instanceof Error && !isSkipped) throw end
      }
    } finally {
      await new Promise((resolve) => stream(true, resolve))
    }
  }

  /** At the end of the stream. @type {(stream: { lost: { count: number, size: number } }) => Promise<void>} */
  async function finish ({ lost: { count, size } }) {
    Object.assign(met.lost, { count, size })
    await countDeleted(total)
    met.position = total
  }

  /** In the offset framings, reading cannot continue after damage. @type {(err: any) => void} */
  function loseRest ({ message, offset = met.position }) {
    met.lost.add({ what: message, offset, size: Math.max(0, (blocks?.size.value ?? total) - offset) })
  }

  // The log passes over the frames of deleted records, so whatever lies between two records is theirs.
  /** @type {(end: number) => Promise<void>} */
  async function countDeleted (end) {
    if (blocks === null || overhead === null || met.deleted === null) return
    for (let at = met.position; at < end; met.deleted++) at += overhead + await promisesOf(blocks).readUInt32BE(at)
  }
}

// Fills the batch. Returns how the stream ended; null if it has not.
/** @type {(stream: ReturnType<Log['stream']>, batch: Batch) => Promise<Error | true | null>} */
function readBatch (stream, { seqs, records }) {
  let size = 0
  // A callback per record and a promise per batch: a promise per record takes several times as long.
  return new Promise((resolve) => trampoline((next) => stream(null, (end, item) => {
    if (end) return resolve(end)
    seqs.push(item.seq)
    records.push(item.value)
    size += item.value.length
    if (records.length < BATCH_COUNT_MAX && size < BATCH_SIZE_MAX) next()
    else resolve(null)
  })))
}

exports.Losses = Losses
exports.RecordReader = RecordReader
exports.readBlocks = readBlocks
exports.readLog = readLog
