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
 * @typedef {{ part: Part, err: Error | null, read: PartRead | undefined, result: unknown }} Outcome
 *
 * @typedef {object} Work
 * @property {Part[]} parts
 * @property {number} threads
 * @property {Pool} pool
 * @property {import('../maintenance').Gate} gate
 * @property {(part: Part) => Request} describe  a part as a thread is asked for it
 * @property {AbortSignal | null} signal
 */

class SpreadScan {
  #work
  #parts
  /** Which part is handed out next. */
  #next = 0
  /** @type {Array<Outcome | undefined>} by part */
  #outcomes = []
  /** How many of them count: each has come to where the next one began. */
  #joinedCount = 0
  /** All that take part. @type {Set<Thread>} */
  #threads = new Set()
  #isOver = false
  /** @type {(err: Error | null) => void} */
  #end = () => {}

  /** @param {Work} work */
  constructor (work) {
    this.#work = work
    this.#parts = work.parts
  }

  /** @returns {Promise<Outcome[]>}  those that count, in the order of the log */
  run () {
    const { threads, signal } = this.#work
    const over = new Promise((resolve, reject) => {
      const abort = () => this.#end(abortError('scan', /** @type {AbortSignal} */ (signal)))
      const forgetSignal = onAbort(signal, abort)
      this.#end = (err) => {
        if (this.#isOver) return
        this.#isOver = true
        forgetSignal()
        if (!err) return resolve(this.#outcomes.slice(0, this.#joinedCount))
        // Whatever they are busy with, perhaps for ever. What a task that has failed left behind may fail the next one.
        for (const thread of this.#threads) thread.stop()
        reject(err)
      }
      if (signal?.aborted) abort()
    })
    const count = Math.min(threads, this.#parts.length)
    for (let lane = 0; lane < count; lane++) this.#runLane(over)
    return over
  }

  /**
   * One thread's share: part after part.
   * @param {Promise<unknown>} over
   */
  async #runLane (over) {
    /** @type {Thread | null} */
    let thread = null
    try {
      while (!this.#isOver && this.#next < this.#parts.length) thread = await this.#readPart(this.#next++, thread)
      // Until then it may have to be stopped.
      await over
    } catch (err) {
      this.#end(/** @type {Error} */ (err))
    }
    if (thread) this.#work.pool.giveBack(thread)
  }

  /**
   * @param {number} index
   * @param {Thread | null} thread  that has nothing to do; null for another one
   * @returns {Promise<Thread | null>}
   */
  async #readPart (index, thread) {
    const { gate, describe } = this.#work
    const part = this.#parts[index]
    await new Promise((resolve) => gate.enter('part', () => resolve(null)))
    /** @type {Outcome | null} */
    let outcome = null
    try {
      while (outcome === null && !this.#isOver) {
        if (thread === null || thread.isDead) thread = this.#takeThread()
        outcome = await thread.ask(describe(part)).then(({ read, result }) => {
          return { part, err: null, read, result }
        }, (err) => {
          return { part, err, read: undefined, result: undefined }
        })
        // It may have died of what a task of another scan had left in it.
        if (thread.hasEnded && thread.hasServed && outcome.err && this.#parts[index] === part) outcome = null
      }
    } finally {
      gate.leave()
    }
    // It may be one of those that were not needed after all.
    if (outcome !== null && this.#parts[index] === part) this.#addOutcome(outcome, index)
    return thread
  }

  #takeThread () {
    const thread = this.#work.pool.take()
    this.#threads.add(thread)
    return thread
  }

  /**
   * @param {Outcome} outcome
   * @param {number} index
   */
  #addOutcome (outcome, index) {
    this.#outcomes[index] = outcome
    // Nothing behind it will count; but what lies before has to be known.
    if (outcome.err || outcome.read?.hasEnded) this.#next = Infinity
    while (!this.#isOver) {
      const next = this.#outcomes[this.#joinedCount]
      if (!next) return
      if (!this.#isJoined(next)) return this._readRestInOnePiece()
      if (next.err) return this.#end(next.err)
      this.#joinedCount++
      if (next.read?.hasEnded || this.#joinedCount === this.#parts.length) this.#end(null)
    }
  }

  /**
   * Whether a plain scan that has come to this part would read it as it was read.
   * @param {Outcome} outcome
   */
  #isJoined ({ part, err, read }) {
    const before = this.#outcomes[this.#joinedCount - 1]
    if (before === undefined) return true
    return before.read?.seam.hasMet === true && (err !== null || read?.seam.begunAt === part.at)
  }

  _readRestInOnePiece () {
    const first = this.#joinedCount - 1
    const { stop } = this.#parts[this.#parts.length - 1]
    this.#parts = [...this.#parts.slice(0, first), { ...this.#parts[first], stop }]
    this.#outcomes.length = this.#joinedCount = this.#next = first
  }
}

// The worker threads of one log: made when they are needed, kept for the next scan, ended when they are idle for long.

// Starting a thread takes longer than scanning a small log: whoever scans again and again should do it once.
const IDLE_MS = 10000

class Pool {
  #describe
  /** @type {Set<Thread>} */
  _threads = new Set()
  /** @type {Thread[]} those with nothing to do, the one that worked last at the end */
  #idle = []
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /** @param {() => import('./worker').Setting} describe  asked when the first thread is made */
  constructor (describe) {
    this.#describe = describe
  }

  /**
   * @returns {Thread}  nobody else's until it is given back
   * @throws where no thread may be made
   */
  take () {
    this.#forgetDead()
    const thread = this.#idle.pop() ?? new Thread(this.#describe())
    this._threads.add(thread)
    return thread
  }

  /** @param {Thread} thread  with nothing to do, or dead */
  giveBack (thread) {
    thread.hasServed = true
    this.#idle.push(thread)
    this.#forgetDead()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      for (const thread of this.#idle.splice(0)) thread.stop()
    }, IDLE_MS)
    this.#timer.unref()
  }

  /** @returns {Promise<unknown>}  all of them have ended */
  close () {
    clearTimeout(this.#timer)
    return Promise.all([...this._threads].map((thread) => thread.stop()))
  }

  #forgetDead () {
    for (const thread of this._threads) if (thread.hasEnded) this._threads.delete(thread)
    this.#idle = this.#idle.filter((thread) => !thread.isDead)
  }
}

// One worker thread, as the log sees it: one request at a time, and whatever becomes of the thread, one answer each.

class Thread {
  /** Whether it can be asked nothing any more. */
  isDead = false
  hasEnded = false
  /** Whether it has worked for an earlier scan. */
  hasServed = false
  #port
  #worker
  #ended
  #requestId = 0
  #task = ''
  /** What it died of. @type {unknown} */
  #cause
  /** Of the request that is under way. @type {(answer: Answer, err?: Error | null) => void} */
  #answered = () => {}

  /**
   * @param {import('./worker').Setting} setting
   * @throws where no thread may be made
   */
  constructor (setting) {
    const { port1: port, port2: theirs } = new MessageChannel()
    const worker = new Worker(path.join(__dirname, 'worker.js'),
      { workerData: { port: theirs, setting }, transferList: [theirs] })
    this.#port = port
    this.#worker = worker
    port.on('message', (message) => this.#receive(message))
    port.on('messageerror', (err) => {
      this.#answered({}, taskFailed('has a result that cannot be cloned', this.#task, err))
    })
    // A thread that has nothing to do does not keep the process running.
    port.unref()
    worker.unref()
    worker.on('error', (err) => {
      this.#cause = err
      this.isDead = true
    })
    this.#ended = new Promise((resolve) => worker.on('exit', (code) => {
      this.#die(code)
      resolve(null)
    }))
  }

  /**
   * @param {Request} request
   * @returns {Promise<Answer>}
   */
  ask (request) {
    this.#task = request.task
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#answered = (answer, err = answer.error ? unpackError(answer.error) : null) => {
        // Somebody may wait for the end of one that is being stopped.
        if (!this.isDead) this.#worker.unref()
        if (err === null) resolve(answer)
        else reject(err)
      }
      try {
        this.#port.postMessage({ requestId: ++this.#requestId, ...request })
      } catch (err) {
        const { message } = /** @type {Error} */ (err)
        this.#answered({}, misuse(`scan: the parameters, or the filter, cannot be copied to another thread: ${message}`))
      }
    })
  }

  /** @returns {Promise<unknown>}  it has ended */
  stop () {
    // Its last answer may be under way: nobody is to take it for one that has nothing to do.
    this.isDead = true
    if (!this.hasEnded) this.#worker.terminate()
    return this.#ended
  }

  /** @param {Answer & { requestId: number }} message */
  #receive ({ requestId, ...answer }) {
    if (requestId === this.#requestId) this.#answered(answer)
  }

  /** @param {number} code */
  #die (code) {
    this.isDead = this.hasEnded = true
    try {
      // It may have answered before it ended.
      const last = receiveMessageOnPort(this.#port)
      if (last) this.#receive(last.message)
    } catch {
      // A result that cannot be read is none.
    }
    this.#port.close()
    this.#answered({}, taskFailed(`has ended its thread with the code ${code}`, this.#task, this.#cause))
  }
}

exports.SpreadScan = SpreadScan
exports.Pool = Pool
exports.Thread = Thread
