'use strict'
// A new file that gets its first bytes under another name, and its own name later: then it is named and opened before
// the call returns. Until then nobody takes it for the file. Its folder's lock is held, so nobody else makes it.

const path = require('node:path')
const { promisesOf } = require('@millrace/flow')
const { LogError } = require('@millrace/errors')
const { makeNameless } = require('./open')
const { writeWholeSync } = require('./whole-io')

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./storage').StorageLock} StorageLock
 */

/** A file that does not exist yet: its bytes are written before it gets its name. */
class NewFile {
  #storage
  #temporary
  /** Whether it is under its temporary name, whole and on stable storage. */
  isPrepared = false

  /**
   * @param {Storage} storage
   * @param {string} temporary  the name until then, in the same folder
   * @param {Buffer} bytes  the first ones
   */
  constructor (storage, temporary, bytes) {
    this.#storage = storage
    this.#temporary = temporary
    this.bytes = bytes
  }

  /**
   * Whether files of this storage can be named and opened without waiting. Where open files keep their names, other
   * programs may be in the way for a while, which takes waiting.
   * @type {(storage: Storage, lock: StorageLock | boolean) => boolean}
   */
  static isPossible (storage, lock) {
    const isCovered = lock === false || (typeof lock === 'object' && lock.coverSync !== undefined)
    const { openSync, renameSync, unlinkSync, syncFolderSync, replacesOpenFiles } = storage
    return isCovered && Boolean(openSync && renameSync && unlinkSync && syncFolderSync) && replacesOpenFiles !== false
  }

  /** Makes the file under its temporary name, on stable storage. What is left to do then takes little time. */
  async prepare () {
    await makeNameless(this.#storage, this.#temporary, { createFolder: false, bytes: this.bytes })
    this.isPrepared = true
  }

  /**
   * Names the file and opens it. If it is not prepared, it is made first. The name itself is not on stable storage yet:
   * the first sync of the file puts it there.
   * @type {(givenPath: string, lock: StorageLock | boolean) => import('./open').Opened}
   * @throws EEXIST, and errors of the file system; then there is no file
   */
  openNow (givenPath, lock) {
    const storage = /** @type {Required<Storage>} */ (this.#storage)
    // The folder may be reached through a symlink.
    const filePath = path.join(path.dirname(this.#temporary), path.basename(givenPath))
    if (!this.isPrepared) this.#makeNow()
    this.#checkAbsence(filePath)
    // Before it has the name: if it could not be opened then, nor removed, there would be a file that nobody knows.
    const handle = storage.openSync(this.#temporary, { flags: 'r+', createFolder: false, mustExist: true })
    try {
      storage.renameSync(this.#temporary, filePath)
      this.isPrepared = false
      const covered = typeof lock === 'object' && lock.coverSync ? lock.coverSync(filePath) : null
      return { handle, size: this.bytes.length, path: filePath, lock: covered, past: 'unknown' }
    } catch (err) {
      handle.close(() => {})
      if (!this.isPrepared) storage.unlinkSync(filePath)
      throw err
    }
  }

  #makeNow () {
    const storage = /** @type {Required<Storage>} */ (this.#storage)
    const handle = /** @type {Required<StorageHandle>} */ (storage.openSync(this.#temporary, { flags: 'r+', createFolder: false }))
    try {
      handle.truncateSync(0)
      writeWholeSync(handle.writeSync, this.bytes, 0)
      handle.syncSync()
      this.isPrepared = true
    } finally {
      handle.close(() => {})
      if (!this.isPrepared) storage.unlinkSync(this.#temporary)
    }
  }

  /** @param {string} filePath */
  #checkAbsence (filePath) {
    const storage = /** @type {Required<Storage>} */ (this.#storage)
    try {
      storage.openSync(filePath, { flags: 'r', createFolder: false }).close(() => {})
    } catch (/** @type {any} */ err) {
      if (err.code === 'ENOENT') return
      throw err
    }
    throw new LogError('EEXIST', `${filePath} exists; nothing was changed`, { path: filePath })
  }

  /** Removes it, if it is there under its temporary name. */
  async discard () {
    if (!this.isPrepared) return
    this.isPrepared = false
    await promisesOf(this.#storage).unlink(this.#temporary)
  }
}

exports.NewFile = NewFile
