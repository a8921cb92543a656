'use strict'
// The writer: takes records, decides what a full queue does with them, and counts what became of each.

const { isUint8Array } = require('node:util').types
const { checkOptions, misuse, reasonOf, timerMs } = require('@millrace/errors')
const { Delivery } = require('./delivery')
const { GapCounter } = require('./gap')
const { Levels } = require('./levels')
const { parseLevelNumbers, parseOptions } = require('./options')
const { checkCodec } = require('./pre-encoded')
const { addWriter, removeWriter } = require('./process-end')
const { RecordQueue } = require('./record-queue')

/** An interval of any length keeps the process running. */
const ALIVE_MS = 2 ** 30

/**
 * @typedef {import('./delivery').Log} Log
 * @typedef {import('./levels').Level} Level
 * @typedef {import('./options').LogWriterOptions} LogWriterOptions
 * @typedef {object} FlushOptions
 * @property {boolean | undefined} [sync]  whether to sync, too; true by default
 * @typedef {string | number} LevelName  a name or a number
 */

/**
 * What LogWriter gives.
 * @template {Log} [L=Log]
 * @typedef {Writer<L>} OpenWriter
 */

/**
 * @typedef {object} Counters
 * @property {Record<string, import('./levels').Counts>} levels  of each level
 * @property {import('./levels').Counts} total  of all levels
 * @property {{ count: number, bytes: number }} queuePeak  how much waited in memory at most
 * @property {number} full  how often a record met a full queue
 * @property {number} writeThrough  how often a caller wrote for that reason
 * @property {number} eager  how often a caller wrote for a record of an eager level
 * @property {number} gaps  how many gap records were made
 * @property {number} failures  of writes, and of opening a log
 * @property {number} replaced  how many logs took the place of another
 * @property {number} diverted  how many of the written records went to standard error
 */

// What may wait for the log to open before further records go to standard error. The caller cannot write them itself,
// and a start must not drop any.
const OPENING_SIZE_MAX = 64 * 1024 * 1024

/**
 * @template {Log} [L=Log]  the kind of log that is written
 */
class Writer {
  #options
  #levels
  #queue = new RecordQueue()
  #delivery
  /** What was dropped before the queue, and after it. */
  #headGap = new GapCounter()
  #tailGap = new GapCounter()
  /** What went to standard error since a log was written. */
  #awayGap = new GapCounter()
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** Records and gap records that were ever queued. */
  #acceptedCount = 0
  /** Calls of `flush`, in order. @type {Array<{ mark: number, resolve: () => void, reject: (err: Error) => void }>} */
  #flushing = []
  /** Calls of `drained`. @type {Array<() => void>} */
  #draining = []
  #peakCount = 0
  #peakSize = 0
  #fullCount = 0
  #writeThroughCount = 0
  #eagerCount = 0
  #gapCount = 0
  /** A writer that is made in an `exit` handler hears of the end no more. */
  #isExiting = '_exiting' in process && process._exiting === true
  /** `#acceptedCount` when the event loop was empty, so that a failure is not tried again for ever. */
  #idleCount = -1
  /** @type {Promise<void> | null} */
  #closing = null
  /** @type {import('./process-end').Ending} */
  #ending

  /**
   * @param {Log} log
   * @param {LogWriterOptions} [options]
   */
  constructor (log, options) {
    if (typeof log?.append !== 'function' || typeof log.ready !== 'function') throw misuse('LogWriter: expected a Log')
    checkCodec(log)
    this.#options = parseOptions(options)
    this.#levels = new Levels(this.#options.levels)
    this.#delivery = new Delivery(log, this.#queue, {
      prepare: () => this.#pushGaps(),
      onGivenUp: (level, time, record, reason) => this.#givenUp(level, time, record, reason),
      onDiverted: (level, time) => this.#awayGap.add(level, time, 'diverted'),
      onAnswer: () => this.#goOn(),
      onFailure: (err) => this.#failFlushes(err)
    }, this.#options)
    this.#ending = {
      handlesSignals: this.#options.handleSignals,
      onIdle: () => this.#onIdle(),
      onExit: () => this.#onExit()
    }
    addWriter(this.#ending)
    this.#delivery.begin()
  }

  /** The log that is written now. @returns {L} */
  get log () {
    return /** @type {any} */ (this.#delivery.log)
  }

  /** Whether a signal takes no record. */
  get handlesSignals () {
    return this.#options.handleSignals
  }

  /**
   * What SIGKILL can take: the option `queue`, and the age of a batch. While the event loop turns and the disk is not
   * too slow, only the batch that is being filled is in memory. With `whenFull: 'wait'`, or while the log cannot be
   * written, it can be twice the count and the bytes.
   */
  get bound () {
    const { queue: { count, bytes }, batch: { ageMs } } = this.#options
    return { count, bytes, ageMs }
  }

  /**
   * Adds a record. Never throws because of the log or the record: a record that cannot be encoded is replaced by one
   * that says why.
   * @param {unknown} record  a string or bytes are stored as they are; anything else is encoded now
   * @param {LevelName} [level]  `'info'` by default. A level that the writer does not know is neither eager nor
   *   protected
   * @returns {boolean}  false if the queue was full at the call: `whenFull` says what became of the record, and
   *   `await drained()` slows the caller down
   * @throws {LogError} ERR_NOT_SUPPORTED for a condition in place of the level
   */
  write (record, level = 'info') {
    const one = this.#levels.of(level)
    one.submitted++
    if (!one.isEnabled) {
      one.filtered++
      return true
    }
    const bytes = this.#encode(record, one)
    const time = performance.now()
    const hasRoom = this.#hasRoom(bytes.length, 1)
    if (hasRoom || this.#makeRoom(bytes.length, one)) {
      if (!this.#tailGap.isEmpty) this.#pushGap(this.#tailGap)
      this.#push(bytes, one, time)
      this.#schedule(one)
    } else {
      one.queued++
      // No log can take it, and there is no room to keep it.
      const isDropped = !one.isProtected && !(this.#mayWait && this.#delivery.isOpening)
      if (isDropped || !this.#delivery.divertOne(one, time, bytes)) this.#dropNew(one, time, bytes)
    }
    return hasRoom
  }

  /** @type {(level: Level, time: number, record: Buffer) => void} */
  #dropNew (level, time, record) {
    level.queued--
    level.dropped++
    this.#tailGap.add(level, time, 'drop-new')
    this.#tellDrop(record, level)
  }

  /** Whether a full queue drops nothing as long as there is a log. */
  get #mayWait () {
    const { whenFull } = this.#options
    return whenFull === 'wait' || whenFull === 'write-through'
  }

  /** @param {Level} level  of a record that was queued */
  #schedule ({ eager }) {
    const { batch } = this.#options
    if (this.#isExiting) return this.#onExit()
    if (eager !== null && this.#delivery.flushNow(eager === 'synced', false)) this.#eagerCount++
    else if (this.#hasBatch || this.#delivery.isDiverted) this.#delivery.pump()
    else if (this.#timer === null) this.#startTimer(batch.ageMs)
  }

  get #hasBatch () {
    const { count, bytes } = this.#options.batch
    return this.#queue.count >= count || this.#queue.size >= bytes
  }

  /** @type {(record: Buffer, level: Level | null, time: number) => void} */
  #push (record, level, time) {
    this.#queue.push(record, level, time)
    this.#acceptedCount++
    if (level !== null) level.queued++
    const { count, size } = this.#delivery
    if (count > this.#peakCount) this.#peakCount = count
    if (size > this.#peakSize) this.#peakSize = size
  }

  /** @type {(record: unknown, level: Level) => Buffer} */
  #encode (record, level) {
    if (typeof record === 'string') return Buffer.from(record)
    // A copy: the caller may use the memory again.
    if (isUint8Array(record)) return Buffer.from(record)
    try {
      return toBytes(this.#options.codec.encode(record))
    } catch (err) {
      this.#delivery.report(/** @type {Error} */ (err))
      const msg = `a record could not be encoded: ${reasonOf(err)}`
      return this.#encodeOwn({ level: level.number, time: Date.now(), msg })
    }
  }

  /** Encodes a record that the writer has made. @param {object} record */
  #encodeOwn (record) {
    try {
      return toBytes(this.#options.codec.encode(record))
    } catch {
      return Buffer.from(JSON.stringify(record))
    }
  }

  /** @type {(size: number, factor: number) => boolean} whether a record fits into the queue, or a multiple of it */
  #hasRoom (size, factor) {
    const { count, bytes } = this.#options.queue
    const { count: usedCount, size: usedSize } = this.#delivery
    return usedCount === 0 || (usedCount < factor * count && usedSize + size <= factor * bytes)
  }

  /**
   * The queue is full. Does what the policy says.
   * @type {(size: number, level: Level) => boolean} whether the record may be queued
   */
  #makeRoom (size, { isProtected }) {
    const { whenFull } = this.#options
    this.#fullCount++
    if (this.#mayWait && this.#delivery.isOpening) return this.#delivery.size + size <= OPENING_SIZE_MAX
    if (whenFull === 'wait' && this.#hasRoom(size, 2)) return true
    if (whenFull === 'wait' || whenFull === 'write-through') {
      if (this.#writeThrough() || this.#hasRoom(size, 2)) return true
    }
    if (whenFull === 'drop-old') this.#dropOld(size, 'drop-old')
    else if (isProtected) this.#dropOld(size, 'drop-new')
    if (this.#hasRoom(size, 1)) return true
    return isProtected && (this.#writeThrough() || this.#hasRoom(size, 2))
  }

  /** @type {(size: number, reason: string) => void} until a record of this size fits */
  #dropOld (size, reason) {
    const onDrop = (/** @type {Level} */ level, /** @type {number} */ time, /** @type {Buffer} */ record) => {
      this.#delivery.settledCount++
      this.#givenUp(level, time, record, reason)
    }
    for (let isDropped = true; isDropped && !this.#hasRoom(size, 1);) isDropped = this.#queue.dropOldest(onDrop)
  }

  /** A record that was queued. @type {(level: Level, time: number, record: Buffer, reason: string) => void} */
  #givenUp (level, time, record, reason) {
    level.queued--
    level.dropped++
    this.#headGap.add(level, time, reason)
    this.#tellDrop(record, level)
  }

  /** @type {(record: Buffer, level: Level) => void} */
  #tellDrop (record, { name }) {
    try {
      this.#options.onDrop(record, name)
    } catch (err) {
      this.#delivery.report(/** @type {Error} */ (err))
    }
  }

  #writeThrough () {
    const isWritten = this.#delivery.flushNow(false, false)
    if (isWritten) this.#writeThroughCount++
    return isWritten
  }

  #pushGaps () {
    if (!this.#headGap.isEmpty) this.#putGapFirst(this.#headGap)
    if (!this.#awayGap.isEmpty && !this.#delivery.isDiverted) this.#putGapFirst(this.#awayGap)
    if (!this.#tailGap.isEmpty) this.#pushGap(this.#tailGap)
  }

  /** @param {GapCounter} gap  before what is queued */
  #putGapFirst (gap) {
    const records = [this.#encodeOwn(gap.take())]
    this.#queue.putBack({ records, levels: [null], times: [performance.now()] })
    this.#acceptedCount++
    this.#gapCount++
  }

  /** @param {GapCounter} gap  after what is queued */
  #pushGap (gap) {
    this.#push(this.#encodeOwn(gap.take()), null, performance.now())
    this.#gapCount++
  }

  get #hasWork () {
    const isBack = !this.#awayGap.isEmpty && !this.#delivery.isDiverted
    return this.#queue.count > 0 || !this.#headGap.isEmpty || !this.#tailGap.isEmpty || isBack
  }

  /** @param {number} ms */
  #startTimer (ms) {
    const { settledCount } = this.#delivery
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (!this.#hasWork) return
      // If the batch that the timer was started for has been written meanwhile, the oldest record is younger. If not,
      // the clock is not asked: it may stand still, for example in a test.
      const isOld = this.#queue.count === 0 || this.#delivery.settledCount === settledCount
      const restMs = isOld ? 0 : this.#queue.oldestTime + this.#options.batch.ageMs - performance.now()
      if (restMs > 0 && restMs <= this.#options.batch.ageMs) return this.#startTimer(restMs)
      this.#delivery.pump()
    }, timerMs(ms)).unref()
  }

  /** Something was written, or the log is another one. */
  #goOn () {
    const { batch, queue } = this.#options
    const { settledCount, count, size } = this.#delivery
    while (this.#flushing.length > 0 && this.#flushing[0].mark <= settledCount) this.#flushing.shift()?.resolve()
    const isDrained = count <= queue.count / 2 && size <= queue.bytes / 2
    for (const resolve of isDrained ? this.#draining.splice(0) : []) resolve()
    if (!this.#hasWork) return
    const isWanted = this.#flushing.length > 0 || this.#draining.length > 0
    if (isWanted || this.#hasBatch) this.#delivery.pump()
    else if (this.#timer === null) this.#startTimer(batch.ageMs)
  }

  /** @param {Error} err */
  #failFlushes (err) {
    for (const { reject } of this.#flushing.splice(0)) reject(err)
  }

  /**
   * Waits until all earlier records are in the log, and synced. It fails if they could not be written now; they are
   * kept. If no log can be used at all, they go to standard error, and it succeeds. If a log was given up with records
   * that were not synced, the next call that syncs fails with ERR_LOG_POISONED, unless its file could be opened again.
   * If these are several logs, the `errors` of its `cause` have an error of each.
   * @param {FlushOptions} [options]
   * @returns {Promise<void>}
   */
  async flush (options) {
    const { sync } = parseFlush('flush', options)
    await this.#writeAll()
    if (!sync) return
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
      this.#delivery.sync((err) => err ? reject(err) : resolve())
    }))
  }

  /** @returns {Promise<void>} */
  #writeAll () {
    this.#pushGaps()
    const mark = this.#acceptedCount
    if (this.#delivery.settledCount >= mark) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#flushing.push({ mark, resolve, reject })
      this.#delivery.retry()
      this.#delivery.pump()
    })
  }

  /**
   * Writes all earlier records to the log, and syncs it, before it returns. Never throws.
   * @param {FlushOptions} [options]
   * @returns {boolean}  false if something is not in the log
   */
  flushSync (options) {
    return this.#delivery.flushNow(parseFlush('flushSync', options).sync, true)
  }

  /**
   * Waits until the queue is at most half full. Meanwhile the process keeps running.
   * @param {{ unref?: boolean | undefined }} [options]  `unref`: true lets the process end meanwhile
   * @returns {Promise<void>}
   */
  async drained (options = {}) {
    checkOptions('drained', options, ['unref'])
    const { unref = false } = options
    if (typeof unref !== 'boolean') throw misuse(`drained: unref must be true or false, got ${reasonOf(unref)}`)
    const alive = unref ? undefined : setInterval(() => {}, ALIVE_MS)
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.#draining.push(resolve)
      this.#goOn()
    })
    clearInterval(alive)
  }

  /** Filters records below this level from now on. @param {LevelName} level */
  setLevel (level) {
    this.#levels.setLeast(level)
  }

  /**
   * Adds levels. A new one is eager and protected as the highest known level at or below it.
   * @param {Record<string, number>} levels
   */
  addLevels (levels) {
    this.#levels.addMissing(parseLevelNumbers('addLevels', levels))
  }

  /** Lets records of one level through from now on. @param {LevelName} level */
  enable (level) {
    this.#levels.of(level).isEnabled = true
  }

  /** Filters the records of one level from now on. @param {LevelName} level */
  disable (level) {
    this.#levels.of(level).isEnabled = false
  }

  /** Whether records of a level are let through. @param {LevelName} level */
  isEnabled (level) {
    return this.#levels.of(level).isEnabled
  }

  /** Counts what became of the records, exactly. @returns {Counters} */
  counters () {
    const { failureCount, replacedCount, divertedCount } = this.#delivery
    return {
      ...this.#levels.counts,
      queuePeak: { count: this.#peakCount, bytes: this.#peakSize },
      full: this.#fullCount,
      writeThrough: this.#writeThroughCount,
      eager: this.#eagerCount,
      gaps: this.#gapCount,
      failures: failureCount,
      replaced: replacedCount,
      diverted: divertedCount
    }
  }

  /**
   * Flushes. It does not close the log that was given, only logs that came from `replace`. Later records go to standard
   * error.
   * @returns {Promise<void>}
   */
  close () {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    try {
      await this.flush()
    } catch (err) {
      this.#delivery.report(/** @type {Error} */ (err))
    }
    removeWriter(this.#ending)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#delivery.end()
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
      this.#delivery.close((err) => err ? reject(err) : resolve())
    }))
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  #onIdle () {
    if (this.#idleCount === this.#acceptedCount) return
    this.#idleCount = this.#acceptedCount
    this.flush({ sync: false }).catch(() => {})
  }

  #onExit () {
    this.#isExiting = true
    if (!this.#hasWork && this.#delivery.count === 0) return
    if (!this.#delivery.flushNow(true, true)) this.#delivery.end()
  }
}

/** @type {(call: string, options?: FlushOptions) => { sync: boolean }} */
function parseFlush (call, options = {}) {
  checkOptions(call, options, ['sync'])
  const { sync = true } = options
  if (typeof sync !== 'boolean') throw misuse(`${call}: sync must be true or false, got ${reasonOf(sync)}`)
  return { sync }
}

/** @param {Uint8Array | string} encoded */
function toBytes (encoded) {
  if (Buffer.isBuffer(encoded)) return encoded
  if (typeof encoded === 'string') return Buffer.from(encoded)
  return Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength)
}

/**
 * Makes a writer, with or without `new`. If a log cannot be used any more, the writer goes on with the one that
 * `replace` gives; readers of the old one find the next one in its property `replacedBy`, a promise, of null if the
 * writer is closed.
 * @param {Log} log  open or being opened: until it is open, records wait in memory, also eager ones. It was opened with
 *   the codec `lines`, or with one of `preEncoded`
 * @param {LogWriterOptions} [options]
 * @returns {Writer}
 */
function LogWriter (log, options) {
  return new Writer(log, options)
}
LogWriter.prototype = Writer.prototype

/**
 * @type {{
 *   new <L extends Log>(log: L, options?: LogWriterOptions): Writer<L>
 *   <L extends Log>(log: L, options?: LogWriterOptions): Writer<L>
 * }}
 */
exports.LogWriter = /** @type {any} */ (LogWriter)
