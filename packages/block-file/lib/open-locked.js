'use strict'
// Opens a file for its only writer. The kernel's lock is on the file itself, so it is taken once the file is open, and
// the name is looked up again afterwards: by then it may lead to another file. Where there is no such lock the record
// beside the file is the lock, and is taken before anything is made or changed.

const { performance } = require('node:perf_hooks')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { LogError } = require('@millrace/errors')
const { call, toCallback } = require('@millrace/flow')
const { fill, openOrCreate } = require('./create-file')

// A lock that somebody else has is asked for again after so long, which doubles up to the second of these.
const WAIT_MS_MIN = 2
const WAIT_MS_MAX = 25
// The kernel gives the lock of a killed process back once its last write has ended.
const DYING_MS_MAX = 1000
// A holder that is just opening or closing the file has no record beside it.
const NAMELESS_MS_MAX = 100

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./storage').StorageLock} StorageLock
 * @typedef {import('./create-file').Wish & { lock: boolean, lockTimeout: number }} Wish
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
 * @param {Wish} wish
 * @param {(err: Error | null, opened?: Opened) => void} cb
 */
function openLocked (storage, path, wish, cb) {
  toCallback(open(storage, path, wish), cb)
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {Wish} wish
 * @returns {Promise<Opened>}
 */
async function open (storage, path, wish) {
  // A reader neither needs a lock nor may make one.
  if (wish.flags === 'r') return openWithout(storage, path, wish)
  const realPath = storage.realPath ? await call(storage, 'realPath', path) : path
  if (!wish.lock || !storage.lock) return openWithout(storage, realPath, wish)
  return new LockedOpening(storage, realPath, wish).run()
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {Wish} wish
 * @returns {Promise<Opened>}
 */
async function openWithout (storage, path, wish) {
  return { ...await openAny(storage, path, wish), path, lock: null, past: 'unknown' }
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {Wish} wish
 * @returns {Promise<{ handle: StorageHandle, size: number }>}
 */
function openAny (storage, path, wish) {
  return new Promise((resolve, reject) => {
    openOrCreate(storage, path, wish, (err, handle, size = 0) => {
      if (err || !handle) reject(err)
      else resolve({ handle, size })
    })
  })
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
   * @param {Wish} wish
   */
  constructor (storage, filePath, wish) {
    this._storage = storage
    this._path = filePath
    /** A new file has this name until it has its first bytes. */
    this._aside = `${filePath}.new`
    this._wish = wish
    // What is to be undone if the file cannot be opened.
    /** @type {Set<StorageHandle>} */
    this._handles = new Set()
    /** @type {StorageLock | null} */
    this._lock = null
    this._hasMadeAside = false
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
        if (waitedMs >= Math.max(err.patienceMs, this._wish.lockTimeout)) throw err.reason
        await sleep(waitMs)
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
    const aside = await this._openNow(this._aside, false)
    if (aside === 'refused') return this._openByRecord()
    if (aside === 'busy' || aside === null) throw this._changesHands()
    return this._openByKernel(aside, this._aside)
  }

  /** Nothing may be made before it is known which lock there is to take. */
  async _hasKernelLocks () {
    if (!this._storage.hasKernelLocks) return false
    return call(this._storage, 'hasKernelLocks', this._path, { createFolder: this._wish.createFolder })
  }

  /**
   * @param {string} name
   * @param {boolean} mustExist
   * @returns {Promise<StorageHandle | 'busy' | 'refused' | null>}  null if there is no such file; on some systems it
   *   is opening that takes the kernel's lock, or fails to
   */
  async _openNow (name, mustExist) {
    const createFolder = !mustExist && this._wish.createFolder
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
    const isNew = name === this._aside
    if (outcome === 'busy') throw isNew ? this._changesHands() : await this._describeHolder()
    if (!await isAt(handle, name)) throw this._changesHands()
    this._hasMadeAside = isNew && await call(handle, 'size') === 0
    const { inode } = handle.stat ? await call(handle, 'stat') : { inode: undefined }
    this._lock = await this._takeRecord({ createFolder: false, isKernelHeld: true, inode })
    this._hasMadeAside ||= isNew
    return this._settle(await this._makeWhole(handle, isNew))
  }

  /**
   * Where there is no lock of the kernel.
   * @returns {Promise<Opened>}
   */
  async _openByRecord () {
    this._lock = await this._takeRecord({ createFolder: this._wish.createFolder, isKernelHeld: false })
    const { handle } = await openAny(this._storage, this._path, this._wish)
    this._handles.add(handle)
    return this._settle(handle)
  }

  /**
   * @param {import('./storage').LockWish} wish
   * @returns {Promise<StorageLock>}
   */
  async _takeRecord (wish) {
    try {
      return await call(this._storage, 'lock', this._path, wish)
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
    if (!isNew && (this._wish.initial === null || await call(handle, 'size') > 0)) return handle
    if (isNew) return this._publish(handle, null)
    const aside = await this._openNow(this._aside, false)
    if (aside === null || typeof aside === 'string') throw this._changesHands()
    if (await call(aside, 'tryLock') !== 'held' || !await isAt(aside, this._aside)) throw this._changesHands()
    this._hasMadeAside = true
    return this._publish(aside, handle)
  }

  /**
   * Gives a new file its bytes, and then its name.
   * @param {StorageHandle} aside  locked
   * @param {StorageHandle | null} empty  locked too: the file whose place it takes
   */
  async _publish (aside, empty) {
    const { _aside: from, _path: to, _storage: storage, _wish: { initial } } = this
    await fillWhole(aside, initial === null ? Buffer.alloc(0) : initial())
    if (empty !== null && storage.copyOwnership) await call(storage, 'copyOwnership', to, from)
    const isFree = empty === null ? await this._openNow(to, true) === null : await isAt(empty, to)
    if (!isFree) throw this._changesHands()
    await call(storage, 'rename', from, to)
    this._hasMadeAside = false
    await call(storage, 'syncFolder', path.dirname(to))
    return aside
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
    if (this._hasMadeAside) await call(this._storage, 'unlink', this._aside).catch(() => {})
    this._hasMadeAside = false
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
 * @param {StorageHandle} handle
 * @param {Buffer} bytes
 * @returns {Promise<void>}
 */
function fillWhole (handle, bytes) {
  return new Promise((resolve, reject) => fill(handle, bytes, (err) => err ? reject(err) : resolve()))
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
  try {
    await first()
  } finally {
    await second()
  }
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
exports.replaceLocked = replaceLocked
