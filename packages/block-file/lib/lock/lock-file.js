'use strict'
// The lock of a file: a small file beside it, `<path>.lock`, as described in docs/format.md.

const fs = require('node:fs')
const path = require('node:path')
const { makeFolder } = require('../folders')
const { notAFile } = require('../not-a-file')
const { judge } = require('./judge')
const { lockFiles } = require('./lock-files')
const { lockedError } = require('./locked-error')
const { take } = require('./take')
const { thisThread } = require('./this-thread')

/**
 * @typedef {import('./record').FileIdentity} FileIdentity
 * @typedef {import('./record').LockRecord} LockRecord
 */

/**
 * @param {string} filePath  with no symlink in it
 * @param {{ createFolder: boolean }} options
 * @param {import('../storage').Callback<import('../storage').StorageLock>} cb  ERR_LOG_LOCKED if somebody else has it
 */
function lockFile (filePath, { createFolder }, cb) {
  if (!createFolder) return lock(filePath, cb)
  makeFolder(path.dirname(filePath), (err) => err ? cb(err) : lock(filePath, cb))
}

/**
 * @param {string} filePath
 * @param {import('../storage').Callback<import('../storage').StorageLock>} cb
 */
function lock (filePath, cb) {
  identify(filePath, (err, file) => {
    if (err || !file) return cb(err)
    const self = thisThread()
    const world = {
      ...lockFiles,
      judge: (/** @type {LockRecord} */ record, /** @type {import('./judge').Judged} */ cb) => {
        judge(record, self, (err, verdict) => {
          if (verdict !== 'foreign' && isOfAnother(record.file, file)) cb(null, 'dead')
          else cb(err, verdict)
        })
      }
    }
    take(world, `${filePath}.lock`, { ...self, file, since: new Date().toISOString() }, (err, held, obstacle) => {
      if (held) cb(null, new FileLock(held, file))
      else cb(err ?? (obstacle ? lockedError(filePath, obstacle, self) : null))
    })
  })
}

class FileLock {
  /**
   * @param {import('./acquire').Held} held
   * @param {FileIdentity} file
   */
  constructor (held, file) {
    this._held = held
    this._file = file
  }

  /** @param {(err: Error | null) => void} cb */
  noteFile (cb) {
    if (this._file.inode !== null) return process.nextTick(cb, null)
    identify(this._file.path, (err, file) => err || !file ? cb(err) : this._record(file, cb))
  }

  /** @param {(err: Error | null) => void} cb */
  forgetFile (cb) {
    this._record({ ...this._file, device: null, inode: null }, cb)
  }

  /**
   * @param {FileIdentity} file
   * @param {(err: Error | null) => void} cb
   */
  _record (file, cb) {
    if (file.inode === this._file.inode) return process.nextTick(cb, null)
    this._held.update({ file }, (err) => {
      if (!err) this._file = file
      cb(err)
    })
  }

  /** @param {(err: Error | null) => void} cb */
  release (cb) {
    this._held.release(cb)
  }
}

/**
 * @param {string} filePath
 * @param {(err: Error | null, file?: FileIdentity) => void} cb
 */
function identify (filePath, cb) {
  fs.stat(filePath, { bigint: true }, (err, stat) => {
    if (err && err.code !== 'ENOENT') return cb(err)
    if (!err && !stat.isFile()) return cb(notAFile(filePath, stat))
    // An empty file may be replaced by one that has its first bytes.
    const isKnown = !err && stat.size > 0n
    cb(null, {
      path: filePath,
      device: isKnown ? String(stat.dev) : null,
      inode: isKnown ? String(stat.ino) : null
    })
  })
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

exports.lockFile = lockFile
