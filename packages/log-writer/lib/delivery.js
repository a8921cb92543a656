'use strict'
// Gets the queued records into the log; if it cannot be used, into another one; while there is none, to standard error.
//
//             the log is open             it cannot be used any more
//   opening ───────────────────> open ───────────────────────────────> opening, with another log
//      │                           ^
//      │ no log can be opened      │ another log is open
//      v                           │
//   diverted ──────────────────────┘      closed: from any state, and for good
//
// While it is opening, records wait. While it is diverted, they go to standard error at once, and `replace` is asked
// again and again.

const { nextTick } = require('node:process')
const { LogError, reasonOf } = require('@millrace/errors')
const { checkCodec } = require('./pre-encoded')
const { descriptor } = require('./standard-error')

// A larger append is no faster, and a smaller one makes room earlier.
const BATCH_SIZE_MAX = 512 * 1024
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5000
// So many logs in a row that take no record: the next one would not either, for now.
const ATTEMPT_COUNT_MAX = 5
const ASIDE_SIZE_MAX = 64 * 1024
const NEWLINE = Buffer.from('\n')
const WRITTEN = Object.freeze({ sync: false })

/** The same append may succeed later. After any other failure the log is replaced. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'ENOMEM', 'EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ETIMEDOUT',
  'ERR_LOG_OVERLOADED', 'ERR_LOG_NOT_READY'])
/** The log takes other records, but not this one. */
const REFUSED = new Set(['ERR_RECORD_TOO_LARGE', 'ERR_RECORD_UNREPRESENTABLE', 'ERR_CODEC_ENCODE'])

/**
 * @typedef {import('./levels').Level} Level
 * @typedef {import('./record-queue').Batch} Batch
 * @typedef {Error & { code?: string, index?: number }} Failure
 */

/**
 * What a writer needs of a Log: a part of the contract of `@millrace/offset-log`.
 * @typedef {object} Log
 * @property {(cb: (err: Error | null) => void) => void} ready
 * @property {(values: any, cb: (err: Error | null, seq?: number) => void) => void} append
 * @property {(cb: (err: Error | null) => void) => void} sync
 * @property {(cb: (err: Error | null) => void) => void} close
 * @property {{ flushSync?: boolean }} [supports]
 * @property {{ name?: string | undefined, encode: (value: any) => any } | undefined} [codec]
 * @property {string} [filename]
 * @property {{ value: unknown }} [since]  the seq of the last record that can be read
 * @property {{ value: unknown }} [durable]  the seq of the last record that is on stable storage
 * @property {(options?: { sync?: boolean | undefined }) => void} [flushSync]
 * @property {(values: any, options?: { sync?: boolean | undefined }) => number} [appendSync]  takes less time than
 *   `append` and `flushSync`, so it is used where there is one
 */

/**
 * @typedef {object} Owner
 * @property {() => void} prepare  called before records are taken from the queue
 * @property {(level: Level, time: number, record: Buffer, reason: 'refused' | 'standard-error') => void} onGivenUp  a
 *   queued record was given up: the log refuses it, or nobody reads standard error
 * @property {(level: Level, time: number) => void} onDiverted  a record went to standard error
 * @property {() => void} onAnswer  records were written, or failed, or the log is another one
 * @property {(err: Failure) => void} onFailure  records cannot be written now
 */

class Delivery {
  #queue
  #owner
  #options
  /** @type {'opening' | 'open' | 'diverted' | 'closed'} */
  #state = 'opening'
  #isReplacing = false
  /** Why records go to standard error. @type {Failure | null} */
  #cause = null
  /** How many of them have gone there since. */
  #asideCount = 0
  /** Whether the log came from `replace`. */
  #isOwned = false
  /** Batches that the log has not answered, in order, and those of them that are not written yet. @type {Set<Batch>} */
  #inFlight = new Set()
  /** @type {Set<Batch>} */
  #unwritten = new Set()
  /** Whether one of them has failed, and is not called back yet. */
  #isFailing = false
  /** Batches that it has refused; they go back once none is in flight. @type {Batch[]} */
  #failed = []
  /** @type {NodeJS.Timeout | null} */
  #retryTimer = null
  #retryMs = RETRY_MS_MIN
  #attempt = 0
  /** So many records are handed over one by one, to find the one that is refused. */
  #singleCount = 0
  /** What waits outside the queue. */
  #heldCount = 0
  #heldSize = 0
  /** Records and gap records that were given up or are written, of all that were ever queued. */
  settledCount = 0
  failureCount = 0
  replacedCount = 0
  /**
   * The logs, by file, that were given up with records which were not synced: why; until somebody who syncs is told.
   * @type {Map<string | Log, LogError>}
   */
  #unsynced = new Map()
  /** Resolves the property `replacedBy` of the log that is being given up. @type {(log: Log | null) => void} */
  #tellNext = () => {}
  divertedCount = 0

  /**
   * @param {Log} log
   * @param {import('./record-queue').RecordQueue} queue
   * @param {Owner} owner
   * @param {Pick<ReturnType<import('./options').parseOptions>, 'replace' | 'onReport' | 'standardError'>} options
   */
  constructor (log, queue, owner, options) {
    this.#queue = queue
    this.#owner = owner
    this.#options = options
    this.log = log
    // Its failures would end the process.
    if ('on' in options.standardError) options.standardError.on?.('error', () => {})
  }

  begin () {
    this.#adopt(this.log)
  }

  /** Whether records wait for a log. */
  get isOpening () {
    return this.#state === 'opening'
  }

  /** Whether records go to standard error. */
  get isDiverted () {
    return this.#state === 'diverted' || this.#state === 'closed'
  }

  /** How many records are in memory, and their bytes. */
  get count () {
    return this.#queue.count + this.#heldCount
  }

  get size () {
    return this.#queue.size + this.#heldSize
  }

  /** @param {Log} log */
  #adopt (log) {
    this.log = log
    log.ready((err) => {
      if (log !== this.log || this.#state === 'closed') return
      if (err) this.#fail(err)
      else this.#opened()
      this.#owner.onAnswer()
    })
  }

  #opened () {
    this.#state = 'open'
    if (this.#cause !== null) this.#tellBack(this.#cause)
    // What has waited is safe before anybody hears that the log is open.
    this.flushNow(false, false)
  }

  /** @param {Failure} cause  why records went to standard error until now */
  #tellBack (cause) {
    const message = `the log can be written again; meanwhile ${this.#asideCount} records went to standard error`
    this.report(new LogError('ERR_LOG_WAS_DIVERTED', `${message} (${reasonOf(cause)})`, { cause }))
    this.#cause = null
    this.#asideCount = 0
  }

  /** Begins to write what is queued, unless the log is busy or has just failed. */
  pump () {
    if (this.isDiverted) return this.#divertQueue()
    if (this.#state !== 'open' || this.#inFlight.size > 0 || this.#retryTimer !== null) return
    this.#owner.prepare()
    if (this.#queue.count > 0) this.#hand()
  }

  /** Does not wait for the next attempt after a failure. */
  retry () {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer)
    this.#retryTimer = null
  }

  get #canFlush () {
    return this.#state === 'open' && this.log.supports?.flushSync === true
  }

  /**
   * Writes everything before it returns. What is in flight comes first, and then one batch after the other: so none is
   * written before one that fails.
   * @param {boolean} isSynced
   * @param {boolean} isLast  whether to try even if the log has just failed
   * @returns {boolean}  whether everything is written
   */
  flushNow (isSynced, isLast) {
    if (!this.#canFlush || this.#isFailing || (this.#retryTimer !== null && !isLast)) return false
    this.#putBackFailed()
    this.#owner.prepare()
    try {
      if (this.#unwritten.size > 0) this.#completeNow()
      while (this.#queue.count > 0) {
        if (this.#writeNow()) continue
        this.#hand()
        this.#completeNow()
      }
      if (isSynced) {
        this.log.flushSync?.({ sync: true })
        // Those who ask for nothing but the record of an eager level cannot be told.
        if (isLast && this.#takeUnsynced() !== null) return false
      }
    } catch (err) {
      // The appends that have failed are called back, and counted there.
      this.#isFailing = this.#inFlight.size > 0
      // A log that has to wait for its next segment is not ill: what it was handed follows.
      if (isLast || /** @type {Failure} */ (err).code !== 'ERR_LOG_NOT_READY') this.report(/** @type {Failure} */ (err))
      return false
    }
    return true
  }

  /** Writes what the log has been handed. */
  #completeNow () {
    this.log.flushSync?.(WRITTEN)
    for (const batch of this.#unwritten) this.#count(batch, 1)
    this.#unwritten.clear()
  }

  /**
   * Writes a batch of the queue with `appendSync`.
   * @returns {boolean}  false if the log has none, or has to wait for something
   */
  #writeNow () {
    const { log } = this
    if (typeof log.appendSync !== 'function' || this.#singleCount > 0) return false
    const batch = this.#queue.take(BATCH_SIZE_MAX)
    try {
      log.appendSync(batch.records, WRITTEN)
    } catch (err) {
      if (/** @type {Failure} */ (err).code === 'ERR_LOG_NOT_READY') {
        this.#queue.putBack(batch)
        return false
      }
      this.#take(batch)
      nextTick(() => this.#answered(batch, /** @type {Error} */ (err), log))
      throw err
    }
    this.#hold(batch, 1)
    this.#count(batch, 1)
    this.#succeeded()
    return true
  }

  /** Hands a batch of the queue to the log. */
  #hand () {
    const { log } = this
    const isSingle = this.#singleCount > 0
    if (isSingle) this.#singleCount--
    const batch = this.#queue.take(isSingle ? 0 : BATCH_SIZE_MAX)
    this.#take(batch)
    try {
      log.append(batch.records, (err) => this.#answered(batch, err, log))
    } catch (err) {
      nextTick(() => this.#answered(batch, /** @type {Error} */ (err), log))
    }
  }

  /** @param {Batch} batch  is in flight now */
  #take (batch) {
    this.#hold(batch, 1)
    this.#inFlight.add(batch)
    this.#unwritten.add(batch)
  }

  /** @type {(batch: Batch, sign: 1 | -1) => void} */
  #hold ({ records, size }, sign) {
    this.#heldCount += sign * records.length
    this.#heldSize += sign * size
  }

  /** Counts a batch as written; with -1, as not written after all. @type {(batch: Batch, sign: 1 | -1) => void} */
  #count (batch, sign) {
    batch.isWritten = sign === 1
    this.#hold(batch, sign === 1 ? -1 : 1)
    this.settledCount += sign * batch.records.length
    for (const level of batch.levels) {
      if (level === null) continue
      level.written += sign
      level.queued -= sign
    }
  }

  /** @type {(batch: Batch, err: Failure | null, log: Log) => void} */
  #answered (batch, err, log) {
    // It was diverted when the process ended.
    if (!this.#inFlight.delete(batch)) return
    this.#unwritten.delete(batch)
    if (err) {
      if (batch.isWritten) this.#count(batch, -1)
      this.#failed.push(batch)
    } else {
      if (!batch.isWritten) this.#count(batch, 1)
      this.#succeeded()
    }
    if (this.#inFlight.size === 0) {
      this.#isFailing = false
      this.#putBackFailed()
    }
    // A log that was replaced meanwhile has been reported.
    if (err && log === this.log) this.#fail(err, batch)
    this.#owner.onAnswer()
  }

  #succeeded () {
    this.#retryMs = RETRY_MS_MIN
    this.#attempt = 0
  }

  #putBackFailed () {
    for (const batch of this.#failed.reverse()) {
      this.#hold(batch, -1)
      this.#queue.putBack(batch)
    }
    this.#failed = []
  }

  /** @type {(err: Failure, batch?: Batch) => void} */
  #fail (err, batch) {
    this.failureCount++
    const { code = '' } = err
    const isRefused = batch !== undefined && REFUSED.has(code)
    if (!isRefused && (this.#state !== 'open' || !PASSING.has(code))) {
      // A log that was tried meanwhile: the next attempt is later.
      if (this.#state === 'diverted') this.#divert(err)
      else this.#replace(err)
      return
    }
    this.report(err)
    if (isRefused) return this.#giveUp(batch, err.index)
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null
      this.pump()
    }, this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX)
    this.#owner.onFailure(err)
  }

  /** Gives up the record that is refused. @type {(batch: Batch, index: number | undefined) => void} */
  #giveUp (batch, index = batch.records.length === 1 ? 0 : undefined) {
    // Others of the batch may be before it in the queue, so it is found again when it is handed over alone.
    if (this.#failed.length > 0 || index === undefined) {
      this.#singleCount = Math.max(this.#singleCount, batch.records.length)
      return
    }
    const queued = this.#queue.take(Infinity)
    const at = queued.records.indexOf(batch.records[index])
    const [level] = queued.levels.splice(at, 1)
    const [time] = queued.times.splice(at, 1)
    queued.records.splice(at, 1)
    this.#queue.putBack(queued)
    this.settledCount++
    if (level === null) this.#writeAside([batch.records[index]])
    else this.#owner.onGivenUp(level, time, batch.records[index], 'refused')
  }

  /** The log cannot be used. @param {Failure} cause */
  async #replace (cause) {
    // Batches that were in flight fail one after the other.
    if (this.#isReplacing || this.#state === 'closed') return
    this.#isReplacing = true
    if (this.#options.replace) this.#announceNext()
    if (this.#state === 'open') {
      this.#state = 'opening'
      this.#noteUnsynced(cause)
    }
    this.retry()
    if (this.#isOwned) this.log.close(() => {})
    this.#isOwned = false
    const isLate = this.#state === 'opening' && this.#attempt >= ATTEMPT_COUNT_MAX
    const next = isLate ? null : await this.#askForLog(cause)
    this.#isReplacing = false
    if (this.isClosed) {
      next?.close(() => {})
    } else if (next === null) {
      this.#divert(cause)
    } else {
      if (!this.isDiverted) this.report(cause)
      this.replacedCount++
      this.#isOwned = true
      this.#tellNext(next)
      this.#adopt(next)
    }
  }

  /** The log is given up. @param {Failure} cause */
  #noteUnsynced (cause) {
    const { log } = this
    const { since, durable, filename = 'the log' } = log
    if (since === undefined || durable === undefined || Number(durable.value) >= Number(since.value)) return
    const message = `${filename} was given up (${reasonOf(cause)}) before all that it has was on stable storage: a power cut ` +
      'may take its last records. Open it again and sync it'
    this.#unsynced.set(fileOf(log), new LogError('ERR_LOG_POISONED', message, { cause, path: filename }))
  }

  /** The log that is written now is synced. @returns {LogError | null}  what it says nothing of; told once */
  #takeUnsynced () {
    // Who opens the same file again writes what was not synced once more.
    if (this.#state === 'open') this.#unsynced.delete(fileOf(this.log))
    const errors = [...this.#unsynced.values()]
    this.#unsynced.clear()
    if (errors.length < 2) return errors[0] ?? null
    const message = errors.map((err) => err.message).join('. ')
    return new LogError('ERR_LOG_POISONED', message, { cause: new AggregateError(errors, message), path: errors[0].path })
  }

  /** For whoever reads the log that is given up, such as a forwarder. */
  #announceNext () {
    /** @type {any} */
    const { log } = this
    log.replacedBy ??= new Promise((resolve) => { this.#tellNext = resolve })
  }

  get isClosed () {
    return this.#state === 'closed'
  }

  /** @param {Failure} cause @returns {Promise<Log | null>} */
  async #askForLog (cause) {
    try {
      const given = await this.#options.replace?.(cause, ++this.#attempt)
      if (!given) return null
      checkCodec(given)
      return given
    } catch (err) {
      this.report(/** @type {Failure} */ (err))
      return null
    }
  }

  /** There is no log, for now. @param {Failure} cause */
  #divert (cause) {
    const { replace } = this.#options
    // Why it cannot be opened is told again only if that has changed.
    if (this.#cause === null || this.#cause.code !== cause.code) {
      const until = replace ? 'until a log can be opened, which is tried again and again' : 'from now on, because there is no option replace'
      const told = new Error(`${reasonOf(cause)}; records go to standard error ${until}`, { cause })
      this.report(Object.assign(told, { code: cause.code }))
      this.#cause = cause
    }
    this.#state = 'diverted'
    this.#divertQueue()
    this.#owner.onAnswer()
    if (!replace) return
    setTimeout(() => this.#replace(cause), this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX)
  }

  /** From now on everything goes to standard error: the writer is closed, or the process ends. */
  end () {
    this.#state = 'closed'
    this.#tellNext(null)
    this.retry()
    this.#divertQueue()
    this.#owner.onAnswer()
  }

  #divertQueue () {
    this.#failed = [...this.#unwritten, ...this.#failed]
    this.#inFlight.clear()
    this.#unwritten.clear()
    this.#putBackFailed()
    this.#owner.prepare()
    while (this.#queue.count > 0) {
      const batch = this.#queue.take(ASIDE_SIZE_MAX)
      const writtenCount = this.#writeAside(batch.records)
      for (const [index, level] of batch.levels.entries()) {
        this.settledCount++
        if (level === null) continue
        if (index < writtenCount) this.#countAside(level, batch.times[index])
        else this.#owner.onGivenUp(level, batch.times[index], batch.records[index], 'standard-error')
      }
    }
  }

  /** @type {(level: Level, time: number) => void} */
  #countAside (level, time) {
    level.queued--
    level.written++
    this.divertedCount++
    // With a log that fails for a while, as on a full disk, only a few do that, and their failure has been reported.
    if (this.#state === 'open') return
    this.#asideCount++
    this.#owner.onDiverted(level, time)
  }

  /**
   * Writes a record to standard error for which there is no room. It counts as queued until then.
   * @type {(level: Level, time: number, record: Buffer) => boolean} false if nobody reads that
   */
  divertOne (level, time, record) {
    if (this.#writeAside([record]) === 0) return false
    this.#countAside(level, time)
    return true
  }

  /** @param {Buffer[]} records @returns {number}  how many of them were written */
  #writeAside (records) {
    const { standardError } = this.#options
    if (standardError === descriptor) return descriptor.writeLines(records)
    for (const record of records) {
      try {
        standardError.write(Buffer.concat([record, NEWLINE]))
      } catch {
        // There is nowhere else to write.
      }
    }
    return records.length
  }

  /** @param {Failure} err */
  report (err) {
    try {
      this.#options.onReport(err)
    } catch {
      // Logging must not throw, even if what the user gave does.
    }
  }

  /** @param {(err: Error | null) => void} cb */
  sync (cb) {
    if (this.isDiverted) cb(this.#takeUnsynced())
    else this.log.sync((err) => cb(err ?? this.#takeUnsynced()))
  }

  /** Closes the log if it came from `replace`. @param {(err: Error | null) => void} cb */
  close (cb) {
    if (this.#isOwned) this.log.close(cb)
    else cb(null)
  }
}

/** What is the same of two logs of one file. @param {Log} log */
function fileOf (log) {
  return log.filename ?? log
}

exports.Delivery = Delivery
