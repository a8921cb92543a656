'use strict'
// Finds where a checked log ends, and tells a torn tail from damage: what was once known to be on stable storage and is
// not right any more is damage, and never cut; what is past that is a write that the power cut off.

const { ChunkCursor, ENTRY } = require('./chunk-cursor')
const { FrameCount } = require('./frames')
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
  #hasGaps
  #fileSize
  /** Without slots all of the file counts as promised. */
  #isBlind
  #slot
  #frames = new FrameCount()
  /** @type {Tail} */
  #tail
  /** Physical: each chunk counts by how far its own position is ahead. */
  #claimedEnd
  #epoch
  /** How far positions are ahead behind the last chunk. */
  #shift
  /** Where positions are skipped, behind unclean ends, and how far they were ahead before. */
  #skips = /** @type {Array<{ start: number, shift: number }>} */ ([])
  #readableEnd
  /** @type {Damage | null} the first thing that is wrong */
  #firstDamage = null

  /**
   * @param {import('./chunk-cursor').Window} window  over the file
   * @param {object} log
   * @param {import('./chunk-header').Rules} log.rules
   * @param {Map<number, import('./journal').Entry[]>} log.unfinished
   * @param {import('./head').Slot | null} slot  null when both are lost
   * @param {number} fileSize
   */
  constructor (window, { rules, unfinished }, slot, fileSize) {
    this.#hasGaps = rules.hasGaps
    this.#fileSize = fileSize
    this.#isBlind = slot === null
    this.#slot = slot ?? { end: HEAD_SIZE, logicalEnd: HEAD_SIZE + rules.shift, epoch: 0, chainCrc: rules.salt }
    const { end, logicalEnd, epoch, chainCrc } = this.#slot
    // Where the log ends is never taken on trust.
    const strict = { ...rules, verify: true }
    const last = Math.max(HEAD_SIZE, end - 1)
    this.cursor = new ChunkCursor(window, strict, unfinished, last - last % PAGE_SIZE)
    if (end === HEAD_SIZE) this.cursor.expect(chainCrc)
    this.#tail = { end, shift: logicalEnd - end, chainCrc }
    this.#claimedEnd = this.#readableEnd = end
    this.#epoch = epoch
    this.#shift = logicalEnd - end
  }

  /** @returns {boolean}  false when the cursor's window must be filled first: then it goes on with the next call */
  run () {
    const { cursor } = this
    for (;;) {
      const status = cursor.enter(this.#fileSize)
      if (status === AT_END) return true
      if (status === NEEDS_BYTES) return false
      if (status === DAMAGED) this.#passDamage()
      else this.#passChunk()
    }
  }

  #passChunk () {
    const { header, chunkStart, chunkEnd } = this.cursor
    if (this.#isOfEarlierFile(header, chunkStart)) {
      this.#firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'POSITION' }
      return
    }
    const shift = this.cursor.shift + this.#measureGaps()
    const { end, chainCrc } = this.#slot
    if (header.isBehindLoss) this.#skips.push({ start: chunkStart, shift: this.#shift })
    this.#shift = shift
    this.#epoch = Math.max(this.#epoch, header.epoch)
    this.#noteDurable(header, chunkStart)
    const isCheckpoint = chunkEnd === end
    const missesIt = chunkStart < end && chunkEnd > end
    if (missesIt || (isCheckpoint && header.chainCrc !== chainCrc)) {
      this.#firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'CHECKPOINT' }
    }
    // No writer comes so far, and no checkpoint could say it.
    if (chunkEnd + shift > FILE_SIZE_MAX) this.#firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'POSITION' }
    if (header.commitContinues) return
    this.#readableEnd = Math.max(this.#readableEnd, chunkEnd)
    if (this.#firstDamage === null && chunkStart >= end) {
      this.#tail = { end: chunkEnd, shift, chainCrc: header.chainCrc }
    }
  }

  #passDamage () {
    const { cursor } = this
    const damage = /** @type {Damage} */ (cursor.damage)
    this.#firstDamage ??= damage
    // What a header says was durable was so, even when its own payload is not.
    if (cursor.hasHeader) this.#noteDurable(cursor.header, cursor.at)
    cursor.skipTo(Math.max(damage.start + 1, cursor.findNextHeader(this.#fileSize)))
  }

  /**
   * A file system may give a file blocks that were those of the log before its last compaction, and fail to write what
   * was to be in them: then old chunks lie behind the end, each right in itself. All of them were written before the
   * checkpoint of that compaction, so their positions are less far ahead than any is behind it.
   * @param {import('./chunk-header').ChunkHeader} header
   * @param {number} start  of its chunk
   */
  #isOfEarlierFile ({ position }, start) {
    const { end, logicalEnd } = this.#slot
    return start >= end && position - start < logicalEnd - end
  }

  /**
   * @param {import('./chunk-header').ChunkHeader} header
   * @param {number} start  of its chunk
   */
  #noteDurable (header, start) {
    if (this.#isOfEarlierFile(header, start)) return
    const { durable, position } = header
    this.#claimedEnd = Math.max(this.#claimedEnd, start - (position - durable))
  }

  /** How many positions are left out in the chunk that was entered. */
  #measureGaps () {
    const { at, chunkEnd, view, window: { start } } = this.cursor
    this.#frames.count(view, at - start, chunkEnd - start, 0)
    return this.#hasGaps ? this.#frames.gapSize : 0
  }

  /** @returns {TailReport} */
  report () {
    const { end, shift } = this.#tail
    const promisedEnd = this.#isBlind ? this.#fileSize : Math.max(this.#slot.end, this.#claimedEnd)
    // A head is never partial: a file that is shorter than it, or than a checkpoint, was cut off.
    const isBefore = this.#firstDamage !== null && this.#firstDamage.start < promisedEnd
    const isDamaged = promisedEnd > end || isBefore || this.#fileSize < end
    /** @type {Damage} */
    const missing = { start: this.#fileSize, end: Math.max(end, promisedEnd), fault: 'ABSENT' }
    /** @type {Damage} */
    const cutOff = { start: end, end: this.#fileSize, fault: 'BATCH' }
    return {
      tail: this.#tail,
      promisedEnd,
      promisedLogicalEnd: promisedEnd + (this.#skips.find(({ start }) => start >= promisedEnd)?.shift ?? shift),
      epoch: this.#epoch,
      damage: isDamaged ? this.#firstDamage ?? (missing.end > this.#fileSize ? missing : cutOff) : null,
      readableEnd: Math.max(this.#readableEnd, isDamaged ? promisedEnd : end)
    }
  }
}

exports.TailWalk = TailWalk
