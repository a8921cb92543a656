'use strict'
// Keeps track of the seqs that a log has reserved. Records are shown before they are on stable storage, so the power
// may take a record whose seq a reader knows. Therefore the log first syncs a slot that says below which position seqs
// may be shown. After an unclean end it skips all of them, so no position is ever given to two records.

const { RESERVATION_SIZE, U48_MAX } = require('./layout')

const NOT_KNOWN = Infinity

class SeqReservation {
  /** Up to this position an earlier session may have shown records that are lost; 0 if everything shown is there. */
  #lostEnd
  /** The least reserved end of the next slot; 0 if nothing is reserved. */
  #end
  /** The reserved end in the synced slots of this session: no record may reach further. */
  #syncedEnd = 0
  /** Whether the lock says that nothing is lost if this process is killed. */
  isMarkedIntact = false

  /**
   * @param {import('./head').Head} head
   * @param {boolean} isIntact  everything ever shown is there: the machine ran on after the session before was killed
   */
  constructor ({ slot, lostSlot }, isIntact) {
    this.#lostEnd = isIntact ? 0 : findLostEnd(slot, lostSlot)
    this.#end = slot?.reservedEnd ?? 0
  }

  /** Whether shown records may be lost, and nothing was appended since. */
  get isBehindLoss () {
    return this.#lostEnd !== 0
  }

  /** Whether the session before was not closed, but nothing of it is lost. */
  get isTakenOver () {
    return this.#end !== 0 && !this.isBehindLoss
  }

  /** How many positions the next commit must skip. @type {(tail: import('./pack-commit').Tail) => number} */
  sizeToSkip ({ end, shift }) {
    if (!this.isBehindLoss) return 0
    const distance = this.#lostEnd === NOT_KNOWN ? 2 * RESERVATION_SIZE : this.#lostEnd - end - shift
    return Math.max(1, Math.ceil(distance / RESERVATION_SIZE)) * RESERVATION_SIZE
  }

  /** A commit was written behind the skipped positions. */
  noteSkipped () {
    this.#lostEnd = 0
  }

  /** Whether records up to this logical position may be shown now. @type {(end: number) => boolean} */
  covers (end) {
    return end <= this.#syncedEnd
  }

  // Reserves positions for records from `begin` on, a logical position. Each is smaller than a reservation. Returns the
  // reserved end to sync first.
  /** @type {(begin: number) => number} */
  extend (begin) {
    this.#end = Math.max(this.#end, Math.min(U48_MAX, begin + RESERVATION_SIZE))
    return this.#end
  }

  /** A slot of this session, with this reserved end, is on stable storage. @type {(reservedEnd: number) => void} */
  noteSynced (reservedEnd) {
    this.#syncedEnd = Math.max(this.#syncedEnd, reservedEnd)
  }

  /** A slot on stable storage says that nothing is reserved any more. The next append must reserve again first. */
  release () {
    if (this.isBehindLoss) return
    this.#end = 0
    this.#syncedEnd = 0
  }

  // The reserved end for a slot that says that everything before `logicalEnd` is on stable storage. `isLast`: nothing
  // more will be appended.
  /** @type {(logicalEnd: number, isLast: boolean) => number} */
  reservedEndFor (logicalEnd, isLast) {
    if (this.isBehindLoss) {
      const least = this.#lostEnd === NOT_KNOWN ? logicalEnd + 2 * RESERVATION_SIZE : this.#lostEnd
      return Math.min(U48_MAX, Math.max(this.#end, least))
    }
    return isLast || this.#end === 0 ? 0 : this.extend(logicalEnd)
  }
}

// `slot` is the newest that is whole. If `lostSlot`, the other one may have been newer.
/** @type {(slot: import('./head').Slot | null, lostSlot: boolean) => number} */
function findLostEnd (slot, lostSlot) {
  if (slot === null) return NOT_KNOWN
  // A lost newer slot reserved at most this much more: it was synced before any record reached this end.
  return lostSlot ? Math.min(U48_MAX, Math.max(slot.reservedEnd, slot.logicalEnd) + RESERVATION_SIZE) : slot.reservedEnd
}

exports.SeqReservation = SeqReservation
