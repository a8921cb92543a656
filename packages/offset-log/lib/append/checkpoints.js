'use strict'
// Writes the slots of a checked log. They tell the next open how far the file is durable, and which positions this
// session may have given to records.

const { toPromise } = require('@millrace/flow')
const {
  AREA_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, SLOT_POSITIONS, SLOT_SIZE, encodeHead, encodeSlot
} = require('@millrace/framing')

// Chunks also say how far the file is durable, so a log that syncs every append needs only one slot per this many
// bytes.
const SLOT_DISTANCE = 1024 * 1024
/** Of a full disk. */
const NO_ROOM = ['ENOSPC', 'EDQUOT']

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('../load').Mark} Mark
 * @typedef {import('@millrace/framing').Slot} Slot
 */

class Checkpoints {
  #store
  /** Which of the two slots is the newest, and what it says. */
  #slotIndex
  #slot
  /** Whether the newest slot is durable. */
  #isSlotSynced
  /** Whether both slots were lost. Then both must be written before one can be relied on. */
  #areSlotsLost
  /** Ranges of the head that must be written anew. */
  #flaws
  /** The reserved end of this session's newest slot, 0 if there is none. */
  #ownReservedEnd = 0
  /** Whether the sync that comes next does not cover the slot that is being written. */
  #isLeftOut = false
  /** The slot that is being written. @type {{ slot: Slot, index: number, bytes: Buffer } | null} */
  #writing = null
  /** Resolves once the slot that `synced` is writing is written, or has failed. @type {Promise<void> | null} */
  #slotWriting = null

  /**
   * @param {CheckedStore} store
   * @param {import('@millrace/framing').Head} head
   */
  constructor (store, { slot, slotIndex, journals, flaws }) {
    this.#store = store
    this.#slotIndex = slotIndex
    this.#slot = slot
    this.#isSlotSynced = (slot?.reservedEnd ?? 0) === 0
    this.#areSlotsLost = slot === null
    this.#flaws = flaws.map(({ offset }) => rangeOfFlaw(offset))
    /** The file is durable up to here. */
    this.durableEnd = slot?.end ?? HEAD_SIZE
    /** Whether the head has journals or flaws, which the next open would have to deal with. */
    this.needsCleanUp = journals.length > 0 || flaws.length > 0
  }

  /** Whether a durable slot describes the whole log. */
  get isClean () {
    return this.#isSlotSynced && this.#isSlotCurrent
  }

  get #isSlotCurrent () {
    return !this.needsCleanUp && this.#slot?.end === this.#store.tail.end
  }

  /** Whether that slot also has the reserved end of a closed log, so that the next open need not look for the end. */
  get isFinished () {
    return this.isClean && this.#isSlotLast
  }

  get #isSlotLast () {
    const { reservation, tail: { end, shift } } = this.#store
    return this.#slot?.reservedEnd === reservation.reservedEndFor(end + shift, true)
  }

  /**
   * Reserves positions, and marks the lock's record.
   *
   * - The reserved end must be durable before anyone sees a record. If a power cut takes the record, the next session
   *   then knows that its position was used.
   * - The lock's record must say that the file is intact. The next open then knows a killed process from a power cut.
   *
   * @param {number} size  of the next commit at most
   * @returns {Promise<void> | null}  usually null: nothing was to do
   */
  prepareAppend (size) {
    const { reservation, file: { durability }, nextPosition } = this.#store
    if (nextPosition + size > reservation.syncedEnd) {
      return durability.runExclusive(() => this.extendReservation(nextPosition)).then(() => this.#markIntact())
    }
    return reservation.isMarkedIntact || reservation.isAfterLoss ? null : this.#markIntact()
  }

  async #markIntact () {
    const { reservation, blocks } = this.#store
    if (reservation.isMarkedIntact || reservation.isAfterLoss) return
    reservation.isMarkedIntact = true
    // If this fails, the next open assumes a loss and skips positions, which does no harm.
    await toPromise((cb) => blocks.markIntact(true, cb)).catch(() => {})
  }

  /**
   * Makes a higher reserved end durable.
   * @param {number} begin  the logical position where the next record begins
   */
  async extendReservation (begin) {
    while (this.#slotWriting !== null) await this.#slotWriting
    const { reservation, epoch } = this.#store
    // The newest slot must be durable before the other one is overwritten.
    if (!this.#isSlotSynced) await this.#sync()
    const slot = this.#slot ?? this.#describe(this.mark(), false)
    await this.#writeSlot({ ...slot, sequence: this.#nextSequence, epoch, reservedEnd: reservation.extend(begin) })
    await this.#sync()
    reservation.noteSynced(this.#ownReservedEnd)
  }

  async #sync () {
    await this.#store.file.durability.syncBetween()
    this.#isSlotSynced = true
  }

  /** @returns {Mark}  what a sync that begins now will cover */
  mark () {
    const { tail: { end, shift, chainCrc }, last, file: { writtenSince: since } } = this.#store
    return { since, end, shift, chainCrc, last }
  }

  /**
   * @param {Mark} mark  what is durable now
   * @param {boolean} needsSlot  whether to write a checkpoint even if little was appended
   */
  synced (mark, needsSlot) {
    this.noteSynced(mark)
    if (this.#slotWriting !== null) return
    if (mark.end - (this.#slot?.end ?? 0) < (needsSlot ? 1 : SLOT_DISTANCE)) return
    // The next sync makes this slot durable, and comes before the next slot. So one of the two is always whole.
    // If it fails, the next one says more.
    this.#slotWriting = this.#writeSlot(this.#describe(mark, false)).catch(() => {}).finally(() => {
      this.#slotWriting = null
    })
  }

  /** @param {Mark} mark  what is durable now */
  noteSynced (mark) {
    this.durableEnd = Math.max(this.durableEnd, mark.end)
    const isLeftOut = this.#isLeftOut
    this.#isLeftOut = false
    if (this.#isSlotSynced || isLeftOut) return
    this.#isSlotSynced = true
    this.#store.reservation.noteSynced(this.#ownReservedEnd)
  }

  /** `isLast`: nothing more will be appended. @type {(mark: Mark, isLast: boolean) => Slot} */
  #describe ({ end, shift, chainCrc, last }, isLast) {
    const { epoch, erasedCount, reservation } = this.#store
    const sequence = this.#nextSequence
    const reservedEnd = reservation.reservedEndFor(end + shift, isLast)
    return { sequence, epoch, end, logicalEnd: end + shift, last, erasedCount, chainCrc, reservedEnd }
  }

  get #nextSequence () {
    return (this.#slot?.sequence ?? 0) + 1
  }

  /** @param {Slot} slot */
  async #writeSlot (slot) {
    const { blocks, file: { durability } } = this.#store
    const writing = this.#writing = this.#encode(slot)
    this.#isSlotSynced = false
    try {
      await toPromise((cb) => blocks.writeQuietly(writing.bytes, SLOT_POSITIONS[writing.index], cb))
      if (this.#writing === writing) this.#noteWritten(writing)
    } catch (/** @type {any} */ err) {
      // `completeNow` may have written it meanwhile.
      if (this.#writing !== writing) return
      // Where overwriting takes new room, a full disk cannot undo it either. Nothing need be undone: half a slot does
      // not count, and the other one does.
      throw NO_ROOM.includes(err.cause?.code) ? err.cause : durability.noteFailedWrite(err)
    } finally {
      if (this.#writing === writing) this.#writing = null
    }
  }

  /** @param {Slot} slot */
  #encode (slot) {
    const { rules: { salt } } = this.#store
    return { slot, index: 1 - this.#slotIndex, bytes: encodeSlot(slot, salt) }
  }

  /** @param {{ slot: Slot, index: number }} written */
  #noteWritten ({ slot, index }) {
    this.#slotIndex = index
    this.#slot = slot
    this.#ownReservedEnd = slot.reservedEnd
  }

  /**
   * Makes all durable, so that the next open need not look for the end. Call it after a sync, while nothing is being
   * written.
   */
  async finish () {
    const { reservation } = this.#store
    while (this.#slotWriting !== null) await this.#slotWriting
    for (let isDone = this.isFinished; !isDone; this.#areSlotsLost = false) {
      isDone = !this.#areSlotsLost
      const isWritten = this.#isSlotCurrent && this.#isSlotLast && isDone
      if (!isWritten) await this.#writeSlot(this.#describe(this.mark(), true))
      await this.#sync()
    }
    reservation.release()
    // The journals may go now: the durable slot has their count of deletions.
    if (this.needsCleanUp) await this.#cleanUp()
  }

  // The same without waiting, for `flushSync`. The calls below throw errors of the file system.

  /** Completes a slot that is being written. If that fails, the sync that follows leaves it out. */
  completeNow () {
    try {
      this.#completeNow()
    } catch {
      this.#isLeftOut = true
    }
  }

  #completeNow () {
    const writing = this.#writing
    if (writing === null) return
    this.#store.blocks.writeNow(writing.bytes, SLOT_POSITIONS[writing.index])
    this.#writing = null
    this.#noteWritten(writing)
  }

  /** @param {Slot} slot  will be durable */
  #writeSlotNow (slot) {
    const { blocks } = this.#store
    const writing = this.#encode(slot)
    this.#isSlotSynced = false
    blocks.writeNow(writing.bytes, SLOT_POSITIONS[writing.index])
    this.#noteWritten(writing)
    this.#syncNow()
  }

  #syncNow () {
    try {
      this.#store.blocks.syncNow()
    } catch (err) {
      throw this.#store.file.durability.poison(/** @type {Error} */ (err))
    }
    this.#isSlotSynced = true
  }

  /** @param {number} size  of the next commit at most */
  prepareAppendNow (size) {
    const { reservation, epoch, blocks, nextPosition } = this.#store
    if (nextPosition + size > reservation.syncedEnd) {
      this.#completeNow()
      // The newest slot must be durable before the other one is overwritten.
      if (!this.#isSlotSynced) this.#syncNow()
      const slot = this.#slot ?? this.#describe(this.mark(), false)
      const reservedEnd = reservation.extend(nextPosition)
      this.#writeSlotNow({ ...slot, sequence: this.#nextSequence, epoch, reservedEnd })
      reservation.noteSynced(this.#ownReservedEnd)
    }
    if (reservation.isMarkedIntact || reservation.isAfterLoss) return
    reservation.isMarkedIntact = true
    blocks.markIntact(true, () => {})
  }

  /** Whether `finishNow` can do all that `finish` does: nothing is being changed, and nothing lies after the tail. */
  get canFinishNow () {
    const { blocks, tail, eraser } = this.#store
    const isErased = eraser === null || eraser.isIdle
    return this.#slotWriting === null && isErased && blocks.size.value === tail.end
  }

  /** Does what `finish` does without waiting, because the process ends. */
  finishNow () {
    const { blocks, reservation } = this.#store
    blocks.trimNow()
    this.#syncNow()
    for (let isDone = this.isFinished; !isDone; this.#areSlotsLost = false) {
      isDone = !this.#areSlotsLost
      this.#writeSlotNow(this.#describe(this.mark(), true))
    }
    reservation.release()
    if (!this.needsCleanUp) return
    for (const { bytes, position } of this.#describeCleanUp()) blocks.writeNow(bytes, position)
    this.#syncNow()
    this.#noteClean()
  }

  /** Empties the journals and repairs the flaws of the head. */
  async #cleanUp () {
    const { blocks } = this.#store
    for (const { bytes, position } of this.#describeCleanUp()) {
      await toPromise((cb) => blocks.writeQuietly(bytes, position, cb))
    }
    this.#noteClean()
    await this.#sync()
  }

  #noteClean () {
    this.needsCleanUp = false
    this.#flaws = []
  }

  #describeCleanUp () {
    const head = encodeHead(this.#store.header)
    const ranges = [...JOURNAL_POSITIONS.map((start) => ({ start, end: start + JOURNAL_SIZE })), ...this.#flaws]
    return ranges.map(({ start, end }) => ({ bytes: head.subarray(start, end), position: start }))
  }
}

/** @param {number} offset  of the flawed part of the head */
function rangeOfFlaw (offset) {
  // Checkpoints rewrite a slot, but not the bytes after it in its area.
  const start = SLOT_POSITIONS.includes(offset) ? offset + SLOT_SIZE : offset
  return { start, end: (Math.floor(offset / AREA_SIZE) + 1) * AREA_SIZE }
}

exports.Checkpoints = Checkpoints
