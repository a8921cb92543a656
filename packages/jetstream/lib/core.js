'use strict'
// What the parts of one open log share. To the streams, scans and reads of offset-log the stream looks like one file.

const { performance } = require('node:perf_hooks')
const { setImmediate } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { Lifecycle, createObservable, pause, toCallback } = require('@millrace/flow')
const { composeFile, errors } = require('@millrace/offset-log/composing')
const { Connection, DEPOSED_MS_MAX } = require('./connection')
const { isNoMessage } = require('./failures')
const { Known, replaced } = require('./known')
const { StreamReader, readRecord } = require('./reader')

const LOOK_AGAIN_MS = 250

/**
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {import('./options').Options} Options
 * @typedef {import('./opening').Opened} Opened
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 */

class Core {
  /** Set once loaded. @type {Opened} */
  opened = /** @type {any} */ (null)
  /** @type {import('@millrace/flow').Obz<number>} */
  since = createObservable()
  /** @type {import('@millrace/flow').Obz<number>} */
  durable = createObservable()
  /** The highest seq that a record ever had. */
  lastSeq = 0
  /** Seqs that this log has deleted, the latest ones: a replica may still have them. @type {Set<number>} */
  erased = new Set()
  /** Why the log cannot be used any more. @type {LogError | null} */
  failure = null
  #isWaking = false

  /** @param {Options} options */
  constructor (options) {
    this.options = options
    this.connection = new Connection(options)
    this.lifecycle = new Lifecycle((name) => errors.closedError(name, options.place))
    /** @type {import('@millrace/offset-log/composing').ComposedFile} */
    this.file = composeFile({
      path: options.place,
      flags: 'r+',
      options: { ...options, skipsDamage: false },
      lifecycle: this.lifecycle,
      since: this.since,
      peek: { find: () => false },
      readRecord: (seq, cb) => toCallback(readRecord(this, /** @type {any} */ (seq)), cb),
      findEnd: () => (this.since.value ?? -1) + 1,
      openRange: (range, cb) => toCallback(this.#openReader(range), cb)
    })
  }

  /** @param {Range} range */
  async #openReader (range) {
    if (range.skipsDamage) {
      throw new LogError('ERR_NOT_SUPPORTED', 'onCorrupt: a log on JetStream cannot continue after damage; leave onCorrupt out')
    }
    this.checkUsable()
    const reader = new StreamReader(this, range)
    await reader.open()
    return reader
  }

  /** @param {Opened} opened */
  begin (opened) {
    this.opened = opened
    this.lastSeq = Math.max(opened.lastSeq, opened.since)
    this.since.set(opened.since)
    if (opened.acknowledged === 'synced') this.durable.set(opened.since)
  }

  /** @param {number} seq  that some record has, or had */
  note (seq) {
    if (seq > this.lastSeq) this.lastSeq = seq
  }

  /** @param {number} seq  of a record that can be read */
  show (seq) {
    this.note(seq)
    if (seq <= this.since.value) return
    this.since.set(seq)
    // It was acknowledged, or replicated and delivered; such servers sync before both.
    if (this.opened.acknowledged === 'synced') this.durable.set(seq)
    if (this.#isWaking || this.file.waitingStreams.size === 0) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      this.file.waitingStreams.wake()
    })
  }

  checkUsable () {
    if (this.failure !== null) throw this.failure
  }

  /** The stream is not what it was: further calls fail, and live streams end with the reason. @param {LogError} err */
  fail (err) {
    if (this.failure !== null) return
    this.failure = err
    this.file.waitingStreams.close(err)
  }

  /**
   * Asks the servers, again while none answers. Every question of an open log goes through here. The action judges the
   * answer by what was known when it asked.
   * @template T
   * @param {string} call
   * @param {(known: Known) => Promise<T>} action
   * @returns {Promise<T>}
   */
  async ask (call, action) {
    try {
      return await this.connection.retry(call, () => {
        this.checkUsable()
        return action(new Known(this))
      })
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_LOG_REPLACED') this.fail(err)
      throw err
    }
  }

  /**
   * Asks the leader for the first message from a seq on; null if all that were given were deleted. A leader that others
   * have deposed lacks the latest ones. So only a later one proves that there is none at the seq; or an answer that
   * names all of them as deleted.
   * @type {(call: string, seq: number) => Promise<{ seq: number, data?: string } | null>} `data` in base64
   */
  async findMessage (call, seq) {
    const { connection, options: { stream, subject } } = this
    const deadlineMs = performance.now() + DEPOSED_MS_MAX
    for (;;) {
      try {
        return await this.ask(call, async () => {
          const { message } = await connection.ask(`STREAM.MSG.GET.${stream}`, { seq, next_by_subj: subject })
          return message
        })
      } catch (/** @type {any} */ err) {
        if (!isNoMessage(err.cause)) throw err
      }
      const { config } = await this.look(call)
      const isProven = config.num_replicas === 1 || await this.#areDeleted(call, seq)
      if (isProven || performance.now() > deadlineMs) return null
      await pause(LOOK_AGAIN_MS)
    }
  }

  /** Whether all that were given from a seq on are deleted. @type {(call: string, seq: number) => Promise<boolean>} */
  async #areDeleted (call, seq) {
    const { state: { first_seq: first, last_seq: last, deleted } } = await this.look(call, { deleted_details: true })
    const gone = new Set(deleted)
    for (let kept = Math.max(seq, first); kept <= last; kept++) if (!gone.has(kept)) return false
    return true
  }

  /**
   * Compares the stream with the one that was opened.
   * @param {string} call
   * @param {object} [request]
   * @returns {Promise<StreamInfo>}
   */
  async look (call, request) {
    const { connection: { manager }, options: { stream, place } } = this
    const deadlineMs = performance.now() + DEPOSED_MS_MAX
    for (;;) {
      const info = await this.ask(call, async (known) => {
        const info = await manager.streams.info(stream, request)
        known.checkSame(call, info)
        if (!known.isAhead(info)) return info
        if (info.config.num_replicas === 1 || performance.now() > deadlineMs) throw replaced(call, place)
        return null
      })
      if (info !== null) {
        this.note(info.state.last_seq)
        return info
      }
      await pause(LOOK_AGAIN_MS)
    }
  }
}

exports.Core = Core
exports.LOOK_AGAIN_MS = LOOK_AGAIN_MS
