'use strict'
// The storage interface and its one real implementation, the only place in the core that touches the file system; and
// what a path means.

const fs = require('node:fs')
const path = require('node:path')
const { toCallback, toPromise } = require('@millrace/flow')
const { hasKernelLocks, lockDescriptor, lockingFlags, outcomeOfOpening } = require('./lock/kernel-lock')
const { findHolder, lockFile } = require('./lock/lock-file')
const { watchFile } = require('./file-watch')
const { notAFile } = require('./whole-io')

// A log may hold what others should not read; a user who wants it shared can say so with chmod.
const FILE_MODE = 0o600
const OPEN_MODES = { r: fs.constants.O_RDONLY, 'r+': fs.constants.O_RDWR }
const CREATE_MODE = fs.constants.O_RDWR | fs.constants.O_CREAT

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
 * @returns {StorageHandle}
 */
function createHandle (fd) {
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
    stat: (cb) => fs.fstat(fd, { bigint: true }, (err, stat) => err ? cb(err) : cb(null, toFileState(stat))),
    tryLock: (cb) => toCallback(lockDescriptor(fd), cb),
    isAt: (path, cb) => isAt(fd, path, cb),
    isAtSync: (path) => {
      const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
      return found !== undefined && isSameFile(fs.fstatSync(fd, { bigint: true }), found)
    },
    findPath: process.platform === 'linux' ? (cb) => fs.readlink(`/proc/self/fd/${fd}`, cb) : undefined,
    close: (cb) => fs.close(fd, cb)
  }
}

/**
 * @param {number} fd
 * @param {string} filePath
 * @param {Callback<boolean>} cb
 */
function isAt (fd, filePath, cb) {
  fs.fstat(fd, { bigint: true }, (err, ours) => {
    if (err) return cb(err)
    fs.stat(filePath, { bigint: true }, (err, found) => {
      if (err && !isNoWay(err)) cb(err)
      else cb(null, !err && isSameFile(ours, found))
    })
  })
}

/**
 * @param {import('node:fs').BigIntStats} a
 * @param {import('node:fs').BigIntStats} b
 */
function isSameFile (a, b) {
  return a.ino === b.ino && a.dev === b.dev
}

/** @param {NodeJS.ErrnoException} err  whether it says that the path leads nowhere */
function isNoWay ({ code }) {
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/**
 * @param {import('node:fs').BigIntStats} stat
 * @returns {FileState}
 */
function toFileState ({ size, mtimeNs, ctimeNs, dev, ino, nlink }) {
  return { size: Number(size), modifiedNs: mtimeNs, changedNs: ctimeNs, device: dev, inode: ino, nameCount: nlink }
}

/**
 * @param {string} filePath
 * @param {OpenOptions} options
 * @param {Callback<StorageHandle>} cb
 */
function open (filePath, { flags, createFolder, mustExist = false, isExclusive = false }, cb) {
  const locking = isExclusive ? lockingFlags() : 0
  if (flags === 'r' || mustExist) return openFile(filePath, OPEN_MODES[flags] | locking, cb)
  const create = () => openFile(filePath, CREATE_MODE | locking, cb)
  inFolder(path.dirname(filePath), { createFolder }, (err) => err ? cb(err) : create())
}

/**
 * @param {string} filePath
 * @param {number} mode  how to open it
 * @param {Callback<StorageHandle>} cb
 */
function openFile (filePath, mode, cb) {
  fs.open(filePath, mode, FILE_MODE, (err, fd) => {
    if (err) return cb(Object.assign(err, outcomeOfOpening(err)))
    fs.fstat(fd, (err, stat) => {
      if (!err && stat.isFile()) return cb(null, createHandle(fd))
      fs.close(fd, () => cb(err ?? notAFile(filePath, stat)))
    })
  })
}

/**
 * @param {string} from
 * @param {string} to
 * @param {Callback<void>} cb
 */
function copyOwnership (from, to, cb) {
  toCallback(copyOwnershipNow(from, to), cb)
}

/**
 * @param {string} from
 * @param {string} to
 */
async function copyOwnershipNow (from, to) {
  const [{ uid, gid, mode }, found] = await Promise.all([fs.promises.stat(from), fs.promises.stat(to)])
  // The owner of both need not have the right to give a file away.
  if (uid !== found.uid || gid !== found.gid) await fs.promises.chown(to, uid, gid)
  // A change of owner may take bits from the mode.
  await fs.promises.chmod(to, mode & 0o7777)
}

/**
 * @param {unknown} filePath  checked later
 * @param {Storage} [storage]
 * @returns {any}
 */
function resolvePath (filePath, storage = exports.fileStorage) {
  const isPath = typeof filePath === 'string' && filePath !== ''
  return isPath && typeof storage?.toAbsolute === 'function' ? storage.toAbsolute(filePath) : filePath
}

/** @type {Storage} */
exports.fileStorage = {
  open,
  rename: fs.rename,
  unlink: fs.unlink,
  syncFolder,
  makeFolderSync: (filePath) => makeFolderSync(path.dirname(filePath)),
  watch: watchFile,
  toAbsolute,
  realPath: findRealPath,
  copyOwnership,
  lock: (filePath, request, cb) => {
    inFolder(path.dirname(filePath), request, (err) => err ? cb(err) : lockFile(filePath, request, cb))
  },
  hasKernelLocks: (filePath, request, cb) => {
    const folder = path.dirname(filePath)
    inFolder(folder, request, (err) => err ? cb(err) : toCallback(hasKernelLocks(folder), cb))
  },
  findHolder
}

// Folders: makes them, and puts the names in them on stable storage.

/**
 * @param {string} folder
 * @param {{ createFolder: boolean }} request
 * @param {Callback<void>} cb  the folder is there, if it is to be made
 */
function inFolder (folder, { createFolder }, cb) {
  if (createFolder) toCallback(makeFolder(folder), cb)
  else cb(null)
}

/**
 * Makes a folder and those above it that are missing; their names are on stable storage then.
 * @param {string} folder
 */
async function makeFolder (folder) {
  const last = path.resolve(folder)
  const firstCreated = await fs.promises.mkdir(last, { recursive: true })
  if (firstCreated === undefined) return
  for (const created of foldersBetween(path.resolve(firstCreated), last)) {
    await toPromise((cb) => syncFolder(path.dirname(created), cb))
  }
}

/**
 * The same at once, for those who put files into it before the log is open, as flume's views do.
 * @param {string} folder
 * @throws what the file system says
 */
function makeFolderSync (folder) {
  const last = path.resolve(folder)
  const firstCreated = fs.mkdirSync(last, { recursive: true })
  if (firstCreated === undefined || process.platform === 'win32') return
  for (const created of foldersBetween(path.resolve(firstCreated), last)) {
    const fd = fs.openSync(path.dirname(created), fs.constants.O_RDONLY)
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  }
}

/**
 * @param {string} first
 * @param {string} last  below the first, or the same
 * @returns {string[]}
 */
function foldersBetween (first, last) {
  const folders = [last]
  while (folders[0] !== first && path.dirname(folders[0]) !== folders[0]) folders.unshift(path.dirname(folders[0]))
  return folders
}

/**
 * @param {string} folder
 * @param {Callback<void>} cb
 */
function syncFolder (folder, cb) {
  if (process.platform === 'win32') return process.nextTick(cb, null)
  fs.open(folder, fs.constants.O_RDONLY, (err, fd) => {
    if (err) return cb(err)
    fs.fsync(fd, (err) => fs.close(fd, (closeErr) => cb(err ?? closeErr ?? null)))
  })
}

// What a path means: relative ones at the time when they are given, and symlinks followed to where a file is, or would
// be made.

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
 * @param {(err: Error | null, realPath?: string) => void} cb
 */
function findRealPath (filePath, cb) {
  fs.realpath.native(filePath, (err, realPath) => {
    if (!err) return cb(null, realPath)
    // With a slash at its end it is meant to be a folder, and no file can be made there.
    if (err.code !== 'ENOENT' || /[/\\]$/.test(filePath)) return cb(err)
    const given = path.resolve(filePath)
    findRealPath(path.dirname(given), (err, folder = '') => {
      if (err) return cb(err)
      const name = path.join(folder, path.basename(given))
      fs.readlink(name, (err, target) => {
        // It is no link, or it is there now: then opening it tells what is wrong with it.
        if (err) cb(null, name)
        else findRealPath(path.resolve(folder, target), cb)
      })
    })
  })
}

exports.resolvePath = resolvePath
exports.toAbsolute = toAbsolute
