'use strict'
// The calls of the contract that every log answers alike: they check their arguments and the state of the log, then
// pass the call to the part that does the work. A log brings the parts and the calls that differ. What it cannot do is
// refused here.

const { nextTick } = require('node:process')
const { LogError, asError, misuse } = require('@millrace/errors')
const { abortError, abortable, callbackOrPromise, createSettler, toCallback, toPromise } = require('@millrace/flow')
const { closedError, notReady, unreadable } = require('./errors')
const { Getter } = require('./getter')
const { parseAppend, parseCondition } = require('./options')
const { parseRange } = require('./range')
const { scan } = require('./scan')
const { createFailedSource, createSource } = require('./source')
const { RecordStream } = require('./stream')

/** Our own callback. @template T @typedef {import('@millrace/flow').Callback<T>} Callback */
/** A callback of the user. @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./read/prove-record').Proofs} Proofs
 * @typedef {import('./range').Range} Range
 * @typedef {[source: import('./index-seam').IndexSource, openRange: import('./load').OpenRange,
 *   watchCuts?: () => import('./index-seam').FindCut]} Reading  as of Indexing
 * @typedef {{ file: LogFile, options: any }} Within  what a read reads, and the options that are left to check
 *
 * @typedef {{ backPressure: import('./commit').BackPressure } &
 *   Partial<import('./append-condition').Queue>} Appends  the part that appends; only with the calls of a queue can it
 *   append with a condition
 */

/**
 * What a log that is not one file does in its own way. The log is open; it may be written when records are appended or
 * deleted.
 * @typedef {object} Work
 * @property {(records: Buffer | Buffer[], cb: Callback<any>, givesSeqs: boolean, own?: any) => void} append  an array
 *   is a batch; `own` is what the log has handed to `_append`
 * @property {(seqs: number[], cb: Callback<void>) => void} delete  what is no seq fails the call
 * @property {(cb: (err: Error | null) => void) => void} shutDown  runs once, when the earlier calls have called back
 * @property {(name: string) => LogError | null} [writeError]  why the log may not be written; null if it may
 * @property {(name: string, mayBeClosed: boolean) => void} [checkCanWriteNow]  throws if the call may not write without
 *   waiting
 * @property {(call: string, options: any) => Within} [within]  of a log that has read options of its own
 * @property {() => Promise<void>} [refresh]  finds what another process has appended
 * @property {Proofs} [proofs]
 */

/**
 * @template {Appends} A
 * @typedef {object} Parts
 * @property {LogFile} file  of the log, or what looks like one to reads
 * @property {A} appender
 * @property {string} kind  what the log is called when it refuses a call, such as 'a segmented log'
 * @property {string} instead  what to do instead of the calls that only some logs have
 * @property {readonly string[]} [calls]  methods that only this log has
 * @property {Work} [work]
 */

// flumedb calls methods of the log without the log as `this`.
const CALLS = ['ready', 'refresh', 'append', 'get', 'getMany', 'first', 'last', 'count', 'stream', 'toReadable', 'scan', 'del',
  'toWritable', 'toSink', 'drained', 'sync', 'flushSync', 'appendSync', 'stats', 'explain', 'measureReclaimable', 'compact', 'partitions', 'snapshot',
  'close']

/** A log of one file has methods instead. @type {Work} */
const NO_WORK = { append: () => {}, delete: () => {}, shutDown: () => {} }

/** @template {Appends} A */
class BaseLog {
  /** @param {Parts<A>} parts */
  constructor ({ file, appender, kind, instead, calls = [], work = NO_WORK }) {
    this._work = work
    this._file = file
    this._lifecycle = file.lifecycle
    this._getter = new Getter(file)
    this._appender = appender
    /** Decides about conditions; null until the first. @type {import('./append-condition').Conditions | null} */
    this._conditions = null
    /** Reads with an index; null without one. @type {import('./index-seam').Indexing | null} */
    this._indexing = null
    this._kind = kind
    this._instead = instead
    /** flumedb offers these methods of the log as its own. */
    this.methods = { del: /** @type {const} */ ('async') }
    const methods = /** @type {any} */ (this)
    for (const name of CALLS.concat(calls)) methods[name] = methods[name].bind(this)
  }

  /** Reads look into an index from now on. @type {(...how: Reading) => void} */
  _useIndex (source, openRange, watchCuts) {
    const { Indexing } = require('./index-seam')
    this._indexing = new Indexing(this._file, source, openRange, watchCuts)
    this._file.openRange = this._indexing.openRange
    this._file.countSure = this._indexing.countSure
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  ready (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.ready(cb), 'ready')
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  refresh (cb) {
    return this._run('refresh', cb, (cb) => toCallback(this._refresh(), cb))
  }

  /** The same for a log that is open. @returns {Promise<void>} */
  async _refresh () {
    const { follower } = this._file
    if (this._work.refresh) await this._work.refresh()
    else if (follower) await toPromise((cb) => follower.refresh(cb))
  }

  /** @type {(values: unknown, options?: any, cb?: NodeCallback<any>) => any} the callback may be the second argument */
  append (values, options, cb) {
    if (typeof options === 'function') return this._append(values, /** @type {Callback<number>} */ (options), false)
    if (typeof cb === 'function') return this.#appendWith(values, options, cb)
    const hasOptions = typeof options === 'object' && options !== null
    // No closure here sees the values: each promise that waits would keep them in memory beside their records.
    const settler = createSettler(hasOptions ? cb : cb ?? options, 'append')
    if (settler.cb === null) return settler.promise
    if (hasOptions) this.#appendWith(values, options, settler.cb)
    else this._append(values, settler.cb, false)
    return settler.promise
  }

  /** @type {(values: unknown, options: any, cb: Callback<any>) => void} */
  #appendWith (values, options = {}, cb) {
    let givesSeqs
    let condition
    try {
      givesSeqs = parseAppend('append', options)
      condition = parseCondition(options, this._file.codec)
    } catch (err) {
      return this._lifecycle.run('append', cb, (cb) => cb(asError(err, 'append: an option')))
    }
    if (condition === null) this._append(values, cb, givesSeqs)
    else this.#appendIf(condition, values, cb, givesSeqs)
  }

  /**
   * @param {import('./options').Condition} condition
   * @param {unknown} values
   * @param {Callback<any>} cb
   * @param {boolean} givesSeqs
   */
  #appendIf (condition, values, cb, givesSeqs) {
    const { hasUnread, backPressure } = this._appender
    if (hasUnread === undefined) {
      return this._runWrite('append', cb, (cb) => cb(this._notSupported('append with if', 'append without it')))
    }
    if (backPressure.overload !== null) return nextTick(cb, backPressure.overload)
    /** @type {Buffer | Buffer[]} */
    let records
    try {
      records = this._file.codec.encodeAll(values)
    } catch (err) {
      return this._runWrite('append', cb, (cb) => cb(unreadable(err)))
    }
    if (this._lifecycle.isOpen && this._conditions?.holds(condition)) {
      return this._appendRecords(records, this._conditions.note(records, cb), givesSeqs)
    }
    // While it is decided, it counts as pending, and closing waits.
    const free = this.#reserve(sizeOf(records))
    this._runWrite('append', (err, result) => {
      free()
      if (err) cb(err)
      else cb(null, result)
    }, (cb) => {
      const conditions = this._conditions ??= this.#createConditions()
      conditions.decide(condition, () => {
        free()
        this._appendRecords(records, conditions.note(records, cb), givesSeqs)
      }, cb)
    })
  }

  #createConditions () {
    const { Conditions } = require('./append-condition')
    const queue = /** @type {import('./append-condition').Queue} */ (this._appender)
    return new Conditions(this._file, queue, () => this._indexing?.index ?? null)
  }

  /**
   * @param {unknown} values
   * @param {Callback<any>} cb
   * @param {boolean} givesSeqs  whether `cb` gets the seqs of all records; else it gets the seq of the last one
   * @param {unknown} [own]  of a log that appends in more ways than one
   */
  _append (values, cb, givesSeqs, own) {
    const { overload } = this._appender.backPressure
    if (overload !== null) return nextTick(cb, overload)
    let records
    try {
      // Encoded now: the caller may change the value afterwards, and if encoding fails, only this append fails.
      records = this._file.codec.encodeAll(values)
    } catch (err) {
      return this._runWrite('append', cb, (cb) => cb(unreadable(err)))
    }
    if (!this._lifecycle.isOpen) return this.#appendLater(records, cb, givesSeqs, own)
    // Nothing but the records is allocated here.
    this._appendRecords(records, this._conditions?.note(records, cb) ?? cb, givesSeqs, own)
  }

  /**
   * Records that wait for the log to open count as pending.
   * @type {(records: Buffer | Buffer[], cb: Callback<any>, givesSeqs: boolean, own: unknown) => void}
   */
  #appendLater (records, cb, givesSeqs, own) {
    const free = this.#reserve(sizeOf(records))
    this._lifecycle.run('append', (err, result) => {
      free()
      if (err) cb(err)
      else cb(null, result)
    }, (cb) => {
      free()
      this._appendRecords(records, this._conditions?.note(records, cb) ?? cb, givesSeqs, own)
    })
  }

  /** @param {number} size  of records that count as pending before they are appended @returns {() => void} ends that */
  #reserve (size) {
    const { backPressure } = this._appender
    backPressure.reserve(size)
    return () => {
      backPressure.free(size)
      size = 0
    }
  }

  /**
   * Appends to a log that is open. That of one file does it in its own way.
   * @type {(records: Buffer | Buffer[], cb: Callback<any>, givesSeqs: boolean, own?: unknown) => void} an array is a
   *   batch
   */
  _appendRecords (records, cb, givesSeqs, own) {
    this._work.append(records, cb, givesSeqs, own)
  }

  /** @type {(seq: number, options?: any, cb?: NodeCallback<any>) => any} the callback may be the second argument */
  get (seq, options, cb) {
    if (typeof options === 'function') return this._getter.get(seq, /** @type {Callback<any>} */ (options))
    if (options !== undefined) return this.#read('get', seq, options, cb)
    if (typeof cb === 'function') return this._getter.get(seq, cb)
    const settler = createSettler(cb, 'get')
    if (settler.cb !== null) this._getter.get(seq, settler.cb)
    return settler.promise
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

  /**
   * @param {keyof import('./reads')} name
   * @param {any} what  the seq of `get`, the seqs of `getMany`; undefined for the others
   * @param {any} options  the callback, if there are none
   * @param {NodeCallback<any>} [cb]
   * @returns {any}
   */
  #read (name, what, options, cb) {
    if (typeof options === 'function') return this.#read(name, what, undefined, options)
    return callbackOrPromise(cb, (cb) => {
      /** @type {Within} */
      let within
      try {
        within = this.#within(name, options)
      } catch (err) {
        return this._lifecycle.run(name, cb, (cb) => cb(asError(err, `${name}: an option`)))
      }
      require('./reads')[name](within.file, this._getter, { what, options: within.options }, cb)
    }, name)
  }

  /** @type {(call: string, options: any) => Within} throws ERR_INVALID_ARGUMENT */
  #within (call, options) {
    return this._work.within?.(call, options) ?? { file: this._file, options }
  }

  /** @type {(options?: any) => any} */
  stream (options = {}) {
    try {
      const within = this.#within('stream', options)
      const range = parseRange('stream', within.options, this._file.isStrict)
      return createSource(new RecordStream(within.file, range, within.options))
    } catch (err) {
      return createFailedSource(asError(err, 'stream: an option'))
    }
  }

  /** @type {(options?: any) => any} */
  toReadable (options = {}) {
    const within = this.#within('toReadable', options)
    return require('./node-streams').createReadable(within.file, within.options)
  }

  /** @type {(options?: import('./node-streams').WritableOptions) => any} */
  toWritable (options = {}) {
    return require('./node-streams').createWritable(/** @type {any} */ (this), options)
  }

  /** @type {(done?: (err: Error | null) => void) => any} */
  toSink (done) {
    return require('./node-streams').createSink(/** @type {any} */ (this), done)
  }

  /** @type {(options?: any, cb?: NodeCallback<any>) => any} the callback may be the first argument */
  explain (options, cb) {
    if (typeof options === 'function') return this.explain(undefined, options)
    return this._run('explain', cb, (cb) => {
      const { file, options: rest } = this.#within('explain', options)
      const range = parseRange('explain', rest, true)
      if (range.signal?.aborted) return cb(abortError('explain', range.signal))
      cb(null, this._indexing?.explain(range) ?? require('./index-seam').explainScan(range, file.since.value))
    })
  }

  /** The index that the log was opened with; null if there is none. */
  get index () {
    const indexing = this._indexing
    if (indexing === null) return null
    const call = (/** @type {'ready' | 'status' | 'drop'} */ name) => (/** @type {any[]} */ ...[cb]) => {
      return this._run(`index.${name}`, cb, (cb) => toCallback(indexing[name](), cb))
    }
    return { ready: call('ready'), status: call('status'), drop: call('drop') }
  }

  get pendingSize () {
    return this._appender.backPressure.size
  }

  get needsDrain () {
    return this._appender.backPressure.needsDrain
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  drained (cb) {
    return this._run('drained', cb, (cb) => this._appender.backPressure.whenDrained(() => cb(null)))
  }

  /** @type {(options: any, onRecords: unknown, cb?: NodeCallback<any>) => any} */
  scan (options = {}, onRecords, cb) {
    return callbackOrPromise(cb, (cb) => {
      /** @type {Within} */
      let within
      /** @type {Range} */
      let range
      try {
        within = this.#within('scan', options)
        range = parseRange('scan', within.options, this._file.isStrict)
      } catch (err) {
        return this._lifecycle.run('scan', cb, (cb) => cb(asError(err, 'scan: an option')))
      }
      abortable('scan', range.signal, cb, (cb) => this._lifecycle.run('scan', cb, (cb) => {
        if (typeof onRecords !== 'function') return cb(misuse(`scan: expected a function, got ${typeof onRecords}`))
        scan(within.file, range, /** @type {any} */ (onRecords), cb)
      }))
    }, 'scan')
  }

  /** @type {(seqs: number | readonly number[], cb?: NodeCallback<void>) => any} */
  del (seqs, cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('del', cb, (cb) => {
      const list = typeof seqs === 'number' ? [seqs] : seqs
      if (!Array.isArray(list)) return cb(misuse(`del: expected a seq or an array of them, got ${typeof seqs}`))
      const copy = [...list]
      const index = copy.findIndex((seq) => typeof seq !== 'number')
      if (index === -1) this._delete(copy, cb)
      else cb(misuse(`del: expected the seq of a record, got ${typeof copy[index]}`))
    }), 'del')
  }

  /**
   * Deletes the records from a log that is open and may be written; what is no seq fails the call.
   * @type {(seqs: number[], cb: Callback<void>) => void}
   */
  _delete (seqs, cb) {
    this._work.delete(seqs, this._indexing === null ? cb : this._indexing.deleting(seqs, cb))
  }

  /** @type {(options?: { sync?: boolean | undefined }) => void} */
  flushSync () {
    throw this.#cannotWriteNow('flushSync')
  }

  /** @type {(values: unknown, options?: any) => any} */
  appendSync () {
    throw this.#cannotWriteNow('appendSync')
  }

  /** @param {string} name */
  #cannotWriteNow (name) {
    const isClosed = this._lifecycle.isClosed
    return isClosed ? closedError(name, this._file.blocks.path) : this._notSupported(name, 'await append')
  }

  /** Throws if the call may not write without waiting. @type {(name: string, mayBeClosed: boolean) => void} */
  _checkCanWriteNow (name, mayBeClosed) {
    const { isClosed, openError, hasOpened } = this._lifecycle
    const { path } = this._file.blocks
    if (isClosed && !mayBeClosed) throw closedError(name, path)
    if (openError !== null) throw openError
    if (!hasOpened) throw notReady(path, 'is being opened', name)
    const err = this._writeError(name)
    if (err !== null) throw err
    this._work.checkCanWriteNow?.(name, mayBeClosed)
  }

  /** Null if nothing proves the log. @type {Proofs | null} */
  get _proofs () {
    return this._work.proofs ?? null
  }

  /**
   * Asks what proves the log, while it is open: see proof.js.
   * @type {<T>(ask: (proofs: Proofs) => Promise<T>) => Promise<T | null>} null if nothing does
   */
  async _askProofs (ask) {
    const proofs = this._proofs
    return proofs && await this._run('prove', undefined, (cb) => toCallback(ask(proofs), cb))
  }

  /** @type {(cb?: NodeCallback<number | null>) => any} */
  measureReclaimable (cb) {
    return this.#refuse('measureReclaimable', cb)
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  compact (cb) {
    return this.#refuse('compact', cb)
  }

  /** @type {(count: number, cb?: NodeCallback<any>) => any} */
  partitions (count, cb) {
    return this._run('partitions', cb, (cb) => cb(this._notSupported('partitions', 'read it in one piece')))
  }

  /** @type {(path: string | URL, options?: any, cb?: NodeCallback<void>) => any} */
  snapshot (path, options, cb) {
    return this.#refuse('snapshot', typeof options === 'function' ? options : cb)
  }

  /** @type {(name: string, cb?: NodeCallback<any>) => any} */
  #refuse (name, cb) {
    return this._run(name, cb, (cb) => cb(this._notSupported(name, this._instead)))
  }

  /** @type {(name: string, advice: string) => LogError} */
  _notSupported (name, advice) {
    return new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by ${this._kind}; ${advice}`)
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  close (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.close((cb) => this._shutDown(cb), cb), 'close')
  }

  /**
   * Runs once, when the earlier calls have called back.
   * @type {(cb: (err: Error | null) => void) => void}
   */
  _shutDown (cb) {
    this._work.shutDown(cb)
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  /** Why the log may not be written; null if it may. @type {(name: string) => LogError | null} */
  _writeError (name) {
    return this._work.writeError?.(name) ?? null
  }

  /**
   * Runs the action once the log is open.
   * @type {(name: string, cb: NodeCallback<any> | undefined, action: (cb: Callback<any>) => void) => any}
   */
  _run (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run(name, cb, action), name)
  }

  /**
   * Runs the action once the log is open, if it may be written.
   * @type {(name: string, cb: Callback<any>, action: (cb: Callback<any>) => void) => void}
   */
  _runWrite (name, cb, action) {
    this._lifecycle.run(name, cb, (cb) => {
      const err = this._writeError(name)
      if (err) cb(err)
      else action(cb)
    })
  }
}

/**
 * How much waits with these records, in bytes. A record without bytes counts as one: 0 says that nothing waits.
 * @param {Buffer | Buffer[]} records
 * @returns {number}
 */
function sizeOf (records) {
  if (!Array.isArray(records)) return Math.max(1, records.length)
  return records.reduce((sum, { length }) => sum + Math.max(1, length), 0)
}

exports.BaseLog = BaseLog
exports.sizeOf = sizeOf
