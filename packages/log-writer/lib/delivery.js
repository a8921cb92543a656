'use strict'
// Gets the queued records into the log; if it cannot be used, into another one; if there is none, to standard error.

const { checkCodec } = require('./pre-encoded')

// A larger append is no faster, and a smaller one makes room earlier.
const BATCH_SIZE_MAX = 512 * 1024
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5000
// So many logs in a row that take no record: the next one would not either.
const ATTEMPT_COUNT_MAX = 5
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
 * @property {(options?: { sync?: boolean | undefined }) => void} [flushSync]
 * @property {(values: any, options?: { sync?: boolean | undefined }) => number} [appendSync]  takes less time than
 *   `append` and `flushSync`, so it is used where there is one
 */

/**
 * @typedef {object} Owner
 * @property {() => void} prepare  called before records are taken from the queue
 * @property {(level: Level, time: number, record: Buffer) => void} onRefused  a record was given up
 * @property {() => void} onAnswer  records were written, or failed, or the log is another one
 * @property {(err: Failure) => void} onFailure  records cannot be written now
 */

class Delivery {
  #queue
  #owner
  #options
  #isReady = false
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
  /** Whether failures of standard error are ignored: they would end the process. */
  #isListening = false
  isDiverted = false
  /** Records and gap records that were given up or are written, of all that were ever queued. */
  settledCount = 0
  failureCount = 0
  replacedCount = 0
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
  }

  begin () {
    this.#adopt(this.log)
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
      if (log !== this.log || this.isDiverted) return
      this.#isReady = !err
      if (err) this.#fail(err)
      this.#owner.onAnswer()
    })
  }

  /** Begins to write what is queued, unless the log is busy or has just failed. */
  pump () {
    if (this.isDiverted) return this.#divertQueue()
    if (!this.#isReady || this.#inFlight.size > 0 || this.#retryTimer !== null) return
    this.#owner.prepare()
    if (this.#queue.count > 0) this.#hand()
  }

  /** Does not wait for the next attempt after a failure. */
  retry () {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer)
    this.#retryTimer = null
  }

  get #canFlush () {
    return this.#isReady && !this.isDiverted && this.log.supports?.flushSync === true
  }

  /**
   * Writes everything before it returns. What is in flight comes first, and then one batch after the other: so none is
   * written in front of one that fails.
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
      if (isSynced) this.log.flushSync?.({ sync: true })
    } catch (err) {
      // The appends that have failed are called back, and counted there.
      this.#isFailing = this.#inFlight.size > 0
      this.report(/** @type {Failure} */ (err))
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
    if (typeof this.log.appendSync !== 'function' || this.#singleCount > 0) return false
    const batch = this.#queue.take(BATCH_SIZE_MAX)
    try {
      this.log.appendSync(batch.records, WRITTEN)
    } catch (err) {
      if (/** @type {Failure} */ (err).code === 'ERR_LOG_NOT_READY') {
        this.#queue.putBack(batch)
        return false
      }
      this.#take(batch)
      process.nextTick(() => this.#answered(batch, /** @type {Error} */ (err)))
      throw err
    }
    this.#hold(batch, 1)
    this.#count(batch, 1)
    return true
  }

  /** Hands a batch of the queue to the log. */
  #hand () {
    const isSingle = this.#singleCount > 0
    if (isSingle) this.#singleCount--
    const batch = this.#queue.take(isSingle ? 0 : BATCH_SIZE_MAX)
    this.#take(batch)
    try {
      this.log.append(batch.records, (err) => this.#answered(batch, err))
    } catch (err) {
      process.nextTick(() => this.#answered(batch, /** @type {Error} */ (err)))
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

  /** @type {(batch: Batch, err: Failure | null) => void} */
  #answered (batch, err) {
    // It was diverted when the process ended.
    if (!this.#inFlight.delete(batch)) return
    this.#unwritten.delete(batch)
    if (err) {
      if (batch.isWritten) this.#count(batch, -1)
      this.#failed.push(batch)
    } else {
      if (!batch.isWritten) this.#count(batch, 1)
      this.#retryMs = RETRY_MS_MIN
      this.#attempt = 0
    }
    if (this.#inFlight.size === 0) {
      this.#isFailing = false
      this.#putBackFailed()
    }
    if (err) this.#fail(err, batch)
    this.#owner.onAnswer()
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
    this.report(err)
    const { code = '' } = err
    if (batch && REFUSED.has(code)) return this.#giveUp(batch, err.index)
    if (!this.#isReady || !PASSING.has(code)) {
      this.#replace(err)
      return
    }
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null
      this.pump()
    }, this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX)
    this.#owner.onFailure(err)
  }

  /** Gives up the record that is refused. @type {(batch: Batch, index: number | undefined) => void} */
  #giveUp (batch, index = batch.records.length === 1 ? 0 : undefined) {
    // Others of the batch may be in front of it in the queue, so it is found again when it is handed over alone.
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
    if (level === null) this.#writeAside(batch.records[index])
    else this.#owner.onRefused(level, time, batch.records[index])
  }

  /** @param {Failure} cause */
  async #replace (cause) {
    const { log, replacedCount } = this
    this.#isReady = false
    this.retry()
    if (this.#isOwned) log.close(() => {})
    const attempt = ++this.#attempt
    /** @type {Log | null | undefined} */
    let next = null
    try {
      const given = attempt <= ATTEMPT_COUNT_MAX ? await this.#options.replace(cause, attempt) : null
      if (given) checkCodec(given)
      next = given
    } catch (err) {
      this.report(/** @type {Failure} */ (err))
    }
    if (this.log !== log || this.replacedCount !== replacedCount || this.isDiverted) return
    if (!next) return this.divert()
    this.replacedCount++
    this.#isOwned = true
    this.#adopt(next)
  }

  /** From now on everything goes to standard error. */
  divert () {
    this.isDiverted = true
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
    const batch = this.#queue.take(Infinity)
    this.#hold(batch, 1)
    this.#count(batch, 1)
    for (const [index, record] of batch.records.entries()) {
      if (batch.levels[index] !== null) this.divertedCount++
      this.#writeAside(record)
    }
  }

  /** Writes a record that was never queued to standard error. @param {Buffer} record */
  divertOne (record) {
    this.divertedCount++
    this.#writeAside(record)
  }

  /** @param {Buffer} record */
  #writeAside (record) {
    const { standardError } = this.#options
    if (!this.#isListening) standardError.on?.('error', () => {})
    this.#isListening = true
    try {
      standardError.write(Buffer.concat([record, NEWLINE]))
    } catch {
      // There is nowhere else to write.
    }
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
    if (this.isDiverted) cb(null)
    else this.log.sync(cb)
  }

  /** Closes the log if it came from `replace`. @param {(err: Error | null) => void} cb */
  close (cb) {
    if (this.#isOwned) this.log.close(cb)
    else cb(null)
  }
}

exports.Delivery = Delivery
