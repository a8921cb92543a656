'use strict'
// Another process, or another thread, that opens locked files.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { Worker } = require('node:worker_threads')

const CHILD = path.join(__dirname, 'lock-child.js')

class Holder {
  /** @param {'process' | 'thread'} kind */
  constructor (kind) {
    this._child = kind === 'process' ? fork(CHILD) : new Worker(CHILD)
    this.kind = kind
    this.pid = kind === 'process' ? this._child.pid : process.pid
  }

  /**
   * @param {string} file
   * @param {{ isByRecord?: boolean }} [options]  without the kernel's lock
   * @returns {Promise<{ code: string, message?: string, holder?: object }>}  the code is `none` if it could
   */
  open (file, { isByRecord = false } = {}) {
    return this._ask({ open: file, isByRecord })
  }

  close () {
    return this._ask({})
  }

  /** At once: it gives nothing back. */
  async kill () {
    if (this.kind === 'thread') return this._child.terminate()
    const hasEnded = once(this._child, 'exit')
    this._child.kill('SIGKILL')
    await hasEnded
  }

  async _ask (message) {
    const answer = once(this._child, 'message')
    if (this.kind === 'process') this._child.send(message)
    else this._child.postMessage(message)
    return (await answer)[0]
  }
}

exports.Holder = Holder
