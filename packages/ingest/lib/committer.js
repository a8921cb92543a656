'use strict'
// Group commit: the batches of all requests of a turn of the event loop go to the log with one write. Those that ask
// for a sync wait for one another, and share a write and a sync.

const { nextTick } = require('node:process')
const { clearTimeout, setImmediate, setTimeout } = require('node:timers')
const { setImmediate: nextTurn } = require('node:timers/promises')
const { timerMs } = require('@millrace/errors')
const { unavailable } = require('./problem')

/** Up to so many bytes a write that nobody waits for in another thread is faster than handing it over. */
const WRITE_NOW_SIZE = 128 * 1024
/** A full buffer is written before its time. A thousand batches at once would hold up the event loop for 4 ms. */
const BUFFER_SIZE = 1024 * 1024
const BUFFER_COUNT = 100
const RETRY_MS = 500
/** A sync waits while further batches come, at least one in this time, and as long as the last sync took, or this. */
const GAP_MS = 0.5
const GATHER_MS = 1
/** A sync that may take longer does not block the event loop. */
const BLOCKING_MS_MAX = 2
/** How finely the age of what is not synced is known. */
const AGE_STEP_MS = 20
/** What an append with a condition fails with if the log is well. */
const REFUSALS = new Set(['ERR_APPEND_CONDITION', 'ERR_LOG_SEQ_LOST'])

/**
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./options').Log} Log
 * @typedef {import('./counts/tally').Events} Events
 * @typedef {(err: Error | null, seq: number | null) => void} Done  `seq`: of the last record; null if it is buffered
 *
 * @typedef {{ where: any[], since: number }} Condition  as of `append` with `if`
 *
 * @typedef {object} Batch
 * @property {Buffer[]} records
 * @property {number} size  bytes
 * @property {Ack} ack
 * @property {number} since  when it came, by the monotonic clock
 * @property {Done} done
 * @property {Events | null | undefined} events  that are counted
 * @property {Condition | null | undefined} condition  on which it is stored
 * @property {import('./memory-budget').HeldMemory | undefined} memory  released when the records need none any
 *   more
 *
 * @typedef {object} CommitOptions
 * @property {number} bufferMs  how long a batch with the acknowledgement `buffered` may wait
 * @property {number} pendingSize  bytes that may wait to be written
 * @property {(err: Error) => void} onFailure  a write or a sync failed
 * @property {(events: Events, size: number, err: Error | null, seq: number) => void} [onWritten]  a batch with events
 * @property {import('./metrics').WriteMeter} [meter]
 */

class Committer {
  #log
  #options
  /** In the order in which they came. @type {Batch[]} */
  #waiting = []
  #size = 0
  /** Batches since the last write was tried. */
  #newCount = 0
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  #isScheduled = false
  /** Batches in the hands of the log. */
  #writing = 0
  /** Batches with a condition, in the hands of the log. */
  #deciding = 0
  /** Of buffered batches that are not acknowledged yet. @type {Done[]} */
  #unanswered = []
  /**
   * Those that asked for `synced` and were written since the last sync began.
   * @type {Array<{ seq: number, done: Done }>}
   */
  #unsynced = []
  #isSyncing = false
  /** How long the last sync took, and how many batches asked for it or came meanwhile. */
  #syncMs = Infinity
  #senderCount = 0
  /** Buffered batches that are tried again. @type {Batch[]} */
  #failed = []
  /** What was written and may not be durable, in steps of time. @type {Array<{ seq: number, sinceMs: number }>} */
  #steps = []
  /** When the callbacks that run now began; 0 between them. */
  #tickMs = 0

  /** @param {Log} log  that is open  @param {CommitOptions} options */
  constructor (log, options) {
    this.#log = log
    this.#options = options
  }

  /** Bytes that are not written yet. */
  get pendingSize () {
    return this.#size
  }

  /** Batches that are not written yet. */
  get pendingCount () {
    return this.#waiting.length + this.#writing + this.#deciding
  }

  get isIdle () {
    return this.pendingCount + this.#unsynced.length === 0 && !this.#isSyncing
  }

  /** How long the oldest batch has waited, in ms. */
  get lagMs () {
    return this.#waiting.length === 0 ? 0 : performance.now() - this.#waiting[0].since
  }

  /** How long ago the oldest record was written that is not on stable storage, in ms. */
  get unsyncedMs () {
    this.#forgetSynced()
    return this.#steps.length === 0 ? 0 : performance.now() - this.#steps[0].sinceMs
  }

  /**
   * @param {Buffer[]} records
   * @param {Ack} ack
   * @param {Done} done
   * @param {Partial<Pick<Batch, 'events' | 'memory' | 'condition'>>} [more]
   */
  submit (records, ack, done, { events, memory, condition } = {}) {
    let size = 0
    for (const { length } of records) size += length
    if (this.#size > 0 && this.#size + size > this.#options.pendingSize) {
      return done(unavailable(`${this.#size} bytes wait to be written; nothing was stored`), null)
    }
    this.#size += size
    const batch = { records, size, ack, since: performance.now(), done, events, memory, condition }
    if (condition) return this.#handIf(batch, condition)
    this.#waiting.push(batch)
    if (ack === 'buffered') this.#acknowledge(done)
    const isFull = this.#size >= BUFFER_SIZE || ++this.#newCount >= BUFFER_COUNT
    if (isFull || ack === 'written') this.#schedule()
    else if (ack === 'synced') this.#sync()
    else this.#timer ??= setTimeout(this.#flush, timerMs(this.#options.bufferMs))
  }

  /**
   * Answers that are sent together wake a sleeping client once. One by one, each of them would.
   * @param {Done} done
   */
  #acknowledge (done) {
    if (this.#unanswered.push(done) > 1) return
    setImmediate(() => {
      const dones = this.#unanswered
      this.#unanswered = []
      for (const done of dones) done(null, null)
    })
  }

  /** Calls back once the record at the seq is on stable storage. @type {(seq: number, done: Done) => void} */
  whenSynced (seq, done) {
    if (Number(this.#log.durable.value) >= seq) return done(null, seq)
    this.#unsynced.push({ seq, done })
    this.#sync()
  }

  #schedule () {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  #flush = () => {
    this.#isScheduled = false
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#newCount = 0
    // The next write takes what comes meanwhile. So batches keep their order, even if a write is tried again.
    if (this.#writing > 0 || this.#waiting.length === 0) return
    // An append reserves room in the file, so its sync is faster. A write at once does not.
    const isSynced = this.#waiting.some(({ ack }) => ack === 'synced')
    this.#hand()
    if (isSynced || this.#size > WRITE_NOW_SIZE || !this.#log.supports.flushSync) return
    try {
      this.#log.flushSync({ sync: false })
    } catch {
      // The callbacks of the appends get the failure, or the log writes by itself.
    }
  }

  /** Gives the log what waits. */
  #hand () {
    const batches = this.#waiting
    this.#waiting = []
    this.#writing += batches.length
    for (const batch of batches) {
      /** @type {(err: Error | null, seq: number) => void} */
      const done = (err, seq) => this.#written(batch, err, seq)
      this.#log.append(batch.records.length === 1 ? batch.records[0] : batch.records, done)
    }
  }

  /**
   * The log decides, against all that came before. That may take reading, and the other batches do not wait for it.
   * @type {(batch: Batch, condition: Condition) => void} a batch that is not `buffered`
   */
  #handIf (batch, condition) {
    this.#hand()
    this.#deciding++
    this.#log.append(batch.records, { if: condition }, (/** @type {any} */ err, /** @type {number} */ seq) => {
      this.#deciding--
      this.#end(batch, err, seq)
    })
  }

  /** @type {(batch: Batch, err: (Error & { code?: string }) | null, seq: number) => void} */
  #end (batch, err, seq) {
    if (err !== null && batch.ack === 'buffered') this.#failed.push(batch)
    else this.#forget(batch)
    if (err === null) this.#measure(batch, seq)
    if (batch.events) this.#options.onWritten?.(batch.events, batch.size, err, seq)
    if (err !== null && !REFUSALS.has(String(err.code))) this.#options.onFailure(err)
    if (batch.ack !== 'buffered' && err !== null) batch.done(err, null)
    else if (batch.ack === 'written') batch.done(null, seq)
    else if (batch.ack === 'synced') this.whenSynced(seq, batch.done)
  }

  /** @type {(batch: Batch, err: Error | null, seq: number) => void} */
  #written (batch, err, seq) {
    this.#end(batch, err, seq)
    if (--this.#writing > 0) return
    const failed = this.#failed
    this.#failed = []
    this.#waiting = [...failed, ...this.#waiting]
    if (failed.length > 0) this.#timer ??= setTimeout(this.#flush, RETRY_MS)
    else if (this.#waiting.length > 0) this.#schedule()
  }

  /** The records need no memory any more. @param {Batch} batch */
  #forget ({ size, memory }) {
    this.#size -= size
    memory?.release()
  }

  /** The time, read once for all batches that are called back together. */
  get #nowMs () {
    if (this.#tickMs === 0) {
      this.#tickMs = performance.now()
      nextTick(this.#endTick)
    }
    return this.#tickMs
  }

  #endTick = () => {
    this.#tickMs = 0
  }

  /** @type {(batch: Batch, seq: number) => void} */
  #measure ({ records, size, since }, seq) {
    const now = this.#nowMs
    this.#options.meter?.write(records.length, size, now - since)
    const last = this.#steps.at(-1)
    if (last !== undefined && now - last.sinceMs < AGE_STEP_MS) {
      last.seq = seq
      return
    }
    this.#forgetSynced()
    this.#steps.push({ seq, sinceMs: now })
  }

  #forgetSynced () {
    const durable = Number(this.#log.durable.value)
    while (this.#steps.length > 0 && this.#steps[0].seq <= durable) this.#steps.shift()
  }

  #sync () {
    if (this.#isSyncing) return
    this.#isSyncing = true
    const beganMs = performance.now()
    let grewMs = beganMs
    let before = 0
    const longestMs = Math.max(this.#syncMs, GATHER_MS)
    const gather = () => {
      const nowMs = performance.now()
      const count = this.#unsynced.length + this.#waiting.length + this.#writing
      if (count > before) grewMs = nowMs
      before = count
      // Who got the last answers asks again at once. One sync for all of them is twice as fast as two in turn.
      const isComplete = count >= this.#senderCount
      if (isComplete || nowMs - grewMs >= GAP_MS || nowMs - beganMs >= longestMs) this.#syncNow()
      else setImmediate(gather)
    }
    setImmediate(gather)
  }

  /** One write and one sync for all that wait. */
  #syncNow () {
    this.#flush()
    const beganMs = performance.now()
    // The callbacks of the appends come later, and find their records synced.
    if (this.#syncMs <= BLOCKING_MS_MAX && this.#flushAndSync()) this.#synced(null, beganMs, this.#writing)
    else this.#log.sync((/** @type {Error | null} */ err) => this.#synced(err, beganMs, 0))
  }

  /** Without waiting: a quick sync takes 0.05 ms less. @returns {boolean}  whether it succeeded */
  #flushAndSync () {
    if (this.#size > WRITE_NOW_SIZE || !this.#log.supports.flushSync) return false
    try {
      this.#log.flushSync()
      return true
    } catch {
      // Those that wait for the sync get the failure from the next one.
      return false
    }
  }

  /**
   * @param {Error | null} err
   * @param {number} beganMs
   * @param {number} coming  batches that are called back later
   */
  #synced (err, beganMs, coming) {
    this.#isSyncing = false
    this.#syncMs = performance.now() - beganMs
    this.#options.meter?.sync(this.#syncMs)
    if (err) this.#options.onFailure(err)
    const durable = Number(this.#log.durable.value)
    const asked = this.#unsynced
    this.#unsynced = err ? [] : asked.filter(({ seq }) => seq > durable)
    this.#senderCount = coming + asked.length + this.#waiting.length
    for (const { seq, done } of asked) {
      if (err) done(err, null)
      else if (seq <= durable) done(null, seq)
    }
    if (this.#unsynced.length > 0 || this.#waiting.some(({ ack }) => ack === 'synced')) this.#sync()
  }

  /** Writes what waits, once. @returns {Promise<void>} once nothing waits, or it could not be written */
  async flush () {
    // The first round waits for a write that is under way.
    for (let round = 0; round < 2; round++) {
      this.#flush()
      while (this.#writing + this.#deciding > 0 || this.#isSyncing) await nextTurn()
    }
  }

  /** For the end of the process: nothing can wait for a write that is under way. */
  flushSync () {
    this.#hand()
    if (this.#log.supports.flushSync) this.#log.flushSync({ sync: false })
  }

  /** Goes on with the same log opened again. @param {Log} log */
  replaceLog (log) {
    this.#log = log
    if (this.#waiting.length > 0) this.#schedule()
  }

  /** Ends the timers. @returns {number}  how many records could not be written */
  stop () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    return this.#waiting.reduce((count, { records }) => count + records.length, 0)
  }
}

exports.Committer = Committer
