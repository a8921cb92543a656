'use strict'
// Opens a file, creates it with its first bytes if needed, and locks it for its only writer.
//
// - A new file is written under a temporary name, synced, and renamed. So it has all of its first bytes or does not
//   exist.
// - If the kernel has a lock: the lock is on the file itself, so it is taken after opening. The path may lead to
//   another file by then, so it is looked up again.
// - If it has none: the record beside the file is the lock, and is taken before anything is created or changed.
// - If the file belongs to a folder that is locked, that lock covers it, and nothing more is locked.

const { performance } = require('node:perf_hooks')
const path = require('node:path')
const { nextTick } = require('node:process')
const { LogError } = require('@millrace/errors')
const { abortError, pause, promisesOf, toPromise } = require('@millrace/flow')
const { writeWhole } = require('./whole-io')

/** The end of the name of a new file until it has its first bytes. */
const TEMPORARY = '.new'
// Pauses between attempts to take a lock that is held. Each is twice as long as the one before.
const WAIT_MS_MIN = 2
const WAIT_MS_MAX = 25
// How long to try again even if the caller does not want to wait. The kernel releases the lock of a killed process only
// after its last write. A holder that is just opening or closing the file has no record.
// A busy machine may take a second between the lock and the record.
const PATIENCE_MS = { alive: 0, dying: 3000, nameless: 3000 }

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./storage').StorageLock} StorageLock
 * @typedef {{ handle: StorageHandle, size: number }} Sized
 */

/**
 * @typedef {object} OpenRequest
 * @property {'r' | 'r+'} flags
 * @property {boolean} createFolder
 * @property {(() => Buffer) | null} initial  makes the bytes of a file that is missing or empty
 * @property {boolean | StorageLock} lock  or the lock of the file's folder, which is held
 * @property {number} lockTimeout  in ms
 * @property {boolean} mustExist  nothing is made
 * @property {boolean} errorIfExists
 * @property {AbortSignal | null} signal  ends the waiting for a lock
 */

/**
 * @typedef {object} Opened
 * @property {StorageHandle} handle
 * @property {number} size  in bytes
 * @property {string} path  with no symlink in it, if it may be written
 * @property {StorageLock | null} lock
 * @property {import('./storage').Past} past
 */

/** @type {(storage: Storage, givenPath: string, request: OpenRequest) => Promise<Opened>} */
async function open (storage, givenPath, request) {
  const { signal } = request
  if (signal?.aborted) throw abortError('open', signal)
  // Readers need no lock, and must not create files.
  const isReader = request.flags === 'r'
  const filePath = isReader || !storage.realPath ? givenPath : await promisesOf(storage).realPath(givenPath)
  if (isReader || !request.lock || !storage.lock) {
    return { ...await openOrCreate(storage, filePath, request), path: filePath, lock: null, past: 'unknown' }
  }
  if (typeof request.lock === 'object') return openCovered(storage, filePath, request, request.lock)
  return openLocked(storage, filePath, request)
}

/** Tries again while another holder has the lock. @type {typeof open} */
async function openLocked (storage, filePath, request) {
  const { signal } = request
  const beganMs = performance.now()
  for (let waitMs = WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    const opening = new LockedOpening(storage, filePath, request)
    try {
      return await opening.run()
    } catch (/** @type {any} */ failure) {
      await opening.undo()
      // Another holder may have the record alone.
      const err = failure?.code === 'ERR_LOG_LOCKED' ? new Busy(failure, 0) : failure
      if (!(err instanceof Busy)) throw err
      const waitedMs = performance.now() - beganMs
      if (waitedMs >= Math.max(err.patienceMs, request.lockTimeout)) throw err.reason
      if (signal?.aborted) throw abortError('open', signal)
      await pause(waitMs)
    }
  }
}

/** @type {(storage: Storage, filePath: string, request: OpenRequest, folderLock: StorageLock) => Promise<Opened>} */
async function openCovered (storage, filePath, request, folderLock) {
  const { handle, size } = await openOrCreate(storage, filePath, request)
  try {
    const lock = folderLock.cover ? await promisesOf(folderLock).cover(filePath) : standInFor(folderLock)
    return { handle, size, path: filePath, lock, past: await findPast(lock, handle) }
  } catch (err) {
    await promisesOf(handle).close().catch(() => {})
    throw err
  }
}

/**
 * For a storage whose locks know nothing of folders: the lock of a folder, as that of one file in it. Whoever closes
 * the file does not release the folder.
 * @type {(folderLock: StorageLock) => StorageLock}
 */
function standInFor (folderLock) {
  const done = (/** @type {import('@millrace/errors').NodeCallback<any>} */ cb) => nextTick(cb, null)
  const { kind = 'file', blindSpot = null } = folderLock
  const releaseSync = () => folderLock.releaseSync?.()
  return { kind, blindSpot, isOfFolder: true, noteFile: done, forgetFile: done, release: done, releaseSync }
}

/** @type {(lock: StorageLock, handle: StorageHandle) => Promise<import('./storage').Past>} */
async function findPast (lock, handle) {
  const past = lock.findPast ? await promisesOf(lock).findPast() : 'unknown'
  if (past !== 'intact' && past !== 'unsynced') return past
  // The kernel reports a failed writeback once to each descriptor, and to a new one if no process has seen the failure.
  return promisesOf(handle).sync().then(() => past, () => 'unknown')
}

/** Another holder has the lock for now. */
class Busy extends Error {
  /** @param {unknown} reason  the error for the user  @param {number} patienceMs  see `PATIENCE_MS` */
  constructor (reason, patienceMs) {
    super('busy')
    this.reason = reason
    this.patienceMs = patienceMs
  }
}

/** One attempt to open a file and lock it. `undo` takes back what a failed one has done. */
class LockedOpening {
  #storage
  #path
  /** The name of a new file until it has its first bytes. */
  #temporaryPath
  #request
  // What `undo` undoes if opening fails.
  /** @type {Set<StorageHandle>} */
  #handles = new Set()
  /** @type {StorageLock | null} */
  #lock = null
  #hasMadeTemporary = false

  /** @param {Storage} storage  @param {string} filePath  @param {OpenRequest} request */
  constructor (storage, filePath, request) {
    this.#storage = storage
    this.#path = filePath
    this.#temporaryPath = filePath + TEMPORARY
    this.#request = request
  }

  /** @returns {Promise<Opened>} */
  async run () {
    const storage = promisesOf(this.#storage)
    const { initial, createFolder } = this.#request
    let handle = await this.#openByKernel(this.#path, true)
    const isNew = handle === null
    checkPresence(this.#path, this.#request, !isNew)
    if (isNew) {
      // Nothing may be created before it is known which lock applies.
      const hasLocks = this.#storage.hasKernelLocks !== undefined &&
        await storage.hasKernelLocks(this.#path, { createFolder })
      handle = hasLocks ? await this.#openByKernel(this.#temporaryPath, false) : 'refused'
    }
    if (handle === null) throw this.#changesHands()
    // If the file is new, the holder is the process that creates it. It writes its record first, so even a slow creator
    // has a name.
    if (handle === 'busy') throw await this.#describeHolder()
    if (handle === 'refused') return this.#openByRecord()
    if (isNew) await this.#beginNew(handle)
    const found = handle.stat
      ? await promisesOf(handle).stat()
      : { size: await promisesOf(handle).size(), inode: undefined }
    const { inode } = found
    const lock = this.#lock = await storage.lock(this.#path, { createFolder: false, isKernelHeld: true, inode })
    this.#hasMadeTemporary ||= isNew
    let { size } = found
    if (isNew || (initial !== null && size === 0)) {
      handle = await this.#publish(handle, isNew)
      size = await promisesOf(handle).size()
    }
    // From now on nobody replaces it.
    if (isNew || found.size === 0) await promisesOf(lock).noteFile()
    return { handle, size, path: this.#path, lock, past: await findPast(lock, handle) }
  }

  /** The kernel has no lock, so the record is the lock. @returns {Promise<Opened>} */
  async #openByRecord () {
    const { createFolder } = this.#request
    const lock = this.#lock = await promisesOf(this.#storage).lock(this.#path, { createFolder, isKernelHeld: false })
    const { handle, size } = await openOrCreate(this.#storage, this.#path, this.#request)
    this.#handles.add(handle)
    await promisesOf(lock).noteFile()
    return { handle, size, path: this.#path, lock, past: await findPast(lock, handle) }
  }

  /** @param {StorageHandle} handle  of the new file, under its temporary name */
  async #beginNew (handle) {
    this.#hasMadeTemporary = await promisesOf(handle).size() === 0
    // Another process may have made the file just before. Its record must not be taken for that of a dead holder.
    if (await this.#openNow(this.#path, true) !== null) throw this.#changesHands()
  }

  // Opens and locks a file and checks that it still has the name. Null if there is no such file.
  /** @type {(name: string, mustExist: boolean) => Promise<StorageHandle | 'busy' | 'refused' | null>} */
  async #openByKernel (name, mustExist) {
    const handle = await this.#openNow(name, mustExist)
    if (handle === null || typeof handle === 'string') return handle
    const outcome = handle.tryLock ? await promisesOf(handle).tryLock() : 'refused'
    if (outcome === 'refused') await this.#close(handle)
    if (outcome !== 'held') return outcome
    if (handle.isAt && !await promisesOf(handle).isAt(name)) throw this.#changesHands()
    return handle
  }

  // Opens a file. Null if there is none. On systems where `open` takes the lock, a string says why it cannot.
  /** @type {(name: string, mustExist: boolean) => Promise<StorageHandle | 'busy' | 'refused' | null>} */
  async #openNow (name, mustExist) {
    const createFolder = !mustExist && this.#request.createFolder
    try {
      const handle = await promisesOf(this.#storage).open(name, { flags: 'r+', createFolder, mustExist, isExclusive: true })
      this.#handles.add(handle)
      return handle
    } catch (/** @type {any} */ err) {
      if (err.lockOutcome) return err.lockOutcome
      if (err.code === 'ENOENT' && mustExist) return null
      throw err
    }
  }

  /**
   * Gives a new file its bytes, and then its name. It replaces the file that is there, if that is an empty one.
   * @param {StorageHandle} opened  locked: the new file under its temporary name, or the empty one
   * @param {boolean} isNew
   * @returns {Promise<StorageHandle>}  of the new file, which is locked
   */
  async #publish (opened, isNew) {
    const [storage, from, to, { initial }] = [promisesOf(this.#storage), this.#temporaryPath, this.#path, this.#request]
    const temporary = isNew ? opened : await this.#openByKernel(from, false)
    if (temporary === null || typeof temporary === 'string') throw this.#changesHands()
    this.#hasMadeTemporary = true
    await fill(temporary, initial === null ? Buffer.alloc(0) : initial())
    if (!isNew && this.#storage.copyOwnership) await storage.copyOwnership(to, from)
    const isFree = isNew
      ? await this.#openNow(to, true) === null
      : !opened.isAt || await promisesOf(opened).isAt(to)
    if (!isFree) throw this.#changesHands()
    await storage.rename(from, to)
    this.#hasMadeTemporary = false
    await storage.syncFolder(path.dirname(to))
    if (!isNew) await this.#close(opened).catch(() => {})
    return temporary
  }

  /** Another process has replaced the file or is creating it, so the caller starts over. */
  #changesHands () {
    const message = `open: ${this.#path} is being made or replaced by other processes, again and again; stop them, or wait`
    return new Busy(new LogError('ERR_LOG_LOCKED', message, { path: this.#path }), PATIENCE_MS.dying)
  }

  /** @returns {Promise<Busy>} */
  async #describeHolder () {
    if (!this.#storage.findHolder) return this.#changesHands()
    /** @type {import('./storage').LockHolder} */
    const { error, state } = await promisesOf(this.#storage).findHolder(this.#path)
    return new Busy(error, PATIENCE_MS[state])
  }

  /** Closes the handles, and removes the record and the temporary file. */
  async undo () {
    // Before the lock is released: another process that has the file open then finds that the name is gone.
    if (this.#hasMadeTemporary) await promisesOf(this.#storage).unlink(this.#temporaryPath).catch(() => {})
    const lock = this.#lock
    const isRecord = lock?.kind === 'file'
    if (lock && !isRecord) await promisesOf(lock).release().catch(() => {})
    for (const handle of [...this.#handles]) await this.#close(handle).catch(() => {})
    if (lock && isRecord) await promisesOf(lock).release().catch(() => {})
  }

  /** @param {StorageHandle} handle */
  async #close (handle) {
    this.#handles.delete(handle)
    await promisesOf(handle).close()
  }
}

/** @type {(storage: Storage, filePath: string, request: OpenRequest) => Promise<Sized>} */
async function openOrCreate (storage, filePath, request) {
  const { flags, createFolder, initial, mustExist, errorIfExists } = request
  const looksFirst = initial !== null || mustExist || errorIfExists
  if (flags === 'r' || !looksFirst) return openSized(storage, filePath, { flags, createFolder })
  const existing = { flags, createFolder: false, mustExist: true }
  const found = await openSized(storage, filePath, existing).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  if (found !== null && !errorIfExists && (found.size > 0 || initial === null)) return found
  if (found !== null) await promisesOf(found.handle).close()
  checkPresence(filePath, request, found !== null)
  if (initial === null) return openSized(storage, filePath, { flags, createFolder })
  await createFile(storage, filePath, { createFolder, bytes: initial(), isThere: found !== null })
  return openSized(storage, filePath, existing)
}

/**
 * @param {string} filePath
 * @param {OpenRequest} request
 * @param {boolean} exists
 * @throws {LogError} EEXIST, ENOENT
 */
function checkPresence (filePath, { mustExist, errorIfExists }, exists) {
  if (exists && errorIfExists) {
    throw new LogError('EEXIST', `open: ${filePath} exists, and errorIfExists was given; nothing was changed`, { path: filePath })
  }
  if (exists || !mustExist) return
  throw new LogError('ENOENT', `open: there is no file ${filePath}, and mustExist was given; nothing was made`, { path: filePath })
}

/** @type {(storage: Storage, filePath: string, options: import('./storage').OpenOptions) => Promise<Sized>} */
async function openSized (storage, filePath, options) {
  const handle = await promisesOf(storage).open(filePath, options)
  try {
    return { handle, size: await promisesOf(handle).size() }
  } catch (err) {
    await promisesOf(handle).close().catch(() => {})
    throw err
  }
}

// Creates a file under its temporary name and renames it. If `isThere`, an empty file is replaced.
/**
 * @type {(storage: Storage, filePath: string, options: { createFolder: boolean, bytes: Buffer, isThere: boolean }) =>
 *   Promise<void>}
 */
async function createFile (storage, filePath, { createFolder, bytes, isThere }) {
  const temporary = filePath + TEMPORARY
  await makeNameless(storage, temporary, { createFolder, bytes }, async () => {
    if (isThere && storage.copyOwnership) await promisesOf(storage).copyOwnership(filePath, temporary)
  })
  await promisesOf(storage).rename(temporary, filePath)
  await promisesOf(storage).syncFolder(path.dirname(filePath))
}

/**
 * Makes a file under its temporary name, with its first bytes, on stable storage. If that fails, the file is removed.
 * @type {(storage: Storage, temporary: string, options: { createFolder: boolean, bytes: Buffer },
 *   complete?: () => Promise<void>) => Promise<void>}
 */
async function makeNameless (storage, temporary, { createFolder, bytes }, complete = async () => {}) {
  try {
    const handle = await promisesOf(storage).open(temporary, { flags: 'r+', createFolder })
    await inTurn(() => fill(handle, bytes), () => promisesOf(handle).close())
    await complete()
  } catch (err) {
    await promisesOf(storage).unlink(temporary).catch(() => {})
    throw err
  }
}

/** Replaces the contents of a file and syncs them. @type {(handle: StorageHandle, bytes: Buffer) => Promise<void>} */
async function fill (handle, bytes) {
  await promisesOf(handle).truncate(0)
  if (bytes.length > 0) await toPromise((cb) => writeWhole(handle, bytes, 0, cb))
  await promisesOf(handle).sync()
}

// Runs both functions, even if the first one fails. If both fail, the first error counts.
/** @type {(first: () => Promise<unknown>, last: () => Promise<unknown>) => Promise<void>} */
async function inTurn (first, last) {
  try {
    await first()
  } catch (err) {
    await last().catch(() => {})
    throw err
  }
  await last()
}

// If the kernel holds the lock, the record is removed before the file is closed: afterwards it belongs to the next
// holder. If the record is the lock, the file must be closed first.
/** @type {(handle: StorageHandle, lock: StorageLock | null) => Promise<any>} */
async function close (handle, lock) {
  if (lock === null) return promisesOf(handle).close()
  const [release, close] = [() => promisesOf(lock).release(), () => promisesOf(handle).close()]
  await (lock.kind === 'kernel' ? inTurn(release, close) : inTurn(close, release))
}

exports.open = open
exports.openSized = openSized
exports.makeNameless = makeNameless
exports.close = close
