'use strict'
// Which seqs a log has reserved. Records are shown before they are on stable storage, so the power may take a record
// whose seq somebody has. A slot that is synced first says below which position seqs may have been shown; after an
// unclean end the log skips them all. So no position is ever given to two records.

const { RESERVATION_SIZE, U48_MAX } = require('./layout')

const NOT_KNOWN = Infinity

class SeqReservation {
  /** Of an earlier session, and maybe lost: where it ends; 0 if all is there that was shown. */
  #lostEnd
  /** What the next slot must say at least; 0 while nothing is reserved. */
  #end
  /** What slots of this session say that are on stable storage: no record may reach further. */
  #syncedEnd = 0
  /** Whether the lock says that nothing is lost if this process is killed. */
  isMarkedIntact = false

  /**
   * @param {import('./head').Head} head
   * @param {boolean} isIntact  whether all is there that was ever shown: the session before was killed, and the machine
   *   has run on
   */
  constructor ({ slot, lostSlot }, isIntact) {
    this.#lostEnd = isIntact ? 0 : findLostEnd(slot, lostSlot)
    this.#end = slot?.reservedEnd ?? 0
  }

  /** Whether something may be lost that was shown, and nothing was appended since. */
  get isBehindLoss () {
    return this.#lostEnd !== 0
  }

  /** Whether the session before was not closed, though nothing of it is lost. */
  get isTakenOver () {
    return this.#end !== 0 && !this.isBehindLoss
  }

  /**
   * @param {import('./pack-commit').Tail} tail  of the log
   * @returns {number}  how many positions the next commit must skip
   */
  sizeToSkip ({ end, shift }) {
    if (!this.isBehindLoss) return 0
    const distance = this.#lostEnd === NOT_KNOWN ? 2 * RESERVATION_SIZE : this.#lostEnd - end - shift
    return Math.max(1, Math.ceil(distance / RESERVATION_SIZE)) * RESERVATION_SIZE
  }

  /** A commit was written behind what is lost. */
  noteSkipped () {
    this.#lostEnd = 0
  }

  /**
   * @param {number} end  a logical position
   * @returns {boolean}  whether records up to there may be shown to others now
   */
  covers (end) {
    return end <= this.#syncedEnd
  }

  /**
   * @param {number} begin  a logical position where the next record may begin; none is as large as what is reserved
   * @returns {number}  the reserved end to be put on stable storage first
   */
  extend (begin) {
    this.#end = Math.max(this.#end, Math.min(U48_MAX, begin + RESERVATION_SIZE))
    return this.#end
  }

  /** @param {number} reservedEnd  of a slot that is on stable storage, written in this session */
  noteSynced (reservedEnd) {
    this.#syncedEnd = Math.max(this.#syncedEnd, reservedEnd)
  }

  /** A slot on stable storage says that nothing is reserved any more: the next append must change that first. */
  release () {
    if (this.isBehindLoss) return
    this.#end = 0
    this.#syncedEnd = 0
  }

  /**
   * @param {number} logicalEnd  all before it is on stable storage
   * @param {boolean} isLast  whether that is all, and nothing more will be appended
   * @returns {number}  the reserved end for a slot that says so
   */
  reservedEndFor (logicalEnd, isLast) {
    if (this.isBehindLoss) {
      const least = this.#lostEnd === NOT_KNOWN ? logicalEnd + 2 * RESERVATION_SIZE : this.#lostEnd
      return Math.min(U48_MAX, Math.max(this.#end, least))
    }
    return isLast || this.#end === 0 ? 0 : this.extend(logicalEnd)
  }
}

/**
 * @param {import('./head').Slot | null} slot  the newest that is whole
 * @param {boolean} lostSlot  the other one may have been newer
 * @returns {number}
 */
function findLostEnd (slot, lostSlot) {
  if (slot === null) return NOT_KNOWN
  // A newer slot may have reserved that much more, but not twice: it had to be there before anything reached this end.
  return lostSlot ? Math.min(U48_MAX, Math.max(slot.reservedEnd, slot.logicalEnd) + RESERVATION_SIZE) : slot.reservedEnd
}

exports.SeqReservation = SeqReservation
