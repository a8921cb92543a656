'use strict'
// What must not be forgotten of one session of a log: how far its records may have been shown, though the power may
// still take them; and what an earlier session showed that is lost. So no position is ever given to two records.

const { JUMP_SIZE, U48_MAX } = require('./layout')

const NOT_KNOWN = Infinity

/**
 * @typedef {import('./head').Head} Head
 * @typedef {import('./pack-commit').Tail} Tail
 */

class Session {
  /**
   * @param {Head} head
   * @param {boolean} isIntact  whether all is there that was ever shown: the session before was killed, and the machine
   *   has run on
   */
  constructor ({ slot, lostSlot }, isIntact) {
    /** Nothing was shown at or above it; 0 if all that was shown is there. */
    this._lostCeiling = isIntact ? 0 : findLostCeiling(slot, lostSlot)
    /** What slots say at least; 0 while nothing is at stake. */
    this._ceiling = slot?.ceiling ?? 0
    /** What is on stable storage of it, from this session on: no record may reach further. */
    this._reach = 0
    /** Whether the lock says that nothing is lost if this process is killed. */
    this.isMarkedIntact = false
  }

  /** Whether something may be lost that was shown, and nothing was appended since. */
  get isBehindLoss () {
    return this._lostCeiling !== 0
  }

  /** Whether the session before was not closed, though nothing of it is lost. */
  get goesOn () {
    return this._ceiling !== 0 && !this.isBehindLoss
  }

  /**
   * @param {Tail} tail  of the log
   * @returns {number}  how far the position of the next commit is ahead of it
   */
  jumpFrom ({ end, shift }) {
    if (!this.isBehindLoss) return 0
    const distance = this._lostCeiling === NOT_KNOWN ? 2 * JUMP_SIZE : this._lostCeiling - end - shift
    return Math.max(1, Math.ceil(distance / JUMP_SIZE)) * JUMP_SIZE
  }

  /**
   * @param {number} end  a logical position
   * @returns {boolean}  whether records up to there may be shown to others now
   */
  canReach (end) {
    return end <= this._reach
  }

  /**
   * @param {number} begin  a logical position where the next record may begin; none is as large as what is kept for it
   * @returns {number}  the ceiling to be put on stable storage first
   */
  raise (begin) {
    this._ceiling = Math.max(this._ceiling, Math.min(U48_MAX, begin + JUMP_SIZE))
    return this._ceiling
  }

  /** @param {number} ceiling  of a slot that is on stable storage, written in this session */
  noteReach (ceiling) {
    this._reach = Math.max(this._reach, ceiling)
  }

  /** A commit was written behind what is lost. */
  noteJump () {
    this._lostCeiling = 0
  }

  /** A slot on stable storage says that nothing is at stake any more: the next append must change that first. */
  rest () {
    if (this.isBehindLoss) return
    this._ceiling = 0
    this._reach = 0
  }

  /**
   * @param {number} logicalEnd  all before it is on stable storage
   * @param {boolean} isLast  whether that is all, and nothing more will be appended
   * @returns {number}  the ceiling for a slot that says so
   */
  ceilingFor (logicalEnd, isLast) {
    if (this.isBehindLoss) {
      const least = this._lostCeiling === NOT_KNOWN ? logicalEnd + 2 * JUMP_SIZE : this._lostCeiling
      return Math.min(U48_MAX, Math.max(this._ceiling, least))
    }
    return isLast || this._ceiling === 0 ? 0 : this.raise(logicalEnd)
  }
}

/**
 * @param {import('./head').Slot | null} slot  the newest that is whole
 * @param {boolean} lostSlot  the other one may have been newer
 * @returns {number}
 */
function findLostCeiling (slot, lostSlot) {
  if (slot === null) return NOT_KNOWN
  // A newer slot may have had a ceiling that much higher, but no more: it had to be there before anything reached this.
  return lostSlot ? Math.min(U48_MAX, Math.max(slot.ceiling, slot.logicalEnd) + JUMP_SIZE) : slot.ceiling
}

exports.Session = Session
