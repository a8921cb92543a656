'use strict'
// One worker thread, as the log sees it: one request at a time, and whatever becomes of the thread, one answer each.

const path = require('node:path')
const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads')
const { misuse } = require('@millrace/errors')
const { unpackError } = require('./carry-error')
const { taskFailed } = require('./task-failed')

/**
 * @typedef {import('./worker').Answer} Answer
 * @typedef {Omit<import('./worker').Request, 'requestId'>} Request
 * @typedef {(err: Error | null, answer?: Answer) => void} Answered
 */

class Thread {
  /**
   * @param {import('./worker').Setting} setting
   * @throws where no thread may be made
   */
  constructor (setting) {
    /** Whether it can be asked nothing any more. */
    this.isDead = false
    this.hasEnded = false
    this._requestId = 0
    /** @type {Answered | null} */
    this._answered = null
    this._task = ''
    /** @type {unknown} what it died of */
    this._cause = undefined
    const { port1: port, port2: theirs } = new MessageChannel()
    this._port = port
    this._worker = new Worker(path.join(__dirname, 'worker.js'),
      { workerData: { port: theirs, setting }, transferList: [theirs] })
    port.on('message', (message) => this._receive(message))
    port.on('messageerror', (err) => this._hear({}, taskFailed('has a result that cannot be cloned', this._task, err)))
    // A thread that has nothing to do does not keep the process running.
    port.unref()
    this._worker.unref()
    this._worker.on('error', (err) => {
      this._cause = err
      this.isDead = true
    })
    this._worker.on('exit', (code) => this._died(code))
  }

  /**
   * @param {Request} request
   * @param {Answered} cb
   */
  ask (request, cb) {
    this._task = request.task
    this._answered = cb
    this._worker.ref()
    try {
      this._port.postMessage({ requestId: ++this._requestId, ...request })
    } catch (err) {
      const { message } = /** @type {Error} */ (err)
      const failure = misuse(`scan: the parameters, or the filter, cannot be copied to another thread: ${message}`)
      process.nextTick(() => this._hear({}, failure))
    }
  }

  /** @param {() => void} [cb]  it has ended */
  stop (cb = () => {}) {
    // Its last answer may be under way: nobody is to take it for one that has nothing to do.
    this.isDead = true
    if (this.hasEnded) return cb()
    this._worker.once('exit', () => cb())
    this._worker.terminate()
  }

  /** @param {Answer & { requestId: number }} message */
  _receive ({ requestId, ...answer }) {
    if (requestId === this._requestId) this._hear(answer)
  }

  /**
   * @param {Answer} answer
   * @param {Error | null} [err]
   */
  _hear (answer, err = answer.error ? unpackError(answer.error) : null) {
    const cb = this._answered
    this._answered = null
    // Somebody may wait for the end of one that is being stopped.
    if (!this.isDead) this._worker.unref()
    if (cb) cb(err, answer)
  }

  /** @param {number} code */
  _died (code) {
    this.isDead = this.hasEnded = true
    this._receiveLast()
    this._port.close()
    this._hear({}, taskFailed(`has ended its thread with the code ${code}`, this._task, this._cause))
  }

  /** It may have answered before it ended. */
  _receiveLast () {
    try {
      const last = receiveMessageOnPort(this._port)
      if (last) this._receive(last.message)
    } catch {
      // A result that cannot be read is none.
    }
  }
}

exports.Thread = Thread
