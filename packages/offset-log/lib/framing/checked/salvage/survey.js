'use strict'
// Goes through a file of the checked framing from its first page to its end, past all that is damaged: what can be kept
// goes to the salvage, what cannot on the list of damage, and what was never promised is a torn end.

const { trampoline } = require('@millrace/flow')
const { guard, once } = require('../../../salvage/guard')
const { ChunkCursor, ENTRY } = require('../chunk-cursor')
const { HEAD_SIZE } = require('../layout')
const { Confirmation } = require('./confirm')
const { Judge } = require('./judge')
const { isShorter } = require('./read-source')
const { Salvage } = require('./salvage')
const { WHAT } = require('./what')

/**
 * @typedef {import('./read-source').Source} Source
 * @typedef {import('../../../salvage/damage-list').DamageList} DamageList
 * @typedef {import('../../../salvage/output').Output} Output
 * @typedef {(err: Error | null) => void} Done
 */

class Survey {
  /**
   * @param {Source} source
   * @param {object} sinks
   * @param {DamageList} sinks.damage  gets what is wrong
   * @param {Output | null} sinks.output  gets what is good; null for none
   * @param {(position: number) => void} sinks.onProgress
   * @param {number} [sinks.limit]  how far the file is looked at
   * @param {number} [sinks.rangesMax]  how many ranges of chunks to list that nothing dates
   */
  constructor (source, { damage, output, onProgress, limit = source.fileSize, rangesMax = 0 }) {
    this._source = source
    this._damage = damage
    this._output = output
    this._onProgress = onProgress
    this._limit = limit
    this._cursor = new ChunkCursor(source.blocks, source.rules, source.unfinished, HEAD_SIZE)
    this._cursor.expect(source.rules.salt)
    this._confirmation = new Confirmation(source)
    this.salvage = new Salvage(source.rules, source.head.slot, source.fileSize, output)
    this._judge = new Judge(source, this._cursor, this.salvage, damage, rangesMax)
    /** Where the log ends, once the survey is over. */
    this.end = HEAD_SIZE
    /** How much more, or less, was erased than should be; 0 when that is not known. */
    this.erasedTooFew = 0
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

  /** @param {Done} cb */
  run (cb) {
    const end = once(cb)
    trampoline((next) => guard(end, () => {
      const goOn = (/** @type {Error | null} */ err) => err ? end(err) : next()
      if (this._isOver || this._judge.isOver) this._finish(end)
      else if (this._output?.isFull) this._output.drain(goOn)
      else this._step(goOn)
    }))
  }

  /** @param {Done} goOn */
  _step (goOn) {
    const { _cursor: cursor, _judge: judge, _output: output } = this
    for (;;) {
      const status = cursor.enter(this._limit)
      if (status === ENTRY.NEEDS_BYTES) return this._load(goOn)
      if (status === ENTRY.DAMAGED) return this._meetDamage(goOn)
      if (status === ENTRY.AT_END) {
        this._isOver = true
        return goOn(null)
      }
      if (judge.isOdd()) return judge.judgeOddChunk(goOn)
      judge.keep()
      if (output?.isFull) return goOn(null)
    }
  }

  /** @param {Done} goOn */
  _load (goOn) {
    this._onProgress(this._cursor.at)
    this._cursor.load(this._limit, (err) => this._retryIfShorter(err, goOn))
  }

  /** @param {Done} goOn */
  _meetDamage (goOn) {
    const { _cursor: cursor, _limit: limit } = this
    const { start } = /** @type {import('../chunk-cursor').Damage} */ (cursor.damage)
    if (start >= this._source.promisedEnd) {
      this._isOver = true
      return goOn(null)
    }
    this._confirmation.confirm(cursor.window, start, limit, (err, hasChanged) => {
      if (err) return this._retryIfShorter(err, goOn)
      if (hasChanged) {
        cursor.window.forget()
        return goOn(null)
      }
      this._judge.loadNeighbours(limit, (err) => {
        if (err) return this._retryIfShorter(err, goOn)
        guard(goOn, () => {
          this._judge.judgeDamage(limit)
          goOn(null)
        })
      })
    })
  }

  /**
   * A writer may have cut off what was never part of the log.
   * @param {Error | null} err
   * @param {Done} goOn
   */
  _retryIfShorter (err, goOn) {
    if (!isShorter(err)) return goOn(err)
    const { blocks } = this._source
    blocks.refresh((refreshError) => {
      const size = blocks.size.value
      if (refreshError || size >= this._limit) return goOn(refreshError ?? err)
      this._limit = this._source.fileSize = size
      this._cursor.window.forget()
      goOn(null)
    })
  }

  /** @param {Done} cb */
  _finish (cb) {
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
    this._checkErased(cb)
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
   * A page from before a deletion verifies like any other. Only the number of deletions gives it away.
   * @param {Done} cb
   */
  _checkErased (cb) {
    const { _source: { erasedCount, promisedEnd, fileSize }, _confirmation: confirmation, salvage } = this
    if (erasedCount === null || this._judge.hasLost || promisedEnd > fileSize) return cb(null)
    confirmation.checkHead((err) => {
      if (err) return cb(err)
      if (!confirmation.hasHeadChanged) this.erasedTooFew = erasedCount - salvage.state.erasedCount
      cb(null)
    })
  }
}

exports.Survey = Survey
