'use strict'
// JetStreamLog, the Log contract over a stream of NATS JetStream: what it adds to the calls of every log.

const { LogError, misuse } = require('@millrace/errors')
const { abortable, callbackOrPromise, describe, inLanes, toCallback } = require('@millrace/flow')
const { BaseLog, errors } = require('@millrace/offset-log/composing')
const { Core } = require('./core')
const { Follower } = require('./follower')
const { NUMBER, isNoMessage, numberOf } = require('./failures')
const { BATCH_COUNT_MAX } = require('./messages')
const { openStream } = require('./opening')
const { parseOptions } = require('./options')
const { Publisher } = require('./publisher')
const { readFromLeader } = require('./reader')
const { ShipTarget } = require('./ship-target')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/** Deletions that are under way at the same time. */
const LANE_COUNT = 16
/** Replicas that lag by more deletions than that are not worth the memory. */
const ERASED_COUNT_MAX = 100_000

/** @extends {BaseLog<Publisher>} */
class Log extends BaseLog {
  #core
  #follower

  /** @param {import('./options').JetStreamLogOptions & Record<string, unknown>} options */
  constructor (options) {
    const parsed = parseOptions(options)
    const core = new Core(parsed)
    const appender = new Publisher(core)
    const instead = 'the server compacts its files itself, and `nats stream backup` copies a stream'
    /** @type {import('@millrace/offset-log/composing').Work} */
    const work = {
      append: (records, cb, givesSeqs, ids = null) => appender.append([records].flat(), { ids, givesSeqs }, cb),
      delete: (seqs, cb) => toCallback(log.#delete(seqs), cb),
      shutDown: (cb) => toCallback(log.#shutDown(), cb)
    }
    super({ file: core.file, appender, kind: 'a log on JetStream', instead, calls: ['appendOnce', 'idOf'], work })
    const log = this
    this.#core = core
    this.#follower = parsed.follows ? new Follower(core) : null
    /** Beside it flumedb keeps the files of its views; undefined if the option was not given. */
    this.filename = parsed.filename
    this.codec = parsed.codec.codec
    this.since = this.#core.since
    this.recovery = null
    this.supports = {
      atomicBatch: true,
      compact: false,
      snapshot: false,
      durable: false,
      onCorrupt: false,
      partitions: false,
      del: true,
      uniqueSeqs: true,
      flushSync: false
    }
    const { lifecycle } = this.#core
    const opening = this.#open()
    abortable('open', parsed.signal, (err) => {
      if (err) opening.finally(() => this.#core.connection.close()).catch(() => {})
      lifecycle.opened(err)
    }, (cb) => toCallback(opening, cb))
  }

  async #open () {
    const { connection, options } = this.#core
    await connection.open()
    const opened = await openStream(connection, options)
    this.supports.atomicBatch = opened.isAtomic
    this.supports.durable = opened.acknowledged === 'synced'
    this.#core.begin(opened)
    await this.#follower?.open()
  }

  /**
   * What an acknowledgement of `append` means; undefined until the log is open. `'written'`: the record is in the page
   * cache of one server. `'replicated'`: it is in the page caches of a majority of the servers. `'synced'`: it is on
   * the disks of the servers that acknowledged it.
   */
  get acknowledged () {
    return this.#core.opened?.acknowledged
  }

  /**
   * The seq up to which everything is on stable storage. If the servers do not always sync, it throws
   * `ERR_NOT_SUPPORTED`: nobody can say when the next sync is.
   */
  get durable () {
    if (this.#core.lifecycle.hasOpened && !this.supports.durable) throw this.#notSynced('durable')
    return this.#core.durable
  }

  /** @param {string} call */
  #notSynced (call) {
    const { opened, options: { place } } = this.#core
    const interval = opened?.syncIntervalMs
    const why = interval ? `the servers sync every ${interval / 1000} s, and not when they are asked` : 'it is not known when the servers sync'
    return new LogError('ERR_NOT_SUPPORTED', `${call}: ${place}: ${why}. Set sync_interval: always in their configuration, and give the URLs of ` +
      'their monitoring ports as monitor', { path: place })
  }

  /**
   * Appends the values of a batch that are not there yet, as their message ids say, and gives the seq of the last
   * record. The server remembers ids for the `duplicate_window` of the stream. In a stream that the log made, that is
   * four times `timeout`, but at least two minutes. A stream that remembers them for less than twice `timeout` is
   * refused with `ERR_NOT_SUPPORTED`.
   * @type {(values: readonly unknown[], ids: readonly string[], cb?: NodeCallback<number>) => any}
   */
  appendOnce (values, ids, cb) {
    return callbackOrPromise(cb, (cb) => {
      const isList = Array.isArray(values) && Array.isArray(ids) && values.length === ids.length && ids.every((id) => typeof id === 'string')
      if (isList) this._append(values, cb, false, ids)
      else this.#core.lifecycle.run('appendOnce', cb, (cb) => cb(misuse('appendOnce: expected an array of values, and a text for each as its id')))
    }, 'appendOnce')
  }

  /** All seqs are checked before the first record is erased. @param {unknown[]} seqs */
  async #delete (seqs) {
    const core = this.#core
    const { place } = core.options
    const wrong = seqs.find((seq) => typeof seq !== 'number')
    if (wrong !== undefined) throw misuse(`del: expected the seq of a record, got ${typeof wrong}`)
    // What is erased must be of this stream, and not of one that has its name now.
    const { state } = await core.look('del')
    for (const seq of /** @type {number[]} */ (seqs)) {
      if (!Number.isSafeInteger(seq) || seq < 1 || seq > state.last_seq) throw errors.notFound('del', place, seq)
    }
    core.file.noteDeletion()
    try {
      await inLanes(/** @type {number[]} */ (seqs), LANE_COUNT, (seq) => this.#erase(seq))
    } finally {
      // Streams that have read the records must not show them any more.
      core.file.noteDeletion()
    }
  }

  /** @param {number} seq */
  async #erase (seq) {
    const core = this.#core
    const { connection, erased, options: { stream } } = core
    try {
      await core.ask('del', () => connection.manager.streams.deleteMessage(stream, seq, true))
    } catch (/** @type {any} */ err) {
      // It was deleted before, perhaps by an attempt of this call. Of a record at the front, the server says so as of a
      // failure.
      const isGone = isNoMessage(err.cause) || (numberOf(err.cause) === NUMBER.deleteFailed && await readFromLeader(core, 'del', seq) === null)
      if (!isGone) throw err
    }
    erased.add(seq)
    if (erased.size > ERASED_COUNT_MAX) erased.delete(/** @type {number} */ (erased.values().next().value))
  }

  /**
   * Gives the message id under which a record was appended; null if it has none.
   * @type {(seq: number, cb?: NodeCallback<string | null>) => any}
   */
  idOf (seq, cb) {
    return this._run('idOf', cb, (cb) => toCallback(this.#findId(seq), cb))
  }

  /** @param {number} seq */
  async #findId (seq) {
    const core = this.#core
    const { connection, options: { stream, place } } = core
    if (typeof seq !== 'number') throw misuse(`idOf: expected the seq of a record, got ${typeof seq}`)
    for (;;) {
      const found = await core.ask('idOf', () => connection.manager.streams.getMessage(stream, { seq }))
      if (found !== null) return found.header.get('Nats-Msg-Id') || null
      if (await readFromLeader(core, 'idOf', seq) === null) throw errors.notFound('get', place, seq)
    }
  }

  /**
   * Waits for all appends, if the servers sync before they acknowledge. Otherwise it fails with `ERR_NOT_SUPPORTED`.
   * @type {(cb?: NodeCallback<void>) => any}
   */
  sync (cb) {
    return this._run('sync', cb, (cb) => {
      if (!this.supports.durable) return cb(this.#notSynced('sync'))
      toCallback(this._appender.settled(), cb)
    })
  }

  /**
   * Gives `stream`, `subject`, `count`, `size`, `since`, `id`, `codec`, `replicas`, `leader`, `acknowledged`,
   * `syncIntervalMs` (null if it is not known), `atomicBatchCount` and `serverVersion`.
   * @type {(cb?: NodeCallback<any>) => any}
   */
  stats (cb) {
    return this._run('stats', cb, (cb) => toCallback(this.#describe(), cb))
  }

  async #describe () {
    const { connection, opened, since, options: { stream, subject } } = this.#core
    const { state, cluster } = await this.#core.look('stats')
    return {
      framing: 'jetstream',
      codec: opened.codec,
      id: opened.id,
      size: state.bytes,
      since: since.value,
      stream,
      subject,
      count: state.messages,
      replicas: opened.replicas,
      leader: cluster?.leader ?? null,
      acknowledged: opened.acknowledged,
      syncIntervalMs: opened.syncIntervalMs,
      atomicBatchCount: opened.isAtomic ? BATCH_COUNT_MAX : 1,
      serverVersion: connection.version
    }
  }

  /** What `ship` of the forwarder needs of its target. @returns {import('@millrace/forwarder').ShipTarget} */
  shipTarget () {
    return new ShipTarget(this.#core, () => this.ready())
  }

  async #shutDown () {
    const { file, connection } = this.#core
    file.waitingStreams.close()
    this.#follower?.close()
    await connection.close()
  }
}

/**
 * Opens a log on a stream, and makes the stream if there is none; with or without `new`. Methods may be called at once:
 * they wait until it is open.
 * @param {import('./options').JetStreamLogOptions & Record<string, unknown>} options
 * @returns {Log}
 */
function JetStreamLog (options) {
  return new Log(options)
}
JetStreamLog.prototype = Log.prototype
describe(Log, 'JetStreamLog', ({ filename, since }) => ({ filename, since: since.value }))

exports.JetStreamLog = JetStreamLog
