'use strict'
// What taking a lock does in the file system.

const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')

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

exports.readLockSync = readSync

/** @type {Omit<import('./acquire').World, 'judge'>} */
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
