'use strict'
// The sidecar of a log that is open: what was found, what it is worth, and what to do when bytes do not match it.

const { LogError } = require('@millrace/errors')
const { CheckedReads } = require('./checked-reads')
const { mismatch } = require('./damaged-range')
const { damaged, isOther, judge, missing } = require('./judge')
const { BLOCK_SIZE } = require('./layout')
const { loadSidecarSync } = require('./load-sidecar')
const { createStorage, reopenSidecar } = require('./sidecar-storage')
const { Sums } = require('./sums')

// A slot that a writer is just writing is whole the next time.
const LOOK_COUNT_MAX = 10

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./changes').Changes} Changes
 * @typedef {import('./judge').FileState} FileState
 * @typedef {import('./judge').Verdict} Verdict
 * @typedef {import('./parse-sidecar').Parsed} Parsed
 * @typedef {{ start: number, end: number }} Range  positions in the log's file
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @typedef {object} SidecarOptions
 * @property {boolean} [verify]  false checks nothing that is only read; true by default
 * @property {boolean} [mayCreate]  false makes no log where there is none; true by default
 */

class Sidecar {
  /**
   * @param {Storage} inner
   * @param {string} path  of the log
   * @param {SidecarOptions} [options]
   */
  constructor (inner, path, { verify = true, mayCreate = true } = {}) {
    this.inner = inner
    /** Of the log; where it really is, once that is known. */
    this.path = path
    this.mayCreate = mayCreate
    this.isReader = false
    /** @type {StorageHandle} of the log; set once it is open */
    this.log = /** @type {any} */ (null)
    /** @type {FileState} of the log, when it was opened */
    this.logState = { size: 0 }
    /** @type {StorageHandle | null} of the sidecar that was found */
    this.handle = null
    /** @type {Parsed | null} what it says */
    this.parsed = null
    /** @type {Verdict} */
    this.verdict = missing()
    /** @type {CheckedReads} set once the log is open */
    this.reads = /** @type {any} */ (null)
    /** @type {Changes | null} null until it is known that the log may be written, and what the sidecar is worth */
    this.changes = null
    /** While the log is being opened, damage is noted, and read over: the bytes may still tell where the log ends. */
    this.isSettled = false
    /** @type {Map<number, Range>} by block: what was found damaged so far */
    this.noted = new Map()
    this._verify = verify
    /** The one to open the log with. */
    this.storage = createStorage(this, path)
  }

  get sidecarPath () {
    return `${this.path}.sidecar`
  }

  /** Where the log was on stable storage, as far as the sidecar can be believed. */
  get coveredEnd () {
    if (this.changes) return this.changes.coverage.covered.end
    return this.verdict.name === 'trusted' && this.parsed ? this.parsed.slot.end : 0
  }

  /** Where the log was on stable storage, if it was not closed since; null when that is not known. */
  get uncleanEnd () {
    return this.verdict.name === 'trusted' && this.parsed && !this.parsed.slot.isClean ? this.parsed.slot.end : null
  }

  /** @returns {Range | null}  what was on stable storage, and is not there any more */
  get lost () {
    const { name } = this.verdict
    const end = this.parsed?.slot.end ?? 0
    if (end <= this.logState.size || (name !== 'trusted' && name !== 'stale')) return null
    return { start: this.logState.size, end }
  }

  /**
   * Opening begins, perhaps once more: beside a writer what looked wrong is looked at again.
   * @param {{ invalidate: () => void }} blocks  of the log
   * @param {Done} cb
   */
  begin (blocks, cb) {
    if (!this.isSettled) return cb(null)
    blocks.invalidate()
    this.isSettled = false
    this.noted.clear()
    reopenSidecar(this, cb)
  }

  /**
   * @param {Parsed | null} parsed
   * @param {FileState | null} state  of the sidecar; null when there is none
   * @param {Done} cb
   */
  loaded (parsed, state, cb) {
    this.parsed = parsed
    if (state === null) this.verdict = missing()
    else this.verdict = parsed ? judge(parsed.slot, this.logState, state) : damaged()
    const isTrusted = this.verdict.name === 'trusted'
    const sums = isTrusted && parsed ? parsed.sums : new Sums()
    this.reads = new CheckedReads(this.log, this.path, sums, (index, end) => this._mismatch(index, end))
    this.reads.isOn = this._verify
    cb(null)
  }

  /**
   * What speaks against cutting off what lies behind the last whole frame, or for saying that more was there.
   * @param {number} end  of that frame
   * @returns {LogError | null}
   */
  objection (end) {
    const { lost, path } = this
    const [noted] = this.noted.values()
    if (lost) {
      return new LogError('ERR_LOG_CORRUPT', `open: ${path} ends at ${lost.start}, but was on stable storage up to ` +
        `${lost.end}, says its sidecar; nothing was cut. Keep a copy of both files. If the log was begun anew, remove ` +
        'the sidecar', { offset: lost.start, path })
    }
    if (end < this.logState.size && noted) return mismatch(path, noted)
    if (end >= this.coveredEnd) return null
    return new LogError('ERR_LOG_CORRUPT', `open: the last whole record of ${path} ends at ${end}, but it was on stable ` +
      `storage up to ${this.coveredEnd}, says its sidecar; nothing was cut. Keep a copy of both files`, { offset: end, path })
  }

  /**
   * @param {Error | null} err  why the log could not be opened
   * @returns {Error | null}  a better reason, if the sidecar knows one
   */
  explain (err) {
    const [noted] = this.noted.values()
    return err && noted ? mismatch(this.path, noted) : err
  }

  /**
   * Says that these ranges are going to be overwritten.
   * @param {Range[]} ranges
   */
  announce (ranges) {
    this.changes?.coverage.announce(ranges)
  }

  /**
   * @param {number} index  of a block
   * @param {number} end  of the bytes that its sum is of
   * @returns {'deliver' | 'again'}
   */
  _mismatch (index, end) {
    const range = { start: index * BLOCK_SIZE, end }
    if (this.isReader && this._reload()) return 'again'
    if (this.isSettled) throw mismatch(this.path, range)
    // What lies behind the end of the file is reported as lost.
    this.noted.set(index, { ...range, end: Math.min(end, this.logState.size) })
    return 'deliver'
  }

  /**
   * A writer beside this reader says in the sidecar what it is about to change, before it does.
   * @returns {boolean}  whether it has said anything new
   */
  _reload () {
    const { handle, parsed } = this
    if (!handle || !parsed) return false
    for (let look = 0; look < LOOK_COUNT_MAX; look++) {
      const found = loadSidecarSync(handle)
      if (found === null || found.slot.sequence < parsed.slot.sequence) continue
      if (found.slot.sequence === parsed.slot.sequence) return false
      this.parsed = found
      this.reads.sums = found.sums
      this.noted.clear()
      return true
    }
    return false
  }

  /**
   * Before damage is reported that a reader has met.
   * @param {(hasChanged: boolean) => void} tell  whether it may not be damage after all: then it is to be read again
   */
  reconsider (tell) {
    const { isOn, sums } = this.reads
    if (!this.isReader || !this.log.stat) return tell(false)
    this.log.stat((err, state) => {
      if (err || !state) return tell(false)
      this.noticeState(state)
      tell(this.reads.isOn !== isOn || this.reads.sums !== sums)
    })
  }

  /**
   * Whoever follows a log looks at its file again and again. If it was closed when the reader came, and is written by
   * somebody who keeps no sidecar, nothing can be said of it any more.
   * @param {FileState} state  of the log
   */
  noticeState (state) {
    const { modifiedNs } = this.parsed?.slot ?? { modifiedNs: 0n }
    if (!this.isReader || this.verdict.name !== 'trusted' || !isOther(modifiedNs, state.modifiedNs)) return
    try {
      this._reload()
    } catch {
      // Then it cannot be said either.
    }
    if (this.parsed?.slot.modifiedNs === modifiedNs) this.reads.isOn = false
  }
}

exports.Sidecar = Sidecar
