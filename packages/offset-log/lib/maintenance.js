'use strict'
// Deletion and compaction. A compaction copies what is left beside appends and reads, stops appends for the last of it,
// and puts the new file in the old one's place. Until then the old file stays what it was; deletions wait. A deletion
// waits for threads that are reading, too.

const { call, toCallback, toPromise } = require('@millrace/flow')
const { closedError } = require('./errors')
const { Compactor } = require('./compactor')
const { openChecked } = require('./recover/open-checked')
const { peekId } = require('./recover/identify')

const SUFFIX = '.compacting'
// With less than this to copy, appends are made to wait.
const REST_SIZE_MAX = 1024 * 1024
// A writer that is as fast as the copy would never be caught up with.
const ROUND_COUNT_MAX = 20

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./appender').Appender} Appender
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
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

  /** @returns {Promise<Compacted>} */
  async run () {
    const { blocks } = this._file
    const sizeBefore = blocks.size.value
    this._tell(false)
    try {
      await this._copyMost()
      await this._whileNothingIsWritten(() => this._replace())
    } catch (err) {
      // What was written so far is of no use.
      await call(this._compactor, 'close').catch(() => {})
      throw err
    } finally {
      this._tell(true)
    }
    return { sizeBefore, size: blocks.size.value }
  }

  /** Copies all but the last of the log. */
  async _copyMost () {
    const { _compactor: compactor, _file: file } = this
    await new Promise((resolve) => this._store.eraser.whenIdle(() => resolve(null)))
    await removeLeftover(file)
    await call(compactor, 'begin')
    for (let round = 0; round < ROUND_COUNT_MAX && file.end - compactor.copiedEnd > REST_SIZE_MAX; round++) {
      await this._copyTo(file.end)
    }
    this._throwIfOver()
  }

  /** @param {number} end */
  async _copyTo (end) {
    await call(this._compactor, 'copyTo', end, this._goesOn)
    this._throwIfOver()
  }

  /** @throws {LogError}  why it cannot go on */
  _throwIfOver () {
    const { lifecycle, durability, blocks } = this._file
    if (lifecycle.isClosed) throw closedError('compact', blocks.path)
    if (durability.error) throw durability.error
  }

  /** @param {() => Promise<void>} action  nothing is appended or synced meanwhile */
  async _whileNothingIsWritten (action) {
    const { _appender: appender, _file: { durability } } = this
    await new Promise((resolve) => appender.hold(() => resolve(null)))
    /** @type {() => void} */
    const done = await new Promise((resolve) => durability.runExclusive(resolve))
    try {
      await action()
    } finally {
      done()
      appender.release()
    }
  }

  async _replace () {
    const { _compactor: compactor, _file: file, _store: store } = this
    await this._copyTo(file.end)
    await this._syncOld()
    await call(compactor, 'finish')
    // From here on readers wait: what they read next is in one file or in the other.
    file.replacement.begin(store)
    const err = await call(file.blocks, 'replaceWith', file.blocks.realPath + SUFFIX).then(() => null, (err) => err)
    if (err && err.code !== 'ERR_FILE_NOT_UNDONE') {
      file.replacement.end(store)
      throw err.code === 'ERR_FILE_MOVED' ? file.durability.poison(err) : err
    }
    await this._goOnInNewFile(err)
  }

  /**
   * A process that is killed when the new file has its name, and before the folder is synced, leaves that file to the
   * next one, which says of all in it that it is durable. The power may yet bring back the old file.
   */
  async _syncOld () {
    const { blocks, durability } = this._file
    await call(blocks, 'sync').catch((err) => { throw durability.poison(err) })
  }

  /** @param {Error | null} err  the new file may not be there after a power cut */
  async _goOnInNewFile (err) {
    const { _file: file, _store: store } = this
    let failure = err
    const opened = await openChecked(file).catch((openErr) => {
      failure = openErr
      return null
    })
    // Poisoned before anything can be appended.
    const poison = failure ? file.durability.poison(failure) : null
    if (opened) {
      const { store: newStore } = opened
      // What it may reach, and what was lost before it, is in the new file too.
      newStore.reservation = store.reservation
      file.store = newStore
    }
    file.replacement.end(file.store)
    if (poison) throw poison
    file.durability.begin(file.writtenSince)
  }

  /** @param {boolean} isDone */
  _tell (isDone) {
    const { end: totalSize } = this._file
    const doneSize = isDone ? totalSize : Math.min(totalSize, this._compactor.copiedEnd)
    this._progress.set({ doneSize, totalSize, isDone })
  }
}

/** The deletions and compactions of one log: one compaction at a time, and no deletion meanwhile. */
class Maintenance {
  /**
   * @param {LogFile} file
   * @param {Appender} appender
   * @param {import('@millrace/flow').Obz<Progress>} progress
   */
  constructor (file, appender, progress) {
    this._file = file
    this._appender = appender
    this._progress = progress
    this.gate = new Gate()
    /** @type {Promise<Compacted> | null} the compaction that is under way */
    this._compacting = null
    /** Whether a failed one has left copies of records in a file beside the log. */
    this._hasLeftover = false
    /** @type {Promise<void> | null} the removal of that file */
    this._cleaning = null
  }

  /** Whether no compaction is under way. */
  get isIdle () {
    return this._compacting === null
  }

  /** @returns {Promise<Compacted>}  of the one under way, if there is one */
  compact () {
    this._compacting ??= this._compact().finally(() => { this._compacting = null })
    return this._compacting
  }

  /** @returns {Promise<Compacted>} */
  async _compact () {
    await this._clean()
    try {
      return await new Compaction(this._file, this._appender, this._progress).run()
    } catch (err) {
      this._hasLeftover = true
      await this._clean().catch(() => {})
      throw err
    }
  }

  /**
   * To be called before it is promised that deleted bytes are nowhere any more.
   * @param {Done} cb  nothing is left of a failed compaction
   */
  clean (cb) {
    if (this._hasLeftover) toCallback(this._clean(), cb)
    else cb(null)
  }

  /** @returns {Promise<void>} */
  async _clean () {
    if (!this._hasLeftover) return
    this._cleaning ??= removeLeftover(this._file).then(() => {
      this._hasLeftover = false
    }).finally(() => {
      this._cleaning = null
    })
    return this._cleaning
  }

  /**
   * @param {number[]} seqs
   * @param {Done} cb
   */
  deleteRecords (seqs, cb) {
    if (this._compacting) {
      const again = () => this.deleteRecords(seqs, cb)
      this._compacting.then(again, again)
      return
    }
    this.gate.enter('deletion', () => {
      // A compaction may have begun while it waited for threads.
      if (this._compacting) {
        this.gate.leave()
        return this.deleteRecords(seqs, cb)
      }
      const { store, durability } = this._file
      store.deleteRecords(seqs, (err) => {
        this.gate.leave()
        if (err || durability.mode !== 'always') cb(err)
        else this.clean((err) => err ? cb(err) : durability.sync(cb))
      })
    })
  }
}

/**
 * Removes what a compaction has left that was cut off by a crash, or failed. A file of that name may be somebody
 * else's: ours has the log's id, or zeros where a power cut took that.
 * @param {LogFile} file
 */
async function removeLeftover ({ blocks, store, storage }) {
  if (!store.supports.compact) return
  const { id } = /** @type {CheckedStore} */ (store).header
  const found = await toPromise((cb) => peekId(blocks.realPath + SUFFIX, storage, cb)).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  if (found !== null && (found.isEmpty || found.id?.equals(id))) await call(blocks, 'removeBeside', SUFFIX)
}

// Threads that read, and deletions, take turns: nobody shares with another thread what says that bytes are just being
// changed. A deletion waits for the parts that are being read, not for whole scans.

/** @typedef {'part' | 'deletion'} Kind  those of one kind may be under way together */

class Gate {
  constructor () {
    /** @type {Kind} of what is under way */
    this._kind = 'deletion'
    this._count = 0
    /** @type {Array<{ kind: Kind, run: () => void }>} in order: so neither kind waits for ever */
    this._waiting = []
  }

  /**
   * @param {Kind} kind
   * @param {() => void} run  at once, as a rule; must see to it that `leave` is called once
   */
  enter (kind, run) {
    this._waiting.push({ kind, run })
    this._advance()
  }

  leave () {
    this._count--
    this._advance()
  }

  _advance () {
    while (this._waiting.length > 0) {
      const [{ kind, run }] = this._waiting
      if (this._count > 0 && kind !== this._kind) return
      this._waiting.shift()
      this._kind = kind
      this._count++
      run()
    }
  }
}

exports.Maintenance = Maintenance
exports.Gate = Gate
exports.removeLeftover = removeLeftover
