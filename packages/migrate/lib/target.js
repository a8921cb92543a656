'use strict'
// The new log while it is being made: `<to>.converting`, with a note beside it, renamed to `to` when it is whole.

const path = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const { OffsetLog } = require('@millrace/offset-log')
const { exists, remove } = require('./files')
const { inOrder } = require('./in-order')
const { LogCursor } = require('./log-cursor')
const { agreeOnNote } = require('./note')
const { RecordReader } = require('./record-reader')

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {(err?: Error | null) => void} Done
 */

class Target {
  /**
   * @param {string} to
   * @param {Storage} storage
   */
  constructor (to, storage) {
    this.to = to
    this.path = `${to}.converting`
    this._notePath = `${to}.converting.json`
    this._storage = storage
    /** @type {ReturnType<typeof OffsetLog> | null} while it is open */
    this._log = null
    /** Whether there is a note that agrees with what is being done. */
    this._hasNote = false
    /** @type {boolean | null} null before it was opened */
    this._isEmpty = null
    /** @type {{ path: string, lock: import('@millrace/block-file/lib/storage').StorageLock } | null} */
    this._held = null
  }

  /**
   * Nobody else makes or writes this log until it is unlocked.
   * @param {Done} cb  ERR_LOG_LOCKED
   */
  lock (cb) {
    const { lock, realPath = (_, cb) => cb(null, this.to) } = this._storage
    // What has no locks cannot be reached from elsewhere.
    if (!lock) return cb(null)
    realPath(this.to, (err, path = '') => {
      if (err) return cb(err)
      lock(path, { createFolder: true }, (err, held) => {
        if (held) this._held = { path, lock: held }
        cb(err)
      })
    })
  }

  /** @param {Done} cb */
  unlock (cb) {
    const held = this._held
    this._held = null
    if (held === null) cb(null)
    else held.lock.release(held.path, cb)
  }

  /**
   * Finds out what is there: nothing in the way, or the log of a conversion that ended just before it could say so.
   * @param {boolean} resume
   * @param {(err: Error | null, isPublished?: boolean) => void} cb  EEXIST
   */
  lookAround (resume, cb) {
    exists(this._storage, this.to, (err, isThere) => {
      if (err || !isThere) return cb(err, false)
      exists(this._storage, this._notePath, (err, hasNote) => {
        if (err || !hasNote || !resume) return cb(err ?? this.existsError())
        exists(this._storage, this.path, (err, isUnfinished) => {
          if (err || isUnfinished) cb(err ?? this.existsError())
          else cb(null, true)
        })
      })
    })
  }

  /** @param {Done} cb  what an interrupted conversion has left is gone */
  removeLeftovers (cb) {
    inOrder([
      (done) => remove(this._storage, this.path, done),
      (done) => this.removeNote(done)
    ], cb)
  }

  /** @param {unknown} [cause] */
  existsError (cause) {
    return new LogError('EEXIST', `convert: ${this.to} exists; nothing was written. Give the path of a log that does not`,
      { cause, path: this.to })
  }

  /**
   * @param {import('./note').NoteContents} contents
   * @param {Done} cb
   */
  agreeOnNote (contents, cb) {
    agreeOnNote(this._notePath, contents, this._storage, (err) => {
      this._hasNote = !err
      cb(err)
    })
  }

  /**
   * @param {import('./options').Codec} codec  takes and gives bytes
   * @param {Done} cb  it is open, with whatever an interrupted conversion has left in it
   */
  open (codec, cb) {
    const log = OffsetLog(this.path, { codec, storage: this._storage })
    log.ready((err) => {
      if (err) return cb(err.code === 'ERR_CODEC_MISMATCH' ? this._notOurs(err) : err)
      this._log = log
      this._isEmpty = log.since.value === -1
      const { damage = [], keptAt = null } = log.recovery ?? {}
      if (damage.length > 0) {
        return cb(new LogError('ERR_LOG_CORRUPT', `convert: the unfinished ${this.path} is damaged: ${damage[0].what}; begin anew with ` +
          'resume: false', { offset: damage[0].offset, path: this.path }))
      }
      // Half a commit of our own making: the source has it whole.
      if (keptAt !== null) remove(this._storage, keptAt, (err) => err ? cb(err) : this._checkFraming(cb))
      else this._checkFraming(cb)
    })
  }

  /** @param {Error} cause */
  _notOurs (cause) {
    return new LogError('ERR_SOURCE_CHANGED', `convert: ${this.path} is no log that this conversion has begun: it has records of ` +
      'another codec; begin anew with resume: false', { cause, path: this.path })
  }

  /** @returns {RecordReader}  over what is in it now */
  createReader () {
    const log = /** @type {ReturnType<typeof OffsetLog>} */ (this._log)
    return new RecordReader(new LogCursor({ log, end: 0, skipsDamage: false, blocks: null, overhead: null }))
  }

  /**
   * @param {Buffer[]} records  there after a crash as a whole or not at all
   * @param {Done} cb
   */
  append (records, cb) {
    this._isEmpty = false
    this._log?.append(records, (/** @type {Error | null} */ err) => cb(err))
  }

  /** @param {Done} cb  all of it is on stable storage */
  close (cb) {
    const log = this._log
    this._log = null
    if (log === null) cb(null)
    else log.close(cb)
  }

  /** @param {Done} cb  it is closed; and gone, with its note, if nothing was converted that could be gone on with */
  giveUp (cb) {
    this.close((err) => {
      if (err || !this._hasNote || this._isEmpty === false) return cb(err)
      if (this._isEmpty) return this.removeLeftovers(cb)
      exists(this._storage, this.path, (err, isThere) => err || isThere ? cb(err) : this.removeNote(cb))
    })
  }

  /** @param {Done} cb  `to` is there, whole, and the note is not */
  publish (cb) {
    exists(this._storage, this.to, (err, isThere) => {
      if (err || isThere) return cb(err ?? this.existsError())
      inOrder([
        (done) => this._storage.rename(this.path, this.to, done),
        (done) => this._storage.syncFolder(path.dirname(this.to), done),
        (done) => this.removeNote(done)
      ], cb)
    })
  }

  /** @param {Done} cb */
  removeNote (cb) {
    remove(this._storage, this._notePath, cb)
  }

  /** @param {Done} cb */
  _checkFraming (cb) {
    this._log?.stats((/** @type {Error | null} */ err, /** @type {any} */ stats) => {
      if (err || stats.framing === 'checked') return cb(err)
      cb(misuse(`convert: ${this.path} is no log that a conversion has begun, but one of ${stats.framing}; move it away`))
    })
  }
}

exports.Target = Target
