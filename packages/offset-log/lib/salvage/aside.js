'use strict'
// A new file that is there as a whole or not at all: it is written aside, synced, and renamed. What is there already is
// never touched. Its path is locked meanwhile, and the file aside named by the lock: what a process leaves that is
// killed is in nobody's way, and known to whoever takes its lock.

const path = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call, toCallback } = require('@millrace/flow')
const { Output } = require('./output')

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {import('@millrace/block-file/lib/storage').StorageLock} StorageLock
 * @typedef {(err: Error | null) => void} Done
 */

class Aside {
  /**
   * @param {string} target
   * @param {Storage} [storage]
   */
  constructor (target, storage = fileStorage) {
    this._target = target
    this.path = `${target}.new`
    this._storage = storage
    /** @type {StorageLock | null} */
    this._lock = null
    this._lockPath = target
    /** @type {Output | null} */
    this._output = null
  }

  /** @param {(err: Error | null, output?: Output) => void} cb  EEXIST when there is something, or being made */
  open (cb) {
    toCallback(this._open(), cb)
  }

  /** @returns {Promise<Output>} */
  async _open () {
    await this._checkAbsent(this._target)
    await this._takeLock()
    try {
      await this._checkAbsent(this._target)
      await this._checkAbsent(this.path)
      const blocks = BlockFile(this.path, { cache: 0, createFolder: true, storage: this._storage })
      await call(blocks, 'ready')
      this._output = new Output(blocks)
      return this._output
    } catch (err) {
      await this._release()
      throw err
    }
  }

  /** A storage without locks cannot be reached from elsewhere. */
  async _takeLock () {
    const { _storage: storage, _target: target } = this
    if (!storage.lock) return
    this._lockPath = storage.realPath ? await call(storage, 'realPath', target) : target
    try {
      this._lock = /** @type {StorageLock} */ (await call(storage, 'lock', this._lockPath, { createFolder: true }))
    } catch (err) {
      throw /** @type {any} */ (err).code === 'ERR_LOG_LOCKED' ? beingMade(target, /** @type {Error} */ (err)) : err
    }
    const { nonce, deadNonce } = this._lock
    if (nonce) this.path = `${target}.${nonce}.new`
    // If it cannot be removed it is in nobody's way.
    if (deadNonce) await call(storage, 'unlink', `${target}.${deadNonce}.new`).catch(() => {})
  }

  async _release () {
    const lock = this._lock
    this._lock = null
    if (lock) await call(lock, 'release', this._lockPath)
  }

  /**
   * @param {Done} cb  all that was put out is on stable storage, under its first name
   */
  close (cb) {
    const output = /** @type {Output} */ (this._output)
    output.close(cb)
  }

  /** @param {Done} cb  the file has its name for good */
  publish (cb) {
    toCallback(this._publish(), cb)
  }

  async _publish () {
    await this._checkAbsent(this._target)
    await call(this._storage, 'rename', this.path, this._target)
    await call(this._storage, 'syncFolder', path.dirname(this._target))
    await this._release()
  }

  /**
   * @param {Error} reason
   * @param {(err: Error) => void} cb  nothing is left
   */
  abandon (reason, cb) {
    toCallback(this._abandon(), () => cb(reason))
  }

  async _abandon () {
    if (this._output === null) return
    await call(this._output, 'abandon').catch(() => {})
    await call(this._storage, 'unlink', this.path).catch(() => {})
    await this._release()
  }

  /** @param {string} name */
  async _checkAbsent (name) {
    let handle
    try {
      handle = await call(this._storage, 'open', name, { flags: 'r', createFolder: false })
    } catch (err) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (err)
      if (code === 'ENOENT') return
      throw code === 'EISDIR' ? exists(name, this._target) : err
    }
    await call(handle, 'close')
    throw exists(name, this._target)
  }
}

/**
 * @param {string} name
 * @param {string} target
 */
function exists (name, target) {
  const advice = name === target
    ? 'give another path, or move it away'
    : `it may be left over from a call that was cut off: then remove it. ${target} is written there first`
  return new LogError('EEXIST', `${name} is there already, and is not written over; ${advice}`, { path: name })
}

/**
 * @param {string} target
 * @param {Error} cause  ERR_LOG_LOCKED
 */
function beingMade (target, cause) {
  return new LogError('EEXIST', `${target} is being made already, or open for writing (${cause.message}); wait, or give ` +
    'another path', { cause, path: target })
}

exports.Aside = Aside
