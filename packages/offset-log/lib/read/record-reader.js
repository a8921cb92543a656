'use strict'
// The base of the readers of a checked log in both directions: the run that they deliver, damage, and what was lost.

const { ChunkCursor, tooLargeToRead } = require('@millrace/framing')
const { RecordRun } = require('../record-run')

// More places than one read can meet again.
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
 * @property {boolean} [isSingle]  only one record is wanted, so its chunks need not be proven together. The caller
 *   reads again what looks damaged
 * @property {(end: number, position: number) => void} [onLoss]  called at each unclean end: the logical position where
 *   the log ended, and the one where it continues
 * @property {boolean} [keepsBytes]  whether the caller may keep the bytes of the runs
 * @property {boolean} [isStrict]  for copies: everything is verified, and no record is too large
 * @typedef {Wanted & { reverse: boolean }} StoreRange
 */

class RecordReader {
  /**
   * @param {CheckedStore} store
   * @param {Wanted} wanted
   * @param {number} pageStart  the first page to read
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
    /** The next call fails with it. @type {Error | null} */
    this._error = null
    /** How many damaged ranges were skipped, and their bytes. */
    this.lost = { count: 0, size: 0 }
    this._lostEnd = -1
    /** Where the last damage is, -1 if none was met. */
    this._damageStart = -1
    /** A place that looks damaged, perhaps because a writer is changing it, and how often it was read again. */
    this._suspect = { start: -1, lookCount: 0 }
    /** Places that still looked damaged afterwards. @type {Set<number>} */
    this._confirmed = new Set()
  }

  /** Runs give no bytes to keep from now on: the reader waits at the end. */
  stopKeepingBytes () {
    this._window.settle()
  }

  /** Whether bytes were overwritten since they were read. */
  get _isStale () {
    return this._rewriteCount !== this._store.blocks.rewriteCount
  }

  /** All bytes are read anew from here on. */
  _noteFresh () {
    this._rewriteCount = this._store.blocks.rewriteCount
  }

  /**
   * Whether the record may be delivered. If not, the next call fails.
   * @type {(seq: number, size: number) => boolean}
   */
  _isAllowed (seq, size) {
    if (size <= this._maxRecordSize) return true
    this._error = tooLargeToRead(seq, size, this._maxRecordSize)
    return false
  }

  /**
   * Whether to read a place again before it counts as damaged, because the log's writer may be changing it.
   * @param {number} start  of the damage
   */
  _isSuspect (start) {
    const { follower } = this._store.file
    if (follower === null || !this._looksAgain || this._confirmed.has(start)) return false
    if (start !== this._suspect.start) this._suspect = { start, lookCount: 0 }
    if (this._suspect.lookCount < follower.lookCountMax) return true
    // Only places nearby can be met again.
    if (this._confirmed.size === CONFIRMED_COUNT_MAX) this._confirmed.clear()
    this._confirmed.add(start)
    return false
  }

  /** @param {() => void} next  runs when all bytes held are known to be stale */
  _lookAgain (next) {
    this._store.file.follower?.lookAgain(this._suspect.lookCount++, next)
  }

  /** Fails at damage, or counts and skips it. @type {(limit: number) => boolean} */
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

  /** @type {(start: number, end: number) => void} */
  _countLost (start, end) {
    if (start !== this._lostEnd) this.lost.count++
    this.lost.size += end - start
    this._lostEnd = end
  }
}

exports.RecordReader = RecordReader
