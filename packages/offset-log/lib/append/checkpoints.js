'use strict'
// What is known to be on stable storage, the slots that say so to the next open, and what must be there before a commit
// is written.

const { eachInOrder } = require('@millrace/flow')
const {
  AREA_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, SLOT_POSITIONS, SLOT_SIZE, encodeHead, encodeSlot
} = require('@millrace/framing')

// A log that syncs every append need not write a slot each time: chunks say what was durable too.
const SLOT_DISTANCE = 1024 * 1024

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('../load').Mark} Mark
 * @typedef {import('@millrace/framing').Slot} Slot
 * @typedef {(err: Error | null) => void} Done
 */

class Checkpoints {
  #store
  /** Which of the two slots is the newest one, and what it says. */
  #slotIndex
  #slot
  /** Whether it is on stable storage, as far as that is known. */
  #isSlotSynced
  /** Whether both slots must be written before one can be relied on. */
  #areSlotsLost
  /** Ranges of the head to be written anew. */
  #flaws
  /** The reserved end of the newest slot of this session, 0 if there is none. */
  #ownReservedEnd = 0
  #isWritingSlot = false
  /** What waits for that. @type {Array<() => void>} */
  #whenSlotWritten = []
  /** @type {Error | null} */
  #slotError = null

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
    /** All of the file before it is on stable storage. */
    this.durableEnd = slot?.end ?? HEAD_SIZE
    /** Whether the next open would have to look at more than a slot: the journals, flaws in the head. */
    this.needsCleanUp = journals.length > 0 || flaws.length > 0
  }

  /** Whether a slot on stable storage says all there is to say. */
  get isClean () {
    return this.#isSlotSynced && this.#isSlotCurrent
  }

  /** Whether the newest slot says all there is to say. */
  get #isSlotCurrent () {
    return !this.needsCleanUp && this.#slot?.end === this.#store.tail.end
  }

  /** Whether the next open will know that there was nothing more, or what of it is lost. */
  get isFinished () {
    return this.isClean && this.#isSlotLast
  }

  get #isSlotLast () {
    const { reservation, tail: { end, shift } } = this.#store
    return this.#slot?.reservedEnd === reservation.reservedEndFor(end + shift, true)
  }

  /**
   * Nobody may see a record before it is on stable storage how far records may go: if the power then takes them, their
   * positions are known not to be free. The lock must say that somebody writes: that tells a killed process from a
   * power cut.
   * @param {number} size  that the next commit has at most
   * @param {Done} cb  runs at once, as a rule
   */
  prepareAppend (size, cb) {
    const { reservation, file: { durability }, blocks, nextPosition } = this.#store
    const markIntact = () => {
      if (reservation.isMarkedIntact || reservation.isBehindLoss) return cb(null)
      reservation.isMarkedIntact = true
      // Who cannot is taken for one that may have lost something, and no harm is done.
      blocks.markIntact(true, () => cb(null))
    }
    if (reservation.covers(nextPosition + size)) return markIntact()
    durability.runExclusive((done) => this.extendReservation(nextPosition, (err) => {
      done()
      if (err) cb(err)
      else markIntact()
    }))
  }

  /**
   * Puts it on stable storage that records may reach further.
   * @param {number} begin  the logical position where the next one begins
   * @param {Done} cb
   */
  extendReservation (begin, cb) {
    if (this.#isWritingSlot) {
      this.#whenSlotWritten.push(() => this.extendReservation(begin, cb))
      return
    }
    const { reservation, epoch, blocks, file: { durability } } = this.#store
    const sync = (/** @type {Done} */ cb) => blocks.sync((err) => {
      this.#isSlotSynced = !err
      cb(err && durability.poison(err))
    })
    // Never the one over the other before that is on stable storage.
    if (!this.#isSlotSynced) return sync((err) => err ? cb(err) : this.extendReservation(begin, cb))
    const slot = this.#slot ?? this.#describe(this.mark(), false)
    this.#writeSlot({ ...slot, sequence: this.#nextSequence, epoch, reservedEnd: reservation.extend(begin) }, (err) => {
      if (err) return cb(durability.noteFailedWrite(err))
      sync((err) => {
        if (!err) reservation.noteSynced(this.#ownReservedEnd)
        cb(err)
      })
    })
  }

  /** @returns {Mark}  what a sync that begins now will have covered */
  mark () {
    const { tail: { end, shift, chainCrc }, last, file: { writtenSince: since } } = this.#store
    return { since, end, shift, chainCrc, last }
  }

  /**
   * @param {Mark} mark  what is on stable storage now
   * @param {boolean} isTimely  whether the last checkpoint is long ago
   */
  synced (mark, isTimely) {
    const { reservation, file: { durability } } = this.#store
    this.durableEnd = Math.max(this.durableEnd, mark.end)
    this.#isSlotSynced = true
    reservation.noteSynced(this.#ownReservedEnd)
    if (mark.end - (this.#slot?.end ?? 0) < (isTimely ? 1 : SLOT_DISTANCE)) return
    // On stable storage with the next sync, which comes before the next slot: so one of the two is always whole.
    this.#isWritingSlot = true
    this.#writeSlot(this.#describe(mark, false), (err) => {
      this.#isWritingSlot = false
      this.#slotError = err
      if (err) durability.noteFailedWrite(err)
      for (const run of this.#whenSlotWritten.splice(0)) run()
    })
  }

  /**
   * @param {Mark} mark
   * @param {boolean} isLast  whether nothing more will be appended
   * @returns {Slot}
   */
  #describe ({ end, shift, chainCrc, last }, isLast) {
    const { epoch, erasedCount, reservation } = this.#store
    const sequence = this.#nextSequence
    const reservedEnd = reservation.reservedEndFor(end + shift, isLast)
    return { sequence, epoch, end, logicalEnd: end + shift, last, erasedCount, chainCrc, reservedEnd }
  }

  get #nextSequence () {
    return (this.#slot?.sequence ?? 0) + 1
  }

  /**
   * @param {Slot} slot
   * @param {Done} cb
   */
  #writeSlot (slot, cb) {
    const { blocks, rules: { salt } } = this.#store
    const index = 1 - this.#slotIndex
    this.#isSlotSynced = false
    blocks.writeQuietly(encodeSlot(slot, salt), SLOT_POSITIONS[index], (err) => {
      if (err) return cb(err)
      this.#slotIndex = index
      this.#slot = slot
      this.#ownReservedEnd = slot.reservedEnd
      cb(null)
    })
  }

  /**
   * After a sync, when nothing is being written any more.
   * @param {Done} cb  all is on stable storage, and the next open need not look for the end
   */
  finish (cb) {
    const { reservation } = this.#store
    if (this.#isWritingSlot) {
      this.#whenSlotWritten.push(() => this.finish(cb))
      return
    }
    if (this.isFinished) {
      reservation.release()
      return cb(this.#slotError)
    }
    if (this.#isSlotCurrent && this.#isSlotLast && !this.#areSlotsLost) return this.#syncSlot(cb)
    this.#writeSlot(this.#describe(this.mark(), true), (err) => {
      if (err) return cb(err)
      this.#syncSlot((err) => {
        if (err) return cb(err)
        if (this.#areSlotsLost) {
          this.#areSlotsLost = false
          return this.finish(cb)
        }
        reservation.release()
        // The slot has the count of deletions that the journals had: first one, then the other.
        if (this.needsCleanUp) this.#cleanUp(cb)
        else cb(null)
      })
    })
  }

  /** @param {Done} cb */
  #syncSlot (cb) {
    this.#store.blocks.sync((err) => {
      this.#isSlotSynced = !err
      cb(err ?? this.#slotError)
    })
  }

  /**
   * Whether `finishNow` leaves as much behind as `finish` does: all that was written is known here, and nothing is
   * being changed.
   */
  get canFinishNow () {
    const { blocks, tail, eraser } = this.#store
    const isQuiet = !this.#isWritingSlot && eraser.isIdle && blocks.size.value === tail.end
    return isQuiet && !this.#areSlotsLost && this.#slotError === null
  }

  /**
   * As `finish`, but at once: the process ends.
   * @throws what the file system says
   */
  finishNow () {
    const { blocks, rules: { salt } } = this.#store
    blocks.endNow([])
    if (this.isFinished) return
    const slot = this.#describe(this.mark(), true)
    blocks.endNow([{ bytes: encodeSlot(slot, salt), position: SLOT_POSITIONS[1 - this.#slotIndex] }])
    if (this.needsCleanUp) blocks.endNow(this.#describeCleanUp())
  }

  /**
   * Empties the journals, and puts right what is wrong in the head.
   * @param {Done} cb
   */
  #cleanUp (cb) {
    const { blocks } = this.#store
    const writes = this.#describeCleanUp()
    eachInOrder(writes, ({ bytes, position }, done) => blocks.writeQuietly(bytes, position, done), (err) => {
      if (err) return cb(err)
      this.needsCleanUp = false
      this.#flaws = []
      blocks.sync(cb)
    })
  }

  #describeCleanUp () {
    const head = encodeHead(this.#store.header)
    const ranges = [...JOURNAL_POSITIONS.map((start) => ({ start, end: start + JOURNAL_SIZE })), ...this.#flaws]
    return ranges.map(({ start, end }) => ({ bytes: head.subarray(start, end), position: start }))
  }
}

/** @param {number} offset  of the part of the head that is flawed */
function rangeOfFlaw (offset) {
  // A slot is written whenever there is something to say; what is around it never is.
  const start = SLOT_POSITIONS.includes(offset) ? offset + SLOT_SIZE : offset
  return { start, end: (Math.floor(offset / AREA_SIZE) + 1) * AREA_SIZE }
}

exports.Checkpoints = Checkpoints
