'use strict'
// A new file that is there as a whole or not at all: it is written as `<path>.new`, synced, and renamed. What is there
// already is never touched.

const path = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { eachInOrder } = require('../each-in-order')
const { Output } = require('./output')

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
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
    /** @type {Output | null} */
    this._output = null
  }

  /** @param {(err: Error | null, output?: Output) => void} cb  EEXIST when there is something at either of its names */
  open (cb) {
    eachInOrder([this._target, this.path], (name, done) => this._checkAbsent(name, done), (err) => {
      if (err) return cb(err)
      const blocks = BlockFile(this.path, { cache: 0, createFolder: true, storage: this._storage })
      blocks.ready((err) => {
        if (err) return cb(err)
        this._output = new Output(blocks)
        cb(null, this._output)
      })
    })
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
    this._checkAbsent(this._target, (err) => {
      if (err) return cb(err)
      this._storage.rename(this.path, this._target, (err) => {
        if (err) return cb(err)
        this._storage.syncFolder(path.dirname(this._target), (err) => cb(err))
      })
    })
  }

  /**
   * @param {Error} reason
   * @param {(err: Error) => void} cb  nothing is left
   */
  abandon (reason, cb) {
    if (this._output === null) return cb(reason)
    this._output.abandon(() => this._storage.unlink(this.path, () => cb(reason)))
  }

  /**
   * @param {string} name
   * @param {Done} cb
   */
  _checkAbsent (name, cb) {
    this._storage.open(name, { flags: 'r', createFolder: false }, (err, handle) => {
      if (handle) return handle.close(() => cb(exists(name, this._target)))
      const { code } = /** @type {NodeJS.ErrnoException} */ (err)
      if (code === 'EISDIR') return cb(exists(name, this._target))
      cb(code === 'ENOENT' ? null : err)
    })
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

exports.Aside = Aside
