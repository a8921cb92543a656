'use strict'
// One scan over threads: hands out its parts, and puts what they come to together in the order of the log. What a part
// says counts only once the one before it has come to where it began; if one has not, the rest is read in one piece.

const path = require('node:path')
const { MessageChannel, receiveMessageOnPort, Worker } = require('node:worker_threads')
const { misuse } = require('@millrace/errors')
const { abortError, onAbort } = require('../errors')
const { taskFailed, unpackError } = require('./carry-error')

/**
 * @typedef {import('./threaded-scans').Part} Part
 * @typedef {import('./worker').Answer} Answer
 * @typedef {Omit<import('./worker').Request, 'requestId'>} Request
 * @typedef {import('./worker').PartRead} PartRead
 * @typedef {{ lost: { count: number, size: number }, results: unknown[] }} Spread  results in the order of the log
 * @typedef {{ part: Part, err: Error | null, read: PartRead | undefined, result: unknown }} Outcome
 *
 * @typedef {object} Work
 * @property {Part[]} parts
 * @property {number} threads
 * @property {{ take: () => { thread: Thread, isNew: boolean }, giveBack: (thread: Thread) => void }} pool
 * @property {import('../maintenance').Gate} gate
 * @property {(part: Part) => Request} describe  a part as a thread is asked for it
 * @property {AbortSignal | null} signal
 */

class SpreadScan {
  /**
   * @param {Work} work
   * @param {(err: Error | null, read?: PartRead[], results?: unknown[]) => void} cb
   */
  constructor (work, cb) {
    this._work = work
    this._cb = cb
    this._parts = work.parts
    /** Which part is handed out next. */
    this._next = 0
    /** @type {Array<Outcome | undefined>} by part */
    this._outcomes = []
    /** How many of them count. */
    this._settledCount = 0
    this._isOver = false
    this._hasFailed = false
    /** Those that are busy with a part. @type {Set<Thread>} */
    this._busy = new Set()
    /** Those that there is nothing left for. @type {Thread[]} */
    this._idle = []
    /** Those that have worked for no other scan. @type {Set<Thread>} */
    this._fresh = new Set()
    this._forgetSignal = () => {}
  }

  run () {
    const { signal } = this._work
    if (signal?.aborted) return this._finish(abortError('scan', signal))
    this._forgetSignal = onAbort(signal, () => this._finish(abortError('scan', /** @type {AbortSignal} */ (signal))))
    const count = Math.min(this._work.threads, this._parts.length)
    for (let index = 0; index < count; index++) this._handOut(null)
  }

  /** @param {Thread | null} thread  that has nothing to do; null for another one */
  _handOut (thread) {
    const index = this._next
    const isNeeded = !this._isOver && index < this._parts.length
    if (thread && (!isNeeded || thread.isDead)) this._release(thread)
    if (!isNeeded) return
    const part = this._parts[index]
    this._next++
    this._work.gate.enter('part', () => {
      const taken = this._isOver ? thread : this._take(thread)
      if (taken === null || this._isOver) {
        this._work.gate.leave()
        if (taken) this._release(taken)
        return
      }
      this._ask(taken, part, index)
    })
  }

  /** @param {Thread} thread  that this scan needs no longer */
  _release (thread) {
    if (!this._isOver) return this._idle.push(thread)
    // What a task that has failed left behind in it may fail the next one.
    if (this._hasFailed) thread.stop()
    this._work.pool.giveBack(thread)
  }

  /**
   * @param {Thread | null} thread
   * @returns {Thread | null}
   */
  _take (thread) {
    if (thread && !thread.isDead) return thread
    try {
      const { thread: taken, isNew } = this._work.pool.take()
      if (isNew) this._fresh.add(taken)
      return taken
    } catch (err) {
      // Not from here: the caller is to hear of nothing before his call has returned.
      process.nextTick(() => this._finish(/** @type {Error} */ (err)))
      return null
    }
  }

  /**
   * @param {Thread} thread
   * @param {Part} part
   * @param {number} index
   */
  _ask (thread, part, index) {
    this._busy.add(thread)
    thread.ask(this._work.describe(part), (err, answer) => {
      this._busy.delete(thread)
      // It may have died of what a task of another scan had left in it.
      const another = err && this._wasKilledByAnother(thread, index, part) ? this._take(null) : null
      if (another) return this._ask(another, part, index)
      this._work.gate.leave()
      // It may be one of those that were not needed after all.
      if (this._parts[index] === part) {
        this._outcomes[index] = { part, err, read: answer?.read, result: answer?.result }
        // Nothing behind it will count; but what lies before has to be known.
        if (err || answer?.read?.hasEnded) this._next = Infinity
        if (!this._isOver) this._settle()
      }
      this._handOut(thread)
    })
  }

  /**
   * @param {Thread} thread
   * @param {number} index
   * @param {Part} part
   */
  _wasKilledByAnother (thread, index, part) {
    return thread.hasEnded && !this._fresh.has(thread) && !this._isOver && this._parts[index] === part
  }

  _settle () {
    while (!this._isOver) {
      const outcome = this._outcomes[this._settledCount]
      if (!outcome) return
      if (!this._isJoined(outcome)) return this._readRestInOnePiece()
      if (outcome.err) return this._finish(outcome.err)
      this._settledCount++
      if (outcome.read?.hasEnded || this._settledCount === this._parts.length) return this._finish(null)
    }
  }

  /**
   * Whether a plain scan that has come to this part would read it as it was read.
   * @param {Outcome} outcome
   */
  _isJoined ({ part, err, read }) {
    const before = this._outcomes[this._settledCount - 1]
    if (before === undefined) return true
    return before.read?.seam.hasMet === true && (err !== null || read?.seam.begunAt === part.at)
  }

  _readRestInOnePiece () {
    const first = this._settledCount - 1
    const { stop } = this._parts[this._parts.length - 1]
    this._parts = [...this._parts.slice(0, first), { ...this._parts[first], stop }]
    this._outcomes.length = this._settledCount = this._next = first
  }

  /** @param {Error | null} err */
  _finish (err) {
    if (this._isOver) return
    this._isOver = true
    this._hasFailed = err !== null
    this._forgetSignal()
    for (const thread of this._idle) this._release(thread)
    // Whatever it is busy with, perhaps for ever.
    if (err) for (const thread of this._busy) thread.stop()
    // What the caller's function throws must not keep a thread from being given back.
    if (err) return process.nextTick(this._cb, err)
    const outcomes = /** @type {Outcome[]} */ (this._outcomes.slice(0, this._settledCount))
    const read = outcomes.map(({ read }) => /** @type {PartRead} */ (read))
    process.nextTick(this._cb, null, read, outcomes.map(({ result }) => result))
  }
}

// The worker threads of one log: made when they are needed, kept for the next scan, ended when they are idle for long.

// Starting a thread takes longer than scanning a small log: whoever scans again and again should do it once.
const IDLE_MS = 10000

class Pool {
  /** @param {() => import('./worker').Setting} describe  asked when the first thread is made */
  constructor (describe) {
    this._describe = describe
    /** @type {Set<Thread>} */
    this._threads = new Set()
    /** @type {Thread[]} those with nothing to do, the one that worked last at the end */
    this._idle = []
    /** @type {NodeJS.Timeout | null} */
    this._timer = null
  }

  /**
   * @returns {{ thread: Thread, isNew: boolean }}  nobody else's until it is given back
   * @throws where no thread may be made
   */
  take () {
    this._forgetDead()
    const idle = this._idle.pop()
    if (idle) return { thread: idle, isNew: false }
    const thread = new Thread(this._describe())
    this._threads.add(thread)
    return { thread, isNew: true }
  }

  /** @param {Thread} thread  with nothing to do, or dead */
  giveBack (thread) {
    this._idle.push(thread)
    this._forgetDead()
    if (this._timer) clearTimeout(this._timer)
    this._timer = setTimeout(() => this._endIdle(), IDLE_MS)
    this._timer.unref()
  }

  /** @param {() => void} cb  all of them have ended */
  close (cb) {
    if (this._timer) clearTimeout(this._timer)
    let left = this._threads.size
    if (left === 0) return cb()
    for (const thread of this._threads) {
      thread.stop(() => {
        if (--left === 0) cb()
      })
    }
  }

  _endIdle () {
    for (const thread of this._idle) thread.stop()
    this._idle = []
  }

  _forgetDead () {
    for (const thread of this._threads) if (thread.hasEnded) this._threads.delete(thread)
    this._idle = this._idle.filter((thread) => !thread.isDead)
  }
}

// One worker thread, as the log sees it: one request at a time, and whatever becomes of the thread, one answer each.

/** @typedef {(err: Error | null, answer?: Answer) => void} Answered */

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

exports.SpreadScan = SpreadScan
exports.Pool = Pool
exports.Thread = Thread
