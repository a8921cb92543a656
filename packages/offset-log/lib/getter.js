'use strict'
// Gets single records: at once where the store finds them at once, which nearly always it does, or else in their turn.

const { SyncBudget } = require('@millrace/flow')
const { deleted } = require('./errors')

/**
 * @typedef {import('@millrace/flow').Callback<any>} Callback
 * @typedef {{ data: Buffer, isDeleted: boolean }} Found  `data` is nobody else's
 */

class Getter {
  /** @param {import('./load').LogFile} file */
  constructor (file) {
    this._file = file
    this._turns = new SyncBudget()
  }

  /**
   * @param {number} seq
   * @param {Callback} cb  gets the value; may run before `get` returns, unless it gets an error
   */
  get (seq, cb) {
    const { lifecycle, store } = this._file
    if (!lifecycle.isOpen) return lifecycle.run('get', cb, (cb) => this._read(seq, cb))
    if (!this._turns.mayAnswer()) return lifecycle.run('get', cb, (cb) => setImmediate(() => this._getNow(seq, cb)))
    // For most records nothing is made but the value.
    if (store.peek.find(seq)) this._answer(seq, cb)
    else lifecycle.run('get', cb, (cb) => this._read(seq, cb))
  }

  /**
   * @param {number} seq
   * @param {Callback} cb
   */
  _getNow (seq, cb) {
    if (this._file.store.peek.find(seq)) this._answer(seq, cb)
    else this._read(seq, cb)
  }

  /**
   * @param {number} seq  that was found just now
   * @param {Callback} cb
   */
  _answer (seq, cb) {
    const { codec, store: { peek } } = this._file
    let value
    try {
      if (codec.keepsBytes) value = codec.decodeKept(peek.take(), seq)
      else value = codec.decode(peek.bytes, peek.start, peek.end, seq)
    } catch (err) {
      return process.nextTick(cb, /** @type {Error} */ (err))
    }
    cb(null, value)
  }

  /**
   * @param {number} seq
   * @param {Callback} cb
   */
  _read (seq, cb) {
    const { codec } = this._file
    this._readRecord(seq, (err, found) => {
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

  /**
   * @param {number} seq
   * @param {(err: Error | null, found?: Found) => void} cb
   */
  _readRecord (seq, cb) {
    const { follower } = this._file
    if (follower) follower.retry((cb) => this._readOnce(seq, cb), cb)
    else this._readOnce(seq, cb)
  }

  /**
   * @param {number} seq
   * @param {(err: Error | null, found?: Found) => void} cb
   */
  _readOnce (seq, cb) {
    const { store, replacement } = this._file
    store.readRecord(seq, (err, found) => {
      if (!store.isReplaced) return cb(err, found)
      // It may have been looked for in the wrong file.
      replacement.wait(() => this._readOnce(seq, cb))
    })
  }
}

exports.Getter = Getter
