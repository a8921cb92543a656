'use strict'
// Runs one scan over worker threads: hands out the partitions, and collects their results in the order of the log.
//
// A partition's result counts only if the partition in front of it joins it: its reader arrived exactly where this one
// began. If two partitions do not join, one thread reads everything from the last partition that joined, as one
// partition.

const path = require('node:path')
const { MessageChannel, receiveMessageOnPort, Worker } = require('node:worker_threads')
const { LogError, misuse } = require('@millrace/errors')
const { abortError, onAbort } = require('@millrace/flow')
const { taskFailed, unpackError } = require('./carry-error')

/**
 * @typedef {import('./threaded-scans').Part} Part
 * @typedef {import('./millrace-worker').Answer} Answer
 * @typedef {Omit<import('./millrace-worker').Request, 'requestId'>} Request
 * @typedef {import('./millrace-worker').PartRead} PartRead
 * @typedef {{ part: Part, err: Error | null, read: PartRead | undefined, result: unknown }} Outcome
 *
 * @typedef {object} Work
 * @property {Part[]} parts
 * @property {number} threads
 * @property {Pool} pool
 * @property {import('../maintenance').Gate} gate
 * @property {(part: Part) => Request} describe
 * @property {AbortSignal | null} signal
 */

class SpreadScan {
  #work
  #parts
  /** The index of the next partition to hand out. */
  #next = 0
  /** By index of the partition. @type {Array<Outcome | undefined>} */
  #outcomes = []
  /** How many partitions joined. Their outcomes count. */
  #joinedCount = 0
  /** @type {Set<Thread>} */
  #threads = new Set()
  #isOver = false
  /** @type {(err: Error | null) => void} */
  #end = () => {}

  /** @param {Work} work */
  constructor (work) {
    this.#work = work
    this.#parts = work.parts
  }

  /** @returns {Promise<Outcome[]>}  in the order of the log, up to the partition in which a task ended the scan */
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
        // A task may never end, and a failed task may leave work behind that would fail the next one.
        for (const thread of this.#threads) thread.stop()
        reject(err)
      }
      if (signal?.aborted) abort()
    })
    const count = Math.min(threads, this.#parts.length)
    for (let lane = 0; lane < count; lane++) this.#runLane(over)
    return over
  }

  /** Hands partitions to one thread, until none are left. @type {(over: Promise<unknown>) => Promise<void>} */
  async #runLane (over) {
    /** @type {Thread | null} */
    let thread = null
    try {
      while (!this.#isOver && this.#next < this.#parts.length) thread = await this.#readPart(this.#next++, thread)
      // Until the scan is over, this thread may have to be stopped.
      await over
    } catch (err) {
      this.#end(/** @type {Error} */ (err))
    }
    if (thread) this.#work.pool.giveBack(thread)
  }

  /**
   * @param {number} index
   * @param {Thread | null} thread  idle; null to take one from the pool
   * @returns {Promise<Thread | null>}  the thread for the next partition
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
        // A task of an earlier scan may have left work that ended the thread. If so, another thread reads the
        // partition.
        if (thread.hasEnded && thread.hasServed && outcome.err && this.#parts[index] === part) outcome = null
      }
    } finally {
      gate.leave()
    }
    // Partitions are replaced when two did not join.
    if (outcome !== null && this.#parts[index] === part) this.#addOutcome(outcome, index)
    return thread
  }

  #takeThread () {
    const thread = this.#work.pool.take()
    this.#threads.add(thread)
    return thread
  }

  /** @type {(outcome: Outcome, index: number) => void} */
  #addOutcome (outcome, index) {
    this.#outcomes[index] = outcome
    // Nothing behind this partition counts, but those in front of it still do.
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

  /** Whether a plain scan would reach this partition and read the same. @type {(outcome: Outcome) => boolean} */
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

// The worker threads of one log: started when needed, kept for the next scans, stopped when idle for long.

// Starting a thread takes longer than scanning a small log.
const IDLE_MS = 10000

class Pool {
  #describe
  /** @type {Set<Thread>} */
  _threads = new Set()
  /** The thread that worked last is the last one. @type {Thread[]} */
  #idle = []
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /** @param {() => import('./millrace-worker').Setting} describe  called for each new thread */
  constructor (describe) {
    this.#describe = describe
  }

  /**
   * @returns {Thread}  reserved for the caller until `giveBack`
   * @throws if no thread can be started
   */
  take () {
    this.#forgetDead()
    const thread = this.#idle.pop() ?? new Thread(this.#describe())
    this._threads.add(thread)
    return thread
  }

  /** @param {Thread} thread  idle or dead */
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

  /** @returns {Promise<unknown>}  all threads have ended */
  close () {
    clearTimeout(this.#timer)
    return Promise.all([...this._threads].map((thread) => thread.stop()))
  }

  #forgetDead () {
    for (const thread of this._threads) if (thread.hasEnded) this._threads.delete(thread)
    this.#idle = this.#idle.filter((thread) => !thread.isDead)
  }
}

// One worker thread, as the log sees it: one request at a time, and one answer each, whatever happens to the thread.

class Thread {
  /** Whether it takes no more requests. */
  isDead = false
  hasEnded = false
  /** Whether it has worked for an earlier scan. */
  hasServed = false
  #port
  #worker
  #ended
  #requestId = 0
  #task = ''
  /** The error that ended the thread. @type {unknown} */
  #cause
  #hasStarted = false
  /** Settles the current request. @type {(answer: Answer, err?: Error | null) => void} */
  #answered = () => {}

  /**
   * @param {import('./millrace-worker').Setting} setting
   * @throws if no thread can be started
   */
  constructor (setting) {
    const { port1: port, port2: theirs } = new MessageChannel()
    const worker = new Worker(findWorkerFile(), { workerData: { port: theirs, setting }, transferList: [theirs] })
    this.#port = port
    this.#worker = worker
    port.on('message', (message) => this.#receive(message))
    port.on('messageerror', (err) => {
      this.#answered({}, taskFailed('has a result that cannot be cloned', this.#task, err))
    })
    // An idle thread does not keep the process alive.
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

  /** @type {(request: Request) => Promise<Answer>} */
  ask (request) {
    this.#task = request.task
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#answered = (answer, err = answer.error ? unpackError(answer.error) : null) => {
        // A thread that is being stopped keeps the process alive, because a caller may await its end.
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

  /** @returns {Promise<unknown>}  the thread has ended */
  stop () {
    // Its last answer may still arrive. The thread must not count as idle then.
    this.isDead = true
    if (!this.hasEnded) this.#worker.terminate()
    return this.#ended
  }

  /** @param {Answer & { requestId: number }} message */
  #receive ({ requestId, ...answer }) {
    this.#hasStarted = true
    if (requestId === this.#requestId) this.#answered(answer)
  }

  /** @param {number} code */
  #die (code) {
    this.isDead = this.hasEnded = true
    try {
      // The thread may have answered before it ended.
      for (let last; (last = receiveMessageOnPort(this.#port)) !== undefined;) this.#receive(last.message)
    } catch {
      // If the answer cannot be deserialised, there is none.
    }
    this.#port.close()
    const isMissing = !this.#hasStarted && /** @type {any} */ (this.#cause)?.code === 'MODULE_NOT_FOUND'
    const failure = isMissing
      ? notBundled(this.#cause)
      : taskFailed(`has ended its thread with the code ${code}`, this.#task, this.#cause)
    this.#answered({}, failure)
  }
}

// A bundle has this file beside it, if somebody has told the bundler; so the name says whose it is.
const WORKER_NAME = 'millrace-worker'

/**
 * @returns {string}
 * @throws ERR_NOT_SUPPORTED in a bundle of ES modules
 */
function findWorkerFile () {
  if (typeof __filename !== 'string') throw notBundled(undefined)
  return path.join(path.dirname(__filename), WORKER_NAME + path.extname(__filename))
}

/** @param {unknown} cause */
function notBundled (cause) {
  return new LogError('ERR_NOT_SUPPORTED', `scan: threads start with the file ${WORKER_NAME}.js, which is not there. In a bundle ` +
    'it must lie beside a CommonJS module: add @millrace/offset-log/millrace-worker as an entry, or leave @millrace/* out of ' +
    'the bundle', { cause })
}

exports.SpreadScan = SpreadScan
exports.Pool = Pool
exports.Thread = Thread
