'use strict'
// Opens a file, or makes one that has its first bytes from the beginning, and locks it for its only writer.
//
// A new file is written under a temporary name, synced, and renamed into place: so it exists with all of its first
// bytes or not at all. The kernel's lock is on the file itself, so it is taken once the file is open, and the name is
// looked up again afterwards: by then it may lead to another file. Where there is no such lock, the record beside the
// file is the lock, and is taken before anything is made or changed.

const { performance } = require('node:perf_hooks')
const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { call, pause, toCallback, toPromise } = require('@millrace/flow')
const { writeWhole } = require('./whole-io')

// A lock that somebody else has is asked for again after so long, which doubles up to the second of these.
const WAIT_MS_MIN = 2
const WAIT_MS_MAX = 25
// The kernel gives the lock of a killed process back once its last write has ended.
const DYING_MS_MAX = 1000
// A holder that is just opening or closing the file has no record beside it.
const NAMELESS_MS_MAX = 1000

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
 * @property {boolean} lock
 * @property {number} lockTimeout  in ms
 */

/**
 * @typedef {object} Opened
 * @property {StorageHandle} handle
 * @property {number} size  in bytes
 * @property {string} path  with no symlink in it, if it may be written
 * @property {StorageLock | null} lock
 * @property {import('./storage').Past} past
 */

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {OpenRequest} request
 * @param {(err: Error | null, opened?: Opened) => void} cb
 */
function openLocked (storage, path, request, cb) {
  toCallback(open(storage, path, request), cb)
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {OpenRequest} request
 * @returns {Promise<Opened>}
 */
async function open (storage, path, request) {
  // A reader neither needs a lock nor may make one.
  if (request.flags === 'r') return openWithout(storage, path, request)
  const realPath = storage.realPath ? await call(storage, 'realPath', path) : path
  if (!request.lock || !storage.lock) return openWithout(storage, realPath, request)
  return new LockedOpening(storage, realPath, request).run()
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {OpenRequest} request
 * @returns {Promise<Opened>}
 */
async function openWithout (storage, path, request) {
  return { ...await openOrCreate(storage, path, request), path, lock: null, past: 'unknown' }
}

/** The lock is somebody else's, for now. */
class Busy extends Error {
  /**
   * @param {unknown} reason  what to fail with
   * @param {number} patienceMs  for how long to ask again, even for a caller who does not want to wait
   */
  constructor (reason, patienceMs) {
    super('busy')
    this.reason = reason
    this.patienceMs = patienceMs
  }
}

class LockedOpening {
  /**
   * @param {Storage} storage  that has locks
   * @param {string} filePath  with no symlink in it
   * @param {OpenRequest} request
   */
  constructor (storage, filePath, request) {
    this._storage = storage
    this._path = filePath
    /** A new file has this name until it has its first bytes. */
    this._temporaryPath = temporaryPathOf(filePath)
    this._request = request
    // What is to be undone if the file cannot be opened.
    /** @type {Set<StorageHandle>} */
    this._handles = new Set()
    /** @type {StorageLock | null} */
    this._lock = null
    this._hasMadeTemporary = false
  }

  /** @returns {Promise<Opened>} */
  async run () {
    const beganMs = performance.now()
    for (let waitMs = WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
      try {
        return await this._open()
      } catch (err) {
        await this._undo()
        if (!(err instanceof Busy)) throw err
        const waitedMs = performance.now() - beganMs
        if (waitedMs >= Math.max(err.patienceMs, this._request.lockTimeout)) throw err.reason
        await pause(waitMs)
      }
    }
  }

  /** @returns {Promise<Opened>} */
  async _open () {
    const existing = await this._openNow(this._path, true)
    if (existing === 'refused') return this._openByRecord()
    if (existing === 'busy') throw await this._describeHolder()
    if (existing !== null) return this._openByKernel(existing, this._path)
    if (!await this._hasKernelLocks()) return this._openByRecord()
    const temporary = await this._openNow(this._temporaryPath, false)
    if (temporary === 'refused') return this._openByRecord()
    if (temporary === 'busy') throw await this._describeHolder()
    if (temporary === null) throw this._changesHands()
    return this._openByKernel(temporary, this._temporaryPath)
  }

  /** Nothing may be made before it is known which lock there is to take. */
  async _hasKernelLocks () {
    if (!this._storage.hasKernelLocks) return false
    return call(this._storage, 'hasKernelLocks', this._path, { createFolder: this._request.createFolder })
  }

  /**
   * @param {string} name
   * @param {boolean} mustExist
   * @returns {Promise<StorageHandle | 'busy' | 'refused' | null>}  null if there is no such file; on some systems it
   *   is opening that takes the kernel's lock, or fails to
   */
  async _openNow (name, mustExist) {
    const createFolder = !mustExist && this._request.createFolder
    try {
      const handle = await call(this._storage, 'open', name, { flags: 'r+', createFolder, mustExist, isExclusive: true })
      this._handles.add(handle)
      return handle
    } catch (err) {
      const { code, lockOutcome } = /** @type {any} */ (err)
      if (lockOutcome) return lockOutcome
      if (code === 'ENOENT' && mustExist) return null
      throw err
    }
  }

  /**
   * @param {StorageHandle} handle
   * @param {string} name  that it was opened by: the file's, or that of one that is to become it
   * @returns {Promise<Opened>}
   */
  async _openByKernel (handle, name) {
    const outcome = handle.tryLock ? await call(handle, 'tryLock') : 'refused'
    if (outcome === 'refused') {
      await this._close(handle)
      return this._openByRecord()
    }
    const isNew = name === this._temporaryPath
    // Of a new file it is the one that makes it; however slow it is, it has said who it is.
    if (outcome === 'busy') throw await this._describeHolder()
    if (!await isAt(handle, name)) throw this._changesHands()
    this._hasMadeTemporary = isNew && await call(handle, 'size') === 0
    const { inode } = handle.stat ? await call(handle, 'stat') : { inode: undefined }
    this._lock = await this._takeRecord({ createFolder: false, isKernelHeld: true, inode })
    this._hasMadeTemporary ||= isNew
    return this._settle(await this._makeWhole(handle, isNew))
  }

  /**
   * Where there is no lock of the kernel.
   * @returns {Promise<Opened>}
   */
  async _openByRecord () {
    this._lock = await this._takeRecord({ createFolder: this._request.createFolder, isKernelHeld: false })
    const { handle } = await openOrCreate(this._storage, this._path, this._request)
    this._handles.add(handle)
    return this._settle(handle)
  }

  /**
   * @param {import('./storage').LockRequest} request
   * @returns {Promise<StorageLock>}
   */
  async _takeRecord (request) {
    try {
      return await call(this._storage, 'lock', this._path, request)
    } catch (err) {
      throw /** @type {any} */ (err).code === 'ERR_LOG_LOCKED' ? new Busy(err, 0) : err
    }
  }

  /**
   * @param {StorageHandle} handle
   * @returns {Promise<Opened>}
   */
  async _settle (handle) {
    const lock = /** @type {StorageLock} */ (this._lock)
    await call(lock, 'noteFile')
    const size = await call(handle, 'size')
    const opened = { handle, size, path: this._path, lock, past: await findPast(lock, handle) }
    this._handles.delete(handle)
    this._lock = null
    await this._undo()
    return opened
  }

  /**
   * @param {StorageHandle} handle  locked
   * @param {boolean} isNew  whether it is of the file that is to become the one that was asked for
   * @returns {Promise<StorageHandle>}  of the file with its first bytes, locked
   */
  async _makeWhole (handle, isNew) {
    if (!isNew && (this._request.initial === null || await call(handle, 'size') > 0)) return handle
    if (isNew) return this._publish(handle, null)
    const temporary = await this._openNow(this._temporaryPath, false)
    if (temporary === null || typeof temporary === 'string') throw this._changesHands()
    if (await call(temporary, 'tryLock') !== 'held' || !await isAt(temporary, this._temporaryPath)) throw this._changesHands()
    this._hasMadeTemporary = true
    return this._publish(temporary, handle)
  }

  /**
   * Gives a new file its bytes, and then its name.
   * @param {StorageHandle} temporary  locked
   * @param {StorageHandle | null} empty  locked too: the file whose place it takes
   */
  async _publish (temporary, empty) {
    const { _temporaryPath: from, _path: to, _storage: storage, _request: { initial } } = this
    await fill(temporary, initial === null ? Buffer.alloc(0) : initial())
    if (empty !== null && storage.copyOwnership) await call(storage, 'copyOwnership', to, from)
    const isFree = empty === null ? await this._openNow(to, true) === null : await isAt(empty, to)
    if (!isFree) throw this._changesHands()
    await call(storage, 'rename', from, to)
    this._hasMadeTemporary = false
    await call(storage, 'syncFolder', path.dirname(to))
    return temporary
  }

  /** The name leads to a file that somebody has replaced, or is just making: begin anew. */
  _changesHands () {
    const message = `open: ${this._path} is being made or replaced by other processes, again and again; stop them, or wait`
    return new Busy(new LogError('ERR_LOG_LOCKED', message, { path: this._path }), DYING_MS_MAX)
  }

  /** @returns {Promise<Busy>} */
  async _describeHolder () {
    if (!this._storage.findHolder) return this._changesHands()
    /** @type {import('./storage').LockHolder} */
    const { error, state } = await call(this._storage, 'findHolder', this._path)
    return new Busy(error, { alive: 0, dying: DYING_MS_MAX, nameless: NAMELESS_MS_MAX }[state])
  }

  /** Closes what is open, and leaves no file behind. */
  async _undo () {
    // What others have open of it they find to be gone, for this is done while it is still locked.
    if (this._hasMadeTemporary) await call(this._storage, 'unlink', this._temporaryPath).catch(() => {})
    this._hasMadeTemporary = false
    const lock = this._lock
    this._lock = null
    const close = async () => {
      for (const handle of [...this._handles]) await this._close(handle).catch(() => {})
    }
    if (lock?.kind === 'file') await close()
    if (lock) await call(lock, 'release', this._path).catch(() => {})
    await close()
  }

  /** @param {StorageHandle} handle */
  async _close (handle) {
    this._handles.delete(handle)
    await call(handle, 'close')
  }
}

/**
 * @param {Storage} storage
 * @param {string} filePath
 * @param {OpenRequest} request
 * @returns {Promise<Sized>}
 */
async function openOrCreate (storage, filePath, { flags, createFolder, initial }) {
  if (flags === 'r' || initial === null) return openSized(storage, filePath, { flags, createFolder })
  const existing = { flags, createFolder: false, mustExist: true }
  const found = await openSized(storage, filePath, existing).catch((err) => {
    if (err.code === 'ENOENT') return null
    throw err
  })
  if (found !== null && found.size > 0) return found
  if (found !== null) await call(found.handle, 'close')
  await createFile(storage, filePath, { createFolder, bytes: initial(), isThere: found !== null })
  return openSized(storage, filePath, existing)
}

/**
 * @param {Storage} storage
 * @param {string} filePath
 * @param {import('./storage').OpenOptions} options
 * @returns {Promise<Sized>}
 */
async function openSized (storage, filePath, options) {
  const handle = await call(storage, 'open', filePath, options)
  try {
    return { handle, size: await call(handle, 'size') }
  } catch (err) {
    await call(handle, 'close').catch(() => {})
    throw err
  }
}

/**
 * @param {Storage} storage
 * @param {string} filePath  an empty file there is replaced
 * @param {{ createFolder: boolean, bytes: Buffer, isThere: boolean }} options
 */
async function createFile (storage, filePath, { createFolder, bytes, isThere }) {
  const temporary = temporaryPathOf(filePath)
  try {
    const handle = await call(storage, 'open', temporary, { flags: 'r+', createFolder })
    await finishWith(() => fill(handle, bytes), () => call(handle, 'close'))
    if (isThere && storage.copyOwnership) await call(storage, 'copyOwnership', filePath, temporary)
  } catch (err) {
    await call(storage, 'unlink', temporary).catch(() => {})
    throw err
  }
  await call(storage, 'rename', temporary, filePath)
  await call(storage, 'syncFolder', path.dirname(filePath))
}

/**
 * @param {string} filePath
 * @returns {string}  the name of a new file until it has its first bytes
 */
function temporaryPathOf (filePath) {
  return `${filePath}.new`
}

/**
 * @param {StorageHandle} handle  what is in the file goes
 * @param {Buffer} bytes  that are on stable storage then
 */
async function fill (handle, bytes) {
  await call(handle, 'truncate', 0)
  if (bytes.length > 0) await toPromise((cb) => writeWhole(handle, bytes, 0, cb))
  await call(handle, 'sync')
}

/**
 * @param {() => Promise<unknown>} first
 * @param {() => Promise<unknown>} last  runs in any case; if both fail the first error counts
 */
async function finishWith (first, last) {
  try {
    await first()
  } catch (err) {
    await last().catch(() => {})
    throw err
  }
  await last()
}

/**
 * @param {StorageHandle} handle
 * @param {string} name
 * @returns {Promise<boolean>}
 */
async function isAt (handle, name) {
  return handle.isAt ? call(handle, 'isAt', name) : true
}

/**
 * The kernel tells of a failed writeback once to each descriptor, and to a new one if nobody has been told yet.
 * @param {StorageLock} lock
 * @param {StorageHandle} handle  new
 * @returns {Promise<import('./storage').Past>}
 */
async function findPast (lock, handle) {
  const past = lock.findPast ? await call(lock, 'findPast') : 'unknown'
  if (past !== 'intact') return past
  return call(handle, 'sync').then(() => 'intact', () => 'unknown')
}

/**
 * The record goes first where it is only a record: one that is free belongs to the next holder. Where it is the lock
 * the file must be closed before.
 * @param {string} filePath
 * @param {StorageHandle} handle
 * @param {StorageLock | null} lock
 * @param {(err: Error | null) => void} cb
 */
function closeLocked (filePath, handle, lock, cb) {
  toCallback(close(filePath, handle, lock), cb)
}

/**
 * @param {string} filePath
 * @param {StorageHandle} handle
 * @param {StorageLock | null} lock
 */
async function close (filePath, handle, lock) {
  if (lock === null) return call(handle, 'close')
  // Somebody may have renamed its folder, lock and all.
  const pathNow = await isAt(handle, filePath) || !handle.findPath ? filePath : await call(handle, 'findPath').catch(() => filePath)
  const steps = [() => call(lock, 'release', pathNow), () => call(handle, 'close')]
  const [first, second] = lock.kind === 'kernel' ? steps : steps.reverse()
  await finishWith(first, second)
}

/**
 * While a file is being replaced its lock does not say which one it is.
 * @param {StorageLock | null} lock
 * @param {(cb: (err: Error | null) => void) => void} replace
 * @param {(err: Error | null) => void} cb
 */
function replaceLocked (lock, replace, cb) {
  if (lock === null) return replace(cb)
  lock.forgetFile((err) => {
    if (err) return cb(err)
    // If it cannot say so afterwards either, it locks the file as well as before.
    replace((err) => lock.noteFile(() => cb(err)))
  })
}

exports.openLocked = openLocked
exports.closeLocked = closeLocked
exports.openSized = openSized
exports.replaceLocked = replaceLocked
