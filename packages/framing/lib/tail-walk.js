'use strict'
// Finds where a checked log ends, and distinguishes a torn tail from damage. What was once known to be on stable
// storage and is wrong now is damage, and never cut. What is wrong after that is a write that a crash interrupted.

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
 * @property {Tail} tail  after the last commit whose chunks are all good and linked
 * @property {number} promisedEnd  physical; everything before it was once known to be on stable storage
 * @property {number} promisedLogicalEnd
 * @property {number} epoch  the highest one seen
 * @property {Damage | null} damage  the first that lies before `promisedEnd`
 * @property {number} readableEnd  after the last commit that can be read, also past damage
 */

class TailWalk {
  #hasGaps
  #fileSize
  /** Without slots the whole file counts as promised. */
  #isBlind
  #slot
  #frames = new FrameCount()
  /** @type {Tail} */
  #tail
  /** How far chunks say that the file was durable. Physical: each chunk counts with its own lead. */
  #claimedEnd
  #epoch
  /** Logical position less physical position, after the last chunk. */
  #shift
  /** The chunks after unclean ends: where they start, and the shift before them. */
  #skips = /** @type {Array<{ start: number, shift: number }>} */ ([])
  #readableEnd
  /** @type {Damage | null} the first thing that is wrong */
  #firstDamage = null

  /**
   * @param {import('./chunk-cursor').Window} window  over the file
   * @param {object} log
   * @param {import('./chunk-header').Rules} log.rules
   * @param {Map<number, import('./journal').Entry[]>} log.unfinished
   * @param {import('./head').Slot | null} slot  null if both are lost
   * @param {number} fileSize
   */
  constructor (window, { rules, unfinished }, slot, fileSize) {
    this.#hasGaps = rules.hasGaps
    this.#fileSize = fileSize
    this.#isBlind = slot === null
    this.#slot = slot ?? { end: HEAD_SIZE, logicalEnd: HEAD_SIZE + rules.shift, epoch: 0, chainCrc: rules.salt }
    const { end, logicalEnd, epoch, chainCrc } = this.#slot
    // The end of the log is always verified.
    const strict = { ...rules, verify: true }
    const last = Math.max(HEAD_SIZE, end - 1)
    this.cursor = new ChunkCursor(window, strict, unfinished, last - last % PAGE_SIZE)
    if (end === HEAD_SIZE) this.cursor.expect(chainCrc)
    this.#tail = { end, shift: logicalEnd - end, chainCrc }
    this.#claimedEnd = this.#readableEnd = end
    this.#epoch = epoch
    this.#shift = logicalEnd - end
  }

  /** @returns {boolean}  false if the cursor's window must be filled first; the next call continues */
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
    if (header.isAfterLoss) this.#skips.push({ start: chunkStart, shift: this.#shift })
    this.#shift = shift
    this.#epoch = Math.max(this.#epoch, header.epoch)
    this.#noteDurable(header, chunkStart)
    const isCheckpoint = chunkEnd === end
    const missesIt = chunkStart < end && chunkEnd > end
    if (missesIt || (isCheckpoint && header.chainCrc !== chainCrc)) {
      this.#firstDamage ??= { start: chunkStart, end: chunkEnd, fault: 'CHECKPOINT' }
    }
    // No writer gets so far, and no slot could store this position.
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
    // A header's claim holds even if the payload is damaged.
    if (cursor.hasHeader) this.#noteDurable(cursor.header, cursor.at)
    cursor.skipTo(Math.max(damage.start + 1, cursor.findNextHeader(this.#fileSize)))
  }

  // Whether a chunk after the slot's end belongs to the file that a compaction replaced. A file system may give the
  // new file blocks of the old one and fail to write them: then old chunks lie there, each good in itself. They were
  // written before the slot, so their positions are less far ahead of their places than any after the slot.
  /** @type {(header: import('./chunk-header').ChunkHeader, start: number) => boolean} */
  #isOfEarlierFile ({ position }, start) {
    const { end, logicalEnd } = this.#slot
    return start >= end && position - start < logicalEnd - end
  }

  /** @type {(header: import('./chunk-header').ChunkHeader, start: number) => void} */
  #noteDurable (header, start) {
    if (this.#isOfEarlierFile(header, start)) return
    const { durable, position } = header
    this.#claimedEnd = Math.max(this.#claimedEnd, start - (position - durable))
  }

  /** How many positions are left out in the entered chunk. */
  #measureGaps () {
    const { at, chunkEnd, window: { view, start } } = this.cursor
    this.#frames.count(view, at - start, chunkEnd - start, 0)
    return this.#hasGaps ? this.#frames.gapSize : 0
  }

  /** What the walk has found so far. @returns {TailReport} */
  report () {
    const { end, shift } = this.#tail
    const promisedEnd = this.#isBlind ? this.#fileSize : Math.max(this.#slot.end, this.#claimedEnd)
    // A head is never partial. A file that is shorter than its head or its checkpoint was cut off.
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
