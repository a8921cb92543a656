'use strict'
// The lock's record: a small file beside the log, `<path>.lock`, that says who has the log open. docs/format.md
// describes it. If the kernel holds a lock on the log, the record only informs; otherwise the record is the lock.

const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { call, pause, toCallback } = require('@millrace/flow')
const { notAFile } = require('../whole-io')
const {
  askForLifeSign, checkLiveness, countsFailures, giveLifeSign, identifyMount, nameOfLocal, removeLifeSign, thisThread
} = require('./liveness')
const { parseRecord, take } = require('./acquire')

/**
 * @typedef {import('./acquire').FileIdentity} FileIdentity
 * @typedef {import('./acquire').LockRecord} LockRecord
 * @typedef {import('./acquire').Obstacle} Obstacle
 * @typedef {import('./liveness').Place} Place
 * @typedef {import('../storage').StorageLock} StorageLock
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ leave: () => Promise<void>, leaveSync: () => void }} Company  the socket or the guard beside the record
 */

/**
 * Takes the lock of a file, by its real path.
 * @param {string} filePath
 * @param {import('../storage').LockRequest} request
 * @returns {Promise<StorageLock>}
 * @throws {LogError} ERR_LOG_LOCKED if another holder has it
 */
async function lockFile (filePath, request) {
  const lockPath = `${filePath}.lock`
  const [file, localFileSystem] = await Promise.all([identify(filePath), nameOfLocal(path.dirname(filePath))])
  const self = { ...thisThread(), localFileSystem }
  const guard = await openGuard(filePath)
  if (guard === 'busy') throw (await findHolder(filePath)).error
  const isKernelHeld = request.isKernelHeld === true || guard !== null
  /** @type {'kernel' | 'file'} */
  const kind = isKernelHeld ? 'kernel' : 'file'
  const lifeSign = isKernelHeld ? null : await giveLifeSign(filePath, crypto.randomBytes(8).toString('hex'))
  const since = new Date().toISOString()
  const record = { ...self, file, since, lock: kind, socket: lifeSign?.name ?? null }
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
    checkLiveness: (/** @type {LockRecord} */ holder) => checkHolder(holder, { self, file, isKernelHeld })
  }
  /** @type {{ held?: import('./acquire').Held, obstacle?: Obstacle, err?: Error }} */
  const { held, obstacle, err } = await take(world, lockPath, record).catch((err) => ({ err }))
  if (held) {
    if (held.replaced?.socket) await removeLifeSign(filePath, held.replaced.socket)
    return new FileLock(held, { self, file, company, kind })
  }
  // Under the kernel's lock, neither an unreadable record nor a folder that takes no record keeps anybody out.
  const isNoRecord = obstacle ? obstacle.record === null : await isMissing(lockPath)
  if (isKernelHeld && isNoRecord) return new FileLock(null, { self, file, company, kind })
  await company.leave()
  throw err ?? lockedError(filePath, /** @type {Obstacle} */ (obstacle), self)
}

// libuv's flag for opening a file exclusively; fs.constants does not have it.
const UV_FS_O_EXLOCK = 0x10000000

// Windows has no lock on a file that others may read. But a file beside it that is opened exclusively keeps other
// writers out until it is closed or the process ends. Null on other systems, or if the file cannot be made.
/** @type {(filePath: string) => Promise<'busy' | { close: () => Promise<void> } | null>} */
async function openGuard (filePath) {
  if (process.platform !== 'win32') return null
  const guardPath = `${filePath}.lock.held`
  try {
    const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | UV_FS_O_EXLOCK
    const fd = await call(fs, 'open', guardPath, flags, 0o600)
    return {
      close: async () => {
        await call(fs, 'close', fd)
        // If this fails, the next holder has the file already.
        await patiently('unlink', guardPath).catch(() => {})
      }
    }
  } catch (/** @type {any} */ { code }) {
    return code === 'EBUSY' ? 'busy' : null
  }
}

/**
 * @type {(holder: LockRecord, asker: { self: Place, file: FileIdentity, isKernelHeld: boolean }) =>
 *   Promise<import('./liveness').Liveness>}
 */
async function checkHolder (holder, { self, file, isKernelHeld }) {
  const liveness = await checkLiveness(holder, self)
  // A folder may have been copied with the lock in it. The record is then about the original file: both path and inode
  // differ. If only the path differs, the folder was moved or has two names. If only the inode differs, the file was
  // replaced.
  const { path, inode } = holder.file
  const isOfAnother = path !== file.path && inode !== null && file.inode !== null && inode !== file.inode
  if (liveness !== 'foreign' && liveness !== 'hidden' && isOfAnother) return 'dead'
  if (liveness !== 'hidden') return liveness
  // The holder had this kernel's lock. The lock is ours now, so the holder has ended.
  if (isKernelHeld && holder.lock === 'kernel') return 'dead'
  const sign = await askForLifeSign(file.path, holder.socket)
  return sign === 'unknown' ? 'hidden' : sign
}

/** Finds who has the kernel's lock on a file. @type {(filePath: string) => Promise<import('../storage').LockHolder>} */
async function findHolder (filePath) {
  const lockPath = `${filePath}.lock`
  const self = { ...thisThread(), localFileSystem: await nameOfLocal(path.dirname(filePath)) }
  const found = parseRecord(await lockFiles.read(lockPath).catch(() => null) ?? '')
  const record = found?.lock === 'kernel' ? found : null
  const error = lockedError(filePath, { lockPath, record, isForeign: false, cause: null }, self)
  if (record === null) return { state: 'nameless', error }
  const liveness = await checkLiveness(record, self).catch(() => 'unknown')
  return { state: liveness === 'dead' ? 'dying' : 'alive', error }
}

/** @implements {StorageLock} */
class FileLock {
  #held
  #self
  #file
  #company
  #isMarkedIntact = false
  /** Ends with the last change of the record; changes run one at a time. @type {Promise<void>} */
  #lastChange = Promise.resolve()
  #changeCount = 0

  /**
   * @param {import('./acquire').Held | null} held  null if no record could be made
   * @param {{ self: Place, file: FileIdentity, company: Company, kind: 'kernel' | 'file' }} options
   */
  constructor (held, { self, file, company, kind }) {
    this.#held = held
    this.#self = self
    this.#file = file
    this.#company = company
    this.kind = kind
    this.nonce = held?.nonce ?? null
    this.deadNonce = held?.replaced?.nonce ?? null
    this.blindSpot = describeBlindSpot(self, kind)
  }

  /**
   * Tells what the replaced record and the mount prove. If the mount counts no failures, nobody knows whether a sync of
   * the dead process has just failed: the kernel reported that to it alone.
   * @param {(err: Error | null, past?: import('../storage').Past) => void} cb
   */
  findPast (cb) {
    toCallback(this.#findPast(), cb)
  }

  /** @returns {Promise<import('../storage').Past>} */
  async #findPast () {
    const { device, inode } = this.#file
    const { boot, localFileSystem } = this.#self
    const before = this.#held?.replaced ?? null
    if (before === null || before.boot === null || boot === null) return 'unknown'
    if (before.boot !== boot) return before.localFileSystem && localFileSystem ? 'rebooted' : 'unknown'
    const isSameFile = inode !== null && before.file.inode === inode && before.file.device === device
    return isSameFile && before.isIntact === true ? this.#compareMount(before.mount) : 'unknown'
  }

  /** @type {(before: string | null | undefined) => Promise<import('../storage').Past>} */
  async #compareMount (before) {
    if (!before || await this.#findMount() !== before) return 'unknown'
    return countsFailures(before) ? 'intact' : 'unsynced'
  }

  /** @returns {Promise<string | null>} */
  async #findMount () {
    const { path: filePath, device } = this.#file
    return device === null ? null : identifyMount(filePath, BigInt(device))
  }

  /** @type {(isIntact: boolean, cb: Done) => void} */
  markIntact (isIntact, cb) {
    this.#change(async () => {
      if (this.#held === null || this.#isMarkedIntact === isIntact) return
      const mount = isIntact ? await this.#findMount() : null
      // If the update fails, it may have happened. This makes the next call write again.
      this.#isMarkedIntact = !isIntact
      await this.#held.update({ isIntact, mount })
      this.#isMarkedIntact = isIntact
    }, cb)
  }

  /** @param {Done} cb */
  noteFile (cb) {
    if (this.#file.inode !== null) return process.nextTick(cb, null)
    this.#change(async () => this.#record(await identify(this.#file.path)), cb)
  }

  /** @param {Done} cb */
  forgetFile (cb) {
    this.#change(() => this.#record({ ...this.#file, device: null, inode: null }), cb)
  }

  /** @param {FileIdentity} file */
  async #record (file) {
    if (this.#held === null || file.inode === this.#file.inode) return
    await this.#held.update({ file })
    this.#file = file
  }

  /**
   * `filePath` is the file's current path: its folder may have been renamed.
   * @type {(filePath: string, cb: Done) => void}
   */
  release (filePath, cb) {
    const lockPath = `${path.join(path.dirname(filePath), path.basename(this.#file.path))}.lock`
    this.#change(async () => {
      const err = await this.#held?.release(lockPath).then(() => null, (err) => err)
      await this.#company.leave()
      if (err) throw err
    }, cb)
  }

  /** For an `exit` handler. The kernel releases its own lock. @throws errors of the file system */
  releaseSync () {
    if (this.#changeCount > 0 || this.#held === null) return
    const lockPath = `${this.#file.path}.lock`
    if (parseRecord(readSync(lockPath))?.nonce === this.#held.nonce) fs.unlinkSync(lockPath)
    this.#company.leaveSync()
  }

  /** Runs a change of the record after all earlier ones. @type {(change: () => Promise<void>, cb: Done) => void} */
  #change (change, cb) {
    this.#changeCount++
    const changed = this.#lastChange.then(change)
    const end = () => { this.#changeCount-- }
    this.#lastChange = changed.then(end, end)
    toCallback(changed, cb)
  }
}

/** @type {(self: Place, kind: 'kernel' | 'file') => string | null} */
function describeBlindSpot ({ localFileSystem }, kind) {
  if (kind === 'file') return 'a writer that comes to the file by another path: a bind mount, a hard link, a new name'
  if (localFileSystem || process.platform === 'win32') return null
  return 'a writer on another machine, if this file system keeps locks to one machine (9p, virtiofs, NFS with nolock)'
}

/** @type {(filePath: string) => Promise<FileIdentity>} */
async function identify (filePath) {
  /** @type {fs.BigIntStats | null} */
  const stat = await call(fs, 'stat', filePath, { bigint: true }).catch((err) => {
    if (err.code !== 'ENOENT') throw err
    return null
  })
  if (stat && !stat.isFile()) throw notAFile(filePath, stat)
  // An empty file may be replaced by one that has its first bytes.
  const isKnown = stat !== null && stat.size > 0n
  return {
    path: filePath,
    device: isKnown ? String(stat.dev) : null,
    inode: isKnown ? String(stat.ino) : null
  }
}

/** @param {string} filePath */
function isMissing (filePath) {
  return call(fs, 'lstat', filePath).then(() => false, ({ code }) => code === 'ENOENT')
}

// The file operations that taking a lock needs.

// Users who may not read the log may still see who has it open.
const MODE = 0o644
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, COPYFILE_EXCL } = fs.constants
// Anything else under the lock's name is neither followed nor waited for.
const READ_MODE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
const RECORD_SIZE_MAX = 64 * 1024
const WAIT_MS = 2
const WAIT_COUNT_MAX = 5
const BUSY_COUNT_MAX = 50

/** @type {Omit<import('./acquire').World, 'checkLiveness'>} */
const lockFiles = {
  write: (filePath, text) => call(fs, 'writeFile', filePath, text, { flag: 'wx', mode: MODE }),
  link: (from, to) => call(fs, 'link', from, to),
  copy: (from, to) => call(fs, 'copyFile', from, to, COPYFILE_EXCL),
  rename: (from, to) => patiently('rename', from, to),
  unlink: (filePath) => patiently('unlink', filePath),
  read: async (filePath) => {
    const fd = await call(fs, 'open', filePath, READ_MODE).catch((err) => {
      if (err.code !== 'ENOENT') throw err
      return null
    })
    if (fd === null) return null
    try {
      const bytes = Buffer.allocUnsafe(RECORD_SIZE_MAX)
      return bytes.toString('utf8', 0, await call(fs, 'read', fd, bytes, 0, bytes.length, 0))
    } finally {
      await call(fs, 'close', fd).catch(() => {})
    }
  },
  list: async (filePath) => {
    const folder = path.dirname(filePath)
    /** @type {string[]} */
    const names = await call(fs, 'readdir', folder)
    return names.map((name) => path.join(folder, name))
  },
  wait: async (count) => {
    await pause(WAIT_MS)
    return count === WAIT_COUNT_MAX
  },
  createNonce: () => crypto.randomFillSync(Buffer.alloc(8)).toString('hex')
}

/** @param {string} filePath */
function readSync (filePath) {
  const fd = fs.openSync(filePath, READ_MODE)
  try {
    const bytes = Buffer.allocUnsafe(RECORD_SIZE_MAX)
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    fs.closeSync(fd)
  }
}

/**
 * Windows refuses to rename or remove a file while another program, such as a virus scanner, looks at it.
 * @type {(name: 'rename' | 'unlink', ...paths: string[]) => Promise<any>}
 */
async function patiently (name, ...paths) {
  for (let count = 1; ; count++) {
    try {
      return await call(fs, name, ...paths)
    } catch (/** @type {any} */ err) {
      const isBusy = process.platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].includes(err.code)
      if (!isBusy || count === BUSY_COUNT_MAX) throw err
    }
    await pause(WAIT_MS)
  }
}

// The messages that say who has a file open for writing, and what to do.

/** @type {(path: string, obstacle: Obstacle, self: import('./liveness').Identity) => LogError} */
function lockedError (path, { lockPath, record, isForeign, cause }, self) {
  if (record === null && cause === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} is open for writing: the kernel holds a lock on it, and no record ` +
      'beside it says for whom. It may be open by another path: a bind mount, a hard link, an earlier name. ' +
      'Close it there, or open it with flags "r"', { path })
  }
  if (record === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} may be open for writing: ${lockPath} exists and does not name the ` +
      `holder (${cause?.message}); if no process has the file open, remove ${lockPath}`, { cause, path })
  }
  const { host, pid, thread, since } = record
  const who = `open: ${path} is open for writing, by ${describeThread(record, self)} on ${host}, since ${since}`
  const advice = isForeign
    ? `that is another machine or another container, whose processes cannot be seen from here: close it there, or, if \
that process is surely gone, remove ${lockPath}`
    : 'close it there, or open it with flags "r"'
  return new LogError('ERR_LOG_LOCKED', `${who}; ${advice}`, { path, holder: { host, pid, thread, since } })
}

/** @type {(record: LockRecord, self: import('./liveness').Identity) => string} */
function describeThread ({ pid, thread, boot, pidNamespace }, self) {
  const isOurs = pid === self.pid && boot === self.boot && pidNamespace === self.pidNamespace
  const process = isOurs ? `this process (${pid})` : `process ${pid}`
  return thread === null || thread === pid ? process : `thread ${thread} of ${process}`
}

exports.findHolder = findHolder
exports.lockFile = lockFile
