'use strict'
// The lock's record: a small file beside the log, `<path>.lock`, that says who has the log open.
// docs/internals/lock.md describes it. If the kernel holds a lock on the log, the record only informs; otherwise the
// record is the lock.

const fs = require('node:fs')
const path = require('node:path')
const { nextTick } = require('node:process')
const { LogError, reasonOf } = require('@millrace/errors')
const { pause, promisesOf, toCallback } = require('@millrace/flow')
const { patiently } = require('../patience')
const { files, nameAsGiven, notAFile } = require('../whole-io')
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
 * @typedef {import('../storage').FolderHandle} FolderHandle
 * @typedef {{ guard: { close: () => Promise<void> } | null, lifeSign: import('./liveness').LifeSign | null }} Company
 *   the guard or the socket beside the record
 */

/** A record that could not be written is tried again after this time, and before each note in it. */
const RETRY_MS = 1000

/**
 * Takes the lock of a file, by its real path. The record is reached through the open folder, so it stays beside the
 * file's old name if the folder is moved.
 * @param {string} filePath
 * @param {import('../storage').LockRequest} request
 * @param {FolderHandle} folder  stays open until the lock is released
 * @returns {Promise<StorageLock>}
 * @throws {LogError} ERR_LOG_LOCKED if another holder has it
 */
async function lockFile (filePath, request, folder) {
  const { inode, at = filePath, mode } = request
  const reached = path.join(folder.reach ?? path.dirname(at), path.basename(filePath))
  const [file, localFileSystem] = await Promise.all([identify(filePath, reached), nameOfLocal(path.dirname(reached))])
  const self = { ...thisThread(), localFileSystem }
  const guard = process.platform === 'win32' ? await openGuard(filePath) : null
  const isKernelHeld = request.isKernelHeld === true || guard !== null
  const lifeSign = isKernelHeld ? null : await giveLifeSign(reached, createNonce())
  // Of the file that the kernel's lock is on. A new file has it before it has its name.
  const lockedInode = isKernelHeld ? String(inode ?? file.inode) : null
  const files = folder.reach === null ? provenFiles(folder, path.dirname(at)) : lockFiles
  const lock = new FileLock({
    self,
    file,
    reached,
    kind: isKernelHeld ? 'kernel' : 'file',
    company: { guard, lifeSign },
    folder: request.folder === undefined ? folder : null,
    world: {
      ...files,
      ...(process.platform === 'win32' && patientChanges(files)),
      ...(mode !== undefined && { write: (filePath, text) => files.write(filePath, text, mode) }),
      isKernelHeld,
      mark: inode === undefined ? null : inode.toString(16).padStart(16, '0'),
      checkLiveness: (holder) => checkHolder(holder, { self, file, lockedInode, reached })
    }
  })
  try {
    await lock.take()
    return lock
  } catch (err) {
    await lock.leave()
    throw nameAsGiven(err, path.dirname(reached), path.dirname(filePath))
  }
}

// libuv's flag for opening a file exclusively; fs.constants does not have it.
const UV_FS_O_EXLOCK = 0x10000000

// Windows has no lock on a file that others may read. But a file beside it that is opened exclusively keeps other
// writers out until it is closed or the process ends. Null if the file cannot be made.
/** @type {(filePath: string) => Promise<{ close: () => Promise<void> } | null>} throws ERR_LOG_LOCKED */
async function openGuard (filePath) {
  const guardPath = `${filePath}.lock.held`
  try {
    const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | UV_FS_O_EXLOCK
    const fd = await files.open(guardPath, flags, 0o600)
    return {
      close: async () => {
        await files.close(fd)
        // If this fails, the next holder has the file already.
        await patiently(() => lockFiles.unlink(guardPath)).catch(() => {})
      }
    }
  } catch (/** @type {any} */ { code }) {
    if (code === 'EBUSY') throw (await findHolder(filePath)).error
    return null
  }
}

/** Nonces of records that this thread could not remove when it released their locks. @type {Set<string>} */
const abandoned = new Set()

/**
 * @type {(holder: LockRecord,
 *   asker: { self: Place, file: FileIdentity, lockedInode: string | null, reached: string }) =>
 *   Promise<import('./liveness').Liveness>}
 */
async function checkHolder (holder, { self, file, lockedInode, reached }) {
  if (abandoned.has(holder.nonce)) return 'dead'
  const liveness = await checkLiveness(holder, self)
  if (liveness === 'foreign') return liveness
  // The holder had the kernel's lock, and the lock is ours now. So the holder has closed this file, though it may be
  // alive: the disk failed when it removed its record. But it may have another file that had this name.
  const hadThisLock = lockedInode !== null && holder.lock === 'kernel'
  if (hadThisLock && (liveness === 'hidden' || holder.file.inode === lockedInode)) return 'dead'
  if (liveness !== 'hidden') return isOfCopy(holder.file, file) ? 'dead' : liveness
  const sign = await askForLifeSign(reached, holder.socket)
  return sign === 'unknown' ? 'hidden' : sign
}

/**
 * A folder may have been copied with the lock in it. The record is then about the original file: both path and inode
 * differ. If only the path differs, the folder was moved or has two names. If only the inode differs, the file was
 * replaced.
 * @type {(recorded: FileIdentity, own: FileIdentity) => boolean}
 */
function isOfCopy (recorded, own) {
  return recorded.path !== own.path && recorded.inode !== null && own.inode !== null && recorded.inode !== own.inode
}

/** Finds who has the kernel's lock on a file. @type {(filePath: string) => Promise<import('../storage').LockHolder>} */
async function findHolder (filePath) {
  const lockPath = `${filePath}.lock`
  const self = { ...thisThread(), localFileSystem: await nameOfLocal(path.dirname(filePath)) }
  const found = parseRecord(await readRecord(lockPath).catch(() => null) ?? '')
  const record = found?.lock === 'kernel' ? found : null
  const error = lockedError(filePath, { lockPath, record, isUnseen: false, cause: null }, self)
  if (record === null) return { state: 'nameless', error }
  const liveness = await checkLiveness(record, self).catch(() => 'unknown')
  return { state: liveness === 'dead' ? 'dying' : 'alive', error }
}

/** @typedef {Omit<FileIdentity, 'path'>} Content  the file of a folder that a record tells about */

/** @implements {StorageLock} */
class FileLock {
  /** Null if no record could be made. @type {import('./acquire').Held | null} */
  #held = null
  #self
  #file
  #reached
  #company
  #folder
  #world
  /** Why no record could be made. @type {unknown} */
  #cause = null
  /** @type {{ isIntact: boolean, mount: string | null, content?: Content }} */
  #note = { isIntact: false, mount: null }
  /** Ends with the last change of the record; changes run one at a time. @type {Promise<void>} */
  #lastChange = Promise.resolve()
  #changeCount = 0
  #isReleased = false
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {{ self: Place, file: FileIdentity, reached: string, kind: 'kernel' | 'file', folder: FolderHandle | null,
   *   world: import('./acquire').World, company: Company }} options  `folder` is closed with the lock
   */
  constructor ({ self, file, reached, kind, company, folder, world }) {
    this.#self = self
    this.#file = file
    this.#reached = reached
    this.#company = company
    this.#folder = folder
    this.#world = world
    this.kind = kind
    this.since = new Date().toISOString()
  }

  /** Makes the record. @throws ERR_LOG_LOCKED and errors of the file system, if the file is not locked without it */
  async take () {
    const lockPath = `${this.#reached}.lock`
    const socket = this.#company.lifeSign?.name ?? null
    const record = { ...this.#self, file: this.#file, since: this.since, lock: this.kind, socket }
    try {
      // A note that could not be written is in the record now.
      const noted = this.#note.isIntact ? { ...record, ...this.#note } : record
      const { held, obstacle } = await take(this.#world, lockPath, noted)
      if (!held) return this.#goOnWithout(obstacle)
      this.#held = held
      this.#cause = null
      if (held.replaced?.socket) await removeLifeSign(this.#reached, held.replaced.socket)
    } catch (/** @type {any} */ err) {
      this.#cause = err
      // Names that are used to take the place of a dead holder are longer than the record's.
      // Under the kernel's lock, a folder that takes no record keeps nobody out.
      if (this.kind !== 'kernel' || (err.code !== 'ENAMETOOLONG' && !await isMissing(lockPath))) throw err
      if (err.code !== 'ENAMETOOLONG') this.#retryLater()
    }
  }

  /**
   * Under the kernel's lock, an unreadable record keeps nobody out.
   * @param {Obstacle} obstacle
   * @throws ERR_LOG_LOCKED
   */
  #goOnWithout (obstacle) {
    this.#cause = obstacle.cause
    if (this.kind === 'kernel' && obstacle.record === null) return
    const lockPath = this.#file.path + obstacle.lockPath.slice(this.#reached.length)
    throw lockedError(this.#file.path, { ...obstacle, lockPath }, this.#self)
  }

  get nonce () {
    return this.#held?.nonce ?? null
  }

  get deadNonce () {
    return this.#held?.replaced?.nonce ?? null
  }

  get blindSpot () {
    const others = describeBlindSpot(this.#self, this.kind)
    if (this.#held !== null) return others
    const own = 'a writer that has no lock of the kernel, for example because it finds no program flock: the record of ' +
      `this one could not be made (${reasonOf(this.#cause ?? 'another one is there')})`
    return others === null ? own : `${own}; ${others}`
  }

  /** The disk may have been full. */
  #retryLater () {
    this.#timer = setTimeout(() => this.#change(() => this.#takeAgain(), () => {}), RETRY_MS)
    this.#timer.unref?.()
  }

  async #takeAgain () {
    clearTimeout(this.#timer)
    // Another writer may have come meanwhile. The blind spot says so.
    if (this.#held === null && !this.#isReleased) await this.take().catch(() => this.#retryLater())
  }

  /**
   * Tells what the replaced record and the mount prove. If the mount counts no failures, nobody knows whether a sync of
   * the dead process has just failed: the kernel reported that to it alone.
   * @param {(err: Error | null, past?: import('../storage').Past) => void} cb
   */
  findPast (cb) {
    toCallback(this.findPastOf(this.#file, ({ file }) => file), cb)
  }

  /**
   * @param {Content} file
   * @param {(before: LockRecord) => Content | null | undefined} fileIn  the same in the record of the holder before
   * @returns {Promise<import('../storage').Past>}
   */
  async findPastOf ({ device, inode }, fileIn) {
    const { boot, localFileSystem } = this.#self
    const before = this.#held?.replaced ?? null
    if (before === null || before.boot === null || boot === null) return 'unknown'
    if (before.boot !== boot) return before.localFileSystem && localFileSystem ? 'rebooted' : 'unknown'
    const known = fileIn(before)
    const isSameFile = inode !== null && known?.inode === inode && known.device === device
    return isSameFile && before.isIntact === true ? this.#compareMount(before.mount) : 'unknown'
  }

  /** @type {(before: string | null | undefined) => Promise<import('../storage').Past>} */
  async #compareMount (before) {
    if (!before || await this.#findMount() !== before) return 'unknown'
    return countsFailures(before) ? 'intact' : 'unsynced'
  }

  /** @returns {Promise<string | null>} */
  async #findMount () {
    const { device } = this.#file
    return device === null ? null : identifyMount(this.#reached, BigInt(device))
  }

  /** @type {(isIntact: boolean, cb: Done) => void} */
  markIntact (isIntact, cb) {
    this.markIntactOf(isIntact, undefined, cb)
  }

  /** @type {(isIntact: boolean, content: Content | undefined, cb: Done) => void} */
  markIntactOf (isIntact, content, cb) {
    this.#change(async () => {
      const before = this.#note
      if (before.isIntact === isIntact && (!isIntact || before.content?.inode === content?.inode)) return
      const mount = isIntact ? await this.#findMount() : null
      const note = content === undefined ? { isIntact, mount } : { isIntact, mount, content }
      // If the update fails, it may have happened. This makes the next call write again.
      this.#note = { ...note, isIntact: !isIntact }
      await this.#takeAgain()
      await this.#held?.update(note)
      this.#note = note
    }, cb)
  }

  /** @param {Done} cb */
  noteFile (cb) {
    if (this.#file.inode !== null) return nextTick(cb, null)
    this.#change(async () => this.#record(await identify(this.#file.path, this.#reached, true)), cb)
  }

  /** @param {Done} cb */
  forgetFile (cb) {
    this.#change(() => this.#record({ ...this.#file, device: null, inode: null }), cb)
  }

  /** @param {FileIdentity} file */
  async #record (file) {
    if (file.inode === this.#file.inode) return
    await this.#held?.update({ file })
    this.#file = file
  }

  /** @type {(filePath: string, cb: (err: Error | null, lock?: StorageLock) => void) => void} */
  cover (filePath, cb) {
    const reached = path.join(path.dirname(this.#reached), path.basename(filePath))
    toCallback(identify(filePath, reached, true).then((file) => new CoveredLock(this, file, reached)), cb)
  }

  /** @param {string} filePath @returns {StorageLock} */
  coverSync (filePath) {
    const reached = path.join(path.dirname(this.#reached), path.basename(filePath))
    return new CoveredLock(this, describeFile(filePath, fs.statSync(reached, { bigint: true }), true), reached)
  }

  /** @param {Done} cb */
  release (cb) {
    this.#change(async () => {
      clearTimeout(this.#timer)
      if (this.#isReleased) return
      const err = await this.#held?.release(`${this.#reached}.lock`).then(() => null, (err) => err)
      // Nobody here may take it for the record of a living holder.
      if (err && this.#held) abandoned.add(this.#held.nonce)
      await this.leave()
      if (this.#folder !== null) await promisesOf(this.#folder).close()
      if (err) throw err
    }, cb)
  }

  /** Leaves the record, if there is one, as it is. */
  async leave () {
    this.#isReleased = true
    const { lifeSign, guard } = this.#company
    await lifeSign?.end()
    await guard?.close()
  }

  /** For an `exit` handler. The kernel releases its own lock. @throws errors of the file system */
  releaseSync () {
    if (this.#changeCount > 0 || this.#held === null) return
    const lockPath = `${this.#reached}.lock`
    if (parseRecord(readSync(lockPath))?.nonce === this.#held.nonce) fs.unlinkSync(lockPath)
    this.#company.lifeSign?.endSync()
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

/**
 * The lock of a folder, as that of one file in it. The record says whether anything of that file can be lost.
 * @implements {StorageLock}
 */
class CoveredLock {
  #whole
  #file
  #reached
  isOfFolder = true

  /** @param {FileLock} whole  @param {FileIdentity} file  @param {string} reached */
  constructor (whole, file, reached) {
    this.#whole = whole
    this.#file = file
    this.#reached = reached
    this.kind = whole.kind
  }

  get nonce () {
    return this.#whole.nonce
  }

  get deadNonce () {
    return this.#whole.deadNonce
  }

  get blindSpot () {
    return this.#whole.blindSpot
  }

  get #content () {
    const { device, inode } = this.#file
    return { device, inode }
  }

  /** @param {(err: Error | null, past?: import('../storage').Past) => void} cb */
  findPast (cb) {
    toCallback(this.#whole.findPastOf(this.#content, ({ content }) => content), cb)
  }

  /** @type {(isIntact: boolean, cb: Done) => void} */
  markIntact (isIntact, cb) {
    this.#whole.markIntactOf(isIntact, this.#content, cb)
  }

  /** @param {Done} cb */
  noteFile (cb) {
    toCallback(identify(this.#file.path, this.#reached, true).then((file) => { this.#file = file }), cb)
  }

  /** @param {Done} cb */
  forgetFile (cb) {
    this.#file = { ...this.#file, device: null, inode: null }
    this.#whole.markIntactOf(false, this.#content, cb)
  }

  /** The folder stays locked. @param {Done} cb */
  release (cb) {
    nextTick(cb, null)
  }

  releaseSync () {
    this.#whole.releaseSync()
  }
}

/** @type {(self: Place, kind: 'kernel' | 'file') => string | null} */
function describeBlindSpot ({ localFileSystem }, kind) {
  if (kind === 'file') return 'a writer that comes to the file by another path: a bind mount, a hard link, a new name'
  if (localFileSystem || process.platform === 'win32') return null
  return 'a writer on another machine, if this file system keeps locks to one machine (9p, virtiofs, NFS with nolock)'
}

/** @type {(filePath: string, reached: string, isFinal?: boolean) => Promise<FileIdentity>} `isFinal`: as below */
async function identify (filePath, reached, isFinal) {
  /** @type {fs.BigIntStats | null} */
  const stat = await files.stat(reached, { bigint: true }).catch((err) => {
    if (err.code !== 'ENOENT') throw err
    return null
  })
  return describeFile(filePath, stat, isFinal)
}

/**
 * @type {(filePath: string, stat: fs.BigIntStats | null, isFinal?: boolean) => FileIdentity} `isFinal`: it is open and
 *   locked. Until then an empty one may be replaced by one that has its first bytes
 */
function describeFile (filePath, stat, isFinal = false) {
  if (stat && !stat.isFile()) throw notAFile(filePath, stat)
  const isKnown = stat !== null && (isFinal || stat.size > 0n)
  return { path: filePath, device: isKnown ? String(stat.dev) : null, inode: isKnown ? String(stat.ino) : null }
}

/** @param {string} filePath */
function isMissing (filePath) {
  return files.lstat(filePath).then(() => false, ({ code }) => code === 'ENOENT')
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

/**
 * @typedef {Omit<import('./acquire').World, 'checkLiveness' | 'write'> &
 *   { write: (filePath: string, text: string, mode?: number) => Promise<void> }} LockFiles
 */

/** 16 hex digits. The module is loaded late: readers take no lock. */
function createNonce () {
  return require('node:crypto').randomFillSync(Buffer.alloc(8)).toString('hex')
}

/** @type {LockFiles} */
const lockFiles = {
  write: (filePath, text, mode = MODE) => files.writeFile(filePath, text, { flag: 'wx', mode }),
  link: files.link,
  copy: (from, to) => files.copyFile(from, to, COPYFILE_EXCL),
  rename: files.rename,
  unlink: files.unlink,
  read: readRecord,
  list: async (filePath) => {
    const folder = path.dirname(filePath)
    /** @type {string[]} */
    const names = await files.readdir(folder)
    return names.map((name) => path.join(folder, name))
  },
  wait: async (count) => {
    await pause(WAIT_MS)
    return count === WAIT_COUNT_MAX
  },
  createNonce
}

/** For Windows. @type {(changes: Pick<LockFiles, 'rename' | 'unlink'>) => Pick<LockFiles, 'rename' | 'unlink'>} */
const patientChanges = ({ rename, unlink }) => ({
  rename: (from, to) => patiently(() => rename(from, to)),
  unlink: (filePath) => patiently(() => unlink(filePath))
})

/**
 * For systems that cannot reach names through an open folder: before a change the path must still lead to it.
 * @type {(folder: FolderHandle, at: string) => LockFiles}
 */
function provenFiles (folder, at) {
  /** @type {(change: (...args: any[]) => Promise<void>) => (...args: any[]) => Promise<void>} */
  const proven = (change) => async (...args) => {
    if (await promisesOf(folder).isAt(at)) return change(...args)
    throw new LogError('ERR_FILE_MOVED', `${at} leads to another folder now, or to none, so the record of a lock in it was ` +
      'not changed', { path: at })
  }
  const { write, link, copy, rename, unlink } = lockFiles
  return {
    ...lockFiles,
    write: proven(write),
    link: proven(link),
    copy: proven(copy),
    rename: proven(rename),
    unlink: proven(unlink)
  }
}

/** @type {(filePath: string) => Promise<string | null>} null if there is no file */
async function readRecord (filePath) {
  const fd = await files.open(filePath, READ_MODE).catch((err) => {
    if (err.code !== 'ENOENT') throw err
    return null
  })
  if (fd === null) return null
  try {
    const bytes = Buffer.allocUnsafe(RECORD_SIZE_MAX)
    return bytes.toString('utf8', 0, await files.read(fd, bytes, 0, bytes.length, 0))
  } finally {
    await files.close(fd).catch(() => {})
  }
}

/** @param {string} filePath */
function readSync (filePath) {
  const fd = fs.openSync(filePath, READ_MODE)
  const bytes = Buffer.allocUnsafe(RECORD_SIZE_MAX)
  try {
    return bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    fs.closeSync(fd)
  }
}

// The messages that say who has a file open for writing, and what to do.

/** @type {(path: string, obstacle: Obstacle, self: import('./liveness').Identity) => LogError} */
function lockedError (path, { lockPath, record, isUnseen, cause }, self) {
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
  const who = `open: ${path} is open for writing, by ${describeThread(record, self)}${host === '' ? '' : ` on ${host}`}, since ${since}`
  const advice = isUnseen
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
