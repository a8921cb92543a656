'use strict'
// JetStreamLog, the Log contract over a stream of NATS JetStream. It checks the arguments and the state of the log,
// then passes the call to the part that does the work.

const { LogError, asError, misuse } = require('@millrace/errors')
const { abortable, callbackOrPromise, createSettler, toCallback } = require('@millrace/flow')
const {
  Getter, RecordStream, createFailedSource, createReadable, createSink, createSource, createWritable, errors,
  parseRange, reads, scan
} = require('@millrace/offset-log/composing')
const { Core } = require('./core')
const { Follower } = require('./follower')
const { NUMBER, numberOf } = require('./failures')
const { openStream } = require('./opening')
const { parseOptions } = require('./options')
const { Publisher, BATCH_COUNT_MAX } = require('./publisher')
const { ShipTarget } = require('./ship-target')

/** @template T @typedef {import('@millrace/flow').Callback<T>} Callback */
/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @typedef {import('@millrace/offset-log').OffsetLog<any>} OffsetLog */

// flumedb calls methods of the log without the log as `this`.
const BOUND = ['ready', 'append', 'appendOnce', 'idOf', 'get', 'getMany', 'first', 'last', 'count', 'stream', 'toReadable',
  'scan', 'del', 'toWritable', 'toSink', 'drained', 'sync', 'flushSync', 'appendSync', 'stats', 'measureReclaimable',
  'compact', 'snapshot', 'close']
/** Deletions that are under way at the same time. */
const LANE_COUNT = 16
/** Replicas that lag by more deletions than that are not worth the memory. */
const ERASED_COUNT_MAX = 100_000

class Log {
  #core
  #getter
  #publisher
  #follower

  /** @param {import('./options').JetStreamLogOptions & Record<string, unknown>} options */
  constructor (options) {
    const parsed = parseOptions(options)
    this.#core = new Core(parsed)
    this.#publisher = new Publisher(this.#core)
    this.#follower = parsed.follows ? new Follower(this.#core) : null
    this.#getter = new Getter(this.#core.file)
    /** Beside it flumedb keeps the files of its views; undefined if the option was not given. */
    this.filename = parsed.filename
    this.codec = parsed.codec.codec
    this.since = this.#core.since
    this.methods = { del: /** @type {const} */ ('async') }
    this.recovery = null
    this.supports = {
      atomicBatch: true,
      compact: false,
      snapshot: false,
      durable: false,
      onCorrupt: false,
      threads: false,
      flushSync: false
    }
    const methods = /** @type {any} */ (this)
    for (const name of BOUND) methods[name] = methods[name].bind(this)
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

  /** What an acknowledgement of `append` means; undefined until loaded. */
  get acknowledged () {
    return this.#core.opened?.acknowledged
  }

  /** The seq up to which everything is on stable storage. */
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

  /** @type {(cb?: NodeCallback<void>) => any} */
  ready (cb) {
    return this.#run('ready', cb, (cb) => cb(null))
  }

  /** @type {(values: unknown, cb?: NodeCallback<any>) => any} */
  append (values, cb) {
    if (typeof cb === 'function') return this.#append(values, null, /** @type {Callback<number>} */ (cb))
    const settler = createSettler(cb, 'append')
    this.#append(values, null, settler.cb)
    return settler.promise
  }

  /**
   * Appends the values of a batch that are not there yet, as their ids say. The server remembers ids for the
   * `duplicate_window` of the stream.
   * @type {(values: readonly unknown[], ids: readonly string[], cb?: NodeCallback<number>) => any}
   */
  appendOnce (values, ids, cb) {
    return callbackOrPromise(cb, (cb) => {
      const isList = Array.isArray(values) && Array.isArray(ids) && values.length === ids.length && ids.every((id) => typeof id === 'string')
      if (isList) this.#append(values, ids, cb)
      else this.#core.lifecycle.run('appendOnce', cb, (cb) => cb(misuse('appendOnce: expected an array of values, and a text for each as its id')))
    }, 'appendOnce')
  }

  /** @type {(values: unknown, ids: readonly string[] | null, cb: Callback<number>) => void} */
  #append (values, ids, cb) {
    const { lifecycle, options: { maxPendingSize, place } } = this.#core
    const { pendingSize } = this
    if (pendingSize >= maxPendingSize) {
      return process.nextTick(cb, errors.overloaded(place, pendingSize, maxPendingSize))
    }
    /** @type {Buffer[]} */
    let records
    try {
      records = [this.#core.options.codec.encodeAll(values)].flat()
    } catch (err) {
      return lifecycle.run('append', cb, (cb) => cb(errors.unreadable(err)))
    }
    const size = records.reduce((sum, { length }) => sum + length, 0)
    const publisher = this.#publisher
    // Until the publisher takes them over, they wait for the log to open.
    let isWaiting = true
    publisher.reserve(size)
    const stopWaiting = () => {
      if (isWaiting) publisher.reserve(-size)
      isWaiting = false
    }
    lifecycle.run('append', (err, seq) => {
      stopWaiting()
      if (err) cb(err)
      else cb(null, seq)
    }, (cb) => {
      const mismatch = this.#compareCodec()
      if (mismatch !== null) return cb(mismatch)
      publisher.append(records, ids, (err, seq) => {
        stopWaiting()
        if (err) cb(err)
        else cb(null, /** @type {number} */ (seq))
      })
    })
  }

  /** Bytes of no known codec may be read from any log, but not appended to it. */
  #compareCodec () {
    const { opened, options: { codec, place } } = this.#core
    return codec.compareName(opened.codec, place, 'append')
  }

  /** @type {(seq: number, options?: any, cb?: NodeCallback<any>) => any} the callback may be the second argument */
  get (seq, options, cb) {
    if (typeof options === 'function') return this.#getter.get(seq, /** @type {Callback<any>} */ (options))
    if (options === undefined) return callbackOrPromise(cb, (cb) => this.#getter.get(seq, cb), 'get')
    return this.#read('get', seq, options, cb)
  }

  /** @type {(seqs: readonly number[], options?: any, cb?: NodeCallback<any[]>) => any} */
  getMany (seqs, options, cb) {
    return this.#read('getMany', seqs, options, cb)
  }

  /** @type {(options?: any, cb?: NodeCallback<any>) => any} */
  first (options, cb) {
    return this.#read('first', undefined, options, cb)
  }

  /** @type {(options?: any, cb?: NodeCallback<any>) => any} */
  last (options, cb) {
    return this.#read('last', undefined, options, cb)
  }

  /** @type {(options?: any, cb?: NodeCallback<number>) => any} */
  count (options, cb) {
    return this.#read('count', undefined, options, cb)
  }

  /** @type {(name: keyof typeof reads, what: any, options: any, cb?: NodeCallback<any>) => any} */
  #read (name, what, options, cb) {
    if (typeof options === 'function') return this.#read(name, what, undefined, options)
    return callbackOrPromise(cb, (cb) => reads[name](this.#core.file, this.#getter, { what, options }, cb), name)
  }

  /** @type {(options?: import('@millrace/offset-log').ReadOptions) => ReturnType<OffsetLog['stream']>} */
  stream (options = {}) {
    try {
      const range = parseRange('stream', options, this.#core.options.isStrict)
      return createSource(new RecordStream(this.#core.file, range, options))
    } catch (err) {
      return createFailedSource(asError(err, 'stream: an option'))
    }
  }

  /** @type {(options?: any) => ReturnType<OffsetLog['toReadable']>} */
  toReadable (options = {}) {
    return createReadable(this.#core.file, options)
  }

  /** @type {(options?: import('@millrace/offset-log').WritableOptions) => ReturnType<OffsetLog['toWritable']>} */
  toWritable (options = {}) {
    return createWritable(/** @type {any} */ (this), options)
  }

  /** @type {(done?: (err: Error | null) => void) => ReturnType<OffsetLog['toSink']>} */
  toSink (done) {
    return createSink(/** @type {any} */ (this), done)
  }

  get pendingSize () {
    return this.#publisher.pendingSize
  }

  get needsDrain () {
    return this.#publisher.needsDrain
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  drained (cb) {
    return this.#run('drained', cb, (cb) => this.#publisher.whenDrained(() => cb(null)))
  }

  /** @type {(options: any, onRecords: any, cb?: NodeCallback<any>) => any} */
  scan (options = {}, onRecords, cb) {
    return callbackOrPromise(cb, (cb) => {
      const { lifecycle, file, options: { isStrict } } = this.#core
      /** @type {import('@millrace/offset-log/composing').Range} */
      let range
      try {
        range = parseRange('scan', options, isStrict)
      } catch (err) {
        return lifecycle.run('scan', cb, (cb) => cb(asError(err, 'scan: an option')))
      }
      abortable('scan', range.signal, cb, (cb) => lifecycle.run('scan', cb, (cb) => {
        if (options.threads !== undefined) return cb(notSupported('scan with threads', 'leave out threads'))
        if (typeof onRecords !== 'function') return cb(misuse(`scan: expected a function, got ${typeof onRecords}`))
        scan(file, range, onRecords, cb)
      }))
    }, 'scan')
  }

  /** @type {(seqs: number | readonly number[], cb?: NodeCallback<void>) => any} */
  del (seqs, cb) {
    return this.#run('del', cb, (cb) => {
      if (typeof seqs !== 'number' && !Array.isArray(seqs)) return cb(misuse(`del: expected a seq or an array of them, got ${typeof seqs}`))
      toCallback(this.#delete(typeof seqs === 'number' ? [seqs] : [...seqs]), cb)
    })
  }

  /** All seqs are checked before the first record is erased. @param {unknown[]} seqs */
  async #delete (seqs) {
    const core = this.#core
    const { place } = core.options
    core.checkUsable()
    for (const seq of seqs) {
      if (typeof seq !== 'number') throw misuse(`del: expected the seq of a record, got ${typeof seq}`)
      const isThere = Number.isSafeInteger(seq) && seq >= 1 && (seq <= core.lastSeq || seq <= await core.look('del'))
      if (!isThere) throw errors.notFound('del', place, seq)
    }
    core.deletionCount++
    const next = /** @type {number[]} */ (seqs).values()
    const lane = async () => { for (const seq of next) await this.#erase(seq) }
    try {
      await Promise.all(Array.from({ length: Math.min(LANE_COUNT, seqs.length) }, lane))
    } finally {
      // Streams that have read the records must not show them any more.
      core.deletionCount++
    }
  }

  /** @param {number} seq */
  async #erase (seq) {
    const { connection, erased, opened, options: { stream } } = this.#core
    try {
      await connection.retry('del', () => connection.manager.streams.deleteMessage(stream, seq, true))
    } catch (/** @type {any} */ err) {
      // It was deleted before, perhaps by an attempt of this call.
      const number = numberOf(err.cause)
      if (number !== NUMBER.sequenceNotFound && number !== NUMBER.noMessage) throw err
    }
    if (opened.replicas === 1) return
    erased.add(seq)
    if (erased.size > ERASED_COUNT_MAX) erased.delete(/** @type {number} */ (erased.values().next().value))
  }

  /**
   * The message id under which a record was appended; null if it has none.
   * @type {(seq: number, cb?: NodeCallback<string | null>) => any}
   */
  idOf (seq, cb) {
    return this.#run('idOf', cb, (cb) => toCallback(this.#findId(seq), cb))
  }

  /** @param {number} seq */
  async #findId (seq) {
    const { connection, options: { stream, place } } = this.#core
    try {
      const found = await connection.retry('idOf', () => connection.manager.streams.getMessage(stream, { seq }))
      if (found !== null) return found.header.get('Nats-Msg-Id') || null
    } catch (/** @type {any} */ err) {
      if (numberOf(err.cause) !== NUMBER.noMessage) throw err
    }
    throw errors.notFound('get', place, seq)
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  sync (cb) {
    return this.#run('sync', cb, (cb) => {
      if (!this.supports.durable) return cb(this.#notSynced('sync'))
      toCallback(this.#publisher.settled(), cb)
    })
  }

  flushSync () {
    throw this.#core.lifecycle.isClosed ? errors.closedError('flushSync', this.#core.options.place) : notSupported('flushSync', 'await append')
  }

  appendSync () {
    throw this.#core.lifecycle.isClosed ? errors.closedError('appendSync', this.#core.options.place) : notSupported('appendSync', 'await append')
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  stats (cb) {
    return this.#run('stats', cb, (cb) => toCallback(this.#describe(), cb))
  }

  async #describe () {
    const { connection, opened, since, options: { stream, subject } } = this.#core
    const { state, cluster } = await connection.retry('stats', () => connection.manager.streams.info(stream))
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

  /** @type {(cb?: NodeCallback<number | null>) => any} */
  measureReclaimable (cb) {
    return this.#refuse('measureReclaimable', cb)
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  compact (cb) {
    return this.#refuse('compact', cb)
  }

  /** @type {(path?: string | URL, options?: any, cb?: NodeCallback<void>) => any} */
  snapshot (path, options, cb) {
    return this.#refuse('snapshot', typeof options === 'function' ? options : cb)
  }

  /** @type {(name: string, cb?: NodeCallback<any>) => any} */
  #refuse (name, cb) {
    return this.#run(name, cb, (cb) => cb(notSupported(name, 'the server compacts its files itself, and `nats stream backup` copies a stream')))
  }

  /** What `ship` of the forwarder needs of its target. @returns {import('@millrace/forwarder').ShipTarget} */
  shipTarget () {
    return new ShipTarget(this.#core, () => this.ready())
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  close (cb) {
    return callbackOrPromise(cb, (cb) => this.#core.lifecycle.close((cb) => toCallback(this.#shutDown(), cb), cb), 'close')
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  async #shutDown () {
    const { waitingStreams, connection } = this.#core
    for (const stream of waitingStreams) stream.close()
    await this.#follower?.close()
    await connection.close()
  }

  /** @type {(name: string, cb: NodeCallback<any> | undefined, action: (cb: Callback<any>) => void) => any} */
  #run (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this.#core.lifecycle.run(name, cb, action), name)
  }
}

/** @type {(name: string, advice: string) => LogError} */
function notSupported (name, advice) {
  return new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by a log on JetStream; ${advice}`)
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

exports.JetStreamLog = JetStreamLog
