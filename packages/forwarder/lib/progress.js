'use strict'
// How far the forwarder has come: advances the cursor, brings it to the disk, and tells a log that keeps records for
// its forwarders.

const { performance } = require('node:perf_hooks')
const { GaveUp } = require('./control')
const { advance, proveUpTo } = require('./resume')

const SYNC_MS = 1000

/**
 * @typedef {import('./cursor').Position} Position
 * @typedef {import('./reading').Entry} Entry
 */

class Progress {
  position
  #cursor
  #log
  #retrier
  #name
  #syncSink
  #syncMs
  #syncedMs = performance.now()
  /** Whether the log keeps records for whoever asks. */
  #holds

  /**
   * @param {object} parts
   * @param {Position} parts.position
   * @param {import('./cursor').Cursor} parts.cursor
   * @param {any} parts.log
   * @param {import('./control').Retrier} parts.retrier
   * @param {{ name: string, fsync: 'always' | 'interval', sink: import('./options').Sink }} options
   */
  constructor ({ position, cursor, log, retrier }, { name, fsync, sink }) {
    this.position = position
    this.#cursor = cursor
    this.#log = log
    this.#holds = typeof log.hold === 'function'
    this.#retrier = retrier
    this.#name = name
    this.#syncSink = sink.sync && { run: async () => sink.sync?.(), isFatal: sink.isFatal }
    this.#syncMs = fsync === 'always' ? 0 : SYNC_MS
  }

  /** Names the log. */
  get logId () {
    return this.position.log ?? this.position.id
  }

  /** What the keys of records begin with. If a seq may have got another record, it gets another key. */
  get keyPrefix () {
    const { epoch = null, moves = 0 } = this.position
    return [this.logId, ...epoch === null ? [] : [epoch], ...moves === 0 ? [] : [moves]].join('.')
  }

  /** When the next sync is due, in ms from now. */
  get syncDueMs () {
    return this.#cursor.isDirty ? Math.max(0, this.#syncedMs + this.#syncMs - performance.now()) : Infinity
  }

  /** Notes where the next batch ends: after a crash it must be the same batch. @param {number} end */
  async intend (end) {
    if (this.position.end !== end) await this.#save({ ...this.position, end })
  }

  /**
   * Passes records.
   * @type {(last: Entry, counts: { forwarded: number, refused: number }, sink?: object | null) => Promise<void>}
   */
  async pass (last, counts, sink) {
    // A log that is closed meanwhile proves nothing.
    const proof = await proveUpTo(this.#log, last.seq).catch(() => null)
    await this.#save(advance(this.position, { ...last, proof }, counts, sink))
    if (this.syncDueMs === 0) await this.sync()
  }

  /** @param {Position} position */
  async moveTo (position) {
    await this.#save(position)
  }

  /** A text file that was new when it was opened has an id once it has a line. */
  async learnId () {
    const { log, step } = this.position
    if (log !== null || step > 0) return
    const { id = null, epoch = null } = await this.#log.stats()
    if (id !== null) await this.#save({ ...this.position, log: id, epoch })
  }

  async sync () {
    const { seq } = this.position
    this.#syncedMs = performance.now()
    if (this.#syncSink) await this.#retrier.until(this.#syncSink.run, this.#syncSink)
    await this.#retrier.until(() => this.#cursor.sync(), { isUrgent: true })
    // Not earlier: after a power cut the cursor must not need records that the log was told to give up.
    if (!this.#cursor.isDirty) await this.hold(seq)
  }

  /**
   * Tells the log which records are still needed. The one at the cursor is among them: it proves that the log is the
   * same one.
   * @param {number} [seq]
   * @param {number} [attempts]  after so many it fails with what the log said
   */
  async hold (seq = this.position.seq, attempts = Infinity) {
    if (!this.#holds) return
    await this.#retrier.until(async () => {
      try {
        await this.#log.hold(this.#name, Math.max(0, seq))
      } catch (/** @type {any} */ err) {
        // Only the writer of a log can make it keep records.
        if (err.code !== 'ERR_LOG_READ_ONLY' && err.code !== 'ERR_NOT_SUPPORTED') throw err
        this.#holds = false
      }
    }, { isUrgent: true, isFatal: (err) => err.code === 'ERR_LOG_CLOSED', attempts }).catch((err) => {
      throw err instanceof GaveUp ? err.cause : err
    })
  }

  /** @param {Position} position */
  async #save (position) {
    this.position = position
    await this.#retrier.until(() => this.#cursor.write(position), { isUrgent: true })
  }

  async close () {
    await this.#cursor.sync().catch(() => {})
    await this.#cursor.close()
  }
}

exports.Progress = Progress
