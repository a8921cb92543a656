'use strict'
// The forwarder: opens the cursor, reads what lies after it, makes batches, and has them delivered, one at a time.

const { performance } = require('node:perf_hooks')
const { clearInterval, setInterval } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { createObservable, Lifecycle, toPromise } = require('@millrace/flow')
const { Control, Retrier } = require('./control')
const { openCursor } = require('./cursor')
const { Delivery } = require('./delivery')
const { hasDropped, readLeft } = require('./dropped')
const { LagCounter, findAgeMs } = require('./lag')
const { LogWatch, REPLACED, findNext, isOver } = require('./log-watch')
const { parseClose, parseDrained, parseOptions } = require('./options')
const { Progress } = require('./progress')
const { readPiece } = require('./reading')
const { RefusedRecords } = require('./refused-records')
const { Reporter, describeNext } = require('./reports')
const { findResumption, moveTo } = require('./resume')
const { Skips } = require('./skipped')

// What is read at once, if a batch is smaller.
const READ_COUNT = 1000
const READ_SIZE = 2 ** 20
// While a batch fills, appends wake nobody: the log is read so often.
const GATHER_MS = 50
// While there is nothing to send, a sink that can lose records is looked at so often.
const CHECK_MS = 2000
// Somebody waits in `ready`, so the log is not asked for a hold without end.
const HOLD_ATTEMPTS = 5

/**
 * @typedef {import('./reading').Entry} Entry
 * @typedef {import('./options').ForwarderOptions} ForwarderOptions
 * @typedef {{ records: number, size: number, ageMs: number }} Lag  how far the sink is behind the log: how many
 *   records, how many bytes they have in the log, and the age of the oldest one in ms
 * @typedef {{ seq: number, resolve: () => void, reject: (err: Error) => void }} Waiter
 */

/**
 * @typedef {object} ForwarderStats
 * @property {number} forwarded  records, over the life of the cursor
 * @property {number} refused  records, over the life of the cursor
 * @property {number} batches  that were accepted, of this forwarder
 * @property {number} failures  tries that failed, of this forwarder
 * @property {number} skipped  how often the log no longer had what came next
 * @property {number} seq  of the last record that is done with; -1 if none
 * @property {Error | null} lastError  of the last failed try; null after a success
 */

class LogForwarder {
  /** @type {import('@millrace/flow').Obz<Lag>} */
  #lag = createObservable()
  #log
  #options
  #control
  #lifecycle
  #reporter
  #retrier
  /** @type {Progress} set once open, as are the next two */
  #progress
  /** @type {Delivery} */
  #delivery
  /** @type {LagCounter} */
  #lagCounter
  #refusedRecords
  /** Records that were read and are not done with. @type {Entry[]} */
  #queue = []
  #queueSize = 0
  /** When the first of the queue was read. */
  #queuedMs = 0
  /** Whether the last read left records behind because the queue was full. */
  #isCut = false
  /** The seq after which the next read begins. */
  #after = -1
  /** The `since` up to which everything was read. */
  #readTo = -1
  /** The `since` up to which everything is done with. */
  #doneTo = -1
  #isIdle = false
  /** When the sink was last looked at while idle. */
  #checkedMs = performance.now()
  #isMeasuring = false
  /** Whether it is known where to begin. */
  #hasBegun = false
  #skips
  /** @type {Waiter[]} callers of `drained` */
  #waiting = []
  /** Why the forwarder ended by itself. @type {Error | null} */
  #failure = null
  /** @type {Promise<void>} */
  #running = Promise.resolve()
  /** @type {LogWatch | null} set once open */
  #watch = null
  /** @type {NodeJS.Timeout | undefined} */
  #lagTimer
  /** Batches that were accepted while it read an earlier log. */
  #earlierBatchCount = 0

  /**
   * @param {any} log
   * @param {ForwarderOptions} options
   */
  constructor (log, options) {
    this.#log = log
    const parsed = this.#options = parseOptions(log, options)
    const { name, backoff } = parsed
    this.#control = new Control(parsed.unref)
    this.#reporter = new Reporter(`forwarder ${name} of ${log.filename}`, parsed.onReport)
    this.#skips = new Skips(this.#reporter)
    this.#retrier = new Retrier(this.#control, backoff, this.#reporter)
    this.#refusedRecords = this.#createRefusedRecords()
    this.#lifecycle = new Lifecycle((call) => closedError(call, name))
    /** @type {any} */
    const unset = null
    this.#progress = this.#delivery = this.#lagCounter = unset
    this.#open().then(() => this.#begin(), (err) => {
      this.#control.end()
      this.#control.show('closed')
      this.#lifecycle.opened(err)
    })
  }

  /**
   * What the forwarder does, as an observable.
   * @returns {import('@millrace/flow').Observable<import('./control').State>}
   */
  get state () {
    return this.#control.state
  }

  /** How far the sink is behind, as an observable. @returns {import('@millrace/flow').Observable<Lag>} */
  get lag () {
    return this.#lag
  }

  /**
   * Waits until the cursor is open, and the log keeps what comes after it. It fails with `ERR_LOG_LOCKED` if another
   * forwarder holds the cursor; `err.holder` says who. If the log cannot `hold`, it fails after five tries.
   * @returns {Promise<void>}
   */
  ready () {
    return toPromise((cb) => this.#lifecycle.run('ready', cb, (cb) => cb(null)))
  }

  /**
   * Waits until everything that the log had at the call is forwarded or set aside, also what another process has
   * appended to it. It fails with `ERR_LOG_CLOSED` if
   * the log was closed before, with `ERR_FORWARDER_CLOSED` if the forwarder was, and with the reason if a shipper has
   * stopped. Meanwhile the process keeps running.
   * @param {{ unref?: boolean | undefined }} [options]  `unref`: true lets the process end meanwhile, if the forwarder
   *   does
   * @returns {Promise<void>}
   */
  async drained (options = {}) {
    await this.#control.awaited(async () => {
      if (this.#failure) throw this.#failure
      await this.ready()
      await this.#watch?.refresh()
      const seq = this.#log.since.value
      if (this.#hasBegun && this.#doneTo >= seq && !this.#watch?.isReplaced) return
      if (this.#failure) throw this.#failure
      await new Promise((resolve, reject) => {
        this.#waiting.push({ seq, resolve: () => resolve(undefined), reject })
        this.#control.poke()
      })
    }, parseDrained(options))
  }

  /** Sends no further batch; waits for the one that is being sent. @returns {Promise<void>} */
  async pause () {
    await this.ready()
    await this.#control.awaited(() => this.#control.pause())
  }

  /** Goes on after `pause`. @returns {Promise<void>} */
  async resume () {
    await this.ready()
    this.#control.resume()
  }

  /**
   * Goes on for at most `drain` ms, or until everything is forwarded. Then it aborts what is being sent, and syncs and
   * closes the cursor. It does not close the log. `await using` calls it.
   * @param {{ drain?: number | undefined }} [options]  `drain`: 0 by default
   * @returns {Promise<{ isDrained: boolean }>}  whether everything is done with that the log had
   */
  async close (options = {}) {
    this.#control.close(parseClose(options))
    // One that has time to drain may not have begun.
    await this.#control.unlessOver(this.ready())
    await toPromise((cb) => this.#lifecycle.close((done) => this.#shutDown().then(() => done(null), done), cb))
    return { isDrained: this.#isDrained }
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  /** What was done so far. @returns {ForwarderStats} */
  stats () {
    const { forwarded = 0, refused = 0, seq = -1 } = this.#progress?.position ?? {}
    const { failureCount: failures, lastError } = this.#retrier
    const batches = this.#earlierBatchCount + (this.#delivery?.batchCount ?? 0)
    return { forwarded, refused, batches, failures, skipped: this.#skips.count, seq, lastError }
  }

  async #open () {
    const { sink, name, path, key, storage, batch, attempts, fsync, start } = this.#options
    const [log, reporter] = [this.#log, this.#reporter]
    await log.ready()
    const identity = await log.stats()
    const { cursor, ...saved } = await openCursor(`${path}.cursor`, storage, { what: key, value: this.#options[key] })
    try {
      const { position, problem } = await findResumption(log, identity, saved, start)
      const [control, retrier] = [this.#control, this.#retrier]
      this.#progress = new Progress({ position, cursor, log, retrier }, { name, fsync, sink })
      const parts = { sink, control, retrier, progress: this.#progress, refusedRecords: this.#refusedRecords, reporter }
      this.#delivery = new Delivery({ ...parts, onPass: (entries) => this.#passed(entries) }, batch, attempts)
      this.#lagCounter = new LagCounter(log, position.seq, position.from ?? 0)
      this.#goTo(position.seq)
      if (problem !== null) this.#tellMoved(saved.position?.seq ?? null, position.seq, problem)
      await cursor.write(position)
      // A power cut must not take where it began.
      if (saved.position === null) await cursor.sync()
      await this.#progress.hold(position.seq, this.#lifecycle.hasOpened ? Infinity : HOLD_ATTEMPTS)
    } catch (err) {
      await cursor.close().catch(() => {})
      throw err
    }
  }

  #begin () {
    this.#listen()
    this.#lifecycle.opened(null)
    this.#running = this.#run().catch((err) => { this.#failure = err }).then(() => this.#ended())
  }

  #listen () {
    const { lagMs } = this.#options
    this.#watch = new LogWatch(this.#log, () => { if (this.#isIdle) this.#control.poke() })
    if (lagMs > 0) this.#lagTimer = setInterval(() => this.#measureLag(), lagMs).unref()
    if (lagMs > 0) this.#measureLag()
  }

  #stopListening () {
    clearInterval(this.#lagTimer)
    this.#watch?.stop()
  }

  #createRefusedRecords () {
    const { refused, path, storage } = this.#options
    return new RefusedRecords(this.#log, { target: refused, path: `${path}.refused`, storage })
  }

  /** If a log writer replaces the log, goes on with the next one. */
  async #run () {
    for (;;) {
      try {
        return await this.#forward()
      } catch (/** @type {any} */ err) {
        if (err.code !== 'ERR_LOG_CLOSED' || !await this.#goOnWithNext(this.#log)) throw err
      }
    }
  }

  /** @type {(closed: any) => Promise<boolean>} false if no log takes its place */
  async #goOnWithNext (closed) {
    const next = await findNext(closed, this.#control.signal)
    if (next === null) return false
    this.#stopListening()
    this.#earlierBatchCount += this.#delivery.batchCount
    await Promise.all([this.#progress.close(), this.#refusedRecords.close()])
    this.#log = next
    this.#refusedRecords = this.#createRefusedRecords()
    try {
      await this.#open()
    } catch (err) {
      // The writer that has brought it cannot use it either.
      if (next.replacedBy) return this.#goOnWithNext(next)
      throw err
    }
    for (const waiter of this.#waiting) waiter.seq = next.since.value
    this.#listen()
    return true
  }

  async #forward () {
    await this.#progress.learnId()
    await this.#askSink()
    this.#hasBegun = true
    while (await this.#control.mayGoOn()) {
      this.#watch?.throwIfClosed(this.#queue.length > 0 || this.#readTo < this.#log.since.value)
      const batch = await this.#gather()
      if (batch !== null) {
        await this.#progress.learnId()
        const begin = await this.#delivery.deliver(batch)
        if (begin !== null) await this.#beginAt(begin)
      } else if (this.#control.isClosing && this.#isDrained) {
        await this.#watch?.refresh()
        if (this.#isDrained) return
      }
    }
  }

  /** A sink that knows what it has says where to begin. */
  async #askSink () {
    const { sink, start } = this.#options
    if (!sink.begin) return
    const { begin, isFatal } = sink
    const { position, logId: log } = this.#progress
    const { seq, step, sink: state = null } = position
    const context = { log, seq, state, start, isNew: step === 0, signal: this.#control.signal }
    const asked = await this.#retrier.until(() => begin(context), { isFatal })
    if (asked !== null) await this.#beginAt(asked.result)
  }

  /** @param {import('./options').Begin} begin */
  async #beginAt ({ seq, state, problem }) {
    const before = this.#progress.position
    if (problem !== null) {
      const message = `${problem}; going on with ${describeNext(seq)}`
      this.#reporter.tell({ what: 'target', message, from: before.seq, to: seq })
    }
    if (seq !== before.seq || this.#queue.length > 0) this.#goTo(seq)
    await this.#progress.moveTo(moveTo(before, seq, state))
  }

  /** @returns {Promise<Entry[] | null>}  null after waiting for more records */
  async #gather () {
    if (!this.#isFull && this.#log.since.value > this.#readTo) await this.#read()
    if (this.#control.isOver) return null
    if (this.#queue.length > 0) {
      const waitMs = this.#isFull || this.#isUrgent ? 0 : this.#queuedMs + this.#options.batch.ageMs - performance.now()
      if (waitMs <= 0) return this.#delivery.cut(this.#queue)
      this.#control.show('idle')
      await this.#control.wait(Math.min(waitMs, GATHER_MS))
    } else if (this.#log.since.value <= this.#readTo) {
      this.#doneTo = this.#readTo
      this.#lagCounter.reset(this.#after)
      this.#settle()
      if (!this.#control.isClosing) await this.#idle()
    }
    return null
  }

  /** Whether everything is done with that the log has. */
  get #isDrained () {
    return this.#doneTo >= this.#log.since.value
  }

  get #isFull () {
    const { countMax, sizeMax } = this.#delivery
    return this.#isCut || this.#queue.length >= countMax || this.#queueSize >= sizeMax
  }

  /** Whether somebody waits, or a batch was begun before a crash. */
  get #isUrgent () {
    return this.#waiting.length > 0 || this.#control.isClosing || this.#progress.position.end !== null
  }

  async #idle () {
    this.#control.show('idle')
    this.#tellLag()
    this.#isIdle = true
    await this.#control.wait(Math.min(this.#progress.syncDueMs, this.#checkDueMs))
    this.#isIdle = false
    if (this.#progress.syncDueMs === 0) await this.#progress.sync()
    if (this.#checkDueMs === 0) await this.#checkSink()
  }

  /** In ms from now. */
  get #checkDueMs () {
    return this.#options.sink.check ? Math.max(0, this.#checkedMs + CHECK_MS - performance.now()) : Infinity
  }

  async #checkSink () {
    const { check, isFatal } = this.#options.sink
    if (!check || this.#control.isOver) return
    const checked = await this.#retrier.until(check, { isFatal })
    this.#checkedMs = performance.now()
    if (checked?.result) await this.#beginAt(checked.result)
  }

  /** Reads as much as the queue may hold. */
  async #read () {
    const { batch } = this.#options
    const bounds = {
      countMax: Math.max(READ_COUNT, batch.count) - this.#queue.length,
      sizeMax: Math.max(READ_SIZE, batch.size) - this.#queueSize,
      signal: this.#control.signal
    }
    const since = this.#log.since.value
    const { isFatal: isSinkFatal = () => false } = this.#options.sink
    const isFatal = (/** @type {any} */ err) => isOver(err) || isSinkFatal(err)
    const read = await this.#retrier.until(() => this.#readAfter(bounds), { isFatal })
    if (read === null) return
    const { entries, end, isCut } = read.result
    this.#skips.tellDamage(this.#after, read.result)
    if (this.#queue.length === 0) this.#queuedMs = performance.now()
    for (const entry of entries) {
      this.#queue.push(entry)
      this.#queueSize += entry.size
      this.#lagCounter.note(entry.seq, entry.size)
    }
    this.#after = end
    this.#isCut = isCut
    this.#readTo = isCut ? end : Math.max(since, end)
  }

  /** @param {import('./reading').Bounds} bounds */
  async #readAfter (bounds) {
    try {
      const piece = await readPiece(this.#log, this.#after, bounds)
      await this.#watch?.checkText(this.#after)
      return await this.#lacksFirst() ? await this.#readRetained(bounds) : piece
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_LOG_SEQ_RETAINED') return this.#readRetained(bounds)
      if (err.code === 'ERR_LOG_SEQ_LOST') await this.#resumeAgain()
      throw err
    }
  }

  /** Where the log began when the cursor was made. */
  get #from () {
    return this.#progress.position.from ?? 0
  }

  /** Whether nothing was read so far, and the log has dropped records meanwhile. A read from its beginning succeeds. */
  async #lacksFirst () {
    return this.#after === -1 && hasDropped(this.#log, this.#from)
  }

  /** The log has removed what comes next: goes on with the next record that it has. */
  async #readRetained (/** @type {import('./reading').Bounds} */ bounds) {
    const from = Math.max(this.#after, this.#from - 1)
    const { piece, to: first } = await readLeft(this.#log, this.#after, bounds)
    // Beside chosen records, only what was dropped since the cursor was made is missing.
    const to = first > from ? first : piece.entries.find(({ seq }) => seq > from)?.seq
    // A read that fails after the cursor says itself that something is missing.
    const isMissing = to !== undefined && (from === this.#after || await hasDropped(this.#log, from + 1))
    if (!isMissing) return piece
    await this.#lagCounter.cut(to, this.#measureQueue)
    const records = this.#options.lagMs > 0 ? this.#lagCounter.takeMissing() : null
    if (records !== 0) this.#skips.tell(from, to, records, 'the log has removed them')
    return piece
  }

  /** The end of the log was lost while the forwarder was running, and another process has opened the log again. */
  async #resumeAgain () {
    const before = this.#progress.position
    const { position, problem } = await findResumption(this.#log, { id: before.log, epoch: before.epoch }, { position: before, isDamaged: false }, 'first')
    this.#goTo(position.seq)
    await this.#progress.moveTo(position)
    this.#tellMoved(before.seq, position.seq, problem ?? 'the log has lost records')
    await this.#askSink()
  }

  /** Forgets what was read. @param {number} seq */
  #goTo (seq) {
    this.#queue = []
    this.#queueSize = 0
    this.#isCut = false
    this.#after = this.#readTo = this.#doneTo = seq
    this.#lagCounter.reset(seq)
  }

  /** @param {Entry[]} entries  the first of the queue */
  #passed (entries) {
    const size = entries.reduce((sum, entry) => sum + entry.size, 0)
    this.#queue.splice(0, entries.length)
    this.#queueSize -= size
    this.#queuedMs = performance.now()
    if (this.#queue.length < this.#delivery.countMax) this.#isCut = false
    this.#lagCounter.forget(entries.length, size)
    this.#doneTo = this.#progress.position.seq
    this.#tellLag()
    this.#settle()
  }

  #settle () {
    const done = this.#waiting.filter(({ seq }) => this.#doneTo >= seq)
    this.#waiting = this.#waiting.filter(({ seq }) => this.#doneTo < seq)
    for (const { resolve } of done) resolve()
  }

  #measureQueue = () => ({ records: this.#queue.length, size: this.#queueSize })

  /** Counts the backlog. A failure is for the reader to notice. */
  #measureLag () {
    if (this.#isMeasuring) return
    this.#isMeasuring = true
    this.#lagCounter.measure(this.#after, this.#measureQueue, this.#control.signal).catch(() => {}).then(() => {
      this.#isMeasuring = false
      this.#tellLag()
    })
  }

  #tellLag () {
    const { records, size } = this.#lagCounter.behind
    const lag = this.#lag
    if (records === 0 && lag.value?.records === 0) return
    const ageMs = records === 0 ? 0 : findAgeMs(this.#queue[0], this.#options.timeOf, this.#queuedMs)
    lag.set({ records, size, ageMs })
  }

  /** @type {(from: number | null, to: number, problem: string) => void} */
  #tellMoved (from, to, problem) {
    this.#reporter.tell({ what: 'cursor', message: `${problem}; going on with ${describeNext(to)}`, from, to })
  }

  #ended () {
    this.#stopListening()
    const { isFatal = () => false } = this.#options.sink
    const error = this.#failure
    const code = /** @type {any} */ (error)?.code
    const isLogLeft = REPLACED.includes(code) || (code === 'ERR_LOG_CLOSED' && !this.#isDrained)
    const isTold = error !== null && (isFatal(error) || isLogLeft)
    if (isTold) this.#reporter.tell({ what: 'stopped', message: `stopped: ${error.message}`, error })
    for (const { reject } of this.#waiting.splice(0)) reject(error ?? closedError('drained', this.#options.name))
    // Nothing is left to do, but somebody else may want the cursor.
    if (this.#failure) this.close().catch(() => {})
  }

  async #shutDown () {
    await this.#running
    await this.#watch?.refresh()
    this.#control.end()
    await this.#progress?.close()
    await this.#refusedRecords.close()
    await this.#options.sink.close?.()
    this.#control.show('closed')
  }
}

/** @type {(call: string, name: string) => LogError} */
function closedError (call, name) {
  return new LogError('ERR_FORWARDER_CLOSED', `${call}: the forwarder ${name} is closed; make a new one`)
}

/**
 * What a log must have to be forwarded; every Millrace log has it.
 * @typedef {{ filename: string, since: object, ready: Function, get: Function, scan: Function,
 *   stream: Function, stats: Function }} ForwardedLog
 */

/**
 * With or without `new`.
 * @typedef {{
 *   new <T = any>(log: ForwardedLog, options: import('./options').ForwarderOptions<T>): LogForwarder
 *   <T = any>(log: ForwardedLog, options: import('./options').ForwarderOptions<T>): LogForwarder
 * }} ForwarderConstructor
 */

/**
 * Forwards the records of a log to a sink; with or without `new`. It begins at once.
 * @type {(log: any, options: ForwarderOptions) => LogForwarder}
 */
function Forwarder (log, options) {
  return new LogForwarder(log, options)
}
Forwarder.prototype = LogForwarder.prototype

/**
 * Makes a forwarder, with or without `new`. It begins at once, and sends one batch at a time in the order of the log.
 * If the log has a method `hold`, the forwarder says with it that the record at its cursor and all after it are still
 * needed. Only the process that writes the log can hold.
 * @type {ForwarderConstructor}
 */
exports.Forwarder = /** @type {any} */ (Forwarder)
exports.LogForwarder = LogForwarder
