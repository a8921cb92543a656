'use strict'
// Calls back those whose appends were written, or have failed: all of them, whatever one of them throws.

/**
 * @typedef {import('./append-group').AppendGroup} AppendGroup
 * @typedef {import('./append-group').Done} Done
 */

class AppendCallbacks {
  /** @param {import('@millrace/flow').Lifecycle} lifecycle  which every append has entered */
  constructor (lifecycle) {
    this._lifecycle = lifecycle
  }

  /**
   * @param {AppendGroup} group  all of it is forgotten
   * @param {Error | null} err  why it failed
   * @param {() => void} cb  runs when all were called
   */
  callInOrder (group, err, cb) {
    process.nextTick(() => this._callFrom(group, 0, err, cb))
  }

  /**
   * The same for who does not wait for it.
   * @param {AppendGroup} group
   * @param {Error | null} err
   */
  callLater (group, err) {
    for (let index = 0; index < group.count; index++) {
      this.callOneLater(group.dones[index], err)
      group.forget(index)
    }
  }

  /**
   * @param {Done} done
   * @param {Error | null} err
   */
  callOneLater (done, err) {
    process.nextTick(() => this._call(done, err, -1))
  }

  /**
   * @param {AppendGroup} group
   * @param {number} index
   * @param {Error | null} err
   * @param {() => void} cb
   */
  _callFrom (group, index, err, cb) {
    const { dones, seqs, count } = group
    try {
      while (index < count) {
        const done = dones[index]
        const seq = seqs[index]
        group.forget(index++)
        this._call(done, err, seq)
      }
    } finally {
      // A callback that throws keeps nobody from being called.
      if (index < count) process.nextTick(() => this._callFrom(group, index, err, cb))
      else cb()
    }
  }

  /**
   * @param {Done} done
   * @param {Error | null} err
   * @param {number} seq
   */
  _call (done, err, seq) {
    this._lifecycle.leave()
    if (err) done(err)
    else done(null, seq)
  }
}

exports.AppendCallbacks = AppendCallbacks
