'use strict'
// Describes commits of a log of lines in `<log>.sums` before they are written, and how far the log is durable. After a
// crash the next open knows from it which bytes are a whole commit.
//
// A commit of single records needs no description: each line that is whole is a whole record. A batch does. With
// `fsync: 'always'`, its description is synced before the batch is written. Otherwise only that of the first batch is,
// once all before it is durable, and from then on every commit is described: after a power cut, what is not described
// is not taken for whole.

const { randomBytes } = require('node:crypto')
const { promisesOf, toPromise } = require('@millrace/flow')
const {
  SUMMED_SIZE, SUMS_POSITIONS, SumWalk, countPages, encodePages, encodeSums, sumOfPages, sumPosition, tableEnd
} = require('@millrace/framing')
const { PageSums } = require('../read/page-sums')
const { createSums, nameSums } = require('./sums-file')

// The next open computes the checksum of the bytes from the base on, so the base follows the durable end. It stays this
// far behind, so that an open after a clean end still sees whether somebody changed the last lines. Each move takes a
// sync of the sums.
const BASE_DISTANCE = 1024 * 1024
// With `fsync: 'never'`, a sync begins after so many bytes, since the next open reads what was not synced. Appends wait
// for it only after so many more.
const UNSYNCED_SIZE_MAX = 64 * 1024 * 1024
/** An epoch has 32 bits. */
const EPOCH_END = 2 ** 32

/**
 * @typedef {import('../commit').Commit} Commit
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {import('../load').Mark} Mark
 * @typedef {import('./sums-file').FoundSlot} FoundSlot
 * @typedef {import('./sums-file').SumsFile} SumsFile
 * @typedef {import('@millrace/framing').Packed} Packed
 * @typedef {{ bytes: Buffer, place: number }} Slot
 * @typedef {{ bytes: Buffer, at: number, endPage: number }} Taken  a part of the table, and the page after it
 * @typedef {{ walk: SumWalk, place: number, isSynced: boolean }} Pending  what is being written, the place of the
 *   newest slot, and whether that is durable
 * @typedef {{ base: number, pages: number[], isSummed: boolean }} Move  of the base, once the log is durable up to
 *   there: the checksums of the pages since, and whether those before are durable
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
  /** The place of the newest durable slot up to whose start the log is durable, too: no power cut makes it useless. */
  #safePlace
  /** By place: where the commit begins that its slot describes. @type {number[]} */
  #starts = []
  /** What opening has read; empty from `begin` on. @type {FoundSlot[]} */
  #found
  /** Whether the newest slot says that the log was closed. */
  #isMarkedClean = false
  /** Whether a durable slot says that this session writes. */
  #isBegun = false
  /** Whether every commit is described: slots of this session, or of one before it, say so. */
  #describesAll = false
  #base = 0
  /** Of what is written, from the base on. Its pages are not in the table yet. */
  #walk = new SumWalk(0)
  /** @type {Pending | null} */
  #pending = null
  /** @type {Move | null} */
  #next = null
  /** The sync that began because much was not synced. @type {Promise<void> | null} */
  #syncing = null

  /**
   * @param {LinesStore} store
   * @param {SumsFile | null} sums  open
   * @param {FoundSlot[]} slots  the newest first
   */
  constructor (store, sums, slots) {
    const [newest] = slots
    this.#store = store
    this.#found = slots
    this.#sums = sums
    this.#id = newest?.id ?? store.file.newId ?? randomBytes(16)
    this.#sequence = newest?.sequence ?? 0
    this.#place = this.#durablePlace = this.#syncingPlace = this.#safePlace = newest?.place ?? 0
    /** Rises when positions may get other lines. */
    this.epoch = newest?.epoch ?? 1
    /** Whether another program has changed the log, and nobody has accepted that. */
    this.isChanged = newest?.isChanged ?? false
    /** The checksums that readers compare with. */
    this.pages = new PageSums(sums)
    /** The log is durable up to here. */
    this.durableEnd = 0
  }

  /** Names the log. */
  get id () {
    return this.#id
  }

  /**
   * What opening has found. `slot`: the one that describes the log up to `walk.end` or to a place before it, if there
   * is one. `isNews`: positions may have got other lines. `isChanged`: another program has changed the log.
   * `isUnsure`: a sync of an earlier session may have failed, so what the sums have may be in the page cache only.
   * @param {{ walk: SumWalk, base: number, durable: number, slot: FoundSlot | null, isNews: boolean,
   *   isChanged: boolean, isUnsure: boolean }} found
   */
  async begin ({ walk, base, durable, slot, isNews, isChanged, isUnsure }) {
    const { end } = walk
    const isWhole = slot !== null && slot.end === end
    this.#base = base
    this.#walk = walk
    this.durableEnd = Math.min(durable, end)
    this.#isMarkedClean = isWhole && slot.isClean
    if (slot !== null) this.#place = this.#durablePlace = this.#syncingPlace = slot.place
    for (const { place, start } of this.#found) this.#starts[place] = start
    this.#safePlace = this.#found.find(({ start }) => start <= this.durableEnd)?.place ?? this.#place
    this.#found = []
    this.#describesAll = slot !== null && !slot.takesLines
    if (isNews) this.epoch = (this.epoch + 1) % EPOCH_END
    this.isChanged ||= isChanged
    await this.#restoreTable(slot === null ? 0 : walk.firstPage, isUnsure)
    await this.#tryPages()
    // Only then the next slots may take the places of older ones.
    if (slot !== null && (isUnsure || !slot.isClean)) await this.#keepSlot(slot, isUnsure)
  }

  /** Makes the newest slot durable. @type {(slot: FoundSlot, isUnsure: boolean) => Promise<void>} */
  async #keepSlot (slot, isUnsure) {
    if (isUnsure) await this.#write({ bytes: encodeSums(slot), place: slot.place })
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).sync()
  }

  /** After a failed sync nobody knows what the sums have. */
  async #sync () {
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).sync().catch((err) => {
      throw this.#store.file.durability.poison(err)
    })
  }

  #syncNow () {
    try {
      this.#sums?.syncNow()
    } catch (err) {
      throw this.#store.file.durability.poison(/** @type {Error} */ (err))
    }
  }

  /**
   * After a crash, the table may lack the checksums of the last pages, or have some of pages that are gone.
   * @type {(firstPage: number, isUnsure: boolean) => Promise<void>} `firstPage`: no checksum before it can be wrong
   */
  async #restoreTable (firstPage, isUnsure) {
    const sums = promisesOf(/** @type {SumsFile} */ (this.#sums))
    const { firstPage: takenPage, pages } = this.#walk
    const from = sumPosition(firstPage)
    const to = tableEnd(sumPosition(takenPage + pages.length))
    await sums.truncate(to)
    const size = /** @type {SumsFile} */ (this.#sums).size.value
    // Of pages that another program has written, the table may have nothing.
    const found = size > from ? await sums.read(from, size) : Buffer.alloc(0)
    const wanted = Buffer.alloc(found.length)
    encodePages(pages).copy(wanted, sumPosition(takenPage) - from)
    if (found.length > 0 && (isUnsure || !found.equals(wanted))) await sums.writeQuietly(wanted, from)
    if (size === to) this.#walk.pages = []
  }

  /**
   * Takes what is in the log as what it is to have. Nothing may be written meanwhile.
   * @param {SumWalk} walk  from the beginning of the log to its end
   */
  async accept (walk) {
    this.#walk = walk
    await this.#restoreTable(0, true)
    await this.#writePages()
    this.#base = walk.end - walk.end % SUMMED_SIZE
    walk.whole = 0
    this.isChanged = false
    await promisesOf(this.#store.blocks).sync()
    this.durableEnd = walk.end
    await this.#describe(true)
  }

  /**
   * What the log has written into one of its newest pages.
   * @type {(page: number) => { crc: number, size: number } | null} null if the table has it, or nobody
   */
  recall (page) {
    const { firstPage, pages, end, part } = this.#walk
    if (page === countPages(end)) return { crc: part, size: end % SUMMED_SIZE }
    return page < firstPage ? null : { crc: pages[page - firstPage], size: SUMMED_SIZE }
  }

  /** Whether everything is on stable storage. */
  get isClean () {
    return this.durableEnd === this.#walk.end
  }

  /** Whether the sums say so. */
  get isFinished () {
    return this.isClean && this.#isMarkedClean
  }

  /** Whether each commit is durable before the next one is written. */
  get #isAlways () {
    return this.#store.file.durability.mode === 'always' && !this.#describesAll && this.isClean
  }

  /** Whether the last commit failed. It may be the one that the newest slot describes. */
  get #hasFailed () {
    return this.#pending !== null
  }

  /** Whether a slot must say that the session writes, before the next append. */
  get #mustBegin () {
    return !this.#isBegun || this.#hasFailed
  }

  /** A place for the next slot: never that of one that may be needed. */
  get #freePlace () {
    const taken = [this.#place, this.#durablePlace, this.#syncingPlace, this.#safePlace]
    return SUMS_POSITIONS.findIndex((_, place) => !taken.includes(place))
  }

  /** @type {(start: SumWalk, end: SumWalk, isClean?: boolean, takesLines?: boolean) => Slot} */
  #encode (start, end, isClean = false, takesLines = !this.#describesAll) {
    const bytes = encodeSums({
      sequence: ++this.#sequence,
      isClean,
      takesLines,
      isChanged: this.isChanged,
      id: this.#id,
      epoch: this.epoch,
      durable: Math.min(this.durableEnd, start.end),
      base: this.#base,
      start: start.end,
      end: end.end,
      startCrc: start.crc,
      endCrc: end.crc
    })
    const place = this.#freePlace
    this.#starts[place] = start.end
    return { bytes, place }
  }

  /** @param {Slot} slot */
  async #write ({ bytes, place }) {
    await promisesOf(/** @type {SumsFile} */ (this.#sums)).writeQuietly(bytes, SUMS_POSITIONS[place]).catch((err) => {
      // Half a slot does not count, and nothing needs what was there before. So the log goes on.
      throw err.code === 'ERR_FILE_NOT_UNDONE' ? err.cause : err
    })
  }

  /** @param {Slot} slot */
  #writeNow ({ bytes, place }) {
    this.#sums?.writeNow(bytes, SUMS_POSITIONS[place])
  }

  /** The checksums of the pages that became whole. @returns {Taken | null} */
  #takePages () {
    const { firstPage, pages } = this.#walk
    if (pages.length === 0 || this.#sums === null) return null
    this.pages.put(firstPage, pages)
    return { bytes: encodePages(pages), at: sumPosition(firstPage), endPage: firstPage + pages.length }
  }

  /** The table has them: until then they are kept. @param {Taken} taken */
  #forgetPages ({ endPage }) {
    const { firstPage, pages } = this.#walk
    if (endPage > firstPage) pages.splice(0, endPage - firstPage)
  }

  /**
   * Writes them. If that fails, as on a full disk, it is tried again later: no record needs them as long as the base
   * is not moved.
   */
  async #tryPages () {
    await this.#writePages().catch(() => {})
  }

  #tryPagesNow () {
    try {
      this.#writePagesNow()
    } catch {
      // As above.
    }
  }

  async #writePages () {
    const taken = this.#takePages()
    if (taken === null) return
    const sums = /** @type {SumsFile} */ (this.#sums)
    const missing = this.#missingSize(taken)
    if (missing > 0) await promisesOf(sums).append(Buffer.alloc(missing))
    await promisesOf(sums).writeQuietly(taken.bytes, taken.at)
    this.#forgetPages(taken)
  }

  #writePagesNow () {
    const taken = this.#takePages()
    if (taken === null) return
    const sums = /** @type {SumsFile} */ (this.#sums)
    sums.appendAllNow()
    const missing = this.#missingSize(taken)
    if (missing > 0) sums.appendNow(Buffer.alloc(missing))
    sums.writeNow(taken.bytes, taken.at)
    this.#forgetPages(taken)
  }

  /** By how much the table must grow. Two calls that wait may let it grow twice. @param {Taken} taken */
  #missingSize ({ bytes, at }) {
    return tableEnd(at + bytes.length) - /** @type {SumsFile} */ (this.#sums).size.value
  }

  /** Makes the file beside a new log. `prepareAppendNow` may do that meanwhile. */
  async #makeFile () {
    const made = createSums(this.#store, '')
    await made.prepare()
    if (this.#sums === null) this.#nameFile(made)
    else await made.discard()
  }

  /** Its name is on stable storage with its first slot. @param {import('@millrace/block-file').NewFile} made */
  #nameFile (made) {
    this.#sums = this.pages.sums = nameSums(this.#store, made)
  }

  /** Writes a slot that describes the log as it is. @param {boolean} isClean */
  async #describe (isClean) {
    if (this.#sums === null) await this.#makeFile()
    await this.#tryPages()
    await this.#writeDescription(isClean)
  }

  /** @param {boolean} isClean */
  async #writeDescription (isClean) {
    const slot = this.#encode(this.#walk, this.#walk, isClean)
    const sequence = this.#sequence
    await this.#write(slot)
    await this.#sync()
    // What was appended without waiting meanwhile has a newer slot, which is durable.
    if (this.#sequence === sequence) this.#noteDescribed(slot, isClean)
  }

  /** @param {boolean} isClean */
  #describeNow (isClean) {
    this.#tryPagesNow()
    const slot = this.#encode(this.#walk, this.#walk, isClean)
    this.#writeNow(slot)
    this.#syncNow()
    this.#noteDescribed(slot, isClean)
  }

  /** @type {(slot: Slot, isClean: boolean) => void} */
  #noteDescribed ({ place }, isClean) {
    this.#place = this.#durablePlace = this.#syncingPlace = this.#safePlace = place
    this.#isMarkedClean = isClean
    this.#isBegun = !isClean
  }

  /** @type {(size: number, commit: Commit) => Promise<void> | null} null if nothing is to do before an append */
  prepareAppend (size, commit) {
    if (this.#mustBegin) return this.#beginSession()
    const unsyncedSize = this.#walk.end - this.durableEnd
    // A sync that is running would else promise what the sums do not say; and after a power cut, the description of a
    // first batch says that only what is described counts.
    if (commit.hasBatch && !this.#describesAll && unsyncedSize > 0) return this.#store.file.durability.sync()
    if (unsyncedSize <= UNSYNCED_SIZE_MAX) return null
    this.#syncing ??= this.#store.file.durability.sync().finally(() => { this.#syncing = null })
    // A failure poisons the log.
    this.#syncing.catch(() => {})
    return unsyncedSize <= 2 * UNSYNCED_SIZE_MAX ? null : this.#syncing
  }

  async #beginSession () {
    const { blocks, file: { durability } } = this.#store
    // A power cut must not take what the slot says is there, nor bring back bytes of a failed write after it.
    if (!this.isClean || this.#hasFailed) await durability.sync()
    // The next open then knows a killed process from a power cut. If it fails, it assumes a power cut.
    await toPromise((cb) => blocks.markIntact(true, cb)).catch(() => {})
    if (this.#sums === null) await this.#makeFile()
    await this.#tryPages()
    // `prepareAppendNow` may have begun it meanwhile.
    if (!this.#mustBegin) return
    this.#describesAll = false
    await this.#writeDescription(false)
    this.#pending = null
  }

  prepareAppendNow (/** @type {number} */ size, /** @type {Commit} */ commit) {
    const { blocks, file: { durability } } = this.#store
    if (!this.#mustBegin) {
      if (commit.hasBatch && !this.#describesAll && !this.isClean) durability.syncNow()
      return
    }
    if (!this.isClean || this.#hasFailed) durability.syncNow()
    blocks.markIntact(true, () => {})
    if (this.#sums === null) this.#nameFile(createSums(this.#store, '.now'))
    this.#describesAll = false
    this.#describeNow(false)
    this.#pending = null
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
    await this.#sync()
    this.#noteAnnounced()
  }

  /** The same without waiting. @type {(packed: Packed, isBatch: boolean) => void} */
  announceNow (packed, isBatch) {
    const slot = this.#plan(packed, isBatch)
    if (slot === null) return
    this.#writeNow(slot)
    if (!this.#pending?.isSynced) return
    this.#syncNow()
    this.#noteAnnounced()
  }

  /** A durable slot describes the batch. Unless each is synced, it says that every commit is described from now on. */
  #noteAnnounced () {
    this.#describesAll = !this.#isAlways
  }

  /** @type {(packed: Packed, isBatch: boolean) => Slot | null} null if the commit needs no description */
  #plan ({ bytes }, isBatch) {
    const isSynced = isBatch && (this.#isAlways || !this.#describesAll)
    const walk = this.#walk.fork()
    walk.add(bytes)
    const pending = { walk, place: this.#place, isSynced }
    this.#pending = pending
    if (!isBatch && !this.#describesAll) return null
    const slot = this.#encode(this.#walk, walk, false, this.#isAlways)
    pending.place = slot.place
    return slot
  }

  /** The commit that was announced is in the log. */
  noteWritten () {
    const { walk, place, isSynced } = /** @type {Pending} */ (this.#pending)
    this.#pending = null
    // Neither a new array for each commit, as it may have thousands, nor as arguments, as a batch may have too many.
    const { pages } = this.#walk
    for (const page of walk.pages) {
      this.#next?.pages.push(page)
      pages.push(page)
    }
    walk.pages = pages
    this.#walk = walk
    this.#place = place
    if (isSynced) this.#durablePlace = place
    this.#keepSafe()
  }

  /** @returns {Mark}  what a sync that begins now will cover */
  mark () {
    const { end } = this.#walk
    if (end - this.#base > BASE_DISTANCE && this.#next === null && this.#sums !== null) {
      this.#next = { base: end - end % SUMMED_SIZE, pages: [], isSummed: false }
    }
    return { since: this.#store.file.writtenSince, end, shift: 0, chainCrc: 0, last: -1 }
  }

  /**
   * Makes durable what the sums say. If every commit is described, a power cut could else take what was promised. The
   * base may only pass pages whose checksums are durable.
   * @returns {Promise<void> | null}
   */
  syncBeside () {
    return this.#describesAll || this.#next !== null ? this.#syncSums() : null
  }

  async #syncSums () {
    const next = this.#next
    const isSummed = await this.#writeMove().then(() => true, () => false)
    const place = this.#syncingPlace = this.#place
    await this.#sync()
    this.#durablePlace = place
    if (next !== null) next.isSummed ||= isSummed
  }

  completeNow () {
    if (!this.#describesAll && this.#next === null) return
    const isSummed = this.#writeMoveNow()
    this.#syncNow()
    this.#durablePlace = this.#place
    if (this.#next !== null) this.#next.isSummed ||= isSummed
  }

  /**
   * Writes what a move of the base needs. Nothing that a sync promises needs it: what has to be described was. So if
   * it fails, the next sync tries it again.
   */
  async #writeMove () {
    await this.#writePages()
    const before = this.#place
    const slot = this.#describeMove()
    if (slot !== null) await this.#write(slot).catch((err) => { throw this.#forgetMove(slot, before, err) })
  }

  /** @returns {boolean}  whether it is written */
  #writeMoveNow () {
    const before = this.#place
    try {
      this.#writePagesNow()
      const slot = this.#describeMove()
      if (slot !== null) this.#writeNow(slot)
      return true
    } catch {
      this.#place = before
      return false
    }
  }

  /** @type {(slot: Slot, before: number, err: Error) => Error} */
  #forgetMove ({ place }, before, err) {
    if (this.#place === place) this.#place = before
    // A commit that needed no description was announced meanwhile.
    if (this.#pending?.place === place) this.#pending.place = before
    return err
  }

  /**
   * With every move of the base, a slot says where the log ends: after a power cut, the next open need not look for
   * holes in all that the session wrote.
   * @returns {Slot | null}
   */
  #describeMove () {
    if (this.#next === null || this.#pending !== null) return null
    const slot = this.#encode(this.#walk, this.#walk)
    this.#place = slot.place
    return slot
  }

  /** @param {Mark} mark  what is durable now */
  synced (mark) {
    this.noteSynced(mark)
  }

  /** @param {Mark} mark  what is durable now */
  noteSynced ({ end }) {
    this.durableEnd = Math.max(this.durableEnd, end)
    this.#keepSafe()
    const next = this.#next
    if (next === null || !next.isSummed || next.base > this.durableEnd) return
    this.#base = next.base
    this.#walk.whole = sumOfPages(next.pages, 0)
    if (this.#pending !== null) this.#pending.walk.whole = sumOfPages(this.#pending.walk.pages, this.#walk.whole)
    this.#next = null
  }

  #keepSafe () {
    if (this.#starts[this.#durablePlace] <= this.durableEnd) this.#safePlace = this.#durablePlace
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
    this.durableEnd = this.#walk.end
    this.#describeNow(true)
  }

  async close () {
    if (this.#sums !== null) await promisesOf(this.#sums).close()
  }
}

exports.LinesCheckpoints = LinesCheckpoints
