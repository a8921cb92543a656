'use strict'
// Gets single records. If the store finds the record at once, as it nearly always does, nothing waits.

const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { SyncBudget } = require('@millrace/flow')
const { deleted } = require('./errors')

/**
 * @typedef {import('@millrace/flow').Callback<any>} Callback
 * @typedef {{ data: Buffer, isDeleted: boolean }} Found  the caller owns `data`
 */

class Getter {
  /** @param {import('./load').LogFile} file */
  constructor (file) {
    this._file = file
    this._turns = new SyncBudget()
    /** The store that was read last, and its peeker. @type {import('./load').Store | null} */
    this._store = null
    /** @type {import('./load').Store['peek']} */
    this._peek = /** @type {any} */ (null)
  }

  /**
   * @param {number} seq
   * @param {Callback} cb  gets the value; may run before `get` returns, except with an error
   */
  get (seq, cb) {
    const { lifecycle } = this._file
    if (!lifecycle.isOpen) return lifecycle.run('get', cb, (cb) => this._read(seq, cb))
    if (!this._turns.mayAnswer()) return lifecycle.run('get', cb, (cb) => setImmediate(() => this._getNow(seq, cb)))
    // On this path nothing but the value is allocated.
    if (!this._answer(seq, cb)) lifecycle.run('get', cb, (cb) => this._read(seq, cb))
  }

  /**
   * For calls that get many records and are already counted as running.
   * @type {(seq: number, cb: Callback) => void}
   */
  read (seq, cb) {
    if (this._turns.mayAnswer()) this._getNow(seq, cb)
    else setImmediate(() => this._getNow(seq, cb))
  }

  /** @type {(seq: number, cb: Callback) => void} */
  _getNow (seq, cb) {
    if (!this._answer(seq, cb)) this._read(seq, cb)
  }

  /** Gives the record, if it is found at once. @type {(seq: number, cb: Callback) => boolean} whether it was */
  _answer (seq, cb) {
    const { codec, store } = this._file
    if (store !== this._store) {
      this._store = store
      // A checked log makes it now.
      this._peek = store.peek
    }
    const peek = this._peek
    if (!peek.find(seq)) return false
    let value
    try {
      if (codec.keepsBytes) value = codec.decodeKept(peek.take(), seq)
      else value = codec.decode(peek.bytes, peek.start, peek.end, seq)
    } catch (err) {
      nextTick(cb, /** @type {Error} */ (err))
      return true
    }
    cb(null, value)
    return true
  }

  /** @type {(seq: number, cb: Callback) => void} */
  _read (seq, cb) {
    const { codec } = this._file
    this.readRecord(seq, (err, found) => {
      if (err || !found) return cb(err)
      if (found.isDeleted) return cb(deleted(seq))
      const { data } = found
      let value
      try {
        value = codec.keepsBytes ? codec.decodeKept(data, seq) : codec.decode(data, 0, data.length, seq)
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      cb(null, value)
    })
  }

  /** @type {(seq: number, cb: (err: Error | null, found?: Found) => void) => void} */
  readRecord (seq, cb) {
    const { follower } = this._file
    if (follower) follower.retry((cb) => this._readOnce(seq, cb), cb)
    else this._readOnce(seq, cb)
  }

  /** @type {(seq: number, cb: (err: Error | null, found?: Found) => void) => void} */
  _readOnce (seq, cb) {
    const { store, replacement } = this._file
    store.readRecord(seq, (err, found) => {
      if (store === replacement.readable) return cb(err, found)
      // The file was replaced meanwhile, so the record may lie elsewhere.
      replacement.wait((err) => err ? cb(err) : this._readOnce(seq, cb))
    })
  }
}

exports.Getter = Getter
