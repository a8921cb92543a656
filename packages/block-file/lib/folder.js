'use strict'
// A folder whose files belong together and have one writer: it is opened once, proven at every change of a name, and
// has a lock of its own.
//
// Its `storage` takes the same paths as any other. It reaches files in the folder through the open folder, so that they
// stay files of this folder, wherever the path leads meanwhile. Before it makes, renames or removes a file, or syncs
// names, the path must still lead to the folder. If it does not, this call and all later ones fail with ERR_FILE_MOVED,
// and nothing is changed. The same holds once another file has the name of the one that is locked: somebody has removed
// that, and another process may have the lock.
//
// Where names cannot be reached through an open folder (outside Linux, or without /proc), the path is proven before and
// after each change. A folder that is put in its place between the two gets that one change, which then fails.

const path = require('node:path')
const { nextTick } = require('node:process')
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { promisesOf, toCallback } = require('@millrace/flow')
const { close, open } = require('./open')
const { nameAsGiven } = require('./whole-io')

/** The file whose lock is the lock of the folder. Its record is beside it, as that of every locked file. */
const LOCK_FILE = 'writer'
const LOCK_TEXT = 'The process that writes the log in this folder has locked this file. writer.lock names the process.\n'
const OF_LOCK_FILE = Object.freeze({
  flags: /** @type {const} */ ('r+'),
  createFolder: false,
  initial: () => Buffer.from(LOCK_TEXT),
  lock: true,
  mustExist: false,
  errorIfExists: false
})
/** How the names of plain segments end, by the framing of the log in them. */
const SEGMENT_EXTENSIONS = Object.freeze({ checked: '.log', lines: '.jsonl' })
/** The name of a plain segment, as a part of a regular expression. */
const PLAIN_SEGMENT = `\\d{16}-\\d{8}T\\d{9}Z(?:${Object.values(SEGMENT_EXTENSIONS).map((name) => `\\${name}`).join('|')})`
/** Files that belong to the writer of their folder, by name. */
const SEGMENT_NAME = new RegExp(`^${PLAIN_SEGMENT}(?:\\.gz|\\.zst)?$`)

/** Calls that change names, and how many of their arguments are paths. */
const CHANGES = { rename: 2, unlink: 1, syncFolder: 1 }
const CHANGES_NOW = { openSync: 1, renameSync: 2, unlinkSync: 1, syncFolderSync: 1, makeFolderSync: 1 }
const OTHERS = { listFolder: 1, fileSize: 1, freeSize: 1, copyOwnership: 2, watch: 1, hasKernelLocks: 1, openFolder: 1 }
const UNCHANGED = ['toAbsolute', 'findHolder']

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./storage').StorageLock} StorageLock
 * @typedef {import('./storage').FolderHandle} FolderHandle
 *
 * @typedef {object} FolderRequest
 * @property {boolean} [createFolder]  True makes the folder; false by default: ENOENT if it is missing.
 * @property {boolean} [lock]  True takes the folder's lock, that of the file `writer` in it, if the storage has locks;
 *   false by default.
 * @property {number} [lockTimeout]  How many ms to wait for a lock that is held; 0, the default, fails at once.
 * @property {AbortSignal | null} [signal]  An abort ends the waiting for the lock.
 */

/**
 * A folder that is opened once. Its `storage` takes the paths of files in the folder, and reaches them through the open
 * folder. Before it makes, renames or removes a file, the path must still lead to the folder; if it does not, this call
 * and all later ones fail with ERR_FILE_MOVED. Outside Linux the path is also checked after the call: what is put in
 * the folder's place between the two checks gets that one change.
 */
class Folder {
  #inner
  #onMoved
  /** @type {FolderHandle | null} */
  #handle = null
  #realPath
  /** The locked file. @type {{ handle: StorageHandle, path: string, isOwn: boolean } | null} */
  #locked = null
  /** @type {Promise<void> | null} */
  #closing = null
  #isClosed = false
  /** Whether the folder's lock is being taken. */
  #isLocking = false
  /** Calls through the open folder. @type {Set<Promise<any>>} */
  #running = new Set()
  /** Set once the path has led elsewhere. @type {LogError | null} */
  movedError = null
  /** For the option `lock` of `BlockFile`: the file is covered by the folder's lock. @type {StorageLock | null} */
  lock = null

  /**
   * @param {Storage} storage
   * @param {string} folder  absolute
   * @param {(err: LogError) => void} [onMoved]  called once, when it is found that the path leads elsewhere
   */
  constructor (storage, folder, onMoved = () => {}) {
    if (storage === null || typeof storage !== 'object') throw misuse(`expected a storage, got ${reasonOf(storage)}`)
    this.#onMoved = onMoved
    this.#inner = storage
    this.path = this.#realPath = folder
    /** Of the files in the folder, and in folders in it. Before `open` it is as the given one. */
    this.storage = storage.openFolder ? this.#bind() : storage
  }

  /**
   * Opens the folder, and takes its lock if that is asked for.
   * @param {FolderRequest} [request]
   * @throws ENOENT, ENOTDIR, ERR_LOG_LOCKED, ABORT_ERR
   */
  async open ({ createFolder = false, lock = false, lockTimeout = 0, signal = null } = {}) {
    const inner = this.#inner
    try {
      if (createFolder) inner.makeFolderSync?.(path.join(this.path, LOCK_FILE))
      if (inner.openFolder) {
        if (inner.realPath) this.#realPath = await promisesOf(inner).realPath(this.path)
        this.#handle = await promisesOf(inner).openFolder(this.path)
      }
      if (!lock || !inner.lock) return
      const isOwn = !await this.#hasLockFile()
      this.#isLocking = true
      const opened = await open(this.storage, path.join(this.path, LOCK_FILE), { ...OF_LOCK_FILE, lockTimeout, signal })
      this.#isLocking = false
      this.#locked = { handle: opened.handle, path: opened.path, isOwn }
      this.lock = opened.lock
      await this.prove()
    } catch (err) {
      await this.close().catch(() => {})
      throw err
    }
  }

  async #hasLockFile () {
    try {
      const handle = await promisesOf(this.storage).open(path.join(this.path, LOCK_FILE), { flags: 'r', createFolder: false })
      await promisesOf(handle).close()
      return true
    } catch (/** @type {any} */ { code }) {
      return code !== 'ENOENT'
    }
  }

  /** Fails if the path no longer leads to the folder. @throws {LogError} ERR_FILE_MOVED */
  async prove () {
    if (this.movedError !== null) throw this.movedError
    if (this.#handle !== null && !await promisesOf(this.#handle).isAt(this.path)) throw this.#noteMoved()
    if (!await this.#isLockHere()) throw this.#noteMoved(lockTaken(this.path))
  }

  /** The same, without waiting. @throws {LogError} ERR_FILE_MOVED */
  proveSync () {
    if (this.movedError !== null) throw this.movedError
    if (this.#handle !== null && !this.#handle.isAtSync(this.path)) throw this.#noteMoved()
    if (!this.#isLockHereSync()) throw this.#noteMoved(lockTaken(this.path))
  }

  /** Nobody else has the lock while there is no other file. */
  async #isLockHere () {
    if (this.#locked === null || !this.#locked.handle.isAt) return true
    const { handle, path: file } = this.#locked
    return await promisesOf(handle).isAt(file) || !await this.#hasLockFile()
  }

  /** The same, without waiting. */
  #isLockHereSync () {
    const { openSync } = this.#inner
    if (!this.#locked?.handle.isAtSync || !openSync) return true
    const { handle, path: file } = this.#locked
    if (handle.isAtSync?.(file)) return true
    try {
      openSync.call(this.#inner, this.#reach(file), { flags: 'r', createFolder: false }).close(() => {})
      return false
    } catch (/** @type {any} */ { code }) {
      return code === 'ENOENT'
    }
  }

  /** @param {LogError} [err] */
  #noteMoved (err) {
    if (this.movedError !== null) return this.movedError
    this.movedError = err ?? new LogError('ERR_FILE_MOVED', `${this.path} leads to another folder now, or to none: the open ` +
      'folder was renamed, removed or replaced, and nothing was changed in the other one. Close what is open, and find ' +
      'out where the folder went before you open it again', { path: this.path })
    this.#onMoved(this.movedError)
    return this.movedError
  }

  /**
   * Releases the lock, wherever the folder is now. A second call waits for the same end.
   * @param {{ leavesNothing?: boolean }} [options]  removes the lock's file too, if this opening has made it
   * @returns {Promise<void>}
   */
  close ({ leavesNothing = false } = {}) {
    this.#closing ??= this.#close(leavesNothing)
    return this.#closing
  }

  /** @param {boolean} leavesNothing */
  async #close (leavesNothing) {
    try {
      if (this.#locked === null) return
      const { handle, path: file, isOwn } = this.#locked
      // Whoever opens it now finds, once it has the lock, that the name is gone. On Windows the file stays.
      if (leavesNothing && isOwn && this.#inner.replacesOpenFiles !== false) {
        await promisesOf(this.storage).unlink(file).catch(() => {})
      }
      await close(handle, this.lock)
    } finally {
      // A descriptor that is closed may become that of another folder, so nothing may reach names through it any more.
      const handle = this.#handle
      this.#handle = null
      this.#isClosed = true
      await Promise.allSettled([...this.#running])
      if (handle !== null) await promisesOf(handle).close()
    }
  }

  /** The same name, reached through the open folder. @param {string} name */
  #reach (name) {
    const reach = this.#handle?.reach ?? null
    const folder = [this.path, this.#realPath].find((folder) => isWithin(name, folder))
    return reach === null || folder === undefined ? name : reach + name.slice(folder.length)
  }

  /** @param {string} name */
  #isInside (name) {
    return [this.path, this.#realPath].some((folder) => isWithin(name, folder))
  }

  /** @returns {Storage} */
  #bind () {
    /** @type {any} */
    const inner = this.#inner
    /** @type {any} */
    const bound = {
      open: (/** @type {any[]} */ ...args) => this.#open(...args),
      replacesOpenFiles: inner.replacesOpenFiles,
      provesFolder: true
    }
    for (const name of UNCHANGED) if (inner[name]) bound[name] = inner[name].bind(inner)
    for (const [name, count] of Object.entries(OTHERS)) {
      if (inner[name]) bound[name] = (/** @type {any[]} */ ...args) => this.#pass(name, count, args)
    }
    for (const [name, count] of Object.entries(CHANGES)) {
      bound[name] = (/** @type {any[]} */ ...args) => {
        const cb = args.pop()
        toCallback(this.#change(args[0], () => this.#call(name, count, args)), cb)
      }
    }
    for (const [name, count] of Object.entries(CHANGES_NOW)) {
      if (inner[name]) bound[name] = (/** @type {any[]} */ ...args) => this.#changeNow(name, count, args)
    }
    bound.realPath = (/** @type {string} */ file, /** @type {any} */ cb) => {
      if (this.#handle !== null && this.#isInside(file)) nextTick(cb, null, this.#realPathOf(file))
      else if (inner.realPath) inner.realPath(file, cb)
      else nextTick(cb, null, file)
    }
    if (inner.lock) {
      bound.lock = (/** @type {string} */ file, /** @type {any} */ request, /** @type {any} */ cb) => {
        const isHere = this.#handle !== null && [this.path, this.#realPath].includes(path.dirname(file))
        inner.lock(file, { ...request, ...(isHere ? { folder: this.#handle } : { at: this.#reach(file) }) }, cb)
      }
    }
    return bound
  }

  /** @param {string} file */
  #realPathOf (file) {
    return isWithin(file, this.path) ? path.join(this.#realPath, file.slice(this.path.length)) : file
  }

  /** @param {any[]} args  of `storage.open` */
  #open (...[file, options, cb]) {
    const run = async () => this.#adaptHandle(await this.#call('open', 1, [file, options]))
    toCallback(isMaking(options) ? this.#change(file, run) : run(), cb)
  }

  /**
   * Calls the given storage without waiting; the first `count` arguments are paths.
   * @type {(name: string, count: number, args: any[]) => any}
   */
  #changeNow (name, count, args) {
    const [file, options] = args
    const isChange = name !== 'openSync' || isMaking(options)
    const isInside = isChange && this.#isInside(file)
    if (isInside) {
      this.#checkOpen()
      this.proveSync()
    }
    const reach = this.#handle?.reach ?? null
    const reached = args.map((arg, index) => index < count ? this.#reach(arg) : arg)
    try {
      const result = /** @type {any} */ (this.#inner)[name](...reached)
      if (name === 'openSync') return this.#adaptHandle(result)
      if (isInside && this.#handle !== null && reach === null) this.proveSync()
      return result
    } catch (err) {
      throw this.#describe(err, reach)
    }
  }

  /**
   * Whoever syncs a file looks where its path leads. The folder's path may have been another one.
   * @param {StorageHandle} handle
   */
  #adaptHandle (handle) {
    const { isAt, isAtSync } = handle
    if (isAt) {
      handle.isAt = (name, cb) => toCallback(this.#isAt({ isAt: isAt.bind(handle) }, name), /** @type {any} */ (cb))
    }
    if (isAtSync) handle.isAtSync = (name) => isAtSync.call(handle, name) && this.#isHereSync(name)
    return handle
  }

  /** @type {(handle: { isAt: Required<StorageHandle>['isAt'] }, name: string) => Promise<boolean>} */
  async #isAt (handle, name) {
    const isThere = await promisesOf(handle).isAt(name)
    if (this.#handle === null || !this.#isInside(name) || isLockFile(name)) return isThere
    if (!await this.#isLockHere()) return !this.#noteMoved(lockTaken(this.path))
    // Whoever takes the lock looks again if another process has replaced its file. Here there is nothing to wait for.
    if (this.#isLocking) await this.prove()
    return isThere && promisesOf(this.#handle).isAt(this.path)
  }

  /** @param {string} name */
  #isHereSync (name) {
    if (this.#handle === null || !this.#isInside(name) || isLockFile(name)) return true
    if (!this.#isLockHereSync()) return !this.#noteMoved(lockTaken(this.path))
    return this.#handle.isAtSync(this.path)
  }

  /** @type {(file: string, run: () => Promise<any>) => Promise<any>} */
  async #change (file, run) {
    if (!this.#isInside(file)) return run()
    this.#checkOpen()
    await this.prove()
    const result = await run()
    if (this.#handle !== null && this.#handle.reach === null) await this.prove()
    return result
  }

  /** @type {(name: string, count: number, args: any[]) => void} */
  #pass (name, count, args) {
    const cb = args.pop()
    toCallback(this.#call(name, count, args), cb)
  }

  /**
   * Calls the given storage; the first `count` arguments are paths.
   * @type {(name: string, count: number, args: any[]) => Promise<any>}
   */
  async #call (name, count, args) {
    const reach = this.#handle?.reach ?? null
    const reached = args.map((arg, index) => index < count ? this.#reach(arg) : arg)
    const running = /** @type {any} */ (promisesOf(this.#inner))[name](...reached)
    this.#running.add(running)
    try {
      return await running
    } catch (err) {
      throw this.#describe(err, reach)
    } finally {
      this.#running.delete(running)
    }
  }

  #checkOpen () {
    if (this.#isClosed) throw new LogError('ERR_FILE_CLOSED', `${this.path} was closed; nothing was changed in it`, { path: this.path })
  }

  /** @type {(err: any, reach: string | null) => any} */
  #describe (err, reach) {
    return reach === null ? err : nameAsGiven(err, reach, this.path)
  }
}

/** @param {import('./storage').OpenOptions} options */
function isMaking ({ flags, mustExist }) {
  return flags === 'r+' && !mustExist
}

/** @param {string} name */
function isLockFile (name) {
  return path.basename(name) === LOCK_FILE
}

/** @type {(folder: string) => LogError} */
function lockTaken (folder) {
  return new LogError('ERR_FILE_MOVED', `${path.join(folder, LOCK_FILE)} is another file than the one that was locked: ` +
    'somebody has removed that, and another process may write this folder now. Close what is open, and let one process ' +
    'open it', { path: folder })
}

/** @type {(name: string, folder: string) => boolean} whether it is the folder or something in it */
function isWithin (name, folder) {
  return name.startsWith(folder) && (name.length === folder.length || ['/', path.sep].includes(name[folder.length]))
}

/**
 * Opens one file of a folder, alone, and takes the folder's lock for it.
 * @type {(storage: Storage, givenPath: string, request: import('./open').OpenRequest) =>
 *   Promise<import('./open').Opened>}
 */
async function openMember (storage, givenPath, request) {
  const filePath = storage.realPath ? await promisesOf(storage).realPath(givenPath) : givenPath
  const folder = new Folder(storage, path.dirname(filePath))
  const { createFolder, mustExist, lockTimeout, signal } = request
  await folder.open({ createFolder: createFolder && !mustExist, lock: true, lockTimeout, signal })
  const leave = () => folder.close({ leavesNothing: true })
  try {
    const own = { ...request, createFolder: false, lock: folder.lock ?? false }
    const { lock, ...opened } = await open(folder.storage, filePath, own)
    const release = (/** @type {any} */ cb) => toCallback(leave(), cb)
    return { ...opened, lock: lock && Object.assign(lock, { release }) }
  } catch (err) {
    await leave().catch(() => {})
    throw err
  }
}

exports.Folder = Folder
exports.LOCK_FILE = LOCK_FILE
exports.PLAIN_SEGMENT = PLAIN_SEGMENT
exports.SEGMENT_EXTENSIONS = SEGMENT_EXTENSIONS
exports.SEGMENT_NAME = SEGMENT_NAME
exports.openMember = openMember
