'use strict'
// The storage interface and its one real implementation: the only place in the core that touches the file system.

const fs = require('node:fs')
const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { watchFile } = require('./watch-file')

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
 * @property {(cb: Callback<number>) => void} size  in bytes
 * @property {(cb: Callback<FileState>) => void} [stat]  a storage without it is watched by size alone
 * @property {(cb: Callback<void>) => void} close
 */

/**
 * What tells one state of a file from another, and one file from another.
 * @typedef {object} FileState
 * @property {number} size  in bytes
 * @property {bigint} modifiedNs  when it was last written, in nanoseconds since 1970; kernels update it every few ms
 * @property {bigint} device
 * @property {bigint} inode
 */

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'r+'} flags  `r+` creates the file when it does not exist; `r` never creates anything
 * @property {boolean} createFolder  with `r+`: create the folder of the file too
 * @property {boolean} [mustExist]  with `r+`: create nothing; ENOENT when there is no file
 */

/**
 * @typedef {object} Storage
 * @property {(path: string, options: OpenOptions, cb: Callback<StorageHandle>) => void} open
 * @property {(from: string, to: string, cb: Callback<void>) => void} rename  atomic; within one folder
 * @property {(path: string, cb: Callback<void>) => void} unlink
 * @property {(path: string, cb: Callback<void>) => void} syncFolder  the names in it are on stable storage: new files,
 *   renames and removals are lost with the power until then. Windows has no such call: there it does nothing, and NTFS
 *   keeps its names in a journal of its own
 * @property {(path: string, onEvent: () => void, cb: Callback<Watcher>) => void} [watch]  tells when the file may have
 *   changed, from another process too. A storage without it is polled
 */

/**
 * @typedef {object} Watcher
 * @property {boolean} isTrusted  whether the file lies where every change is announced; on a network it may not be
 * @property {() => void} ref  keeps the process running, as timers do; at first it does not
 * @property {() => void} unref
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
    // The size goes to the disk too, as far as reading the data needs it; times of access and change need not.
    sync: (cb) => fs.fdatasync(fd, cb),
    syncSync: () => fs.fdatasyncSync(fd),
    size: (cb) => fs.fstat(fd, (err, stat) => err ? cb(err) : cb(null, stat.size)),
    stat: (cb) => fs.fstat(fd, { bigint: true }, (err, stat) => err ? cb(err) : cb(null, toFileState(stat))),
    close: (cb) => fs.close(fd, cb)
  }
}

/**
 * @param {import('node:fs').BigIntStats} stat
 * @returns {FileState}
 */
function toFileState ({ size, mtimeNs, dev, ino }) {
  return { size: Number(size), modifiedNs: mtimeNs, device: dev, inode: ino }
}

/**
 * @param {string} filePath
 * @param {OpenOptions} options
 * @param {Callback<StorageHandle>} cb
 */
function open (filePath, { flags, createFolder, mustExist = false }, cb) {
  if (flags === 'r' || mustExist) return openFile(filePath, OPEN_MODES[flags], cb)
  if (!createFolder) return openFile(filePath, CREATE_MODE, cb)
  const folder = path.resolve(path.dirname(filePath))
  fs.mkdir(folder, { recursive: true }, (err, firstCreated) => {
    if (err) return cb(err)
    const created = firstCreated === undefined ? [] : foldersBetween(path.resolve(firstCreated), folder)
    syncFolders(created.map((name) => path.dirname(name)), (err) => err ? cb(err) : openFile(filePath, CREATE_MODE, cb))
  })
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
 * @param {string[]} folders
 * @param {(err: Error | null) => void} cb
 */
function syncFolders ([folder, ...others], cb) {
  if (folder === undefined) return cb(null)
  syncFolder(folder, (err) => err ? cb(err) : syncFolders(others, cb))
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

/**
 * @param {string} filePath
 * @param {number} mode  how to open it
 * @param {Callback<StorageHandle>} cb
 */
function openFile (filePath, mode, cb) {
  fs.open(filePath, mode, FILE_MODE, (err, fd) => {
    if (err) return cb(err)
    fs.fstat(fd, (err, stat) => {
      if (!err && stat.isFile()) return cb(null, createHandle(fd))
      fs.close(fd, () => cb(err ?? notAFile(filePath, stat)))
    })
  })
}

/**
 * @param {string} filePath
 * @param {import('node:fs').Stats} stat
 */
function notAFile (filePath, stat) {
  const found = stat.isDirectory() ? 'a directory' : 'not a regular file'
  const code = stat.isDirectory() ? 'EISDIR' : 'ERR_INVALID_ARGUMENT'
  return new LogError(code, `open: ${filePath} is ${found}; give the path of a file`, { path: filePath })
}

/** @type {Storage} */
exports.fileStorage = { open, rename: fs.rename, unlink: fs.unlink, syncFolder, watch: watchFile }
