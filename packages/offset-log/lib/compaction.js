'use strict'
// One compaction of a log: copies what is left beside appends and reads, stops appends for the last of it, and puts the
// new file in the old one's place. Until then the old one is what it was; deletions wait.

const { LogError } = require('@millrace/errors')
const { closedError } = require('./closed-error')
const { Compactor } = require('./framing/checked/compactor')
const { openChecked } = require('./framing/checked/open-checked')
const { peekId } = require('./framing/checked/peek-id')

const SUFFIX = '.compacting'
// With less than this to copy, appends are made to wait.
const REST_SIZE_MAX = 1024 * 1024
// A writer that is as fast as the copy would never be caught up with.
const ROUND_COUNT_MAX = 20

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./appender').Appender} Appender
 * @typedef {import('./framing/checked/checked-store').CheckedStore} CheckedStore
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ sizeBefore: number, size: number }} Compacted  bytes of the file before and after
 * @typedef {object} LogStats
 * @property {string} framing
 * @property {string | null} codec  the name of the codec that the log was made with; null if the log says none
 * @property {number} size  of the log, in bytes
 * @property {number} since
 * @property {number} blockSize  in bytes
 * @property {{ kind: 'kernel' | 'file' | 'none', blindSpot: string | null }} lock  what keeps other writers out, and
 *   what it cannot keep out
 * @property {object} cache
 * @property {number | null} reclaimableSize  bytes that a compaction would give back; null when damage is in the way
 * @typedef {{ doneSize: number, totalSize: number, isDone: boolean }} Progress  bytes of the log that were gone through
 */

class Compaction {
  /**
   * @param {LogFile} file
   * @param {Appender} appender
   * @param {import('@millrace/flow').Obz<Progress>} progress
   */
  constructor (file, appender, progress) {
    this._file = file
    this._appender = appender
    this._progress = progress
    this._store = /** @type {CheckedStore} */ (file.store)
    this._compactor = new Compactor(this._store, file.blocks.realPath + SUFFIX)
    this._goesOn = () => {
      this._tell(false)
      return !file.lifecycle.isClosed && !file.durability.error
    }
  }

  /** @param {(err: Error | null, result?: Compacted) => void} cb */
  run (cb) {
    const { _compactor: compactor, _file: file } = this
    const sizeBefore = file.blocks.size.value
    this._tell(false)
    this._prepare((err) => {
      if (err) return this._end(err, cb)
      this._hold((release) => {
        this._replace((err) => {
          release()
          if (err) return compactor.close(() => this._end(err, cb))
          this._tell(true)
          cb(null, { sizeBefore, size: file.blocks.size.value })
        })
      })
    })
  }

  /**
   * Copies all but the last of the log.
   * @param {Done} cb
   */
  _prepare (cb) {
    this._store.eraser.whenIdle(() => removeLeftover(this._file, (err) => {
      if (err) return cb(err)
      this._compactor.begin((err) => err ? cb(err) : this._copyRound(0, cb))
    }))
  }

  /**
   * @param {number} round
   * @param {Done} cb
   */
  _copyRound (round, cb) {
    const { end } = this._file
    if (end - this._compactor.copiedEnd <= REST_SIZE_MAX || round === ROUND_COUNT_MAX) return cb(this._error())
    this._copyTo(end, (err) => err ? cb(err) : this._copyRound(round + 1, cb))
  }

  /**
   * @param {number} end
   * @param {Done} cb
   */
  _copyTo (end, cb) {
    this._compactor.copyTo(end, this._goesOn, (err) => cb(err ?? this._error()))
  }

  /** Why it cannot go on. */
  _error () {
    const { lifecycle, durability, blocks } = this._file
    return lifecycle.isClosed ? closedError('compact', blocks.path) : durability.error
  }

  /**
   * Nothing is written or synced until `release` is called.
   * @param {(release: () => void) => void} action
   */
  _hold (action) {
    const { _appender: appender, _file: { durability } } = this
    appender.hold(() => durability.runExclusive((done) => action(() => {
      done()
      appender.release()
    })))
  }

  /** @param {Done} cb */
  _replace (cb) {
    const { _compactor: compactor, _file: file, _store: store } = this
    this._copyTo(file.end, (err) => {
      if (err) return cb(err)
      this._syncOld((err) => {
        if (err) return cb(err)
        compactor.finish((err) => {
          if (err) return cb(err)
          // From here on readers wait: what they read next is in one file or in the other.
          file.replacement.begin(store)
          file.blocks.replaceWith(file.blocks.realPath + SUFFIX, (err) => this._replaced(err, cb))
        })
      })
    })
  }

  /**
   * A process that is killed when the new file has its name, and before the folder is synced, leaves that file to the
   * next one, which says of all in it that it is durable. The power may yet bring back the old file.
   * @param {Done} cb
   */
  _syncOld (cb) {
    const { blocks, durability } = this._file
    blocks.sync((err) => cb(err && durability.poison(err)))
  }

  /**
   * @param {Error | null} err
   * @param {Done} cb
   */
  _replaced (err, cb) {
    const { _file: file, _store: store } = this
    const code = err instanceof LogError ? err.code : null
    if (err && code !== 'ERR_FILE_NOT_UNDONE') {
      file.replacement.end(store)
      return cb(code === 'ERR_FILE_MOVED' ? file.durability.poison(err) : err)
    }
    openChecked(file, (openErr, newStore) => {
      // The new file cannot be read, or may not be there after a power cut: nothing more is promised.
      const failure = openErr ?? err
      const poison = failure ? file.durability.poison(failure) : null
      if (newStore) {
        // What it may reach, and what was lost before it, is in the new file too.
        if (store.session.isKept) newStore.session = store.session
        file.store = newStore
      }
      file.replacement.end(file.store)
      if (!poison) file.durability.begin(file.writtenSince)
      cb(poison)
    })
  }

  /**
   * What was written so far is of no use.
   * @param {Error} err
   * @param {(err: Error) => void} cb
   */
  _end (err, cb) {
    this._compactor.close(() => {
      this._tell(true)
      cb(err)
    })
  }

  /** @param {boolean} isDone */
  _tell (isDone) {
    const { end: totalSize } = this._file
    const doneSize = isDone ? totalSize : Math.min(totalSize, this._compactor.copiedEnd)
    this._progress.set({ doneSize, totalSize, isDone })
  }
}

/** The compactions of one log: one at a time, and no deletion meanwhile. */
class Compactions {
  /**
   * @param {LogFile} file
   * @param {Appender} appender
   * @param {import('@millrace/flow').Obz<Progress>} progress
   */
  constructor (file, appender, progress) {
    this._file = file
    this._appender = appender
    this._progress = progress
    /** @type {Array<(err: Error | null, result?: Compacted) => void> | null} who waits for the one under way */
    this._waiting = null
    /** Whether a failed one has left copies of records in a file beside the log. */
    this._hasLeftover = false
    /** @type {Done[] | null} who waits for the end of that file */
    this._cleaning = null
  }

  /** @param {(err: Error | null, result?: Compacted) => void} cb  of the one under way, if there is one */
  run (cb) {
    if (this._waiting) return this._waiting.push(cb)
    this._waiting = [cb]
    const end = (/** @type {Error | null} */ err, /** @type {Compacted | undefined} */ result = undefined) => {
      const waiting = this._waiting ?? []
      this._waiting = null
      for (const cb of waiting) process.nextTick(cb, err, result)
    }
    this.clean((err) => {
      if (err) return end(err)
      new Compaction(this._file, this._appender, this._progress).run((err, result) => {
        if (!err) return end(null, result)
        this._hasLeftover = true
        this.clean(() => end(err))
      })
    })
  }

  /**
   * To be called before it is promised that deleted bytes are nowhere any more.
   * @param {Done} cb  nothing is left of a failed compaction
   */
  clean (cb) {
    if (!this._hasLeftover) return cb(null)
    if (this._cleaning) return this._cleaning.push(cb)
    this._cleaning = [cb]
    removeLeftover(this._file, (err) => {
      const cleaning = this._cleaning ?? []
      this._cleaning = null
      this._hasLeftover = err !== null
      for (const cb of cleaning) cb(err)
    })
  }

  get isIdle () {
    return this._waiting === null
  }

  /** @param {() => void} run  once none is under way */
  whenIdle (run) {
    if (this._waiting) this._waiting.push(() => this.whenIdle(run))
    else run()
  }
}

/**
 * Removes what a compaction has left that was cut off by a crash, or failed.
 * @param {LogFile} file
 * @param {Done} cb
 */
function removeLeftover (file, cb) {
  if (!file.store.supports.compact) return cb(null)
  isLeftover(file, (err, isOne) => err || !isOne ? cb(err) : file.blocks.removeBeside(SUFFIX, cb))
}

/**
 * A file of that name may be somebody else's: ours has the log's id, or zeros where a power cut took that.
 * @param {LogFile} file
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isLeftover ({ blocks: { realPath }, store, storage }, cb) {
  const { id } = /** @type {CheckedStore} */ (store).header
  peekId(realPath + SUFFIX, storage, (err, found) => {
    if (err || !found) return cb(/** @type {any} */ (err)?.code === 'ENOENT' ? null : err)
    cb(null, found.isEmpty || found.id?.equals(id))
  })
}

exports.Compactions = Compactions
exports.removeLeftover = removeLeftover
