'use strict'
// What the parts of one open log share. To the streams, scans and reads of offset-log the stream looks like one file.

const { LogError, misuse } = require('@millrace/errors')
const { Lifecycle, createObservable, toCallback } = require('@millrace/flow')
const { KeepAlive, errors } = require('@millrace/offset-log/composing')
const { Connection } = require('./connection')
const { StreamReader, readRecord } = require('./reader')

/**
 * @typedef {import('@millrace/offset-log/composing').LogFile} LogFile
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {import('./options').Options} Options
 * @typedef {import('./opening').Opened} Opened
 */

class Core {
  /** Set once loaded. @type {Opened} */
  opened = /** @type {any} */ (null)
  /** @type {import('@millrace/flow').Obz<number>} */
  since = createObservable()
  /** @type {import('@millrace/flow').Obz<number>} */
  durable = createObservable()
  keepAlive = new KeepAlive()
  /** @type {LogFile['waitingStreams']} */
  waitingStreams = new Set()
  /** The highest seq that a record ever had. */
  lastSeq = 0
  /** Counts each deletion when it begins and when it ends: streams then read again what they hold. */
  deletionCount = 0
  /** Seqs that this log has deleted, the latest ones. @type {Set<number>} */
  erased = new Set()
  /** Why the log cannot be used any more. @type {LogError | null} */
  failure = null
  #isWaking = false

  /** @param {Options} options */
  constructor (options) {
    this.options = options
    this.connection = new Connection(options)
    this.lifecycle = new Lifecycle((name) => errors.closedError(name, options.place))
    /** @type {LogFile} */
    this.file = this.#createFile()
  }

  /** @returns {LogFile} */
  #createFile () {
    const core = this
    const { options, lifecycle, keepAlive, waitingStreams, since } = this
    /** @type {any} */
    const file = {
      codec: options.codec,
      isStrict: options.isStrict,
      skipsDamage: false,
      lifecycle,
      keepAlive,
      waitingStreams,
      since,
      follower: null,
      replacement: { wait: (/** @type {() => void} */ run) => run() },
      blocks: {
        path: options.place,
        flags: 'r+',
        get rewriteCount () { return core.deletionCount }
      },
      store: {
        peek: { find: (/** @type {unknown} */ seq) => { checkSeq(seq); return false } },
        readRecord: (/** @type {unknown} */ seq, /** @type {any} */ cb) => {
          toCallback(readRecord(core, checkSeq(seq)), cb)
        }
      },
      get end () { return (since.value ?? -1) + 1 },
      openRange: (/** @type {LogFile} */ _, /** @type {Range} */ range, /** @type {any} */ cb) => {
        toCallback(this.#openReader(range), cb)
      }
    }
    return file
  }

  /** @param {Range} range */
  async #openReader (range) {
    if (range.skipsDamage) {
      throw new LogError('ERR_NOT_SUPPORTED', 'onCorrupt: a log on JetStream cannot continue behind damage; leave onCorrupt out')
    }
    this.checkUsable()
    const reader = new StreamReader(this, range)
    await reader.open()
    return reader
  }

  /** @param {Opened} opened */
  begin (opened) {
    this.opened = opened
    this.lastSeq = opened.lastSeq
    this.since.set(opened.since)
    if (opened.acknowledged === 'synced') this.durable.set(opened.since)
  }

  /** @param {number} seq  of a record that can be read */
  show (seq) {
    if (seq > this.lastSeq) this.lastSeq = seq
    if (seq <= this.since.value) return
    this.since.set(seq)
    // It was acknowledged, or replicated and delivered; such servers sync before both.
    if (this.opened.acknowledged === 'synced') this.durable.set(seq)
    if (this.#isWaking || this.waitingStreams.size === 0) return
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      for (const stream of this.waitingStreams) process.nextTick(() => stream.wake())
    })
  }

  checkUsable () {
    if (this.failure !== null) throw this.failure
  }

  /** The stream is not what it was: further calls fail, and live streams end with the reason. @param {LogError} err */
  fail (err) {
    if (this.failure !== null) return
    this.failure = err
    for (const stream of this.waitingStreams) stream.close(err)
  }

  /**
   * Compares the stream with the one that was opened.
   * @param {string} call
   * @returns {Promise<number>}  its highest seq
   */
  async look (call) {
    const { connection, options: { stream, subject, place }, opened } = this
    try {
      const info = await connection.retry(call, () => connection.manager.streams.info(stream))
      if (String(info.created) !== opened.created || info.state.last_seq < this.lastSeq) throw replaced(call, place)
      const { subjects } = info.config
      if (subjects?.length !== 1 || subjects[0] !== subject) throw otherSubjects(call, place, subjects)
      this.lastSeq = info.state.last_seq
      return this.lastSeq
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_LOG_REPLACED') this.fail(err)
      throw err
    }
  }
}

/** @type {(call: string, place: string) => LogError} */
function replaced (call, place) {
  return new LogError('ERR_LOG_REPLACED', `${call}: ${place} is not the stream that was opened: it was made anew, or restored from an older ` +
    'copy. Open the log again, and build views again that saw it', { path: place })
}

/** @type {(call: string, place: string, subjects: string[] | undefined) => LogError} */
function otherSubjects (call, place, subjects) {
  return new LogError('ERR_LOG_REPLACED', `${call}: ${place} takes other subjects now: ${(subjects ?? []).join(', ')}. Give the log its subject back, ` +
    'then open it again', { path: place })
}

/** @param {unknown} seq @returns {number} */
function checkSeq (seq) {
  if (typeof seq !== 'number') throw misuse(`get: expected the seq of a record, got ${typeof seq}`)
  return seq
}

exports.Core = Core
exports.replaced = replaced
