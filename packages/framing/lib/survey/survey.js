'use strict'
// Goes through a file of the checked framing from its first page to its end, past all that is damaged: what can be kept
// goes to the salvage, what cannot on the list of damage, and what was never promised is a torn end. It reads and
// writes nothing itself: `step` says what it needs.

const { ChunkCursor, ENTRY } = require('../chunk-cursor')
const { countErased } = require('../head')
const { entriesByChunk } = require('../journal')
const { HEAD_SIZE } = require('../layout')
const { WHAT } = require('./damage-list')
const { Judge } = require('./judge')
const { Salvage } = require('./salvage')

/** Why a step ended. */
const STEP = Object.freeze({
  /** Nothing is left. */
  OVER: 0,
  /** The cursor's window must hold more. */
  NEEDS_BYTES: 1,
  /** What was put out must be written first. */
  NEEDS_DRAIN: 2,
  /** Something looks damaged: once that is sure, `judgeDamage` goes on. */
  NEEDS_LOOK: 3,
  /** `judgeErased` must be told what the file has at `doubtfulFrame` now. */
  NEEDS_FRAME: 4
})

/**
 * @typedef {import('../head').Head} Head
 * @typedef {import('../journal').Entry} Entry
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {import('./damage-list').DamageList} DamageList
 */

/**
 * What is known of a file before it is surveyed.
 * @typedef {object} Source
 * @property {Head} head
 * @property {Rules} rules
 * @property {Map<number, Entry[]>} unfinished  what the journals say, by chunk
 * @property {number} fileSize
 * @property {number} promisedEnd  physical: all before it was once known to be on stable storage
 * @property {boolean} isBlind  both slots are lost: then all of the file counts as promised
 * @property {number} epoch  the highest one seen so far
 * @property {number | null} erasedCount  how much should be erased; null when that is not known
 */

/**
 * Changes what was appended: so many bytes from `start` on as their first ones, `headSize` of them, say.
 * @typedef {(start: number, headSize: number, measure: (head: Buffer) => number, edit: (bytes: Buffer) => void) => void
 * } Change
 */

/**
 * Takes what is kept, in order. Nothing is written before somebody drains it.
 * @typedef {object} ChunkSink
 * @property {number} end  where the next byte goes
 * @property {boolean} isFull  whether there is enough to be drained
 * @property {(bytes: Buffer) => void} append
 * @property {(end: number) => void} zerosTo
 * @property {(size: number, make: () => Buffer) => void} fill
 * @property {Change} change
 * @property {(size: number) => void} cut
 */

/**
 * @param {Head} head
 * @param {number} end  where the log is known to end, and all before it to be whole; or the end of the file
 * @returns {Source}
 */
function describeSource (head, end) {
  const { header, slot, journals } = head
  const { salt, base, hasGaps } = header
  return {
    head,
    rules: { verify: true, salt, shift: base - HEAD_SIZE, hasGaps },
    unfinished: entriesByChunk(journals),
    fileSize: end,
    promisedEnd: end,
    isBlind: slot === null,
    epoch: slot?.epoch ?? 0,
    erasedCount: countErased(head)
  }
}

/** @template {import('../chunk-cursor').Window} [W=import('../chunk-cursor').Window] */
class Survey {
  /**
   * @param {Source} source
   * @param {W} window  over the file
   * @param {object} sinks
   * @param {DamageList} sinks.damage  gets what is wrong
   * @param {ChunkSink | null} sinks.output  gets what is good; null for none
   * @param {number} [sinks.rangesMax]  how many ranges of chunks to list that nothing dates
   */
  constructor (source, window, { damage, output, rangesMax = 0 }) {
    this._source = source
    this._damage = damage
    this._output = output
    this.cursor = new ChunkCursor(window, source.rules, source.unfinished, HEAD_SIZE)
    this.cursor.expect(source.rules.salt)
    this.salvage = new Salvage(source.rules, source.head.slot, source.fileSize, output)
    this._judge = new Judge(source, this.cursor, this.salvage, damage, rangesMax)
    /** How far the file is looked at: less when it becomes shorter meanwhile. */
    this.limit = source.fileSize
    /** Where the log ends, once the survey is over. */
    this.end = HEAD_SIZE
    this._isOver = false
  }

  /** What verifies, though nothing proves that it stayed in the log. */
  get unanchored () {
    return this._judge.unanchored
  }

  /** What there is to know at the log's end. */
  get found () {
    return this.salvage.state
  }

  /** Where the frame is of which it must be known whether it was erased meanwhile. */
  get doubtfulFrame () {
    return this._judge.doubtfulFrame
  }

  /** @returns {number}  one of STEP */
  step () {
    const { cursor, _judge: judge, _output: output, _source: { promisedEnd } } = this
    while (!this._isOver && !judge.isOver) {
      if (output?.isFull) return STEP.NEEDS_DRAIN
      const status = cursor.enter(this.limit)
      if (status === ENTRY.NEEDS_BYTES) return STEP.NEEDS_BYTES
      if (status === ENTRY.AT_END || (status === ENTRY.DAMAGED && cursor.at >= promisedEnd)) this._isOver = true
      else if (status === ENTRY.DAMAGED) return STEP.NEEDS_LOOK
      else if (!judge.isOdd()) judge.keep()
      else if (judge.doubtfulFrame !== -1) return STEP.NEEDS_FRAME
      else judge.judgeOddChunk(false)
    }
    return STEP.OVER
  }

  /** Whether the cursor's window must hold more before the damage can be judged. */
  get needsNeighbours () {
    return this._judge.needsNeighbours(this.limit)
  }

  judgeDamage () {
    this._judge.judgeDamage(this.limit)
  }

  /** @param {boolean} isErased  whether the doubtful frame is */
  judgeErased (isErased) {
    this._judge.judgeOddChunk(isErased)
  }

  /** Once it is over: all that was kept is in the output, all that is wrong on the list. */
  finish () {
    const { salvage, _source: { promisedEnd, fileSize } } = this
    const { state, committed } = salvage
    if (state.isInCommit && committed.end >= promisedEnd) salvage.cutToCommit()
    this.end = state.end
    const from = state.isOpen ? state.openSeq : state.logicalEnd
    const to = promisedEnd + state.shift
    const seqs = from < to ? { from, to } : null
    if (promisedEnd > fileSize) this._judge.note(WHAT.MISSING, fileSize, promisedEnd, seqs, null)
    else if (state.isInCommit) this._noteBatch(Math.max(committed.end, this._damage.end), seqs)
    else if (state.isOpen) this._judge.noteOpen()
    salvage.close(this._source.head.slot?.logicalEnd ?? 0)
    this.unanchored.close(this._source.epoch)
    this._damage.close()
  }

  /**
   * @param {number} start  of what is not known to be damaged of it
   * @param {{ from: number, to: number } | null} seqs
   */
  _noteBatch (start, seqs) {
    const { end } = this.salvage.state
    // Its end may be missing behind damage that reaches to the end of the log.
    this._judge.note(WHAT.BATCH, Math.min(start, end - 1), end, seqs, null)
  }

  /**
   * How much more, or less, was erased than should be; 0 when that is not known. A page from before a deletion verifies
   * like any other: only the number of deletions gives it away.
   */
  get erasedTooFew () {
    const { _source: { erasedCount, promisedEnd, fileSize }, _judge: { hasLost }, salvage } = this
    return erasedCount === null || hasLost || promisedEnd > fileSize ? 0 : erasedCount - salvage.state.erasedCount
  }
}

exports.STEP = STEP
exports.describeSource = describeSource
exports.Survey = Survey
