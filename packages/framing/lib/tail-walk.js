'use strict'
// Finds where a checked log ends, and tells a torn tail from damage: what was once known to be on stable storage and is
// not right any more is damage, and never cut; what is past that is a write that the power cut off.

const { ChunkCursor, ENTRY } = require('./chunk-cursor')
const { FILE_SIZE_MAX, HEAD_SIZE, PAGE_SIZE } = require('./layout')

const { NEEDS_BYTES, AT_END, DAMAGED } = ENTRY

/**
 * @typedef {import('./faults').Damage} Damage
 * @typedef {import('./pack-commit').Tail} Tail
 */

/**
 * What a walk over the tail of the file found.
 * @typedef {object} TailReport
 * @property {Tail} tail  after the last commit that is whole, and follows from what is before it
 * @property {number} promisedEnd  all before it was known to be on stable storage
 * @property {number} promisedLogicalEnd
 * @property {number} epoch  the highest one seen
 * @property {Damage | null} damage  the first that lies before `promisedEnd`
 * @property {number} readableEnd  after the last commit that can be read, past damage too
 */

class TailWalk {
  /**
   * @param {import('./chunk-cursor').Window} window  over the file
   * @param {object} log
   * @param {import('./chunk-header').Rules} log.rules
   * @param {Map<number, import('./journal').Entry[]>} log.unfinished
   * @param {import('./head').Slot | null} slot  null when both are lost: then all of the file counts as promised
   * @param {number} fileSize
   */
  constructor (window, { rules, unfinished }, slot, fileSize) {
    this._fileSize = fileSize
    this._isBlind = slot === null
    this._slot = slot ?? { end: HEAD_SIZE, logicalEnd: HEAD_SIZE + rules.shift, epoch: 0, chainCrc: rules.salt }
    const { end, logicalEnd, epoch, chainCrc } = this._slot
    // Where the log ends is never taken on trust.
    const strict = { ...rules, verify: true }
    const last = Math.max(HEAD_SIZE, end - 1)
    this.cursor = new ChunkCursor(window, strict, unfinished, last - last % PAGE_SIZE)
    if (end === HEAD_SIZE) this.cursor.expect(chainCrc)
    /** @type {Tail} */
    this._tail = { end, shift: logicalEnd - end, chainCrc }
    /** Physical: each chunk counts by how far its own position is ahead. */
    this._claimedEnd = end
    this._epoch = epoch
    /** How far positions are ahead behind the last chunk, and were where some are left out behind an unclean end. */
    this._shift = logicalEnd - end
    /** @type {Array<{ start: number, shift: number }>} */
    this._skips = []
    this._readableEnd = end
    /** @type {Damage | null} the first thing that is wrong */
    this._firstDamage = null
  }

  /** @returns {boolean}  false when the cursor's window must be filled first: then it goes on with the next call */
  run () {
    const { cursor } = this
    for (;;) {
      const status = cursor.enter(this._fileSize)
      if (status === AT_END) return true
      if (status === NEEDS_BYTES) return false
      if (status === DAMAGED) this._meetDamage()
      else this._meetChunk()
    }
  }

  _meetChunk () {
    const { header, chunkStart, chunkEnd } = this.cursor
    if (this._isOfEarlierFile(header, chunkStart)) {
      this._firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'POSITION' }
      return
    }
    const shift = this.cursor.shift + this.cursor.measureGaps()
    const { end, chainCrc } = this._slot
    if (header.isBehindLoss) this._skips.push({ start: chunkStart, shift: this._shift })
    this._shift = shift
    this._epoch = Math.max(this._epoch, header.epoch)
    this._claim(header, chunkStart)
    const isCheckpoint = chunkEnd === end
    const missesIt = chunkStart < end && chunkEnd > end
    if (missesIt || (isCheckpoint && header.chainCrc !== chainCrc)) {
      this._firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'CHECKPOINT' }
    }
    // No writer comes so far, and no checkpoint could say it.
    if (chunkEnd + shift > FILE_SIZE_MAX) this._firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'POSITION' }
    if (header.commitContinues) return
    this._readableEnd = Math.max(this._readableEnd, chunkEnd)
    if (this._firstDamage === null && chunkStart >= end) {
      this._tail = { end: chunkEnd, shift, chainCrc: header.chainCrc }
    }
  }

  _meetDamage () {
    const { cursor } = this
    const damage = /** @type {Damage} */ (cursor.damage)
    this._firstDamage ??= damage
    // What a header says was durable was so, even when its own payload is not.
    if (cursor.hasHeader && !this._isOfEarlierFile(cursor.header, cursor.at)) this._claim(cursor.header, cursor.at)
    cursor.skipTo(Math.max(damage.start + 1, cursor.findNextHeader(this._fileSize)))
  }

  /**
   * A file system may give a file blocks that were those of the log before its last compaction, and fail to write what
   * was to be in them: then old chunks lie behind the end, each right in itself. All of them were written before the
   * checkpoint of that compaction, so their positions are less far ahead than any is behind it.
   * @param {import('./chunk-header').ChunkHeader} header
   * @param {number} start  of its chunk
   */
  _isOfEarlierFile ({ position }, start) {
    const { end, logicalEnd } = this._slot
    return start >= end && position - start < logicalEnd - end
  }

  /**
   * @param {import('./chunk-header').ChunkHeader} header
   * @param {number} start  of its chunk
   */
  _claim ({ durable, position }, start) {
    this._claimedEnd = Math.max(this._claimedEnd, start - (position - durable))
  }

  /** @returns {TailReport} */
  report () {
    const { end, shift } = this._tail
    const promisedEnd = this._isBlind ? this._fileSize : Math.max(this._slot.end, this._claimedEnd)
    // A head is never partial: a file that is shorter than it, or than a checkpoint, was cut off.
    const isBefore = this._firstDamage !== null && this._firstDamage.start < promisedEnd
    const isDamaged = promisedEnd > end || isBefore || this._fileSize < end
    /** @type {Damage} */
    const missing = { start: this._fileSize, end: Math.max(end, promisedEnd), fault: 'ABSENT' }
    /** @type {Damage} */
    const cutOff = { start: end, end: this._fileSize, fault: 'BATCH' }
    return {
      tail: this._tail,
      promisedEnd,
      promisedLogicalEnd: promisedEnd + (this._skips.find(({ start }) => start >= promisedEnd)?.shift ?? shift),
      epoch: this._epoch,
      damage: isDamaged ? this._firstDamage ?? (missing.end > this._fileSize ? missing : cutOff) : null,
      readableEnd: Math.max(this._readableEnd, isDamaged ? promisedEnd : end)
    }
  }
}

exports.TailWalk = TailWalk
