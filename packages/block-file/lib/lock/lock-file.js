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
      if (held) cb(null, new FileLock(held, file, isIntact(held.replaced, file, self.boot)))
      else cb(err ?? (obstacle ? lockedError(filePath, obstacle, self) : null))
    })
  })
}

class FileLock {
  /**
   * @param {import('./acquire').Held} held
   * @param {FileIdentity} file
   * @param {boolean} wasIntact  whether the holder before was killed, and nothing is lost of what it has shown
   */
  constructor (held, file, wasIntact) {
    this._held = held
    this._file = file
    this.wasIntact = wasIntact
    this._isVouchedFor = false
    /** One change of the record at a time. @type {Array<() => void>} */
    this._waiting = []
    this._isBusy = false
  }

  /**
   * @param {boolean} isIntact
   * @param {(err: Error | null) => void} cb
   */
  vouch (isIntact, cb) {
    this._enqueue((done) => {
      if (this._isVouchedFor === isIntact) return process.nextTick(done, null)
      this._held.update({ isIntact }, (err) => {
        // If it cannot be seen whether it was written, it is written again.
        this._isVouchedFor = err ? !isIntact : isIntact
        done(err)
      })
    }, cb)
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
    this._enqueue((done) => {
      if (file.inode === this._file.inode) return process.nextTick(done, null)
      this._held.update({ file }, (err) => {
        if (!err) this._file = file
        done(err)
      })
    }, cb)
  }

  /** @param {(err: Error | null) => void} cb */
  release (cb) {
    this._enqueue((done) => this._held.release(done), cb)
  }

  /**
   * @param {(done: (err: Error | null) => void) => void} change  runs once those before are done
   * @param {(err: Error | null) => void} cb
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
 * @param {LockRecord | null} record  of a holder that is dead
 * @param {FileIdentity} file  that is there now
 * @param {string | null} boot  id of the running kernel
 * @returns {boolean}  whether the file is the one that it has locked, and no power was lost since
 */
function isIntact (record, { device, inode }, boot) {
  if (record === null || record.isIntact !== true || boot === null || record.boot !== boot) return false
  return inode !== null && record.file.inode === inode && record.file.device === device
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
