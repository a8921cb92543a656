'use strict'
// Deletion and compaction. A compaction copies what is left beside appends and reads, stops appends for the last of it,
// and puts the new file in the old one's place. Until then the old file stays what it was; deletions wait. A deletion
// waits for threads that are reading, too.

const { call, toCallback } = require('@millrace/flow')
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

/**
 * @param {LogFile} file
 * @param {Appender} appender
 * @param {import('@millrace/flow').Obz<Progress>} progress
 * @returns {Promise<Compacted>}
 */
async function compact (file, appender, progress) {
  const { blocks, durability, lifecycle } = file
  const sizeBefore = blocks.size.value
  const tell = (/** @type {number} */ doneSize, isDone = false) => {
    progress.set({ doneSize: Math.min(doneSize, file.end), totalSize: file.end, isDone })
  }
  tell(0)
  try {
    // The deletions that are under way: without seqs it waits for them.
    await call(file.store, 'deleteRecords', [])
    await removeLeftover(file)
    await copyAndReplace(file, appender, (copiedEnd) => {
      tell(copiedEnd)
      if (lifecycle.isClosed) throw closedError('compact', blocks.path)
      if (durability.error) throw durability.error
    })
  } finally {
    tell(file.end, true)
  }
  return { sizeBefore, size: blocks.size.value }
}

/**
 * @param {LogFile} file
 * @param {Appender} appender
 * @param {(copiedEnd: number) => void} onProgress  throws why the compaction cannot go on
 */
async function copyAndReplace (file, appender, onProgress) {
  const { blocks, durability } = file
  const compactor = new Compactor(/** @type {CheckedStore} */ (file.store), blocks.realPath + SUFFIX)
  try {
    await compactor.begin()
    for (let round = 0; round < ROUND_COUNT_MAX && file.end - compactor.copiedEnd > REST_SIZE_MAX; round++) {
      await compactor.copyTo(file.end, onProgress)
    }
    // From here on nothing is appended or synced.
    await new Promise((resolve) => appender.hold(() => resolve(null)))
    /** @type {() => void} */
    const done = await new Promise((resolve) => durability.runExclusive(resolve))
    try {
      await compactor.copyTo(file.end, onProgress)
      // A process that is killed when the new file has its name, and before the folder is synced, leaves that file to
      // the next one, which says of all in it that it is durable. The power may yet bring back the old file.
      await call(blocks, 'sync').catch((err) => { throw durability.poison(err) })
      await compactor.finish()
      await replaceFile(file)
    } finally {
      done()
      appender.release()
    }
  } catch (err) {
    await compactor.close()
    throw err
  }
}

/**
 * Puts the compacted file in the place of the log's, and goes on in it.
 * @param {LogFile} file
 */
async function replaceFile (file) {
  const { blocks, durability, replacement } = file
  const before = /** @type {CheckedStore} */ (file.store)
  // From here on readers wait: what they read next is in one file or in the other.
  replacement.begin(before)
  try {
    /** @type {Error | null} */
    let failure = null
    try {
      await call(blocks, 'replaceWith', blocks.realPath + SUFFIX)
    } catch (err) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (err)
      if (code !== 'ERR_FILE_NOT_UNDONE') throw code === 'ERR_FILE_MOVED' ? durability.poison(/** @type {Error} */ (err)) : err
      // The new file is there, and may not be after a power cut.
      failure = /** @type {Error} */ (err)
    }
    try {
      const { store } = await openChecked(file)
      // What it may reach, and what was lost before it, is in the new file too.
      store.reservation = before.reservation
      file.store = store
    } catch (err) {
      failure = /** @type {Error} */ (err)
    }
    // Poisoned before anything can be appended.
    if (failure) throw durability.poison(failure)
  } finally {
    replacement.end(file.store)
  }
  durability.begin(file.writtenSince)
}

/** The deletions and compactions of one log: one compaction at a time, and no deletion meanwhile. */
class Maintenance {
  gate = new Gate()
  #file
  #appender
  #progress
  /** @type {Promise<Compacted> | null} the compaction that is under way */
  #compacting = null
  /** Whether a failed one has left copies of records in a file beside the log. */
  #hasLeftover = false
  /** @type {Promise<void> | null} the removal of that file */
  #removing = null

  /**
   * @param {LogFile} file
   * @param {Appender} appender
   * @param {import('@millrace/flow').Obz<Progress>} progress
   */
  constructor (file, appender, progress) {
    this.#file = file
    this.#appender = appender
    this.#progress = progress
  }

  /** Whether no compaction is under way. */
  get isIdle () {
    return this.#compacting === null
  }

  /** @returns {Promise<Compacted>}  of the one under way, if there is one */
  compact () {
    this.#compacting ??= this.#compact().finally(() => { this.#compacting = null })
    return this.#compacting
  }

  /** @returns {Promise<Compacted>} */
  async #compact () {
    await this.#removeLeftover()
    try {
      return await compact(this.#file, this.#appender, this.#progress)
    } catch (err) {
      this.#hasLeftover = true
      await this.#removeLeftover().catch(() => {})
      throw err
    }
  }

  /**
   * To be called before it is promised that deleted bytes are nowhere any more.
   * @param {Done} cb  nothing is left of a failed compaction
   */
  clean (cb) {
    if (this.#hasLeftover) toCallback(this.#removeLeftover(), cb)
    else cb(null)
  }

  async #removeLeftover () {
    if (!this.#hasLeftover) return
    this.#removing ??= removeLeftover(this.#file).finally(() => { this.#removing = null })
    await this.#removing
    this.#hasLeftover = false
  }

  /**
   * @param {number[]} seqs
   * @param {Done} cb
   */
  deleteRecords (seqs, cb) {
    if (this.#compacting) {
      const again = () => this.deleteRecords(seqs, cb)
      this.#compacting.then(again, again)
      return
    }
    this.gate.enter('deletion', () => {
      // A compaction may have begun while it waited for threads.
      if (this.#compacting) {
        this.gate.leave()
        return this.deleteRecords(seqs, cb)
      }
      const { store, durability } = this.#file
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
  const found = await peekId(blocks.realPath + SUFFIX, storage).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  if (found !== null && (found.isEmpty || found.id?.equals(id))) await call(blocks, 'removeBeside', SUFFIX)
}

// Threads that read, and deletions, take turns: nobody shares with another thread what says that bytes are just being
// changed. A deletion waits for the parts that are being read, not for whole scans.

/** @typedef {'part' | 'deletion'} Kind  those of one kind may be under way together */

class Gate {
  /** @type {Kind} of what is under way */
  #kind = 'deletion'
  #count = 0
  /** @type {Array<{ kind: Kind, run: () => void }>} in order: so neither kind waits for ever */
  #waiting = []

  /**
   * @param {Kind} kind
   * @param {() => void} run  at once, as a rule; must see to it that `leave` is called once
   */
  enter (kind, run) {
    this.#waiting.push({ kind, run })
    this.#advance()
  }

  leave () {
    this.#count--
    this.#advance()
  }

  #advance () {
    while (this.#waiting.length > 0) {
      const [{ kind, run }] = this.#waiting
      if (this.#count > 0 && kind !== this.#kind) return
      this.#waiting.shift()
      this.#kind = kind
      this.#count++
      run()
    }
  }
}

exports.Maintenance = Maintenance
exports.Gate = Gate
exports.removeLeftover = removeLeftover
