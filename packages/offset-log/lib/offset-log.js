'use strict'
// OffsetLog: the Log contract over one file. It checks what callers ask for and hands it to the part that does it.

const { BlockFile, fileStorage, resolvePath } = require('@millrace/block-file')
const { LogError, asError, misuse } = require('@millrace/errors')
const { abortable, call, callbackOrPromise, createObservable, Lifecycle, toCallback } = require('@millrace/flow')
const { Appender } = require('./appender')
const { closedError, ofBatch, overloaded, tooLargeToAppend, unreadable } = require('./errors')
const { Durability, finishAtProcessEnd } = require('./durability')
const { Follower, Replacement } = require('./follower')
const { Getter } = require('./getter')
const { load } = require('./load')
const { Maintenance } = require('./maintenance')
const { parseOptions } = require('./options')
const { parseRange } = require('./range')
const { scan } = require('./scan')
const { createFailedSource, createSource } = require('./source')
const { KeepAlive, RecordStream } = require('./stream')

/**
 * @typedef {import('./options').OffsetLogOptions} OffsetLogOptions
 * @typedef {import('./range').ReadOptions} ReadOptions
 */

// flumedb takes methods off the log and calls them on their own.
const BOUND = ['ready', 'append', 'get', 'getMany', 'first', 'last', 'count', 'stream', 'toReadable', 'scan', 'del',
  'toWritable', 'toSink', 'drained', 'sync', 'stats', 'measureReclaimable', 'compact', 'snapshot', 'close']

/**
 * @template T
 * @typedef {import('@millrace/flow').Callback<T>} Callback  one of ours
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback  a user's
 */

/**
 * @template T
 * @typedef {import('@millrace/flow').Obz<T>} Obz
 */

/**
 * @template [T=any]
 * @typedef {import('./contract').OffsetLog<T>} OffsetLog
 */

/** @implements {OffsetLog} */
class Log {
  /**
   * @param {string | URL} givenPath
   * @param {OffsetLogOptions} [options]
   */
  constructor (givenPath, options) {
    const parsed = parseOptions(options)
    const path = resolvePath(givenPath, parsed.storage)
    this.filename = path
    /** @type {Obz<number>} undefined until loaded, -1 when empty, then the seq of the last record */
    this.since = createObservable()
    /** @type {Obz<number>} the seq up to which all is on stable storage, -1 if none; <= `since` */
    this.durable = createObservable()
    /** What flumedb offers of the log, under the same names. */
    this.methods = { del: /** @type {const} */ ('async') }
    /** What this log can do of what some logs cannot; set once loaded. */
    this.supports = {
      atomicBatch: false, compact: false, snapshot: true, durable: true, onCorrupt: false, threads: false
    }
    /** @type {import('./load').Recovery | null} what opening found wrong; set once loaded */
    this.recovery = null
    this._file = this._createFile(path, parsed)
    this._lifecycle = this._file.lifecycle
    this._getter = new Getter(this._file)
    this._appender = new Appender(this._file)
    /** @type {Obz<import('./maintenance').Progress>} how far a compaction has come, while one runs */
    this.compactionProgress = createObservable()
    this._maintenance = new Maintenance(this._file, this._appender, this.compactionProgress)
    /** @type {import('./threads/threaded-scans').ThreadedScans | null} made for the first of them */
    this._threadedScans = null
    /** Whether it is loaded, opened for writing, and not damaged. */
    this._isWritable = false
    /** Why nothing may be appended, where the records are another codec's. @type {LogError | null} */
    this._foreignError = null
    /** Tells that the end of the process is no longer this log's business. */
    this._forgetProcessEnd = () => {}
    /** Of an opening that was ended by its signal: it is over, and the file closed. @type {Promise<void> | null} */
    this._abandoned = null
    const methods = /** @type {any} */ (this)
    for (const name of BOUND) methods[name] = methods[name].bind(this)
    const loading = load(this._file, parsed.framing, parsed.signal)
    if (parsed.signal === null) toCallback(loading, (err, recovery) => this._loaded(err, recovery ?? null))
    else this._loadUnless(parsed.signal, loading)
  }

  /**
   * @param {string} path
   * @param {ReturnType<typeof parseOptions>} parsed
   * @returns {import('./load').LogFile}
   */
  _createFile (path, parsed) {
    /** @type {any} */
    const file = {
      blocks: BlockFile(path, parsed.blocks),
      store: null,
      codec: parsed.codec,
      maxRecordSize: parsed.maxRecordSize,
      maxPendingSize: parsed.maxPendingSize,
      verify: parsed.verify,
      skipsDamage: parsed.skipsDamage,
      isStrict: parsed.isStrict,
      cacheSize: parsed.cacheSize,
      storage: parsed.storage,
      end: 0,
      writtenSince: -1,
      since: this.since,
      lifecycle: new Lifecycle((name) => closedError(name, path)),
      waitingStreams: new Set(),
      replacement: new Replacement(),
      keepAlive: new KeepAlive(),
      follower: null
    }
    file.durability = new Durability(file, parsed.fsync, this.durable)
    return file
  }

  /**
   * @param {NodeCallback<void>} [cb]  runs when the log is loaded and recovered, or failed to
   * @returns {any}
   */
  ready (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('ready', cb, (cb) => cb(null)), 'ready')
  }

  /**
   * @param {unknown} values  a value, or an array of them as one batch
   * @param {NodeCallback<any>} [cb]  gets the seq of the last record, which `since` has reached
   * @returns {any}
   */
  append (values, cb) {
    if (typeof cb !== 'function') return callbackOrPromise(cb, (cb) => this._append(values, cb), 'append')
    this._append(values, /** @type {Callback<number>} */ (cb))
  }

  /**
   * @param {unknown} values
   * @param {Callback<number>} cb
   */
  _append (values, cb) {
    if (this._appender.isFull) {
      const { pendingSize } = this._appender
      return process.nextTick(cb, overloaded(this.filename, pendingSize, this._file.maxPendingSize))
    }
    let records
    try {
      // Now, so that the caller may change the value afterwards, and so that a failure is this caller's alone.
      records = this._encode(values)
    } catch (err) {
      return this._runWrite('append', cb, (cb) => cb(unreadable(err)))
    }
    // Most appends find the log open: for these nothing is made but the records.
    if (this._lifecycle.isOpen) this._appendRecords(records, cb)
    else this._appendLater(records, cb)
  }

  /**
   * What waits until the log is open takes memory as well.
   * @param {Buffer | Buffer[]} records
   * @param {Callback<number>} cb
   */
  _appendLater (records, cb) {
    let size = Array.isArray(records) ? records.reduce((sum, { length }) => sum + length, 0) : records.length
    this._appender.reserve(size)
    const free = () => {
      this._appender.free(size)
      size = 0
    }
    this._lifecycle.run('append', (err, seq) => {
      free()
      if (err) cb(err)
      else cb(null, seq)
    }, (cb) => {
      free()
      this._appendRecords(records, cb)
    })
  }

  /**
   * @param {Buffer | Buffer[]} records  one, or those of a batch
   * @param {Callback<number>} cb
   */
  _appendRecords (records, cb) {
    const err = this._writeError('append') ?? this._foreignError
    if (err) return process.nextTick(cb, err)
    if (Array.isArray(records)) return this._appendBatch(records, cb)
    const recordErr = this._checkRecord(records)
    if (recordErr) process.nextTick(cb, recordErr)
    else this._appender.append(records, records.length, cb)
  }

  /**
   * @param {Buffer[]} records
   * @param {Callback<number>} cb
   */
  _appendBatch (records, cb) {
    let dataSize = 0
    for (const [index, record] of records.entries()) {
      const recordErr = this._checkRecord(record)
      if (recordErr) return process.nextTick(cb, ofBatch(recordErr, index))
      dataSize += record.length
    }
    if (records.length === 0) cb(null, this.since.value)
    else this._appender.append(records, dataSize, cb)
  }

  /**
   * @param {number} seq
   * @param {any} [options]  a signal; or what comes last, the callback
   * @param {NodeCallback<any>} [cb]  gets the value; `flumelog:deleted` if it was deleted
   * @returns {any}
   */
  get (seq, options, cb) {
    // Without the closure that a promise needs, where there is none.
    if (typeof options === 'function') this._getter.get(seq, /** @type {Callback<any>} */ (options))
    else if (options === undefined) return callbackOrPromise(cb, (cb) => this._getter.get(seq, cb), 'get')
    else return this._read('get', seq, options, cb)
  }

  /**
   * @param {readonly number[]} seqs
   * @param {any} [options]
   * @param {NodeCallback<any[]>} [cb]  gets the values in the order of the seqs; undefined for one that was deleted
   * @returns {any}
   */
  getMany (seqs, options, cb) {
    return this._read('getMany', seqs, options, cb)
  }

  /**
   * @param {any} [options]
   * @param {NodeCallback<any>} [cb]  gets the first record of a range; undefined if there is none
   * @returns {any}
   */
  first (options, cb) {
    return this._read('first', undefined, options, cb)
  }

  /**
   * @param {any} [options]
   * @param {NodeCallback<any>} [cb]  gets the last record of a range; undefined if there is none
   * @returns {any}
   */
  last (options, cb) {
    return this._read('last', undefined, options, cb)
  }

  /**
   * @param {any} [options]
   * @param {NodeCallback<number>} [cb]  gets how many records a range has; it reads them
   * @returns {any}
   */
  count (options, cb) {
    return this._read('count', undefined, options, cb)
  }

  /**
   * @param {keyof import('./reads')} name
   * @param {any} what  to read, if the options do not say it
   * @param {any} options  may be left out
   * @param {NodeCallback<any>} [cb]
   * @returns {any}
   */
  _read (name, what, options, cb) {
    if (typeof options === 'function') return this._read(name, what, undefined, options)
    return callbackOrPromise(cb, (cb) => require('./reads')[name](this._file, this._getter, { what, options }, cb), name)
  }

  /**
   * A pull-stream source that is also async-iterable.
   * @param {ReadOptions} [options]
   */
  stream (options = {}) {
    let range
    try {
      range = parseRange('stream', options, this._file.isStrict)
    } catch (err) {
      return createFailedSource(asError(err, 'stream: an option'))
    }
    return createSource(new RecordStream(this._file, range, options))
  }

  /**
   * The same as a stream of Node.js.
   * @param {ReadOptions & { highWaterMark?: number | undefined }} [options]
   */
  toReadable (options = {}) {
    return require('./node-streams').createReadable(this._file, options)
  }

  /**
   * A stream of Node.js that appends what is written to it.
   * @param {import('./node-streams').WritableOptions} [options]
   */
  toWritable (options = {}) {
    return require('./node-streams').createWritable(this, options)
  }

  /**
   * A pull-stream sink that appends what it reads.
   * @param {(err: Error | null) => void} [done]  runs when all of it is appended, or nothing more will be
   */
  toSink (done) {
    return require('./node-streams').createSink(this, done)
  }

  /** Bytes of what was given to `append` and has not called back. */
  get pendingSize () {
    return this._appender.pendingSize
  }

  /** Whether so much waits that whoever appends without waiting should await `drained` first. */
  get needsDrain () {
    return this._appender.needsDrain
  }

  /**
   * @param {NodeCallback<void>} [cb]  runs once `needsDrain` is false
   * @returns {any}
   */
  drained (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('drained', cb, (cb) => {
      this._appender.whenDrained(() => cb(null))
    }), 'drained')
  }

  /**
   * @param {ReadOptions & Partial<import('./threads/threaded-scans').ThreadOptions>} options  those of `stream`, except
   *   live, and more
   * @param {unknown} onRecords  a function that gets a run of many records a call, and ends the scan with false; with
   *   the option `threads` the path of a module
   * @param {NodeCallback<any>} [cb]  gets what was lost where damage was skipped, and what the tasks came to
   * @returns {any}
   */
  scan (options = {}, onRecords, cb) {
    return callbackOrPromise(cb, (cb) => {
      /** @type {import('./range').Range} */
      let range
      try {
        range = parseRange('scan', options, this._file.isStrict)
      } catch (err) {
        return this._lifecycle.run('scan', cb, (cb) => cb(asError(err, 'scan: an option')))
      }
      abortable('scan', range.signal, cb, (cb) => this._lifecycle.run('scan', cb, (cb) => {
        if (options.threads !== undefined) return toCallback(this._threads.run(range, options, onRecords), cb)
        if (typeof onRecords !== 'function') return cb(misuse(`scan: expected a function, got ${typeof onRecords}`))
        scan(this._file, range, /** @type {any} */ (onRecords), cb)
      }))
    }, 'scan')
  }

  get _threads () {
    const { ThreadedScans } = require('./threads/threaded-scans')
    return (this._threadedScans ??= new ThreadedScans(this._file, this._maintenance.gate))
  }

  /**
   * Erases records: their bytes are overwritten, `get` and streams no longer see them. `since` does not move.
   * @param {number | readonly number[]} seqs
   * @param {NodeCallback<void>} [cb]
   * @returns {any}
   */
  del (seqs, cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('del', cb, (cb) => {
      if (typeof seqs !== 'number' && !Array.isArray(seqs)) {
        return cb(misuse(`del: expected a seq or an array of them, got ${typeof seqs}`))
      }
      this._maintenance.deleteRecords(typeof seqs === 'number' ? [seqs] : [...seqs], cb)
    }), 'del')
  }

  /**
   * @param {NodeCallback<void>} [cb]  runs when all that was appended before is on stable storage
   * @returns {any}
   */
  sync (cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('sync', cb, (cb) => {
      this._appender.flush(() => this._maintenance.clean((err) => err ? cb(err) : this._file.durability.sync(cb)))
    }), 'sync')
  }

  /**
   * What is known without reading the log.
   * @param {NodeCallback<import('./maintenance').LogStats>} [cb]
   * @returns {any}
   */
  stats (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('stats', cb, (cb) => {
      const { store, blocks } = this._file
      cb(null, {
        framing: store.name,
        codec: store.codecName,
        size: store.end,
        since: this.since.value,
        blockSize: blocks.blockSize,
        lock: blocks.lock,
        cache: store.cacheStats()
      })
    }), 'stats')
  }

  /**
   * @param {NodeCallback<number | null>} [cb]  gets how many bytes a compaction would give back; null when damage is in
   *   the way. It reads all of a checked log
   * @returns {any}
   */
  measureReclaimable (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('measureReclaimable', cb, (cb) => {
      this._file.store.measureReclaimable(cb)
    }), 'measureReclaimable')
  }

  /**
   * Gives back the space of deleted records. Records keep their seqs; appends and reads go on, deletions wait.
   * @param {NodeCallback<import('./maintenance').Compacted>} [cb]
   * @returns {any}
   */
  compact (cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('compact', cb, (cb) => {
      if (this.supports.compact) return toCallback(this._maintenance.compact(), cb)
      cb(notSupported('compact', `${this._file.store.name} ties seqs to places in the file; convert it to the checked framing`))
    }), 'compact')
  }

  /**
   * A copy of all that can be read now, as a log of its own that was closed cleanly. Appends and deletions go on.
   * @param {string | URL} path  where it goes; nothing may be there
   * @param {NodeCallback<void>} [cb]  it is on stable storage. EEXIST; ERR_LOG_CORRUPT when the log is damaged
   * @returns {any}
   */
  snapshot (path, cb) {
    const target = resolvePath(path, this._file.storage)
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('snapshot', cb, (cb) => {
      if (typeof target !== 'string' || target === '') return cb(misuse(`snapshot: expected a path, got ${String(path)}`))
      require('./snapshot').snapshot(this._file, this.recovery, target, cb)
    }), 'snapshot')
  }

  /**
   * Waits for what was asked before, syncs, ends live streams and closes the file. Calling it again waits for the same.
   * @param {NodeCallback<void>} [cb]
   * @returns {any}
   */
  close (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.close((cb) => this._closeFile(cb), cb), 'close')
  }

  /** `await using` closes it. */
  async [Symbol.asyncDispose] () {
    await this.close()
  }

  /** @param {(err: Error | null) => void} cb */
  _closeFile (cb) {
    if (this._abandoned !== null) return toCallback(this._abandoned, cb)
    const { blocks, durability, follower, waitingStreams } = this._file
    this._forgetProcessEnd()
    follower?.close()
    for (const stream of waitingStreams) stream.close()
    const finish = () => {
      if (!this._isWritable) return blocks.close(cb)
      durability.finish((err) => blocks.close((closeErr) => cb(err ?? closeErr)))
    }
    if (this._threadedScans === null) finish()
    else toCallback(this._threadedScans.close(), finish)
  }

  /**
   * @param {AbortSignal} signal
   * @param {ReturnType<typeof load>} loading
   */
  _loadUnless (signal, loading) {
    abortable('open', signal, (err, recovery) => {
      if (!err || !signal.aborted) return this._loaded(err, recovery ?? null)
      // The callers need not wait for it: what opening has begun to write it ends first.
      this._abandoned = loading.catch(() => {}).then(() => call(this._file.blocks, 'close'))
      this._abandoned.catch(() => {})
      this._lifecycle.opened(err)
    }, (cb) => toCallback(loading, cb))
  }

  /**
   * @param {Error | null} err
   * @param {import('./load').Recovery | null} recovery
   */
  _loaded (err, recovery) {
    // Nothing will be read from it: the file need not stay open until somebody closes the log.
    if (err) return this._file.blocks.close(() => this._lifecycle.opened(err))
    this.recovery = recovery
    this._isWritable = this._readOnlyError('') === null
    const { codec, store } = this._file
    // Threads open the file themselves.
    Object.assign(this.supports, store.supports, { threads: (this._file.storage ?? fileStorage) === fileStorage })
    this._foreignError = codec.compareName(store.codecName, this.filename, 'append')
    // A damaged log cannot be written, so nothing will come.
    const mayGrow = this._file.blocks.flags === 'r' && !recovery?.damage.length && !this._lifecycle.isClosed
    if (mayGrow) this._file.follower = new Follower(this._file, this.durable)
    if (this._isWritable) {
      this._forgetProcessEnd = finishAtProcessEnd(this._file, this._appender, this._maintenance)
    }
    this._lifecycle.opened(null)
  }

  /**
   * @param {string} name  of the call
   * @returns {LogError | null}  why the log may not be written
   */
  _readOnlyError (name) {
    const { filename: path, recovery } = this
    if (recovery === null && this._file.blocks.flags === 'r+') return null
    const [damage] = recovery?.damage ?? []
    if (damage) {
      const cause = new LogError('ERR_LOG_CORRUPT', `${path} is damaged from ${damage.offset} to ` +
        `${damage.offset + damage.size}: ${damage.what}`, { offset: damage.offset, path })
      return new LogError('ERR_LOG_READ_ONLY', `${name}: ${cause.message}, so it was opened for reading only; repair() of ` +
        '@millrace/repair makes a new log of the good records', { cause, offset: damage.offset, path })
    }
    if (recovery?.uncopied) return uncopiedError(name, path, recovery.uncopied)
    if (this._file.blocks.flags === 'r+') return null
    return new LogError('ERR_LOG_READ_ONLY', `${name}: ${path} was opened with flags "r"; open it with "r+"`, { path })
  }

  /** @param {string} name  of the call */
  _writeError (name) {
    return (this._isWritable ? null : this._readOnlyError(name)) ?? this._file.durability.error
  }

  /**
   * @template T
   * @param {string} name
   * @param {Callback<T>} cb
   * @param {(cb: Callback<T>) => void} action  runs once the log is loaded, if it may be written
   */
  _runWrite (name, cb, action) {
    this._lifecycle.run(name, cb, (cb) => {
      const err = this._writeError(name)
      if (err) cb(err)
      else action(cb)
    })
  }

  /**
   * @param {unknown} values
   * @returns {Buffer | Buffer[]}
   * @throws {LogError} ERR_CODEC_ENCODE
   */
  _encode (values) {
    const { codec } = this._file
    if (!Array.isArray(values)) return codec.encode(values)
    // A codec that looks into the array might change it.
    const { length } = values
    const records = new Array(length)
    let index = 0
    try {
      for (; index < length; index++) records[index] = codec.encode(values[index])
    } catch (err) {
      throw ofBatch(err, index)
    }
    return records
  }

  /**
   * @param {Buffer} record
   * @returns {LogError | null}
   */
  _checkRecord (record) {
    const { store, maxRecordSize } = this._file
    const sizeMax = Math.min(maxRecordSize, store.recordSizeMax)
    return record.length > sizeMax ? tooLargeToAppend('a record', record.length, sizeMax) : store.checkRecord(record)
  }
}

/**
 * @param {string} name
 * @param {string} advice
 */
function notSupported (name, advice) {
  return new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by this log; ${advice}`)
}

/**
 * @param {string} name
 * @param {string} path
 * @param {NonNullable<import('./load').Recovery['uncopied']>} uncopied
 */
function uncopiedError (name, path, { offset, size, cause }) {
  return new LogError('ERR_LOG_READ_ONLY', `${name}: the ${size} bytes of ${path} from ${offset} on may not be on the disk, ` +
    `and could not be copied to ${path}.tail (${cause.message}). So the log was opened for reading ` +
    'only; make room, and open it again', { cause, offset, path })
}

/**
 * Opens a log, or creates it; with or without `new`. Calls may be made at once: they wait until it is loaded.
 * @param {string | URL} path
 * @param {OffsetLogOptions} [options]
 * @returns {Log}
 */
function OffsetLog (path, options) {
  return new Log(path, options)
}
OffsetLog.prototype = Log.prototype

/** @type {import('./contract').OffsetLogConstructor} */
exports.OffsetLog = /** @type {any} */ (OffsetLog)
