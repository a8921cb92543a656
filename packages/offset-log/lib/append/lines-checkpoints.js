'use strict'
// Describes commits of a log of lines in `<log>.sums` before they are written, and how far the log is durable. After a
// crash the next open knows from it which bytes are a whole commit.
//
// A commit of single records needs no description: each line that is whole is a whole record. A batch does. With
// `fsync: 'always'`, its description is synced before the batch is written. Otherwise only that of the first batch is,
// and from then on every commit is described: after a power cut, what is not described is not taken for whole.

const { randomBytes } = require('node:crypto')
const { BlockFile } = require('@millrace/block-file')
const { promisesOf, toPromise } = require('@millrace/flow')
const { SUMS_POSITIONS, SUMS_SIZE, crc32, encodeSums, readSums } = require('@millrace/framing')

const SUFFIX = '.sums'
// The next open computes the checksum of the bytes from the base on, so the base follows the durable end. It stays this
// far behind, so that an open after a clean end still sees whether somebody changed the last lines.
const BASE_DISTANCE = 256 * 1024
// With `fsync: 'never'`, the log is synced after so many bytes, for the same reason.
const UNSYNCED_SIZE_MAX = 64 * 1024 * 1024

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {import('../load').Mark} Mark
 * @typedef {import('@millrace/framing').SumsSlot & { place: number }} FoundSlot
 * @typedef {import('@millrace/framing').Packed} Packed
 * @typedef {{ end: number, crc: number }} Sum  of the bytes from the base up to there
 * @typedef {ReturnType<typeof BlockFile>} SumsFile
 * @typedef {{ bytes: Buffer, place: number }} Slot
 * @typedef {Sum & { place: number, isSynced: boolean }} Pending  what is being written, the place of the newest slot,
 *   and whether that is durable
 */

class LinesCheckpoints {
  #store
  /** Null of a new log, until its first append opens the file. @type {SumsFile | null} */
  #sums
  #id
  #sequence
  /** The place of the newest slot whose commit is in the log. */
  #place
  /** The places of the newest durable slot, and of the one that a running sync makes durable. */
  #durablePlace
  #syncingPlace
  /** Whether the newest slot says that the log was closed. */
  #isMarkedClean = false
  /** Whether a durable slot says that this session writes. */
  #isBegun = false
  /** Whether every commit is described. */
  #describesAll = false
  #base = 0
  /** Of what is written. @type {Sum} */
  #sum = { end: 0, crc: 0 }
  /** @type {Pending | null} */
  #pending = null
  /**
   * Of what comes after a sync that may move the base up.
   * @type {{ base: number, sum: Sum, pendingCrc: number } | null}
   */
  #next = null

  /**
   * @param {LinesStore} store
   * @param {SumsFile | null} sums  open
   * @param {FoundSlot[]} slots  the newest first
   */
  constructor (store, sums, [newest]) {
    this.#store = store
    this.#sums = sums
    this.#id = newest?.id ?? store.file.newId ?? randomBytes(16)
    this.#sequence = newest?.sequence ?? 0
    this.#place = this.#durablePlace = this.#syncingPlace = newest?.place ?? 0
    /** Rises when positions may get other lines. */
    this.epoch = newest?.epoch ?? 1
    /** The log is durable up to here. */
    this.durableEnd = 0
  }

  /** Names the log. */
  get id () {
    return this.#id
  }

  /**
   * What opening has found. `slot`: the one that describes the log up to `end`, if there is one.
   * @type {(found: { end: number, durable: number, slot: FoundSlot | null, isChanged: boolean }) => void}
   */
  begin ({ end, durable, slot, isChanged }) {
    const isWhole = slot !== null && slot.end === end
    this.#base = isWhole ? slot.base : end
    this.#sum = { end, crc: isWhole ? slot.endCrc : 0 }
    this.durableEnd = Math.min(durable, end)
    this.#isMarkedClean = isWhole && slot.isClean
    if (slot !== null) this.#place = this.#durablePlace = this.#syncingPlace = slot.place
    if (isChanged) this.epoch++
  }

  /** Whether everything is on stable storage. */
  get isClean () {
    return this.durableEnd === this.#sum.end
  }

  /** Whether the sums say so. */
  get isFinished () {
    return this.isClean && this.#isMarkedClean
  }

  get #isAlways () {
    return this.#store.file.durability.mode === 'always'
  }

  /** A place for the next slot: never that of one that may be needed. */
  get #freePlace () {
    const taken = [this.#place, this.#durablePlace, this.#syncingPlace]
    return SUMS_POSITIONS.findIndex((_, place) => !taken.includes(place))
  }

  /** @type {(start: Sum, end: Sum, isClean?: boolean, takesLines?: boolean) => Slot} */
  #encode (start, end, isClean = false, takesLines = !this.#describesAll) {
    const bytes = encodeSums({
      sequence: ++this.#sequence,
      isClean,
      takesLines,
      id: this.#id,
      epoch: this.epoch,
      durable: Math.min(this.durableEnd, start.end),
      base: this.#base,
      start: start.end,
      end: end.end,
      startCrc: start.crc,
      endCrc: end.crc
    })
    return { bytes, place: this.#freePlace }
  }

  /** @param {Slot} slot */
  async #write ({ bytes, place }) {
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).writeQuietly(bytes, SUMS_POSITIONS[place])
  }

  /** @param {Slot} slot */
  #writeNow ({ bytes, place }) {
    this.#sums?.writeNow(bytes, SUMS_POSITIONS[place])
  }

  /** Writes a slot that describes the log as it is. @param {boolean} isClean */
  async #describe (isClean) {
    const sums = this.#sums ??= (await openFile(this.#store)).sums
    const slot = this.#encode(this.#sum, this.#sum, isClean)
    await this.#write(slot)
    await promisesOf(sums).sync()
    this.#noteDescribed(slot, isClean)
  }

  /** @param {boolean} isClean */
  #describeNow (isClean) {
    const slot = this.#encode(this.#sum, this.#sum, isClean)
    this.#writeNow(slot)
    this.#sums?.syncNow()
    this.#noteDescribed(slot, isClean)
  }

  /** @type {(slot: Slot, isClean: boolean) => void} */
  #noteDescribed ({ place }, isClean) {
    this.#place = this.#durablePlace = this.#syncingPlace = place
    this.#isMarkedClean = isClean
    this.#isBegun = !isClean
  }

  /** @returns {Promise<void> | null}  null if nothing is to do before an append */
  prepareAppend () {
    if (!this.#isBegun) return this.#beginSession()
    if (this.#sum.end - this.durableEnd > UNSYNCED_SIZE_MAX) return this.#store.file.durability.sync()
    return null
  }

  async #beginSession () {
    const { blocks } = this.#store
    // The next open then knows a killed process from a power cut. If it fails, it assumes a power cut.
    await toPromise((cb) => blocks.markIntact(true, cb)).catch(() => {})
    this.#describesAll = false
    await this.#describe(false)
  }

  /** The file of a new log cannot be made without waiting: until then no batch is described. */
  prepareAppendNow () {
    if (this.#isBegun || this.#sums === null) return
    this.#store.blocks.markIntact(true, () => {})
    this.#describesAll = false
    this.#describeNow(false)
  }

  /**
   * Describes a commit before it is written.
   * @type {(packed: Packed, isBatch: boolean) => Promise<void> | null} null if that is done
   */
  announce (packed, isBatch) {
    const slot = this.#plan(packed, isBatch)
    if (slot === null) return null
    const { isSynced } = /** @type {Pending} */ (this.#pending)
    if (isSynced || !this.#sums?.hasSyncCalls || !this.#sums.canWriteNow) return this.#announceLater(slot, isSynced)
    this.#writeNow(slot)
    return null
  }

  /** @type {(slot: Slot, isSynced: boolean) => Promise<void>} */
  async #announceLater (slot, isSynced) {
    await this.#write(slot)
    if (!isSynced) return
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).sync()
    this.#noteAnnounced()
  }

  /** The same without waiting. @type {(packed: Packed, isBatch: boolean) => void} */
  announceNow (packed, isBatch) {
    const slot = this.#plan(packed, isBatch)
    if (slot === null) return
    this.#writeNow(slot)
    if (!this.#pending?.isSynced) return
    this.#sums?.syncNow()
    this.#noteAnnounced()
  }

  /** A durable slot describes the batch. Unless each is synced, it says that every commit is described from now on. */
  #noteAnnounced () {
    this.#describesAll = !this.#isAlways
  }

  /** @type {(packed: Packed, isBatch: boolean) => Slot | null} null if the commit needs no description */
  #plan ({ bytes, tail: { end } }, isBatch) {
    const isSynced = isBatch && (this.#isAlways || !this.#describesAll)
    const pending = { end, crc: crc32(bytes, this.#sum.crc), place: this.#place, isSynced }
    this.#pending = pending
    if (this.#next !== null) this.#next.pendingCrc = crc32(bytes, this.#next.sum.crc)
    if ((!isBatch && !this.#describesAll) || this.#sums === null) return null
    const slot = this.#encode(this.#sum, pending, false, this.#isAlways)
    pending.place = slot.place
    return slot
  }

  /** The commit that was announced is in the log. */
  noteWritten () {
    const { end, crc, place, isSynced } = /** @type {Pending} */ (this.#pending)
    this.#pending = null
    this.#sum = { end, crc }
    this.#place = place
    if (isSynced) this.#durablePlace = place
    if (this.#next !== null) this.#next.sum = { end, crc: this.#next.pendingCrc }
  }

  /** @returns {Mark}  what a sync that begins now will cover */
  mark () {
    const { end } = this.#sum
    if (end - this.#base > BASE_DISTANCE && this.#next === null) {
      this.#next = { base: end, sum: { end, crc: 0 }, pendingCrc: 0 }
    }
    return { since: this.#store.file.writtenSince, end, shift: 0, chainCrc: 0, last: -1 }
  }

  /**
   * Makes what the slots say durable beside the log. If every commit is described, a power cut could else take what was
   * promised.
   * @returns {Promise<void> | null}
   */
  syncBeside () {
    return this.#describesAll ? this.#syncSums() : null
  }

  async #syncSums () {
    const place = this.#syncingPlace = this.#place
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).sync()
    this.#durablePlace = place
  }

  completeNow () {
    if (!this.#describesAll) return
    this.#sums?.syncNow()
    this.#durablePlace = this.#place
  }

  /** @param {Mark} mark  what is durable now */
  synced (mark) {
    this.noteSynced(mark)
  }

  /** @param {Mark} mark  what is durable now */
  noteSynced ({ end }) {
    this.durableEnd = Math.max(this.durableEnd, end)
    const next = this.#next
    if (next === null || next.base > this.durableEnd) return
    this.#base = next.base
    this.#sum = next.sum
    if (this.#pending !== null) this.#pending.crc = next.pendingCrc
    this.#next = null
  }

  /** Notes that the log is closed, and all of it durable. Call it after a sync, while nothing is being written. */
  async finish () {
    if (!this.isFinished) await this.#describe(true)
  }

  get canFinishNow () {
    const { blocks, writtenEnd } = this.#store
    const sums = this.#sums
    return blocks.size.value === writtenEnd && (sums === null || (sums.hasSyncCalls && sums.canWriteNow && sums.isIdle))
  }

  finishNow () {
    this.#store.blocks.syncNow()
    this.durableEnd = this.#sum.end
    this.#describeNow(true)
  }

  async close () {
    if (this.#sums !== null) await promisesOf(this.#sums).close()
  }
}

/**
 * Opens the sums of a log, or makes them.
 * @param {LinesStore} store
 * @returns {Promise<{ checkpoints: LinesCheckpoints, slots: FoundSlot[] }>}  the newest slot first
 */
async function openSums (store) {
  const { sums, slots } = await openFile(store)
  return { checkpoints: new LinesCheckpoints(store, sums, slots), slots }
}

/** @type {(store: LinesStore) => Promise<{ sums: SumsFile, slots: FoundSlot[] }>} */
async function openFile (store) {
  const { blocks: { realPath }, file: { storage } } = store
  const sums = BlockFile(realPath + SUFFIX, { cache: 0, storage, initial: () => Buffer.alloc(SUMS_SIZE) })
  try {
    await promisesOf(sums).ready()
    const bytes = Buffer.alloc(SUMS_SIZE)
    await promisesOf(sums).readInto(bytes.subarray(0, Math.min(SUMS_SIZE, sums.size.value)), 0)
    // Somebody has cut it.
    if (sums.size.value < SUMS_SIZE) await promisesOf(sums).append(bytes.subarray(sums.size.value))
    return { sums, slots: readSums(bytes) }
  } catch (err) {
    await promisesOf(sums).close().catch(() => {})
    throw err
  }
}

exports.openSums = openSums
exports.LinesCheckpoints = LinesCheckpoints
