'use strict'
// The record of a lock: one line of JSON, described in docs/format.md; how it is written, and the error that names it.

const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { LogError } = require('@millrace/errors')

// A record of a lock that can never come again: each has a nonce of its own. Claims are named by them.
const NONCE = /^[0-9a-f]{16}$/
// Stands for that of a record that the power took with it.
const NONCE_OF_BLANK = '0'.repeat(16)

/**
 * @typedef {object} FileIdentity
 * @property {string} path  with no symlink in it
 * @property {string | null} device  null, like the inode, while the file is not there or may be replaced
 * @property {string | null} inode
 */

/**
 * What is missing was not known to the version that has written it.
 * @typedef {import('./liveness').Identity & {
 *   file: FileIdentity, nonce: string, since: string, lock?: 'kernel' | 'file', localFileSystem?: string | null,
 *   socket?: string | null, isIntact?: boolean, mount?: string | null
 * }} LockRecord  `since` is when it was taken, for people to read. `lock` says what locks the file: the kernel, or this
 *   record. `localFileSystem` and `mount` are from kernel-lock.js, `socket` from liveness.js. `isIntact` says that all
 *   is in the file, or in the page cache of the running kernel, that its holder has shown to anybody
 */

/**
 * @param {LockRecord} record
 * @returns {string}
 */
function encodeRecord (record) {
  return `${JSON.stringify(record)}\n`
}

/**
 * @param {string} text
 * @returns {LockRecord | null}  null if it is none
 */
function parseRecord (text) {
  let record
  try {
    record = JSON.parse(text)
  } catch {
    return null
  }
  return isRecord(record) ? record : null
}

/**
 * Bytes that were not yet on the disk when the power went are missing, or are zeros.
 * @param {string} text
 */
function isBlank (text) {
  return /^\0*$/.test(text)
}

/** @param {any} record */
// eslint-disable-next-line complexity -- a default for each field
function isRecord (record) {
  if (record === null || typeof record !== 'object' || record.file === null || typeof record.file !== 'object') return false
  const { host, machine, boot, pidNamespace, timeNamespace, pid, thread, started, file, nonce, since } = record
  const { lock = 'file', localFileSystem = null, socket = null, mount = null } = record
  return [host, file.path, nonce, since].every((value) => typeof value === 'string') &&
    [machine, boot, pidNamespace, timeNamespace, started, file.device, file.inode].every(isStringOrNull) &&
    [localFileSystem, socket, mount].every(isStringOrNull) && ['kernel', 'file'].includes(lock) && isTaskNumber(pid) && (thread === null || isTaskNumber(thread)) && NONCE.test(nonce) && nonce !== NONCE_OF_BLANK
}

/** @param {unknown} value */
function isStringOrNull (value) {
  return value === null || typeof value === 'string'
}

/**
 * Zero and negative numbers would mean whole groups of processes.
 * @param {unknown} value
 */
function isTaskNumber (value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) > 0
}

// What taking a lock does in the file system.

// Who may not read the log may still be told who has it open.
const MODE = 0o644
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, COPYFILE_EXCL } = fs.constants
// Whatever else has the name of a lock is neither followed nor waited for.
const READ_MODE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
const RECORD_SIZE_MAX = 64 * 1024
const WAIT_MS = 2
const WAIT_COUNT_MAX = 5
const BUSY_COUNT_MAX = 50

/** @typedef {(err: NodeJS.ErrnoException | null) => void} Done */

/**
 * @param {string} filePath
 * @param {(err: NodeJS.ErrnoException | null, text?: string) => void} cb
 */
function read (filePath, cb) {
  fs.open(filePath, READ_MODE, (err, fd) => {
    if (err) return cb(err)
    const bytes = Buffer.allocUnsafe(RECORD_SIZE_MAX)
    fs.read(fd, bytes, 0, bytes.length, 0, (err, size) => fs.close(fd, () => {
      if (err) cb(err)
      else cb(null, bytes.toString('utf8', 0, size))
    }))
  })
}

/**
 * @param {string} filePath
 * @returns {string}
 */
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
 * @param {string} filePath
 * @param {(err: Error | null, paths?: string[]) => void} cb
 */
function list (filePath, cb) {
  const folder = path.dirname(filePath)
  fs.readdir(folder, (err, names) => err ? cb(err) : cb(null, names.map((name) => path.join(folder, name))))
}

/**
 * @param {number} count
 * @param {(isEnough: boolean) => void} onEnd
 */
function wait (count, onEnd) {
  setTimeout(() => onEnd(count === WAIT_COUNT_MAX), WAIT_MS)
}

/**
 * Windows does not replace or remove a file at which somebody, a virus scanner for one, is just looking.
 * @param {(cb: Done) => void} run
 * @param {Done} cb
 * @param {number} [count]
 */
function patiently (run, cb, count = 1) {
  run((err) => {
    const isBusy = process.platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].includes(err?.code ?? '')
    if (isBusy && count < BUSY_COUNT_MAX) setTimeout(() => patiently(run, cb, count + 1), WAIT_MS)
    else cb(err)
  })
}

/** @type {Omit<import('./acquire').World, 'checkLiveness'>} */
exports.lockFiles = {
  write: (filePath, text, cb) => fs.writeFile(filePath, text, { flag: 'wx', mode: MODE }, cb),
  link: (from, to, cb) => fs.link(from, to, cb),
  copy: (from, to, cb) => fs.copyFile(from, to, COPYFILE_EXCL, cb),
  rename: (from, to, cb) => patiently((cb) => fs.rename(from, to, cb), cb),
  unlink: (filePath, cb) => patiently((cb) => fs.unlink(filePath, cb), cb),
  read,
  list,
  wait,
  createNonce: () => crypto.randomFillSync(Buffer.alloc(8)).toString('hex')
}

// Says who has a file open for writing, and what to do.

/**
 * @param {string} path  of the file
 * @param {import('./acquire').Obstacle} obstacle
 * @param {import('./liveness').Identity} self
 * @returns {LogError}
 */
function lockedError (path, { lockPath, record, isForeign, cause }, self) {
  if (record === null && cause === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} is open for writing: the kernel holds a lock on it, and no record ` +
      'beside it says for whom. It may have been opened by another path: a bind mount, a hard link, an earlier name. ' +
      'Close it there, or open it with flags "r"', { path })
  }
  if (record === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} may be open for writing: there is ${lockPath}, which does not say by ` +
      `whom (${cause?.message}); if nothing has the file open, remove that`, { cause, path })
  }
  const { host, pid, thread, since } = record
  const who = `open: ${path} is open for writing, by ${describeThread(record, self)} on ${host}, since ${since}`
  const advice = isForeign
    ? `that is another machine, or another container, of which nothing can be seen from here: close it there, or if \
it is surely gone, remove ${lockPath}`
    : 'close it there, or open it with flags "r"'
  return new LogError('ERR_LOG_LOCKED', `${who}; ${advice}`, { path, holder: { host, pid, thread, since } })
}

/**
 * @param {LockRecord} record
 * @param {import('./liveness').Identity} self
 */
function describeThread ({ pid, thread, boot, pidNamespace }, self) {
  const isOurs = pid === self.pid && boot === self.boot && pidNamespace === self.pidNamespace
  const process = isOurs ? `this process (${pid})` : `process ${pid}`
  return thread === null || thread === pid ? process : `thread ${thread} of ${process}`
}

exports.NONCE_OF_BLANK = NONCE_OF_BLANK
exports.encodeRecord = encodeRecord
exports.isBlank = isBlank
exports.parseRecord = parseRecord
exports.readLockSync = readSync
exports.lockedError = lockedError
