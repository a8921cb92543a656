'use strict'
// Opens a file where it really is, having taken its lock before anything is changed; and closes it before the lock is
// given back.

const { openOrCreate } = require('./create-file')

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./storage').StorageLock} StorageLock
 */

/**
 * @typedef {object} Opened
 * @property {StorageHandle} handle
 * @property {number} size  in bytes
 * @property {string} path  with no symlink in it, if it may be written
 * @property {StorageLock | null} lock
 */

/** @typedef {import('./create-file').Wish & { lock: boolean }} Wish */

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {Wish} wish
 * @param {(err: Error | null, opened?: Opened) => void} cb
 */
function openLocked (storage, path, wish, cb) {
  // Who only reads neither needs a lock nor may make one.
  if (wish.flags === 'r') return open(storage, path, null, wish, cb)
  findPath(storage, path, (err, realPath = '') => {
    if (err) return cb(err)
    if (!wish.lock || !storage.lock) return open(storage, realPath, null, wish, cb)
    storage.lock(realPath, { createFolder: wish.createFolder }, (err, lock) => {
      if (err || !lock) cb(err)
      else open(storage, realPath, lock, wish, cb)
    })
  })
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {(err: Error | null, realPath?: string) => void} cb
 */
function findPath (storage, path, cb) {
  if (storage.realPath) storage.realPath(path, cb)
  else cb(null, path)
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {StorageLock | null} lock
 * @param {Wish} wish
 * @param {(err: Error | null, opened?: Opened) => void} cb
 */
function open (storage, path, lock, wish, cb) {
  openOrCreate(storage, path, wish, (err, handle, size = 0) => {
    if (err || !handle) return release(lock, err, cb)
    if (lock === null) return cb(null, { handle, size, path, lock })
    lock.noteFile((err) => {
      if (err) closeLocked(handle, lock, () => cb(err))
      else cb(null, { handle, size, path, lock })
    })
  })
}

/**
 * @param {StorageHandle} handle
 * @param {StorageLock | null} lock
 * @param {(err: Error | null) => void} cb
 */
function closeLocked (handle, lock, cb) {
  handle.close((err) => release(lock, err, cb))
}

/**
 * @param {StorageLock | null} lock
 * @param {Error | null} reason  what has failed before
 * @param {(err: Error | null) => void} cb
 */
function release (lock, reason, cb) {
  if (lock === null) cb(reason)
  else lock.release((err) => cb(reason ?? err))
}

/**
 * While a file is being replaced its lock does not say which one it is.
 * @param {StorageLock | null} lock
 * @param {(cb: (err: Error | null) => void) => void} replace
 * @param {(err: Error | null) => void} cb
 */
function replaceLocked (lock, replace, cb) {
  if (lock === null) return replace(cb)
  lock.forgetFile((err) => {
    if (err) return cb(err)
    // If it cannot say so afterwards either, it locks the file as well as before.
    replace((err) => lock.noteFile(() => cb(err)))
  })
}

exports.openLocked = openLocked
exports.closeLocked = closeLocked
exports.replaceLocked = replaceLocked
