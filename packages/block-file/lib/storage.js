'use strict'
// The storage interface, and its implementation on the file system. No other part of the core opens or changes the
// files of a log.

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { fileURLToPath } = require('node:url')
const { callbackify } = require('node:util')
const { misuse, reasonOf } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { findHolder, lockFile } = require('./lock/lock-file')
const { watchFile } = require('./file-watch')
const { patientStorage } = require('./patience')
const { files, notAFile } = require('./whole-io')

const { O_CREAT, O_DIRECTORY = 0, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants
// A log may hold private data. A user who wants to share it can change the mode.
const FILE_MODE = 0o600
const IS_LINUX = process.platform === 'linux'
/** After this time, a look at a file shows whether its path still leads to it. */
const LOOK_MS = 100

/** @template T @typedef {(err: Error | null, result?: T) => void} Callback */

/**
 * An open file. A transfer may be short, as the kernel's may; `whole-io` continues it. A callback never runs before its
 * call has returned. Synchronous calls throw.
 * @typedef {object} StorageHandle
 * @property {(buf: Buffer, offset: number, length: number, position: number, cb: Callback<number>) => void} read
 * @property {(buf: Buffer, offset: number, length: number, position: number) => number} readSync
 * @property {(buf: Buffer, offset: number, length: number, position: number, cb: Callback<number>) => void} write
 * @property {(size: number, cb: Callback<void>) => void} truncate
 * @property {(cb: Callback<void>) => void} sync  puts everything written before on stable storage
 * @property {(buf: Buffer, offset: number, length: number, position: number) => number} [writeSync]  a storage without
 *   this call or the next one is written and synced through callbacks only
 * @property {() => void} [syncSync]
 * @property {(size: number) => void} [truncateSync]
 * @property {(cb: Callback<number>) => void} size  in bytes
 * @property {(cb: Callback<FileState>) => void} [stat]  without it, only changes of the size are noticed
 * @property {(cb: Callback<'held' | 'busy' | 'refused'>) => void} [tryLock]  takes the kernel's lock on the file, which
 *   holds until the handle is closed. Busy: another handle has the lock. Refused: the system has no such lock. Only for
 *   handles opened with `isExclusive`
 * @property {(path: string, cb: Callback<boolean>) => void} [isAt]  whether a path leads to this file
 * @property {(path: string) => boolean} [isAtSync]
 * @property {(path: string) => boolean} [isKnownAt]  the same, if the kernel can tell without a look at the file.
 *   False: ask `isAt`
 * @property {(cb: Callback<void>) => void} close
 * @property {() => void} [closeSync]
 */

/**
 * Tells apart states of a file, and files.
 * @typedef {object} FileState
 * @property {number} size  in bytes
 * @property {bigint} modifiedNs  time of the last write, in nanoseconds since 1970; kernels update it every few ms
 * @property {bigint} changedNs  time of the last change of the file, its name or its mode; no program can set it
 * @property {bigint} device
 * @property {bigint} inode
 * @property {bigint} nameCount  0 once the file was removed, or replaced by another
 */

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'r+'} flags  `r+` creates a missing file; `r` never creates anything
 * @property {boolean} createFolder  with `r+`: create the file's folder too
 * @property {boolean} [mustExist]  with `r+`: create nothing; ENOENT if the file is missing
 * @property {boolean} [isExclusive]  with `r+`: `tryLock` will be called. On some systems `open` itself takes the lock;
 *   its error then has the property `lockOutcome`, 'busy' or 'refused'
 * @property {number} [mode]  of a file that is made, less the bits of the umask; 0600 by default
 */

/**
 * @typedef {object} Storage
 * @property {(path: string, options: OpenOptions, cb: Callback<StorageHandle>) => void} open  opens a file, and
 *   makes it if the options say so
 * @property {(from: string, to: string, cb: Callback<void>) => void} rename  atomic; within one folder
 * @property {boolean} [provesFolder]  true if its files are reached through an open folder, so who uses it looks
 *   whether that was moved
 * @property {boolean} [replacesOpenFiles]  false if no file can be renamed, replaced or removed while it is open, as on
 *   Windows: EPERM, EACCES or EBUSY. `patientStorage` then tries such calls again for a while
 * @property {(path: string, options: OpenOptions) => StorageHandle} [openSync]  throws on failure; never makes the
 *   folder. Without this call or the next one, no file can get its name and be opened without waiting
 * @property {(from: string, to: string) => void} [renameSync]  throws on failure
 * @property {(path: string, cb: Callback<void>) => void} unlink  removes a file
 * @property {(path: string) => void} [unlinkSync]  throws on failure. Without it, a quota waits for names to be removed
 * @property {(path: string, cb: Callback<void>) => void} syncFolder  puts the names in a folder on stable storage.
 *   Until then a power cut may undo new files, renames and removals. On Windows it does nothing: there is no such call,
 *   and NTFS keeps names in a journal of its own
 * @property {(path: string) => void} [syncFolderSync]  a storage without it has no synchronous changes
 * @property {(folder: string, cb: Callback<string[]>) => void} [listFolder]  the names in a folder
 * @property {(path: string, cb: Callback<number>) => void} [fileSize]  of a file that need not be open, in bytes
 * @property {(folder: string, cb: Callback<number>) => void} [freeSize]  how many bytes are free where a folder is
 * @property {(folder: string, cb: Callback<FolderHandle>) => void} [openFolder]  opens a
 *   folder, to reach its files, and to see if a path leads to it. A storage without it has no folders that can be moved
 * @property {(path: string) => void} [makeFolderSync]  makes the folder of a file; throws on failure
 * @property {(path: string, onEvent: () => void, cb: Callback<Watcher>) => void} [watch]  reports changes, also of
 *   other processes. Without it, the file is polled
 * @property {(path: string) => string} [toAbsolute]  resolves a relative path, so that a later change of the working
 *   folder does not matter. A storage without it has no relative paths
 * @property {(path: string, cb: Callback<string>) => void} [realPath]  follows every symlink to where the file is, or
 *   would be created. A storage without it has no symlinks
 * @property {(from: string, to: string, cb: Callback<void>) => void} [copyOwnership]  gives `to` the owner, group and
 *   mode of the file `from`. Whoever may read the file may look into `to` if that is a folder
 * @property {(path: string, how: LockRequest, cb: Callback<StorageLock>) => void} [lock]  locks a file by its real
 *   path, even if the file does not exist. Fails at once with ERR_LOG_LOCKED if the lock is held, in this process or
 *   another one. A storage without it cannot be reached by other processes
 * @property {(path: string, options: { createFolder: boolean }, cb: Callback<boolean>) => void} [hasKernelLocks]
 *   whether `tryLock` will work on a file that is created at `path`; `createFolder`: in a folder that may be missing.
 *   A storage without it has no such locks
 * @property {(path: string, cb: Callback<LockHolder>) => void} [findHolder]  of a file that `tryLock` found busy
 */

/**
 * @typedef {object} FolderHandle
 * @property {string | null} reach  a path that leads to this folder as long as it is open, wherever it is moved. Null
 *   if the system has no such path: then whoever acts on a name proves, before and after, that the path is right
 * @property {(path: string, cb: (err: Error | null, isAt?: boolean) => void) => void} isAt  whether a path leads to
 *   this folder
 * @property {(path: string) => boolean} isAtSync
 * @property {(cb: (err: Error | null) => void) => void} close
 */

/**
 * @typedef {object} LockRequest
 * @property {boolean} createFolder
 * @property {number} [mode]  of the record, less the bits of the umask; 0644 by default
 * @property {boolean} [isKernelHeld]  whether `tryLock` has locked the file; the record then only names the holder
 * @property {bigint} [inode]  of the file that `tryLock` has locked
 * @property {string} [at]  another path to the file, through an open folder
 * @property {FolderHandle} [folder]  the open folder of the file, which stays open until the
 *   lock is released
 */

/**
 * @typedef {object} LockHolder
 * @property {'alive' | 'dying' | 'nameless'} state  dying: its last write may be running. Nameless: no record names it
 * @property {Error} error  ERR_LOG_LOCKED
 */

/**
 * What may have happened to a file if the last holder of its lock did not give the lock back. Intact: the holder had
 * noted that everything is in the file or the page cache, and kernel, disk and mount have not changed since, so nothing
 * is lost. Unsynced: the same, but a sync may have failed, so what is not known to be durable may never reach the disk.
 * Rebooted: the machine was restarted, so everything that is read comes from the disk.
 * @typedef {'intact' | 'unsynced' | 'rebooted' | 'unknown'} Past
 */

/**
 * @typedef {object} StorageLock
 * @property {'kernel' | 'file'} [kind]  what locks the file: `tryLock`, or the record
 * @property {string | null} [nonce]  no other lock ever has it; null if no record could be made
 * @property {string | null} [deadNonce]  the nonce of the dead holder whose record this one replaced
 * @property {string | null} [blindSpot]  what the lock cannot keep out, for people to read; null if nothing
 * @property {(cb: Callback<void>) => void} noteFile  records which file is locked. A copy of the folder has other
 *   files, so a copied record is recognised
 * @property {(cb: Callback<void>) => void} forgetFile  call it before the file is replaced
 * @property {(cb: Callback<Past>) => void} [findPast]
 * @property {(isIntact: boolean, cb: Callback<void>) => void} [markIntact]  notes whether everything that was ever
 *   shown of the file is in the file or the page cache
 * @property {(path: string, cb: Callback<StorageLock>) => void} [cover]  if the locked file stands for its folder: the
 *   same lock, as that of another file in the folder. Without it, nothing is known of such a file's past
 * @property {(path: string) => StorageLock} [coverSync]  the same; throws on failure
 * @property {boolean} [isOfFolder]  whether it is such a lock: the file itself is not locked
 * @property {(cb: Callback<void>) => void} release  wherever the file's folder is now
 * @property {() => void} [releaseSync]  for an `exit` handler; throws on failure
 */

/**
 * @typedef {object} Watcher
 * @property {boolean} isTrusted  whether every change causes an event; on a network file system that is not certain
 * @property {() => void} close
 */

/** @type {(fd: number, identity: { dev: bigint, ino: bigint }) => StorageHandle} */
function createHandle (fd, { dev, ino }) {
  const link = `/proc/self/fd/${fd}`
  let lookedMs = -Infinity
  return {
    read: (buf, offset, length, position, cb) => fs.read(fd, buf, offset, length, position, cb),
    readSync: (buf, offset, length, position) => fs.readSync(fd, buf, offset, length, position),
    write: (buf, offset, length, position, cb) => fs.write(fd, buf, offset, length, position, cb),
    writeSync: (buf, offset, length, position) => fs.writeSync(fd, buf, offset, length, position),
    truncate: (size, cb) => fs.ftruncate(fd, size, cb),
    truncateSync: (size) => fs.ftruncateSync(fd, size),
    // fdatasync syncs the size too if reading the data needs it. Only the times may be old after a crash.
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
      const found = lookNow(path)
      return found !== undefined && found.ino === ino && found.dev === dev
    },
    // A look at the file asks for its times too. Since Linux 6.13 the next write must then give it a new time, which
    // dirties the inode, and on ext4 without a journal the next sync writes the inode as well: it takes 1.5 times as
    // long. But the kernel's path tells nothing of a mount over a folder, nor of what another host has done.
    isKnownAt: !IS_LINUX
      ? undefined
      : (path) => {
          const nowMs = performance.now()
          try {
            if (nowMs - lookedMs < LOOK_MS) return fs.readlinkSync(link) === path
          } catch {
            // There may be no /proc.
          }
          lookedMs = nowMs
          return false
        },
    close: (cb) => fs.close(fd, cb),
    closeSync: () => fs.closeSync(fd)
  }
}

/** Undefined if nothing is there. @param {string} name */
function lookNow (name) {
  try {
    return fs.statSync(name, { bigint: true, throwIfNoEntry: false })
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOTDIR') throw err
  }
}

// Opening a FIFO to read would wait for a writer. On a file the flag does nothing; Windows has none.
const READING_FLAGS = O_RDONLY | (O_NONBLOCK ?? 0)

/** @param {string} filePath  @param {OpenOptions} options */
async function open (filePath, { flags, createFolder, mustExist = false, isExclusive = false, mode = FILE_MODE }) {
  const isMade = flags === 'r+' && !mustExist
  if (isMade && createFolder) makeFolderSync(filePath)
  const how = (flags === 'r' ? READING_FLAGS : O_RDWR) | (isMade ? O_CREAT : 0) | (isExclusive ? LOCKING_FLAGS : 0)
  let fd
  try {
    fd = await files.open(filePath, how, mode)
  } catch (err) {
    throw HAS_EXLOCK ? withLockOutcome(err) : err
  }
  try {
    const stat = await files.fstat(fd, { bigint: true })
    if (!stat.isFile()) throw notAFile(filePath, stat)
    return createHandle(fd, stat)
  } catch (err) {
    await files.close(fd).catch(() => {})
    throw err
  }
}

/** @param {string} filePath  @param {OpenOptions} options */
function openSync (filePath, { flags, mustExist = false, mode = FILE_MODE }) {
  const isMade = flags === 'r+' && !mustExist
  const fd = fs.openSync(filePath, (flags === 'r' ? READING_FLAGS : O_RDWR) | (isMade ? O_CREAT : 0), mode)
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    if (!stat.isFile()) throw notAFile(filePath, stat)
    return createHandle(fd, stat)
  } catch (err) {
    fs.closeSync(fd)
    throw err
  }
}

/** @param {string} filePath  @param {LockRequest} request */
async function lock (filePath, request) {
  const at = path.dirname(request.at ?? filePath)
  if (request.createFolder) makeFolderSync(request.at ?? filePath)
  const folder = request.folder ?? await openFolder(at)
  try {
    return await lockFile(filePath, request, folder)
  } catch (err) {
    if (request.folder === undefined) await promisesOf(folder).close().catch(() => {})
    throw err
  }
}

/** @param {string} from  @param {string} to */
async function copyOwnership (from, to) {
  const [{ uid, gid, mode }, found] = await Promise.all([fs.promises.stat(from), fs.promises.stat(to)])
  // A user who owns both files may still have no right to call chown.
  if (uid !== found.uid || gid !== found.gid) await fs.promises.chown(to, uid, gid)
  // chown may have cleared bits of the mode.
  await fs.promises.chmod(to, (found.isDirectory() ? mode | (mode & 0o444) >> 2 : mode) & 0o7777)
}

const IS_WINDOWS = process.platform === 'win32'
/** @type {Storage} */
const systemStorage = {
  open: callbackify(open),
  replacesOpenFiles: !IS_WINDOWS,
  openSync,
  rename: fs.rename,
  renameSync: fs.renameSync,
  unlink: fs.unlink,
  unlinkSync: fs.unlinkSync,
  syncFolder: callbackify(syncFolder),
  syncFolderSync,
  listFolder: fs.readdir,
  fileSize: (name, cb) => fs.stat(name, (err, stat) => err ? cb(err) : cb(null, stat.size)),
  freeSize: (folder, cb) => fs.statfs(folder, (err, stat) => err ? cb(err) : cb(null, stat.bavail * stat.bsize)),
  openFolder: callbackify(openFolder),
  makeFolderSync,
  watch: watchFile,
  toAbsolute,
  realPath: callbackify(findRealPath),
  copyOwnership: callbackify(copyOwnership),
  lock: callbackify(lock),
  hasKernelLocks: callbackify(hasKernelLocks),
  findHolder: callbackify(findHolder)
}
exports.fileStorage = IS_WINDOWS ? patientStorage(systemStorage) : systemStorage

// The kernel's lock on an open file belongs to the descriptor. So it ends with the process, and neither namespaces nor
// other paths to the file get around it. Node.js has no call for it, but no native code is needed:
//
// - Linux: flock(2) belongs to the open file description. A child process that inherits the descriptor shares it. So
//   the program `flock` (util-linux or BusyBox) takes the lock and ends; the lock stays until our descriptor is closed.
// - BSD and macOS: `open` takes the lock, with O_EXLOCK.
// - Windows has no such lock: see `openGuard` in lock/lock-file.js.

// From <fcntl.h> of macOS and the BSDs; fs.constants does not have it.
const O_EXLOCK = 0x20
const HAS_EXLOCK = ['darwin', 'freebsd', 'openbsd', 'netbsd'].includes(process.platform)
const LOCKING_FLAGS = HAS_EXLOCK ? O_EXLOCK | O_NONBLOCK : 0
// Lasting failures: the system lacks the program, or does not let this process start it.
const NO_PROGRAM = ['ENOENT', 'EACCES', 'EPERM', 'ENOEXEC', 'ENOTDIR', 'ERR_ACCESS_DENIED']
// What Deno throws without the permission to start programs.
const NOT_CAPABLE = 'NotCapable'
const BUSY_EXIT_CODE = 1

/** An error of `open`, which takes the lock; `lockOutcome` says if that is the reason. @param {any} err */
function withLockOutcome (err) {
  const { code = '' } = err
  const isBusy = code === 'EAGAIN' || code === 'EWOULDBLOCK'
  const isRefused = ['ENOTSUP', 'EOPNOTSUPP', 'EINVAL'].includes(code)
  return isBusy || isRefused ? Object.assign(err, { lockOutcome: isBusy ? 'busy' : 'refused' }) : err
}

/**
 * @param {number} fd  open for writing, or a folder's. If `open` takes the lock, it was opened with `LOCKING_FLAGS`
 * @param {'-x' | '-s'} mode  exclusive or shared
 * @returns {Promise<'held' | 'busy' | 'refused'>}  busy: another open file description has the lock. Refused: the
 *   system or the file system has no such lock
 * @throws passing failures to start a process: EAGAIN, ENOMEM, EMFILE
 */
async function tryLock (fd, mode) {
  if (HAS_EXLOCK) return 'held'
  if (!IS_LINUX) return 'refused'
  try {
    // Loaded late: readers take no lock.
    const { spawn } = require('node:child_process')
    const child = spawn('flock', ['-n', mode, '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] })
    let complaint = ''
    child.stderr?.on('data', (text) => { complaint += text })
    const [code, signal] = await once(child, 'close')
    if (code === 0) return 'held'
    if (signal) throw new Error(`the program flock was ended by ${signal}; open the file again`)
    // BusyBox exits with 1 for every failure, but prints nothing if the lock is held.
    return code === BUSY_EXIT_CODE && complaint === '' ? 'busy' : 'refused'
  } catch (/** @type {any} */ err) {
    if (NO_PROGRAM.includes(err.code) || err.name === NOT_CAPABLE) return 'refused'
    throw err
  }
}

// Whether a file that is created at this path can be locked. Tries it on the folder.
/** @type {(filePath: string, request: { createFolder: boolean }) => Promise<boolean>} */
async function hasKernelLocks (filePath, { createFolder }) {
  const folder = path.dirname(filePath)
  if (createFolder) makeFolderSync(filePath)
  if (HAS_EXLOCK || !IS_LINUX) return HAS_EXLOCK
  const fd = await files.open(folder, O_RDONLY)
  try {
    return await tryLock(fd, '-s') !== 'refused'
  } finally {
    await files.close(fd)
  }
}

// Folders: makes them, and puts the names in them on stable storage.

/** Whether names can be reached through an open folder; null until the first one is opened. @type {boolean | null} */
let hasReach = IS_LINUX ? null : false

/** @type {(folder: string) => Promise<FolderHandle>} throws ENOENT, ENOTDIR and other errors of the file system */
async function openFolder (folder) {
  // While it is open, no other folder gets its inode. Windows cannot open a folder.
  const fd = process.platform === 'win32' ? null : await files.open(folder, O_RDONLY | O_DIRECTORY)
  try {
    const own = await (fd === null ? files.stat(folder, { bigint: true }) : files.fstat(fd, { bigint: true }))
    const isSame = (/** @type {fs.BigIntStats | undefined} */ found) => found?.ino === own.ino && found?.dev === own.dev
    const link = `/proc/self/fd/${fd}`
    hasReach ??= mayWrite(`${link}/a`) && isSame(tryStat(link))
    return {
      reach: fd !== null && hasReach ? link : null,
      isAt: (name, cb) => fs.stat(name, { bigint: true }, (err, found) => {
        if (err && err.code !== 'ENOENT' && err.code !== 'ENOTDIR') cb(err)
        else cb(null, isSame(found))
      }),
      isAtSync: (name) => isSame(lookNow(name)),
      close: (cb) => fd === null ? nextTick(cb, null) : fs.close(fd, cb)
    }
  } catch (err) {
    if (fd !== null) await files.close(fd).catch(() => {})
    throw err
  }
}

/** There may be no /proc, or this process may not look there. @param {string} link */
function tryStat (link) {
  try {
    return fs.statSync(link, { bigint: true })
  } catch {
    return undefined
  }
}

/** @param {string} name */
function mayWrite (name) {
  const { permission } = /** @type {{ permission?: { has: (scope: string, path: string) => boolean } }} */ (process)
  return permission?.has('fs.write', name) ?? true
}

/**
 * Makes the folder of a file and its missing parents, and syncs their names. Synchronous: flume's views put files into
 * the folder before the log is open. Each folder is tried twice at most: Node.js's own `recursive` never ends where
 * nobody can make a folder, as in /proc.
 * @param {string} filePath
 * @param {boolean} [hasParent]  whether the parent of the folder was made before
 */
function makeFolderSync (filePath, hasParent = false) {
  const folder = path.resolve(path.dirname(filePath))
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  try {
    fs.mkdirSync(folder)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT' && !hasParent && path.dirname(folder) !== folder) {
      makeFolderSync(folder)
      return makeFolderSync(filePath, true)
    }
    // Another process may have made it.
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
    throw err
  }
  syncFolderSync(path.dirname(folder))
}

/** @param {string} folder */
async function syncFolder (folder) {
  if (process.platform === 'win32') return
  const fd = await files.open(folder, O_RDONLY)
  try {
    await files.fsync(fd)
  } finally {
    await files.close(fd)
  }
}

/** @param {string} folder */
function syncFolderSync (folder) {
  if (process.platform === 'win32') return
  const fd = fs.openSync(folder, O_RDONLY)
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** A drive of Windows has one letter. */
const ADDRESS = /^(?:(file):\/|[a-z][a-z\d+.-]+:\/\/)/i

// What a path means. A URL becomes a path. A relative path is resolved when it is given. Symlinks are followed to where
// the file is, or would be created.

/**
 * Other values are checked later.
 * @type {(filePath: unknown, storage?: Storage) => any}
 * @throws {TypeError} ERR_INVALID_ARGUMENT for a URL that does not name a file, and for the text of a URL
 */
function resolvePath (filePath, storage = exports.fileStorage) {
  if (filePath instanceof URL) return pathOf(filePath)
  const isPath = typeof filePath === 'string' && filePath !== ''
  if (!isPath || typeof storage?.toAbsolute !== 'function') return filePath
  const [address, ofFile] = ADDRESS.exec(filePath) ?? []
  if (address === undefined) return storage.toAbsolute(filePath)
  // As a path, it would lead into a folder that is called `file:`.
  const advice = ofFile ? 'pass a URL object, as new URL(text), or fileURLToPath(text)' : 'pass a path'
  throw misuse(`expected a path, got the text of a URL, ${reasonOf(filePath)}; ${advice}, or write ./ before it if that is its name`)
}

/**
 * @type {(call: string, folder: unknown, storage: Storage) => string} of a log that is a folder
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function resolveFolder (call, folder, storage) {
  const found = resolvePath(folder, storage)
  if (typeof found === 'string' && found !== '') return found
  throw misuse(`${call}: expected the path of a folder, got ${reasonOf(folder)}`)
}

/** @param {URL} url */
function pathOf (url) {
  try {
    return fileURLToPath(url)
  } catch (err) {
    throw misuse(`expected a path or a file: URL, got ${url.href}: ${reasonOf(err)}`)
  }
}

// Makes a path absolute. It keeps `..`, which may lead elsewhere once the symlinks before it are followed.
/** @type {(filePath: string) => string} */
function toAbsolute (filePath) {
  if (path.isAbsolute(filePath)) return filePath
  try {
    if (process.platform !== 'win32') return path.posix.join(process.cwd(), '/') + filePath
    return path.resolve(filePath) + (/[/\\]$/.test(filePath) ? path.sep : '')
  } catch {
    // The working folder was removed. Opening the file will fail.
    return filePath
  }
}

/** @type {(filePath: string) => Promise<string>} */
async function findRealPath (filePath) {
  try {
    return await promisesOf(fs.realpath).native(filePath)
  } catch (/** @type {any} */ err) {
    // A path that ends in a slash means a folder, where no file can be created.
    if (err.code !== 'ENOENT' || /[/\\]$/.test(filePath)) throw err
  }
  const given = path.resolve(filePath)
  const folder = await findRealPath(path.dirname(given))
  const name = path.join(folder, path.basename(given))
  // If this fails, the name is no symlink, or exists by now. Opening it then shows what is wrong, if anything is.
  const target = await files.readlink(name).catch(() => null)
  return target === null ? name : findRealPath(path.resolve(folder, target))
}

exports.resolveFolder = resolveFolder
exports.resolvePath = resolvePath
exports.toAbsolute = toAbsolute
