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
  constructor ({ header, slot, lostSlot }, isIntact) {
    /** Whether there is anything to it: a log of an older version does not say what is at stake. */
    this.isKept = header.hasJumps
    /** Nothing was shown at or above it; 0 if all that was shown is there. */
    this._lostCeiling = isIntact || !this.isKept ? 0 : findLostCeiling(slot, lostSlot)
    /** What slots say at least; 0 while nothing is at stake. */
    this._ceiling = slot?.ceiling ?? 0
    /** What is on stable storage of it, from this session on: no record may reach further. */
    this._reach = 0
    /** Whether the lock says that nothing is lost if this process is killed. */
    this.isVouchedFor = false
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
    return !this.isKept || end <= this._reach
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
    if (!this.isKept) return 0
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

// What must be on stable storage before a commit is written: how far records may go, so that no position is ever given
// twice; and that somebody writes, which tells a killed process from a power cut.

/** @typedef {import('./checked-store').CheckedStore} CheckedStore */

/**
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @returns {boolean}  whether it must wait until `prepareAppend` has called back
 */
function needsPreparing (store, size) {
  const { session } = store
  const isUnknown = session.isKept && !session.isVouchedFor && !session.isBehindLoss
  return isUnknown || !session.canReach(beginOfNext(store) + size)
}

/**
 * Nobody may see a record before it is on stable storage how far records may go: if the power then takes them, their
 * positions are known not to be free.
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @param {(err: Error | null) => void} cb
 */
function prepareAppend (store, size, cb) {
  const { session, file: { durability }, blocks, checkpoints } = store
  const begin = beginOfNext(store)
  const vouch = () => {
    if (session.isVouchedFor || session.isBehindLoss) return cb(null)
    session.isVouchedFor = true
    // Who cannot is taken for one that may have lost something, and no harm is done.
    blocks.vouch(true, () => cb(null))
  }
  if (session.canReach(begin + size)) return vouch()
  durability.runExclusive((done) => checkpoints.raiseCeiling(begin, (err) => {
    done()
    if (err) cb(err)
    else vouch()
  }))
}

/**
 * @param {CheckedStore} store
 * @returns {number}  logical position where the next commit begins
 */
function beginOfNext ({ session, tail }) {
  return tail.end + tail.shift + session.jumpFrom(tail)
}

// Where positions were left out, behind unclean ends, since the log was opened: from there on they are further ahead of
// their places in the file than they were before.

class Jumps {
  constructor () {
    /** @type {Array<{ start: number, position: number, shift: number }>} */
    this._jumps = []
  }

  /**
   * @param {{ end: number, shift: number }} tail  in front of it
   * @param {number} shift  behind it
   */
  note ({ end, shift: before }, shift) {
    this._jumps.push({ start: end, position: end + shift, shift: before })
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @param {{ end: number, tail: { shift: number } }} store
   * @returns {number}  how far the log reaches in the file
   */
  toPhysicalEnd (logEnd, { end, tail }) {
    for (const { start, position, shift } of this._jumps) {
      if (logEnd <= position) return Math.min(end, start, logEnd - shift)
    }
    return Math.min(end, logEnd - tail.shift)
  }
}

exports.Session = Session
exports.beginOfNext = beginOfNext
exports.needsPreparing = needsPreparing
exports.prepareAppend = prepareAppend
exports.Jumps = Jumps
