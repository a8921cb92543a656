'use strict'
// What readers of both directions share: the run that they deliver, its filter, damage, and what was lost to it.

const { ChunkCursor, tooLargeToRead } = require('@millrace/framing')
const { RecordRun } = require('../record-run')

// More than damage can be in what is read again at a time.
const CONFIRMED_COUNT_MAX = 65536

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Damage} Damage
 */

/**
 * @typedef {object} Wanted
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {boolean} [skipsDamage]
 * @property {boolean} [isSingle]  whether one record is wanted: its chunks need not be proven together. Whoever asks
 *   for it looks again at what looks damaged; each look makes what was read before it stale
 * @property {(end: number, position: number) => void} [onLoss]  told of unclean ends that are passed: at which logical
 *   position the log ended, and at which it goes on
 * @property {boolean} [keepsBytes]  whether whoever reads may keep the bytes of the runs
 * @property {boolean} [isStrict]  whether records are copied: all is verified, and none is too large
 * @typedef {Wanted & { reverse: boolean, at?: number }} StoreRange  `at` is where in the file to begin, going forward,
 *   if a record of `from` would be there
 */

class RecordReader {
  /**
   * @param {CheckedStore} store
   * @param {Wanted} wanted
   * @param {number} pageStart  the page to begin with
   */
  constructor (store, wanted, pageStart) {
    const { from, stop, skipsDamage = false, isSingle = false, isStrict = false } = wanted
    this._store = store
    this._from = from
    this._stop = stop
    this._skipsDamage = skipsDamage
    this._looksAgain = !isSingle
    this._onLoss = wanted.onLoss ?? (() => {})
    this._window = store.blocks.createSpanReader({ givesBuffers: wanted.keepsBytes })
    const rules = isStrict ? { ...store.rules, verify: true } : store.rules
    this._cursor = new ChunkCursor(this._window, rules, store.unfinished, pageStart)
    this._maxRecordSize = isStrict ? Infinity : store.maxRecordSize
    this._rewriteCount = store.blocks.rewriteCount
    this._records = new RecordRun()
    /** @type {Error | null} what the next call fails with */
    this._error = null
    /** What damage took, when it is skipped: how many ranges of the file, and their bytes. */
    this.lost = { count: 0, size: 0 }
    this._lostEnd = -1
    /** Where damage was met last, -1 if nowhere. */
    this._damageStart = -1
    /** Where something looked damaged that another process may be changing, and how often it was read again. */
    this._suspect = { start: -1, lookCount: 0 }
    /** What looked no better afterwards. @type {Set<number>} */
    this._confirmed = new Set()
  }

  /** From now on the bytes of runs may not be kept: it has come to the end, and will wait there. */
  stopKeepingBytes () {
    this._window.settle()
  }

  /** Whether bytes were overwritten since they were read last: those at hand may be old. */
  get _isStale () {
    return this._rewriteCount !== this._store.blocks.rewriteCount
  }

  /** From here on all bytes are read anew. */
  _noteFresh () {
    this._rewriteCount = this._store.blocks.rewriteCount
  }

  /** What of the range is still to be delivered. */
  get left () {
    return { lowest: this._from, stop: this._stop }
  }

  /**
   * @param {number} seq
   * @param {number} size
   * @returns {boolean}  whether the record may be delivered; else the next call fails
   */
  _isAllowed (seq, size) {
    if (size <= this._maxRecordSize) return true
    this._error = tooLargeToRead(seq, size, this._maxRecordSize)
    return false
  }

  /**
   * What looks damaged in a log that another process writes may be half changed: it is read again before it counts.
   * @param {number} start  of the damage
   * @returns {boolean}  whether to look again
   */
  _isSuspect (start) {
    const { follower } = this._store.file
    if (follower === null || !this._looksAgain || this._confirmed.has(start)) return false
    if (start !== this._suspect.start) this._suspect = { start, lookCount: 0 }
    if (this._suspect.lookCount < follower.lookCountMax) return true
    // Only what is near can be met again.
    if (this._confirmed.size === CONFIRMED_COUNT_MAX) this._confirmed.clear()
    this._confirmed.add(start)
    return false
  }

  /** @param {() => void} next  runs when all bytes at hand are known to be stale */
  _lookAgain (next) {
    this._store.file.follower?.lookAgain(this._suspect.lookCount++, next)
  }

  /**
   * Ends at damage, or counts it and goes on behind it.
   * @param {number} limit
   * @returns {boolean}  whether to go on
   */
  _meetDamage (limit) {
    const cursor = this._cursor
    const damage = /** @type {Damage} */ (cursor.damage)
    this._damageStart = damage.start
    if (!this._skipsDamage) {
      this._error = this._store.damageError(damage)
      return false
    }
    const next = Math.min(limit, Math.max(cursor.findNextHeader(limit), damage.start + 1))
    this._countLost(damage.start, next)
    cursor.skipTo(next)
    return true
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  _countLost (start, end) {
    if (start !== this._lostEnd) this.lost.count++
    this.lost.size += end - start
    this._lostEnd = end
  }
}

exports.RecordReader = RecordReader
