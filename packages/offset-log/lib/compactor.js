'use strict'
// Copies the undeleted records of a log into a new file; each keeps its seq. The log may grow meanwhile: call `copyTo`
// again for new records, and a last time when nothing more is appended.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { Repacker, SLOT_POSITIONS, encodeHead, encodeSlot } = require('@millrace/framing')
const { UnpackedRun, isWordsRecord } = require('./file-words')

// Pages are written this many bytes at a time.
const WRITE_SIZE = 1024 * 1024

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 *
 * @typedef {object} Choice  of the records to copy
 * @property {import('./codec').RecordFilter | null} [isWanted]  null, the default, copies all
 * @property {boolean} [skipsDamage]  leaves out what is damaged. By default damage ends the copying
 */

/** Packs records, and the unclean ends between them, into new pages. */
class Repacking {
  /** Logical position: all records below it are packed. */
  packedEnd = 0
  /** If records are chosen: how many are, of how many. */
  count = 0
  readCount = 0
  #last = -1
  #store
  #repacker
  #isWanted
  #skipsDamage
  /** Unclean ends that were read but not packed yet. @type {Array<{ end: number, position: number }>} */
  #losses = []
  #lastPosition = -1

  /**
   * @param {CheckedStore} store
   * @param {(page: Buffer) => void} onPage
   * @param {Choice} [choice]
   */
  constructor (store, onPage, { isWanted = null, skipsDamage = false } = {}) {
    const { header: { salt, base }, path, epoch } = store
    this.#store = store
    this.#isWanted = isWanted
    this.#skipsDamage = skipsDamage
    this.#repacker = new Repacker({ salt, base, path, epoch }, onPage)
  }

  /**
   * @param {number} logEnd  a logical position
   * @param {() => Promise<void>} [onRun]  called after each run of records; may throw to stop the packing
   */
  async packTo (logEnd, onRun = async () => {}) {
    const onLoss = (/** @type {number} */ end, /** @type {number} */ position) => {
      // A second read of the same bytes reports a loss again.
      if (position <= this.#lastPosition) return
      this.#lastPosition = position
      this.#losses.push({ end, position })
    }
    // Strict: a new checksum would make damage look valid, and no record is too large to keep.
    const range = {
      from: this.packedEnd, stop: logEnd, onLoss, reverse: false, isStrict: true, skipsDamage: this.#skipsDamage
    }
    const reader = await promisesOf(this.#store).openReader(range)
    for (let run = await promisesOf(reader).next(logEnd); run.count > 0; run = await promisesOf(reader).next(logEnd)) {
      const end = run.seqs[run.count - 1] + 1
      if (this.#isWanted !== null) this.#choose(run, this.#isWanted)
      this.#pack(run)
      this.packedEnd = end
      await onRun()
    }
    this.packedEnd = logEnd
  }

  /** @param {number} logicalEnd  of the log */
  finish (logicalEnd) {
    this.#packLosses(Infinity)
    return this.#repacker.finish(logicalEnd)
  }

  /** Seq of the last record that is packed and no words record; -1 if there is none. */
  get last () {
    return this.#isWanted === null ? this.#store.last : this.#last
  }

  /** @type {(run: import('./record-run').RecordRun, isWanted: import('./codec').RecordFilter) => void} */
  #choose (run, isWanted) {
    const { words, file: { codec } } = this.#store
    let records = run
    if (words !== null) {
      const unpacked = records = new UnpackedRun()
      const onLost = this.#skipsDamage ? () => {} : null
      unpacked.fill(run, words, { maxRecordSize: Infinity, keepsBytes: false, onLost })
      if (unpacked.failure !== null) throw unpacked.failure
    }
    this.readCount += records.count
    const err = records.applyFilter(isWanted, codec.name)
    if (err !== null) throw err
    this.count += records.count
    if (records.count > 0) this.#last = records.seqs[records.count - 1]
    if (records === run) return
    const chosen = new Set(records.seqs.subarray(0, records.count))
    run.filter((buffer, start, end, seq) => chosen.has(seq) || isWordsRecord(buffer, start, end))
  }

  /** @param {import('./record-run').RecordRun} run */
  #pack ({ buffer, seqs, starts, ends, count }) {
    for (let index = 0; index < count; index++) {
      if (this.#losses.length > 0) this.#packLosses(seqs[index])
      this.#repacker.add(seqs[index], buffer, starts[index], ends[index])
    }
  }

  /** @param {number} seq  losses before it are packed */
  #packLosses (seq) {
    for (let [loss] = this.#losses; loss && loss.position < seq; [loss] = this.#losses) {
      this.#repacker.skipSeqs(loss.end, loss.position)
      this.#losses.shift()
    }
  }
}

class Compactor {
  #store
  #path
  #target
  #repacking
  /** Packed pages that are not written yet. @type {Buffer[]} */
  #pages = []
  #pagesSize = 0

  /**
   * @param {CheckedStore} store
   * @param {string} path  of the new file
   * @param {Choice} [choice]
   */
  constructor (store, path, choice) {
    this.#store = store
    this.#path = path
    this.#target = BlockFile(path, { storage: store.file.storage, cache: 0 })
    this.#repacking = new Repacking(store, (page) => {
      this.#pages.push(Buffer.from(page))
      this.#pagesSize += page.length
    }, choice)
  }

  /** Logical position: all records below it are copied. */
  get copiedEnd () {
    return this.#repacking.packedEnd
  }

  async begin () {
    await promisesOf(this.#target).ready()
    if (this.#target.size.value > 0) throw inTheWay(this.#path)
    await promisesOf(this.#target).append(encodeHead({ ...this.#store.header, hasGaps: true }))
    // After a power cut, this head identifies the file as a leftover. So it must be durable before any record is
    // copied.
    await promisesOf(this.#target).sync()
  }

  /**
   * @param {number} logEnd  a logical position: copies all records below it
   * @param {(copiedEnd: number) => void} onProgress  may throw to stop the copying
   */
  async copyTo (logEnd, onProgress) {
    await this.#repacking.packTo(logEnd, async () => {
      onProgress(this.copiedEnd)
      if (this.#pagesSize >= WRITE_SIZE) await this.#writePages()
    })
    onProgress(logEnd)
  }

  /** Makes what is copied durable, but for the last page: `finish` then takes less time. */
  async sync () {
    await this.#writePages()
    await promisesOf(this.#target).sync()
  }

  /**
   * Call it when everything is copied and nothing more is appended.
   * @returns {Promise<{ count: number, readCount: number, size: number }>}  how many records were chosen, of how many,
   *   and the size of the new file, in bytes. It is whole, durable and closed
   */
  async finish () {
    const { tail: { end, shift }, reservation, rules: { salt }, epoch } = this.#store
    const { count, readCount, last } = this.#repacking
    const { end: newEnd, shift: newShift, chainCrc } = this.#repacking.finish(end + shift)
    const logicalEnd = newEnd + newShift
    const reservedEnd = reservation.reservedEndFor(logicalEnd, false)
    const slot = { sequence: 2, epoch, end: newEnd, logicalEnd, last, erasedCount: 0, chainCrc, reservedEnd }
    await this.sync()
    await promisesOf(this.#target).write(encodeSlot(slot, salt), SLOT_POSITIONS[0])
    await promisesOf(this.#target).sync()
    await promisesOf(this.#target).close()
    return { count, readCount, size: newEnd }
  }

  /** Gives up after a failure. */
  async close () {
    await promisesOf(this.#target).close().catch(() => {})
  }

  async #writePages () {
    const bytes = Buffer.concat(this.#pages.splice(0), this.#pagesSize)
    this.#pagesSize = 0
    if (bytes.length > 0) await promisesOf(this.#target).append(bytes)
  }
}

/**
 * Copies the chosen records of a log that gets no appends meanwhile. If it fails, the caller removes the new file.
 * @param {{ store: any, logEnd: number }} file  of the checked framing
 * @param {string} path  of the new file
 * @param {Choice & { onProgress: (copiedEnd: number) => void }} options  `onProgress` may throw to stop the copying
 */
async function copyRecords ({ store, logEnd }, path, { onProgress, ...choice }) {
  const compactor = new Compactor(store, path, choice)
  try {
    await compactor.begin()
    await compactor.copyTo(logEnd, onProgress)
    return await compactor.finish()
  } catch (err) {
    await compactor.close()
    throw err
  }
}

/**
 * Packs the chosen records of a log that may be appended to meanwhile.
 * @param {CheckedStore} store
 * @param {number} logicalEnd  all records below it are read
 * @param {import('./codec').RecordFilter} isWanted
 * @param {object} listeners
 * @param {(page: Buffer) => void} listeners.onPage  valid until it returns
 * @param {(copiedEnd: number) => Promise<void>} listeners.onRun  may throw to stop the packing
 */
async function packChosen (store, logicalEnd, isWanted, { onPage, onRun }) {
  const repacking = new Repacking(store, onPage, { isWanted })
  await repacking.packTo(logicalEnd, () => onRun(repacking.packedEnd))
  return { tail: repacking.finish(logicalEnd), last: repacking.last }
}

/**
 * @param {CheckedStore} store
 * @returns {Promise<number>}  the size of the file after a compaction, in bytes
 */
async function measureCompacted (store) {
  const { tail: { end, shift }, logEnd } = store
  const repacking = new Repacking(store, () => {})
  await repacking.packTo(logEnd)
  return repacking.finish(end + shift).end
}

/** @param {string} path */
function inTheWay (path) {
  return new LogError('EEXIST', `compact: ${path} already exists, and does not belong to this log; move it away`, { path })
}

exports.Compactor = Compactor
exports.copyRecords = copyRecords
exports.packChosen = packChosen
exports.measureCompacted = measureCompacted
