'use strict'
// The record of a lock: a small file beside the log, `<path>.lock`, as described in docs/format.md. It says who has the
// log open. Where the kernel holds a lock on the log itself, that is all; elsewhere the record is the lock.

const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const { call, toCallback } = require('@millrace/flow')
const { notAFile } = require('../whole-io')
const { identifyMount, nameOfLocal } = require('./kernel-lock')
const { askForLifeSign, giveLifeSign, checkLiveness, removeLifeSign, thisThread } = require('./liveness')
const { lockedError, lockFiles, parseRecord, readLockSync } = require('./record')
const { take } = require('./acquire')

/**
 * @typedef {import('./record').FileIdentity} FileIdentity
 * @typedef {import('./record').LockRecord} LockRecord
 * @typedef {import('./acquire').Obstacle} Obstacle
 * @typedef {import('./liveness').Place} Place
 * @typedef {(err: Error | null) => void} Done
 * @typedef {object} Company  what goes with the record: a sign of life, or a guard
 * @property {() => Promise<void>} leave
 * @property {() => void} leaveSync
 */

// libuv's flag for opening a file that nobody else may open; fs.constants does not name it.
const UV_FS_O_EXLOCK = 0x10000000

/** @typedef {import('../storage').LockRequest} LockRequest */

/**
 * @param {string} filePath  with no symlink in it
 * @param {LockRequest} request
 * @param {import('../storage').Callback<import('../storage').StorageLock>} cb  ERR_LOG_LOCKED if somebody else has it
 */
function lockFile (filePath, request, cb) {
  toCallback(lock(filePath, request), cb)
}

/**
 * @param {string} filePath
 * @param {LockRequest} request
 * @returns {Promise<FileLock>}
 */
async function lock (filePath, request) {
  const [file, localFileSystem] = await Promise.all([identify(filePath), nameOfLocal(path.dirname(filePath))])
  const self = { ...thisThread(), localFileSystem }
  const guard = await openGuard(filePath)
  if (guard === 'busy') throw (await describeHolder(filePath)).error
  const isKernelHeld = request.isKernelHeld === true || guard !== null
  const lifeSign = isKernelHeld ? null : await giveLifeSign(filePath, crypto.randomBytes(8).toString('hex'))
  const since = new Date().toISOString()
  const record = { ...self, file, since, lock: kindOf(isKernelHeld), socket: lifeSign?.name ?? null }
  /** @type {Company} */
  const company = {
    leave: async () => {
      await lifeSign?.end()
      await guard?.close()
    },
    leaveSync: () => lifeSign?.endSync()
  }
  const world = {
    ...lockFiles,
    isKernelHeld,
    mark: request.inode === undefined ? null : request.inode.toString(16).padStart(16, '0'),
    checkLiveness: (/** @type {LockRecord} */ holder, /** @type {import('./liveness').LivenessCallback} */ cb) => {
      checkHolder(holder, { self, file, isKernelHeld }).then((liveness) => cb(null, liveness), cb)
    }
  }
  const { err, held, obstacle } = await taken(world, `${filePath}.lock`, record)
  if (held) {
    await removeLifeSign(filePath, held.replaced?.socket)
    return new FileLock(held, { self, file, company, isKernelHeld })
  }
  // Under the kernel's lock a record that cannot be read keeps nobody out, nor does a folder in which none can be made.
  const isNoRecord = obstacle ? obstacle.record === null : await isMissing(`${filePath}.lock`)
  if (isKernelHeld && isNoRecord) return new FileLock(null, { self, file, company, isKernelHeld })
  await company.leave()
  throw err ?? lockedError(filePath, /** @type {Obstacle} */ (obstacle), self)
}

/**
 * Windows has no lock on a file that others may read, but a file that is opened for nobody else keeps them out, until
 * it is closed or the process ends.
 * @param {string} filePath
 * @returns {Promise<'busy' | { close: () => Promise<void> } | null>}  null on other systems, or where it cannot be made
 */
async function openGuard (filePath) {
  if (process.platform !== 'win32') return null
  const guardPath = `${filePath}.lock.held`
  try {
    const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | UV_FS_O_EXLOCK
    const fd = await promisify(fs.open)(guardPath, flags, 0o600)
    return {
      close: async () => {
        await promisify(fs.close)(fd)
        // Whoever has it by now keeps it.
        await call(lockFiles, 'unlink', guardPath).catch(() => {})
      }
    }
  } catch (err) {
    return /** @type {NodeJS.ErrnoException} */ (err).code === 'EBUSY' ? 'busy' : null
  }
}

/**
 * @param {import('./acquire').World} world
 * @param {string} lockPath
 * @param {Omit<LockRecord, 'nonce'>} record
 * @returns {Promise<{ err: Error | null, held?: import('./acquire').Held, obstacle?: Obstacle }>}
 */
function taken (world, lockPath, record) {
  return new Promise((resolve) => {
    take(world, lockPath, record, (err, held, obstacle) => resolve({ err, held, obstacle }))
  })
}

/**
 * @param {LockRecord} holder
 * @param {{ self: Place, file: FileIdentity, isKernelHeld: boolean }} asker
 * @returns {Promise<import('./liveness').Liveness>}
 */
async function checkHolder (holder, { self, file, isKernelHeld }) {
  const liveness = await livenessOf(holder, self)
  if (liveness !== 'foreign' && liveness !== 'hidden' && isOfAnother(holder.file, file)) return 'dead'
  if (liveness !== 'hidden') return liveness
  // Under one kernel two cannot hold its lock, and now it is ours.
  if (isKernelHeld && holder.lock === 'kernel') return 'dead'
  const sign = await askForLifeSign(file.path, holder.socket)
  return sign === 'unknown' ? 'hidden' : sign
}

/**
 * @param {LockRecord} holder
 * @param {Place} self
 * @returns {Promise<import('./liveness').Liveness>}
 */
function livenessOf (holder, self) {
  return new Promise((resolve, reject) => {
    checkLiveness(holder, self, (err, liveness) => err || !liveness ? reject(err) : resolve(liveness))
  })
}

/**
 * Why the kernel's lock on a file cannot be had.
 * @param {string} filePath  with no symlink in it
 * @param {(err: Error | null, found?: import('../storage').LockHolder) => void} cb
 */
function findHolder (filePath, cb) {
  toCallback(describeHolder(filePath), cb)
}

/**
 * @param {string} filePath
 * @returns {Promise<import('../storage').LockHolder>}
 */
async function describeHolder (filePath) {
  const lockPath = `${filePath}.lock`
  const self = { ...thisThread(), localFileSystem: await nameOfLocal(path.dirname(filePath)) }
  const record = await readRecord(lockPath)
  if (record === null || record.lock !== 'kernel') {
    const error = lockedError(filePath, { lockPath, record: null, isForeign: false, cause: null }, self)
    return { state: 'nameless', error }
  }
  const isDead = await livenessOf(record, self).catch(() => 'unknown') === 'dead'
  const error = lockedError(filePath, { lockPath, record, isForeign: false, cause: null }, self)
  return { state: isDead ? 'dying' : 'alive', error }
}

/**
 * @param {string} lockPath
 * @returns {Promise<LockRecord | null>}
 */
function readRecord (lockPath) {
  return new Promise((resolve) => {
    lockFiles.read(lockPath, (err, text = '') => resolve(err ? null : parseRecord(text)))
  })
}

class FileLock {
  /**
   * @param {import('./acquire').Held | null} held  null if no record could be made
   * @param {object} options
   * @param {Place} options.self
   * @param {FileIdentity} options.file
   * @param {Company} options.company
   * @param {boolean} options.isKernelHeld
   */
  constructor (held, { self, file, company, isKernelHeld }) {
    this._held = held
    this._self = self
    this._file = file
    this._company = company
    this.kind = kindOf(isKernelHeld)
    this.nonce = held?.nonce ?? null
    this.deadNonce = held?.replaced?.nonce ?? null
    /** What the lock cannot keep out, for people to read; null if nothing. */
    this.blindSpot = describeBlindSpot(self, isKernelHeld)
    this._isMarkedIntact = false
    /** One change of the record at a time. @type {Array<() => void>} */
    this._waiting = []
    this._isBusy = false
  }

  /**
   * As far as the record of the holder before tells, and the mount. A writeback error that nobody has seen is told by
   * the first sync of a new descriptor.
   * @param {(err: Error | null, past?: import('../storage').Past) => void} cb
   */
  findPast (cb) {
    toCallback(this._comparePast(), cb)
  }

  /** @returns {Promise<import('../storage').Past>} */
  async _comparePast () {
    const { _file: { device, inode }, _self: { boot, localFileSystem } } = this
    const before = this._held?.replaced ?? null
    if (before === null || before.boot === null || boot === null) return 'unknown'
    if (before.boot !== boot) return before.localFileSystem && localFileSystem ? 'rebooted' : 'unknown'
    const isSameFile = inode !== null && before.file.inode === inode && before.file.device === device
    if (!isSameFile || before.isIntact !== true || !before.mount) return 'unknown'
    return await this._findMount() === before.mount ? 'intact' : 'unknown'
  }

  /** @returns {Promise<string | null>} */
  async _findMount () {
    const { path: filePath, device } = this._file
    return device === null ? null : identifyMount(filePath, BigInt(device))
  }

  /**
   * @param {boolean} isIntact
   * @param {Done} cb
   */
  markIntact (isIntact, cb) {
    this._enqueue((done) => {
      if (this._held === null || this._isMarkedIntact === isIntact) return process.nextTick(done, null)
      const update = (/** @type {string | null} */ mount) => this._held?.update({ isIntact, mount }, (err) => {
        // If it cannot be seen whether it was written, it is written again.
        this._isMarkedIntact = err ? !isIntact : isIntact
        done(err)
      })
      if (isIntact) toCallback(this._findMount(), (_, mount) => update(mount))
      else update(null)
    }, cb)
  }

  /** @param {Done} cb */
  noteFile (cb) {
    if (this._file.inode !== null) return process.nextTick(cb, null)
    toCallback(identify(this._file.path), (err, file) => err ? cb(err) : this._record(file, cb))
  }

  /** @param {Done} cb */
  forgetFile (cb) {
    this._record({ ...this._file, device: null, inode: null }, cb)
  }

  /**
   * @param {FileIdentity} file
   * @param {Done} cb
   */
  _record (file, cb) {
    this._enqueue((done) => {
      if (this._held === null || file.inode === this._file.inode) return process.nextTick(done, null)
      this._held.update({ file }, (err) => {
        if (!err) this._file = file
        done(err)
      })
    }, cb)
  }

  /**
   * @param {string} filePath  where the file is now: somebody may have renamed its folder
   * @param {Done} cb
   */
  release (filePath, cb) {
    this._enqueue((done) => {
      const end = (/** @type {Error | null} */ err) => {
        toCallback(this._company.leave(), (endErr) => done(err ?? endErr))
      }
      if (this._held === null) end(null)
      else this._held.release(`${path.join(path.dirname(filePath), path.basename(this._file.path))}.lock`, end)
    }, cb)
  }

  /**
   * The process ends, and has no time to wait. What the kernel holds it gives back by itself.
   * @throws what the file system says
   */
  releaseSync () {
    const lockPath = `${this._file.path}.lock`
    if (this._isBusy || this._held === null) return
    if (parseRecord(readLockSync(lockPath))?.nonce === this._held.nonce) fs.unlinkSync(lockPath)
    this._company.leaveSync()
  }

  /**
   * @param {(done: Done) => void} change  runs once those before are done
   * @param {Done} cb
   */
  _enqueue (change, cb) {
    this._waiting.push(() => change((err) => {
      this._isBusy = false
      this._next()
      cb(err)
    }))
    this._next()
  }

  _next () {
    if (this._isBusy) return
    const change = this._waiting.shift()
    if (!change) return
    this._isBusy = true
    change()
  }
}

/**
 * @param {boolean} isKernelHeld
 * @returns {'kernel' | 'file'}
 */
function kindOf (isKernelHeld) {
  return isKernelHeld ? 'kernel' : 'file'
}

/**
 * @param {Place} self
 * @param {boolean} isKernelHeld
 * @returns {string | null}
 */
function describeBlindSpot ({ localFileSystem }, isKernelHeld) {
  if (!isKernelHeld) return 'a writer that comes to the file by another path: a bind mount, a hard link, a new name'
  if (localFileSystem || process.platform === 'win32') return null
  return 'a writer on another machine, if this file system keeps locks to one machine (9p, virtiofs, NFS with nolock)'
}

/**
 * @param {string} filePath
 * @returns {Promise<FileIdentity>}
 */
async function identify (filePath) {
  const stat = await statIfThere(filePath)
  if (stat && !stat.isFile()) throw notAFile(filePath, stat)
  // An empty file may be replaced by one that has its first bytes.
  const isKnown = stat !== null && stat.size > 0n
  return {
    path: filePath,
    device: isKnown ? String(stat.dev) : null,
    inode: isKnown ? String(stat.ino) : null
  }
}

/**
 * @param {string} filePath
 * @returns {Promise<fs.BigIntStats | null>}
 */
function statIfThere (filePath) {
  return new Promise((resolve, reject) => {
    fs.stat(filePath, { bigint: true }, (err, stat) => {
      if (err && err.code !== 'ENOENT') reject(err)
      else resolve(err ? null : stat)
    })
  })
}

/** @param {string} filePath */
function isMissing (filePath) {
  return new Promise((resolve) => fs.lstat(filePath, (err) => resolve(err?.code === 'ENOENT')))
}

/**
 * The lock of a file in a folder that was copied, lock and all, is that of the original. Only what differs in both
 * counts: a folder that is moved, or seen under another name, has the same files, and a file may be replaced.
 * @param {FileIdentity} locked
 * @param {FileIdentity} file
 */
function isOfAnother (locked, file) {
  return locked.path !== file.path && locked.inode !== null && file.inode !== null && locked.inode !== file.inode
}

exports.findHolder = findHolder
exports.lockFile = lockFile
