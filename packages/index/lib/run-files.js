'use strict'
// The files of runs, of which few are open: who reads one opens it, and then the one that was not read for longest is
// closed. A read never waits, so none is closed while it is read.
//
// A file that is closed may be removed, as by the writer of a log that others follow: then the run is gone. No other
// file ever gets its name.

const path = require('node:path')
const { isHeld, readWholeSync, room, withRoom } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { GoneRun, MISSING, UNREADABLE, UnreadRun } = require('./run-format')

/** By default. */
const OPEN_RUNS = 128
const READING = Object.freeze({ flags: /** @type {const} */ ('r'), createFolder: false })

/**
 * @typedef {import('@millrace/block-file').Keeper} Keeper
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {import('@millrace/block-file').StorageHandle} StorageHandle
 */

/** The files of one index. @implements {Keeper} */
class RunFiles {
  #storage
  #folder
  #countMax
  /** The one that was read last is the last one. @type {Set<RunFile>} */
  #open = new Set()
  /** @type {RunFile | null} */
  #last = null
  /** How many are being opened: they are read in the background, so they stay open. */
  #openingCount = 0

  /**
   * @param {Storage} storage
   * @param {string} folder
   * @param {number} [countMax]  so many stay open; all do if the storage cannot open a file without waiting
   */
  constructor (storage, folder, countMax = OPEN_RUNS) {
    this.#storage = withRoom(storage)
    this.#folder = folder
    this.#countMax = storage.openSync === undefined ? Infinity : countMax
  }

  /**
   * Opens one for the first time.
   * @template T
   * @param {string} name
   * @param {(file: RunFile, handle: StorageHandle) => Promise<T>} read  gets it; it stays open meanwhile
   * @returns {Promise<T>}
   */
  async open (name, read) {
    this.#openingCount++
    try {
      const handle = await promisesOf(this.#storage).open(path.join(this.#folder, name), READING)
      const file = new RunFile(this, name)
      try {
        const result = await read(file, handle)
        file.handle = handle
        this.#keep(file)
        return result
      } catch (err) {
        await promisesOf(handle).close().catch(() => {})
        throw err
      }
    } finally {
      this.#openingCount--
      room.noteClosable()
    }
  }

  /** Opens one again. @param {RunFile} file */
  openNow (file) {
    const { openSync } = /** @type {Required<Storage>} */ (this.#storage)
    file.handle = openSync.call(this.#storage, path.join(this.#folder, file.name), READING)
    this.#keep(file)
    return file.handle
  }

  /** Whether a file is gone, or may not be read. On Windows others may hold it for a while. @param {any} err */
  isGone (err) {
    return MISSING.includes(err?.code) || (UNREADABLE.includes(err?.code) && !isHeld(this.#storage, err))
  }

  /** @param {RunFile} file  that was opened */
  #keep (file) {
    this.#open.add(file)
    this.#last = file
    if (this.#countMax < Infinity) room.join(this)
    if (this.#open.size > this.#countMax) this.#close(this.#open.size - this.#countMax)
  }

  /** @param {RunFile} file  that is open, and read now */
  touch (file) {
    if (file === this.#last) return
    this.#last = file
    this.#open.delete(file)
    this.#open.add(file)
  }

  /** @param {RunFile} file  that is closed */
  forget (file) {
    this.#open.delete(file)
    if (file === this.#last) this.#last = null
    if (this.#open.size === 0) room.leave(this)
  }

  /** Closes those that were not read for longest. @param {number} count */
  #close (count) {
    return Promise.all([...this.#open].slice(0, count).map((file) => file.release()))
  }

  /** @type {Keeper['closeSome']} */
  closeSome () {
    const { size } = this.#open
    if (size === 0 || this.#countMax === Infinity) return null
    this.#countMax = Math.max(1, Math.min(this.#countMax, Math.floor(size / 2)))
    return this.#close(Math.ceil(size / 2))
  }

  /** @type {Keeper['closeSomeNow']} */
  closeSomeNow () {
    const [first] = this.#open
    return first?.handle?.closeSync !== undefined && this.closeSome() !== null
  }

  isInUse () {
    return this.#openingCount > 0
  }
}

class RunFile {
  #files
  /** Set by RunFiles; null while it is closed. @type {StorageHandle | null} */
  handle = null
  /** Until it is closed. @type {Promise<void>} */
  #closing = Promise.resolve()
  #isEnded = false

  /** @param {RunFiles} files @param {string} name */
  constructor (files, name) {
    this.#files = files
    this.name = name
  }

  /**
   * @type {(target: Buffer, position: number) => number} as `readWholeSync`
   * @throws {GoneRun} if it was removed
   * @throws {UnreadRun} if it cannot be read now
   */
  readSync (target, position) {
    if (this.#isEnded) throw new GoneRun(`${this.name} is closed`)
    try {
      const handle = this.handle ?? this.#files.openNow(this)
      this.#files.touch(this)
      return readWholeSync(handle, target, position)
    } catch (/** @type {any} */ err) {
      const Kind = this.#files.isGone(err) ? GoneRun : UnreadRun
      throw new Kind(err?.message, { cause: err })
    }
  }

  /** Closes it until it is read again. It never fails: nothing was written. @returns {Promise<void>} */
  release () {
    const { handle } = this
    if (handle === null) return this.#closing
    this.handle = null
    this.#files.forget(this)
    this.#closing = this.#closeHandle(handle)
    return this.#closing
  }

  /** @param {StorageHandle} handle */
  async #closeHandle (handle) {
    try {
      if (handle.closeSync) handle.closeSync()
      else await promisesOf(handle).close()
    } catch {}
    room.noteClosable()
  }

  /** Closes it for good. */
  async close () {
    this.#isEnded = true
    await this.release()
  }
}

exports.OPEN_RUNS = OPEN_RUNS
exports.RunFile = RunFile
exports.RunFiles = RunFiles
