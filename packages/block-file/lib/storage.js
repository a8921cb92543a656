'use strict'
// The storage interface and its one real implementation, the only place in the core that touches the file system; and
// what a path means.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { callbackify } = require('node:util')
const { call } = require('@millrace/flow')
const { findHolder, lockFile } = require('./lock/lock-file')
const { watchFile } = require('./file-watch')
const { notAFile } = require('./whole-io')

const { O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants
// A log may hold what others should not read; a user who wants it shared can say so with chmod.
const FILE_MODE = 0o600

/**
 * @template T
 * @typedef {(err: Error | null, result?: T) => void} Callback
 */

/**
 * An open file. Transfers may be short, as those of the kernel may: `whole-io` continues them. A callback never runs
 * before its call has returned.
 * @typedef {object} StorageHandle
 * @property {(buf: Buffer, offset: number, length: number, position: number, cb: Callback<number>) => void} read
 * @property {(buf: Buffer, offset: number, length: number, position: number) => number} readSync  throws on failure
 * @property {(buf: Buffer, offset: number, length: number, position: number, cb: Callback<number>) => void} write
 * @property {(size: number, cb: Callback<void>) => void} truncate
 * @property {(cb: Callback<void>) => void} sync  all that was written is on stable storage
 * @property {(buf: Buffer, offset: number, length: number, position: number) => number} [writeSync]  throws on failure.
 *   A storage without it, or without the next one, is written through callbacks only
 * @property {() => void} [syncSync]  throws on failure
 * @property {(size: number) => void} [truncateSync]  throws on failure
 * @property {(cb: Callback<number>) => void} size  in bytes
 * @property {(cb: Callback<FileState>) => void} [stat]  a storage without it is watched by size alone
 * @property {(cb: Callback<'held' | 'busy' | 'refused'>) => void} [tryLock]  takes the kernel's lock on the file,
 *   which is held until the handle is closed; another handle may have it, or the system may have no such lock. Only for
 *   a handle that was opened with `isExclusive`
 * @property {(path: string, cb: Callback<boolean>) => void} [isAt]  whether a path leads to this very file
 * @property {(path: string) => boolean} [isAtSync]  the same at once; throws on failure
 * @property {(cb: Callback<string>) => void} [findPath]  where the file is now, whatever its folders are called now
 * @property {(cb: Callback<void>) => void} close
 */

/**
 * What tells one state of a file from another, and one file from another.
 * @typedef {object} FileState
 * @property {number} size  in bytes
 * @property {bigint} modifiedNs  when it was last written, in nanoseconds since 1970; kernels update it every few ms
 * @property {bigint} changedNs  when it, its name or its mode last changed; nobody can set it
 * @property {bigint} device
 * @property {bigint} inode
 * @property {bigint} nameCount  0 once it was removed, or replaced by another
 */

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'r+'} flags  `r+` creates the file when it does not exist; `r` never creates anything
 * @property {boolean} createFolder  with `r+`: create the folder of the file too
 * @property {boolean} [mustExist]  with `r+`: create nothing; ENOENT when there is no file
 * @property {boolean} [isExclusive]  with `r+`: `tryLock` will be called. Some systems take the lock with opening: an
 *   error of theirs has the property `lockOutcome`, 'busy' or 'refused'
 */

/**
 * @typedef {object} Storage
 * @property {(path: string, options: OpenOptions, cb: Callback<StorageHandle>) => void} open
 * @property {(from: string, to: string, cb: Callback<void>) => void} rename  atomic; within one folder
 * @property {(path: string, cb: Callback<void>) => void} unlink
 * @property {(path: string, cb: Callback<void>) => void} syncFolder  the names in it are on stable storage: new files,
 *   renames and removals are lost with the power until then. Windows has no such call: there it does nothing, and NTFS
 *   keeps its names in a journal of its own
 * @property {(path: string) => void} [makeFolderSync]  makes the folder of a file at once; throws on failure
 * @property {(path: string, onEvent: () => void, cb: Callback<Watcher>) => void} [watch]  tells when the file may have
 *   changed, from another process too. A storage without it is polled
 * @property {(path: string) => string} [toAbsolute]  what a path means now, whatever the working folder is later. A
 *   storage without it has no relative paths
 * @property {(path: string, cb: Callback<string>) => void} [realPath]  where the file is, or would be made, with every
 *   symlink followed. A storage without it has no symlinks
 * @property {(from: string, to: string, cb: Callback<void>) => void} [copyOwnership]  gives one file the owner, the
 *   group and the mode of another
 * @property {(path: string, how: LockRequest, cb: Callback<StorageLock>) => void} [lock]  of a file, there or not, by
 *   its real path; its folder is made if it is to be. Fails at once with ERR_LOG_LOCKED while another has it, in this
 *   process or in another one. A storage without it cannot be reached from elsewhere
 * @property {(path: string, options: { createFolder: boolean }, cb: Callback<boolean>) => void} [hasKernelLocks]
 *   whether a file that is yet to be made there can be locked with `tryLock`. A storage without it has no such locks
 * @property {(path: string, cb: Callback<LockHolder>) => void} [findHolder]  of a file that `tryLock` found busy
 */

/**
 * @typedef {object} LockRequest
 * @property {boolean} createFolder
 * @property {boolean} [isKernelHeld]  whether `tryLock` has the file already: the record only says who has it, then
 * @property {bigint} [inode]  of the file that `tryLock` has
 */

/**
 * @typedef {object} LockHolder
 * @property {'alive' | 'dying' | 'nameless'} state  dying: its last write may be under way. Nameless: nothing says who
 *   it is
 * @property {Error} error  ERR_LOG_LOCKED
 */

/**
 * What became of a file since a holder of its lock did not give it back. Intact: the holder had vouched for the file,
 * and kernel, disk and mount have been the same since, so nothing is lost of what was in the page cache. Rebooted: the
 * machine was started anew, so that all that is read comes from the disk.
 * @typedef {'intact' | 'rebooted' | 'unknown'} Past
 */

/**
 * @typedef {object} StorageLock
 * @property {'kernel' | 'file'} [kind]  whether `tryLock` or the record locks the file
 * @property {string | null} [nonce]  that no other lock has ever had; null if nothing says who holds this one
 * @property {string | null} [deadNonce]  of a holder who died before giving it back, and whose place this one took
 * @property {string | null} [blindSpot]  what it cannot keep out, for people to read; null if nothing
 * @property {(cb: Callback<void>) => void} noteFile  the file is there, and will not be replaced: so a copy of the lock
 *   can be told from the lock
 * @property {(cb: Callback<void>) => void} forgetFile  it is going to be replaced
 * @property {(cb: Callback<Past>) => void} [findPast]
 * @property {(isIntact: boolean, cb: Callback<void>) => void} [markIntact]  notes whether all that was ever shown of
 *   the file is there, for as long as this kernel runs
 * @property {(path: string, cb: Callback<void>) => void} release  `path` is where the file is now
 * @property {() => void} [releaseSync]  as the process ends; throws on failure
 */

/**
 * @typedef {object} Watcher
 * @property {boolean} isTrusted  whether the file lies where every change is announced; on a network it may not be
 * @property {() => void} close
 */

/**
 * @param {number} fd
 * @param {{ dev: bigint, ino: bigint }} identity  of the file
 * @returns {StorageHandle}
 */
function createHandle (fd, { dev, ino }) {
  return {
    read: (buf, offset, length, position, cb) => fs.read(fd, buf, offset, length, position, cb),
    readSync: (buf, offset, length, position) => fs.readSync(fd, buf, offset, length, position),
    write: (buf, offset, length, position, cb) => fs.write(fd, buf, offset, length, position, cb),
    writeSync: (buf, offset, length, position) => fs.writeSync(fd, buf, offset, length, position),
    truncate: (size, cb) => fs.ftruncate(fd, size, cb),
    truncateSync: (size) => fs.ftruncateSync(fd, size),
    // The size goes to the disk too, as far as reading the data needs it; times of access and change need not.
    sync: (cb) => fs.fdatasync(fd, cb),
    syncSync: () => fs.fdatasyncSync(fd),
    size: (cb) => fs.fstat(fd, (err, stat) => err ? cb(err) : cb(null, stat.size)),
    stat: (cb) => fs.fstat(fd, { bigint: true }, (err, stat) => {
      if (err) return cb(err)
      const { mtimeNs: modifiedNs, ctimeNs: changedNs, nlink: nameCount } = stat
      cb(null, { size: Number(stat.size), modifiedNs, changedNs, device: dev, inode: ino, nameCount })
    }),
    tryLock: callbackify(() => tryLock(fd, '-x')),
    isAt: (path, cb) => fs.stat(path, { bigint: true }, (err, found) => {
      if (err && err.code !== 'ENOENT' && err.code !== 'ENOTDIR') cb(err)
      else cb(null, !err && found.ino === ino && found.dev === dev)
    }),
    isAtSync: (path) => {
      const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
      return found !== undefined && found.ino === ino && found.dev === dev
    },
    findPath: process.platform === 'linux' ? (cb) => fs.readlink(`/proc/self/fd/${fd}`, cb) : undefined,
    close: (cb) => fs.close(fd, cb)
  }
}

/**
 * @param {string} filePath
 * @param {OpenOptions} options
 */
async function open (filePath, { flags, createFolder, mustExist = false, isExclusive = false }) {
  const isMade = flags === 'r+' && !mustExist
  if (isMade && createFolder) await makeFolder(path.dirname(filePath))
  const mode = (flags === 'r' ? O_RDONLY : O_RDWR) | (isMade ? O_CREAT : 0) | (isExclusive ? LOCKING_FLAGS : 0)
  const fd = await call(fs, 'open', filePath, mode, FILE_MODE).catch(throwLockOutcome)
  try {
    const stat = await call(fs, 'fstat', fd, { bigint: true })
    if (!stat.isFile()) throw notAFile(filePath, stat)
    return createHandle(fd, stat)
  } catch (err) {
    await call(fs, 'close', fd).catch(() => {})
    throw err
  }
}

/**
 * @param {string} filePath
 * @param {LockRequest} request
 */
async function lock (filePath, request) {
  if (request.createFolder) await makeFolder(path.dirname(filePath))
  return lockFile(filePath, request)
}

/**
 * @param {string} from
 * @param {string} to
 */
async function copyOwnership (from, to) {
  const [{ uid, gid, mode }, found] = await Promise.all([fs.promises.stat(from), fs.promises.stat(to)])
  // The owner of both need not have the right to give a file away.
  if (uid !== found.uid || gid !== found.gid) await fs.promises.chown(to, uid, gid)
  // A change of owner may take bits from the mode.
  await fs.promises.chmod(to, mode & 0o7777)
}

/** @type {Storage} */
exports.fileStorage = {
  open: callbackify(open),
  rename: fs.rename,
  unlink: fs.unlink,
  syncFolder: callbackify(syncFolder),
  makeFolderSync,
  watch: watchFile,
  toAbsolute,
  realPath: callbackify(findRealPath),
  copyOwnership: callbackify(copyOwnership),
  lock: callbackify(lock),
  hasKernelLocks: callbackify(hasKernelLocks),
  findHolder: callbackify(findHolder)
}

// The lock that the kernel holds on an open file: it goes with the descriptor, and so with the process, whatever its
// namespace and whatever path led to the file. Node.js has no call for it, but it can be had without native code.
//
// Linux: flock(2) belongs to the open file description, which a child shares that inherits the descriptor. So the
// program `flock` takes it for us and ends; the lock stays until our descriptor is closed. util-linux and BusyBox both
// have the program. BSD and macOS: `open` takes the lock, with O_EXLOCK. Windows has none of this kind: see openGuard
// in lock/lock-file.js.

// As in <fcntl.h> of macOS and the BSDs; fs.constants does not name it.
const O_EXLOCK = 0x20
const HAS_EXLOCK = ['darwin', 'freebsd', 'openbsd', 'netbsd'].includes(process.platform)
const LOCKING_FLAGS = HAS_EXLOCK ? O_EXLOCK | O_NONBLOCK : 0
// Nothing that comes and goes: this system has no such program, or does not let this process start it.
const NO_PROGRAM = ['ENOENT', 'EACCES', 'EPERM', 'ENOEXEC', 'ENOTDIR', 'ERR_ACCESS_DENIED']
const BUSY_EXIT_CODE = 1

/** @param {NodeJS.ErrnoException} err  what opening failed with, perhaps for the lock */
function throwLockOutcome (err) {
  const { code = '' } = err
  const isBusy = code === 'EAGAIN' || code === 'EWOULDBLOCK'
  const isRefused = ['ENOTSUP', 'EOPNOTSUPP', 'EINVAL'].includes(code)
  if (!HAS_EXLOCK || (!isBusy && !isRefused)) throw err
  throw Object.assign(err, { lockOutcome: isBusy ? 'busy' : 'refused' })
}

/**
 * @param {number} fd  open for writing, or of a folder; on systems whose `open` takes the lock, opened with
 *   `LOCKING_FLAGS`
 * @param {'-x' | '-s'} mode  exclusive or shared
 * @returns {Promise<'held' | 'busy' | 'refused'>}  busy: another open file description has it. Refused: the system or
 *   the file system has no such lock
 * @throws what keeps a process from being started for the moment: EAGAIN, ENOMEM, EMFILE
 */
async function tryLock (fd, mode) {
  if (HAS_EXLOCK) return 'held'
  if (process.platform !== 'linux') return 'refused'
  try {
    const child = spawn('flock', ['-n', mode, '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] })
    let complaint = ''
    child.stderr?.on('data', (text) => { complaint += text })
    const [code, signal] = await once(child, 'close')
    if (code === 0) return 'held'
    if (signal) throw new Error(`the program flock was ended by ${signal}; open the file again`)
    // BusyBox ends with 1 for every failure, but complains only of those that are none of another holder.
    return code === BUSY_EXIT_CODE && complaint === '' ? 'busy' : 'refused'
  } catch (/** @type {any} */ err) {
    if (NO_PROGRAM.includes(err.code)) return 'refused'
    throw err
  }
}

/**
 * @param {string} filePath  of a file that is yet to be made
 * @param {{ createFolder: boolean }} request
 * @returns {Promise<boolean>}  whether it can be locked then
 */
async function hasKernelLocks (filePath, { createFolder }) {
  const folder = path.dirname(filePath)
  if (createFolder) await makeFolder(folder)
  if (HAS_EXLOCK || process.platform !== 'linux') return HAS_EXLOCK
  const fd = await call(fs, 'open', folder, O_RDONLY)
  try {
    return await tryLock(fd, '-s') !== 'refused'
  } finally {
    await call(fs, 'close', fd)
  }
}

// Folders: makes them, and puts the names in them on stable storage.

/**
 * Makes a folder and those above it that are missing; their names are on stable storage then.
 * @param {string} folder
 */
async function makeFolder (folder) {
  const last = path.resolve(folder)
  const first = await fs.promises.mkdir(last, { recursive: true })
  if (first === undefined) return
  for (const created of foldersBetween(path.resolve(first), last)) await syncFolder(path.dirname(created))
}

/**
 * The same at once, for those who put files into it before the log is open, as flume's views do.
 * @param {string} filePath  of a file in the folder
 * @throws what the file system says
 */
function makeFolderSync (filePath) {
  const last = path.resolve(path.dirname(filePath))
  const first = fs.mkdirSync(last, { recursive: true })
  if (first === undefined || process.platform === 'win32') return
  for (const created of foldersBetween(path.resolve(first), last)) {
    const fd = fs.openSync(path.dirname(created), O_RDONLY)
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  }
}

/** @type {(first: string, last: string) => string[]} from the first down to the last, which is below it or the same */
function foldersBetween (first, last) {
  const folders = [last]
  while (folders[0] !== first && path.dirname(folders[0]) !== folders[0]) folders.unshift(path.dirname(folders[0]))
  return folders
}

/** @param {string} folder */
async function syncFolder (folder) {
  if (process.platform === 'win32') return
  const fd = await call(fs, 'open', folder, O_RDONLY)
  try {
    await call(fs, 'fsync', fd)
  } finally {
    await call(fs, 'close', fd)
  }
}

// What a path means: relative ones at the time when they are given, and symlinks followed to where a file is, or would
// be made.

/**
 * @param {unknown} filePath  checked later
 * @param {Storage} [storage]
 * @returns {any}
 */
function resolvePath (filePath, storage = exports.fileStorage) {
  const isPath = typeof filePath === 'string' && filePath !== ''
  return isPath && typeof storage?.toAbsolute === 'function' ? storage.toAbsolute(filePath) : filePath
}

/**
 * Changes no other part of the path: what `..` leads to is known only once the links before it are followed.
 * @param {string} filePath
 * @returns {string}  absolute
 */
function toAbsolute (filePath) {
  if (path.isAbsolute(filePath)) return filePath
  try {
    if (process.platform !== 'win32') return path.posix.join(process.cwd(), '/') + filePath
    return path.resolve(filePath) + (/[/\\]$/.test(filePath) ? path.sep : '')
  } catch {
    // The working folder was removed: opening the file will say so.
    return filePath
  }
}

/**
 * @param {string} filePath
 * @returns {Promise<string>}
 */
async function findRealPath (filePath) {
  try {
    return await call(fs.realpath, 'native', filePath)
  } catch (/** @type {any} */ err) {
    // With a slash at its end it is meant to be a folder, and no file can be made there.
    if (err.code !== 'ENOENT' || /[/\\]$/.test(filePath)) throw err
  }
  const given = path.resolve(filePath)
  const folder = await findRealPath(path.dirname(given))
  const name = path.join(folder, path.basename(given))
  // If it is no link, or is there now, opening it tells what is wrong with it.
  const target = await call(fs, 'readlink', name).catch(() => null)
  return target === null ? name : findRealPath(path.resolve(folder, target))
}

exports.resolvePath = resolvePath
exports.toAbsolute = toAbsolute
