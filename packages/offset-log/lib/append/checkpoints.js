'use strict'
// What is known to be on stable storage, and the slots that say so to the next open.

const { LogError } = require('@millrace/errors')
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
  /**
   * @param {CheckedStore} store
   * @param {import('@millrace/framing').Head} head
   */
  constructor (store, head) {
    this._store = store
    this._index = head.slotIndex
    /** The newest one. */
    this._slot = head.slot
    /** Whether it is on stable storage, as far as that is known. */
    this._isSlotSynced = (head.slot?.reservedEnd ?? 0) === 0
    /** The reserved end of the newest slot of this session, 0 if there is none. */
    this._ownReservedEnd = 0
    /** All of the file before it is on stable storage. */
    this.durableEnd = head.slot?.end ?? HEAD_SIZE
    /** Whether the next open would have to look at more than a slot: the journals, flaws in the head. */
    this.needsCleanUp = head.journals.length > 0 || head.flaws.length > 0
    /** Whether both slots must be written before one can be relied on. */
    this._areSlotsLost = head.slot === null
    /** Ranges of the head to be written anew. */
    this._flaws = head.flaws.map(({ offset }) => rangeOfFlaw(offset))
    this._isWritingSlot = false
    /** What waits for that. @type {Array<() => void>} */
    this._whenSlotWritten = []
    /** @type {Error | null} */
    this._slotError = null
  }

  /** Whether a slot on stable storage says all there is to say. */
  get isClean () {
    return this._isSlotSynced && this._isSlotCurrent
  }

  /** Whether the newest slot says all there is to say. */
  get _isSlotCurrent () {
    return !this.needsCleanUp && this._slot?.end === this._store.tail.end
  }

  /** Whether the next open will know that there was nothing more, or what of it is lost. */
  get isFinished () {
    return this.isClean && this._isSlotLast
  }

  get _isSlotLast () {
    const { reservation, tail: { end, shift } } = this._store
    return this._slot?.reservedEnd === reservation.reservedEndFor(end + shift, true)
  }

  /**
   * @param {Mark} mark  what is on stable storage now
   * @param {boolean} isTimely  whether the last checkpoint is long ago
   */
  synced (mark, isTimely) {
    this.durableEnd = Math.max(this.durableEnd, mark.end)
    this._isSlotSynced = true
    this._store.reservation.noteSynced(this._ownReservedEnd)
    if (mark.end - (this._slot?.end ?? 0) < (isTimely ? 1 : SLOT_DISTANCE)) return
    // On stable storage with the next sync, which comes before the next slot: so one of the two is always whole.
    this._isWritingSlot = true
    this._writeSlot(this._describe(mark, false), (err) => this._slotWritten(err))
  }

  /**
   * Puts it on stable storage that records may reach further.
   * @param {number} begin  the logical position where the next one begins
   * @param {Done} cb
   */
  extendReservation (begin, cb) {
    if (this._isWritingSlot) {
      this._whenSlotWritten.push(() => this.extendReservation(begin, cb))
      return
    }
    const { reservation, epoch, blocks, file: { durability } } = this._store
    const sync = (/** @type {Done} */ cb) => blocks.sync((err) => {
      this._isSlotSynced = !err
      cb(err && durability.poison(err))
    })
    // Never the one over the other before that is on stable storage.
    if (!this._isSlotSynced) return sync((err) => err ? cb(err) : this.extendReservation(begin, cb))
    const slot = this._slot ?? this._describe(this._store.mark(), false)
    this._writeSlot({ ...slot, epoch, reservedEnd: reservation.extend(begin) }, (err) => {
      if (err) return cb(isLasting(err) ? durability.poison(err) : err)
      sync((err) => {
        if (!err) reservation.noteSynced(this._ownReservedEnd)
        cb(err)
      })
    })
  }

  /**
   * @param {Mark} mark
   * @param {boolean} isLast  whether nothing more will be appended
   * @returns {Slot}
   */
  _describe ({ end, shift, chainCrc, last }, isLast) {
    const { epoch, erasedCount, reservation } = this._store
    const reservedEnd = reservation.reservedEndFor(end + shift, isLast)
    return { sequence: 0, epoch, end, logicalEnd: end + shift, last, erasedCount, chainCrc, reservedEnd }
  }

  /**
   * @param {Slot} content  gets the next sequence
   * @param {Done} cb
   */
  _writeSlot (content, cb) {
    const { blocks, rules: { salt } } = this._store
    const index = 1 - this._index
    const slot = { ...content, sequence: (this._slot?.sequence ?? 0) + 1 }
    this._isSlotSynced = false
    blocks.writeQuietly(encodeSlot(slot, salt), SLOT_POSITIONS[index], (err) => {
      if (err) return cb(err)
      this._index = index
      this._slot = slot
      this._ownReservedEnd = slot.reservedEnd
      cb(null)
    })
  }

  /**
   * One that failed and was undone can be tried again; one that lies there in part must not be followed by another.
   * @param {Error | null} err
   */
  _slotWritten (err) {
    this._isWritingSlot = false
    this._slotError = err
    if (err && isLasting(err)) this._store.file.durability.poison(err)
    for (const run of this._whenSlotWritten.splice(0)) run()
  }

  /**
   * After a sync, when nothing is being written any more.
   * @param {Done} cb
   */
  finish (cb) {
    if (this._isWritingSlot) {
      this._whenSlotWritten.push(() => this.finish(cb))
      return
    }
    if (this.isFinished) {
      this._store.reservation.release()
      return cb(this._slotError)
    }
    if (this._isSlotCurrent && this._isSlotLast && !this._areSlotsLost) return this._syncSlot(cb)
    this._writeSlot(this._describe(this._store.mark(), true), (err) => {
      if (err) return cb(err)
      this._syncSlot((err) => {
        if (err) return cb(err)
        if (this._areSlotsLost) {
          this._areSlotsLost = false
          return this.finish(cb)
        }
        this._store.reservation.release()
        // The slot has the count of deletions that the journals had: first one, then the other.
        if (this.needsCleanUp) this._cleanUp(cb)
        else cb(null)
      })
    })
  }

  /** Whether `finishNow` leaves as much behind as `finish` does. */
  get canFinishNow () {
    return !this._isWritingSlot && !this._areSlotsLost && this._slotError === null
  }

  /**
   * As `finish`, but at once: the process ends.
   * @throws what the file system says
   */
  finishNow () {
    const { blocks, rules: { salt } } = this._store
    blocks.endNow([])
    if (this.isFinished) return
    const slot = { ...this._describe(this._store.mark(), true), sequence: (this._slot?.sequence ?? 0) + 1 }
    blocks.endNow([{ bytes: encodeSlot(slot, salt), position: SLOT_POSITIONS[1 - this._index] }])
    if (this.needsCleanUp) blocks.endNow(this._describeCleanUp())
  }

  /** @param {Done} cb */
  _syncSlot (cb) {
    this._store.blocks.sync((err) => {
      this._isSlotSynced = !err
      cb(err ?? this._slotError)
    })
  }

  /**
   * Empties the journals, and puts right what is wrong in the head.
   * @param {Done} cb
   */
  _cleanUp (cb) {
    const { blocks } = this._store
    const writes = this._describeCleanUp()
    const next = (/** @type {number} */ index) => {
      if (index === writes.length) {
        this.needsCleanUp = false
        this._flaws = []
        return blocks.sync(cb)
      }
      const { bytes, position } = writes[index]
      blocks.writeQuietly(bytes, position, (err) => err ? cb(err) : next(index + 1))
    }
    next(0)
  }

  _describeCleanUp () {
    const head = encodeHead(this._store.header)
    const ranges = [...JOURNAL_POSITIONS.map((start) => ({ start, end: start + JOURNAL_SIZE })), ...this._flaws]
    return ranges.map(({ start, end }) => ({ bytes: head.subarray(start, end), position: start }))
  }
}

/**
 * Whether part of it may lie there.
 * @param {Error} err
 */
function isLasting (err) {
  return err instanceof LogError && err.code === 'ERR_FILE_NOT_UNDONE'
}

/**
 * @param {number} offset  of the part of the head that is flawed
 */
function rangeOfFlaw (offset) {
  // A slot is written whenever there is something to say; what is around it never is.
  const start = SLOT_POSITIONS.includes(offset) ? offset + SLOT_SIZE : offset
  return { start, end: (Math.floor(offset / AREA_SIZE) + 1) * AREA_SIZE }
}

// What must be on stable storage before a commit is written: how far records may go, so that no position is ever given
// twice; and that somebody writes, which tells a killed process from a power cut.

/**
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @returns {boolean}  whether it must wait until `prepareAppend` has called back
 */
function needsPreparing (store, size) {
  const { reservation } = store
  const isUnknown = !reservation.isMarkedIntact && !reservation.isBehindLoss
  return isUnknown || !reservation.covers(beginOfNext(store) + size)
}

/**
 * Nobody may see a record before it is on stable storage how far records may go: if the power then takes them, their
 * positions are known not to be free.
 * @param {CheckedStore} store
 * @param {number} size  that the next commit has at most
 * @param {(err: Error | null) => void} cb
 */
function prepareAppend (store, size, cb) {
  const { reservation, file: { durability }, blocks, checkpoints } = store
  const begin = beginOfNext(store)
  const goOn = () => {
    if (reservation.isMarkedIntact || reservation.isBehindLoss) return cb(null)
    reservation.isMarkedIntact = true
    // Who cannot is taken for one that may have lost something, and no harm is done.
    blocks.markIntact(true, () => cb(null))
  }
  if (reservation.covers(begin + size)) return goOn()
  durability.runExclusive((done) => checkpoints.extendReservation(begin, (err) => {
    done()
    if (err) cb(err)
    else goOn()
  }))
}

/**
 * @param {CheckedStore} store
 * @returns {number}  logical position where the next commit begins
 */
function beginOfNext ({ reservation, tail }) {
  return tail.end + tail.shift + reservation.sizeToSkip(tail)
}

// Where positions were left out, behind unclean ends, since the log was opened: from there on they are further ahead of
// their places in the file than they were before.

class SkippedSeqs {
  constructor () {
    /** @type {Array<{ start: number, position: number, shift: number }>} */
    this._ranges = []
  }

  /**
   * @param {{ end: number, shift: number }} tail  in front of it
   * @param {number} shift  behind it
   */
  note ({ end, shift: before }, shift) {
    this._ranges.push({ start: end, position: end + shift, shift: before })
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @param {{ end: number, tail: { shift: number } }} store
   * @returns {number}  how far the log reaches in the file
   */
  toPhysicalEnd (logEnd, { end, tail }) {
    for (const { start, position, shift } of this._ranges) {
      if (logEnd <= position) return Math.min(end, start, logEnd - shift)
    }
    return Math.min(end, logEnd - tail.shift)
  }
}

exports.Checkpoints = Checkpoints
exports.beginOfNext = beginOfNext
exports.needsPreparing = needsPreparing
exports.prepareAppend = prepareAppend
exports.SkippedSeqs = SkippedSeqs
