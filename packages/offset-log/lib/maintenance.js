'use strict'
// Deletes records and compacts a log. A compaction copies the undeleted records while appends and reads go on. Then
// appends wait for the rest of the copy, and the new file replaces the old one, which is unchanged until then.
// Deletions wait during a compaction.

const { LogError } = require('@millrace/errors')
const { promisesOf, toCallback, toPromise } = require('@millrace/flow')
const { closedError } = require('./errors')
const { Compactor } = require('./compactor')
const { COMPACTING_SUFFIX, openChecked, removeLeftover } = require('./recover/open-checked')
const { readBytes } = require('./recover/identify')

// Appends wait once less than this is left to copy.
const REST_SIZE_MAX = 1024 * 1024
// The copy might never catch up with a fast writer.
const ROUND_COUNT_MAX = 20
// Nor with a program that appends without waiting.
const SYNC_ROUND_COUNT_MAX = 4

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./appender').Appender} Appender
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ sizeBefore: number, size: number }} Compacted  sizes of the file, in bytes
 * @typedef {object} LogStats
 * @property {string} framing  One of the five framings.
 * @property {string | null} codec  The name of the codec that the log was made with; null if the log stores none.
 * @property {string | null} id  Names the log, in 32 hex digits. Snapshots, compacted and repaired logs keep it, but
 *   not snapshots of lines. Null in the offset framings, which store none.
 * @property {number | null} epoch  Rises when a seq may have got another record than it had, such as after a power cut:
 *   of logs of lines. Null in the other framings: seqs of the checked one come once, and the offset ones do not tell.
 * @property {number} size  Of the file, in bytes.
 * @property {number} since  As `log.since`.
 * @property {number} blockSize  Of a block or page, in bytes.
 * @property {{ kind: 'kernel' | 'file' | 'none', blindSpot: string | null }} lock  What keeps other writers out, and a
 *   description of what it cannot keep out; null if there is nothing. `docs/guides/sharing.md` explains both.
 * @property {CacheStats} cache  How well the cache works.
 * @typedef {object} CacheStats
 * @property {number} hitCount  How many reads the cache has answered.
 * @property {number} missCount  How many it has not.
 * @property {number} slotCount  How many blocks fit into it.
 * @property {number} blockSize  Of a block, in bytes.
 * @typedef {{ doneSize: number, totalSize: number, isDone: boolean }} Progress  in bytes of the log
 */

/**
 * @type {(file: LogFile, appender: Appender, progress: import('@millrace/flow').Obz<Progress>) => Promise<Compacted>}
 */
async function compact (file, appender, progress) {
  const { blocks, durability, lifecycle } = file
  const sizeBefore = blocks.size.value
  const tell = (/** @type {number} */ doneSize, isDone = false) => {
    progress.set({ doneSize: Math.min(doneSize, file.logEnd), totalSize: file.logEnd, isDone })
  }
  tell(0)
  try {
    // A call without seqs waits for the deletions in progress.
    await promisesOf(file.store).deleteRecords([])
    await removeLeftover(file)
    await copyAndReplace(file, appender, (copiedEnd) => {
      tell(copiedEnd)
      if (lifecycle.isClosed) throw closedError('compact', blocks.path)
      if (durability.error) throw durability.error
    })
  } finally {
    tell(file.logEnd, true)
  }
  return { sizeBefore, size: blocks.size.value }
}

/**
 * @param {LogFile} file
 * @param {Appender} appender
 * @param {(copiedEnd: number) => void} onProgress  may throw to stop the compaction
 */
async function copyAndReplace (file, appender, onProgress) {
  const { blocks, durability } = file
  const compactor = new Compactor(/** @type {CheckedStore} */ (file.store), blocks.realPath + COMPACTING_SUFFIX)
  try {
    await compactor.begin()
    for (let round = 0; round < ROUND_COUNT_MAX && file.logEnd - compactor.copiedEnd > REST_SIZE_MAX; round++) {
      await compactor.copyTo(file.logEnd, onProgress)
    }
    // Nothing but `appendSync` and `flushSync` appends or syncs from here on.
    await appender.pause()
    try {
      await durability.runExclusive(() => copyRest(file, compactor, onProgress))
    } finally {
      appender.resume()
    }
  } catch (err) {
    await compactor.close()
    throw err
  }
}

/** @type {(file: LogFile, compactor: Compactor, onProgress: (copiedEnd: number) => void) => Promise<void>} */
async function copyRest (file, compactor, onProgress) {
  const { durability, replacement } = file
  let syncedSince = NaN
  const copyWritten = async () => {
    // Suppose that this process is killed after the rename, before the folder is synced. The next process finds the new
    // file, which says that all its records are durable, and shows them. A power cut may still bring back the old file,
    // so its records must be durable too. And with `fsync: 'always'` they can be read, and copied, only after a sync.
    const { writtenSince } = file
    if (writtenSince !== syncedSince) await durability.syncBetween()
    syncedSince = writtenSince
    await compactor.copyTo(file.logEnd, onProgress)
  }
  // What is written meanwhile is copied, too, until the step in which nothing may be written is short.
  for (let round = 0; round < SYNC_ROUND_COUNT_MAX && file.writtenSince !== syncedSince; round++) {
    await copyWritten()
    await compactor.sync()
  }
  replacement.seal()
  try {
    await copyWritten()
    await compactor.finish()
    await replaceFile(file, syncedSince)
  } finally {
    if (!replacement.hasFailed) replacement.end(file.store)
  }
  file.durable.set(file.writtenSince)
}

/**
 * Renames the compacted file over the log's file, and opens it.
 * @type {(file: LogFile, copiedSince: number) => Promise<void>} `copiedSince`: the last record that the new file has
 */
async function replaceFile (file, copiedSince) {
  const { blocks, durability, replacement } = file
  const { reservation } = /** @type {CheckedStore} */ (file.store)
  const open = async () => {
    const { store } = await openChecked(file, await readBytes(blocks))
    // Reserved and lost positions are the same as before.
    store.reservation = reservation
    file.store = store
  }
  // From here on readers wait, so that each read is in one file.
  replacement.holdReads()
  /** @type {Error | null} */
  let failure = null
  try {
    await toPromise((cb) => blocks.replaceWith(blocks.realPath + COMPACTING_SUFFIX, cb, () => {
      if (file.writtenSince !== copiedSince || !replacement.beginRenaming()) throw writtenAtExit(blocks.path)
    }))
  } catch (err) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (err)
    if (code !== 'ERR_FILE_NOT_UNDONE') throw code === 'ERR_FILE_MOVED' ? durability.poison(/** @type {Error} */ (err)) : err
    // The rename took effect, but a power cut may undo it.
    failure = /** @type {Error} */ (err)
  }
  try {
    await open()
  } catch (/** @type {any} */ err) {
    failure ??= /** @type {Error} */ (err)
    // What the store knows is of the old file.
    replacement.fail(err, openLater(file, open))
  }
  // Poison before anything can be appended.
  if (failure) throw durability.poison(failure)
}

/**
 * Opens the new file for reads that come later: nothing is appended to it.
 * @type {(file: LogFile, open: () => Promise<void>) => (cb: Done) => void}
 */
function openLater (file, open) {
  /** @type {Promise<void> | null} */
  let opening = null
  return (cb) => {
    opening ??= open().then(() => file.replacement.end(file.store)).finally(() => { opening = null })
    toCallback(opening, cb)
  }
}

/** @param {string} path */
function writtenAtExit (path) {
  return new LogError('ERR_LOG_NOT_READY', `compact: an "exit" listener wrote to ${path} while its copy was being finished, ` +
    'and the process went on. Nothing was changed; call compact again', { path })
}

/** Runs one compaction of a log at a time, and no deletion meanwhile. */
class Maintenance {
  #file
  #appender
  #progress
  /** The compaction in progress. @type {Promise<Compacted> | null} */
  #compacting = null
  /** Whether a failed compaction left its file, with copies of records. */
  #hasLeftover = false
  /** The removal of that file. @type {Promise<void> | null} */
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

  get isCompacting () {
    return this.#compacting !== null
  }

  /** @returns {Promise<Compacted>}  of the compaction in progress, if there is one */
  compact () {
    this.#compacting ??= this.#compact().finally(() => { this.#compacting = null })
    return this.#compacting
  }

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
   * Removes the file of a failed compaction. Call it before promising that deleted bytes are gone.
   * @param {Done} cb
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

  /** @type {(seqs: number[], cb: Done) => void} */
  deleteRecords (seqs, cb) {
    if (this.#compacting) {
      return toCallback(this.#compacting, () => this.deleteRecords(seqs, cb))
    }
    const { store, durability } = this.#file
    store.deleteRecords(seqs, (err) => {
      if (err || durability.mode !== 'always') cb(err)
      else this.clean((err) => err ? cb(err) : toCallback(durability.sync(), cb))
    })
  }
}

exports.Maintenance = Maintenance
