'use strict'
// OffsetLog, the Log contract over one file: what it adds to the calls of every log. contract.js describes the public
// methods.

const { nextTick } = require('node:process')
const { BlockFile, NewFile, fileStorage, removeFiles, resolvePath } = require('@millrace/block-file')
const { LogError, asError, misuse, reasonOf } = require('@millrace/errors')
const {
  abortable, callbackOrPromise, createObservable, describe, endAll, Lifecycle, promisesOf, toCallback
} = require('@millrace/flow')
const { Appender } = require('./appender')
const { BaseLog } = require('./base-log')
const { closedError, explainFolder, notReady, notRemoved, ofBatch, tooLargeToAppend } = require('./errors')
const { Durability, OpenLog } = require('./durability')
const { Follower } = require('./follower')
const { load, loadNew, newStores } = require('./load')
const { findPlace } = require('./recover/identify')
const { Maintenance } = require('./maintenance')
const { parseAppend, parseFlush, parseOptions } = require('./options')
const { Replacement } = require('./replacement')
const { WaitingStreams } = require('./stream')

/** The names of an index's files; those that are not finished, too. */
const RUN_FILE = /\.run(\.new)?$/

/** @typedef {import('./options').OffsetLogOptions} OffsetLogOptions */
/** @typedef {import('./load').LogFile} LogFile */

/** Our own callback. @template T @typedef {import('@millrace/flow').Callback<T>} Callback */
/** A callback of the user. @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @template T @typedef {import('@millrace/flow').Obz<T>} Obz */
/** @template [T=any] @typedef {import('./contract').OffsetLog<T>} OffsetLog */

/**
 * @extends {BaseLog<Appender>}
 * @implements {OffsetLog}
 */
class Log extends BaseLog {
  /**
   * @param {string | URL} givenPath
   * @param {OffsetLogOptions} [options]
   * @param {NewFile | null} [made]  the file of a new log: it is named and opened before this returns
   */
  constructor (givenPath, options, made = null) {
    const parsed = parseOptions(options)
    const path = resolvePath(givenPath, parsed.storage)
    const file = createFile(path, parsed, made)
    const appender = new Appender(file)
    super({ file, appender, kind: 'this log', instead: 'open it as the log of one file' })
    this.filename = path
    this.codec = parsed.codec.codec
    this.since = file.since
    this.durable = file.durable
    /** Set once loaded. */
    this.supports = {
      atomicBatch: false,
      compact: false,
      snapshot: true,
      durable: true,
      flushSync: false,
      onCorrupt: false,
      partitions: true,
      del: true,
      uniqueSeqs: true
    }
    /** Set once loaded. @type {import('./load').Recovery | null} */
    this.recovery = null
    /** @type {Obz<import('./maintenance').Progress>} */
    this.compactionProgress = createObservable()
    /** Set with its first use. @type {Maintenance | null} */
    this._maintaining = null
    if (parsed.index !== null) this._useIndex(parsed.index, require('./range').openRange)
    /** Whether the log is loaded and may be written. */
    this._isWritable = false
    /** Whether nothing outside of this process changes the file. */
    this._isFixed = false
    /** If the log was made with another codec: the error of every append. @type {LogError | null} */
    this._foreignError = null
    /** Finishes the log when the process ends; null unless the log may be written. @type {OpenLog | null} */
    this._openLog = null
    /** If opening was aborted: resolves once it has ended and the file is closed. @type {Promise<void> | null} */
    this._abandoned = null
    if (made !== null) {
      loadNew(file, parsed.framing, made.bytes)
      this._loaded(null, null)
      return
    }
    const loading = parsed.index === null
      ? load(file, parsed.framing, parsed.signal)
      : load(file, parsed.framing, parsed.signal).then((recovery) => this._findPlace(recovery))
    if (parsed.signal === null) toCallback(loading, (err, recovery) => this._loaded(err, recovery ?? null))
    else this._loadUnless(parsed.signal, loading)
  }

  /**
   * Of a log that is only read: its index lies where its writer has it, whatever path leads to the log.
   * @template T
   * @param {T} recovery
   */
  async _findPlace (recovery) {
    const { blocks, storage = fileStorage } = this._file
    blocks.realPath = await findPlace(blocks, storage).catch(() => blocks.path)
    return recovery
  }

  /** @type {(records: Buffer | Buffer[], cb: Callback<any>, givesSeqs: boolean) => void} an array is a batch */
  _appendRecords (records, cb, givesSeqs) {
    const err = this._writeError('append') ?? this._foreignError
    if (err) return nextTick(cb, err)
    if (Array.isArray(records)) return this._appendBatch(records, cb, givesSeqs)
    const recordErr = this._checkRecord(records)
    if (recordErr) nextTick(cb, recordErr)
    else this._appender.append(records, records.length, cb, givesSeqs)
  }

  /** @type {(records: Buffer[], cb: Callback<any>, givesSeqs: boolean) => void} */
  _appendBatch (records, cb, givesSeqs) {
    let dataSize = 0
    for (let index = 0; index < records.length; index++) {
      const recordErr = this._checkRecord(records[index])
      if (recordErr) return nextTick(cb, ofBatch(recordErr, index))
      dataSize += records[index].length
    }
    // Never at once: a segmented log hands over many appends in a loop.
    if (records.length === 0) nextTick(cb, null, givesSeqs ? [] : this.since.value)
    else this._appender.append(records, dataSize, cb, givesSeqs)
  }

  /** The log is open. @param {import('./index-seam').Indexing} indexing */
  _openIndex (indexing) {
    const { _file: file } = this
    indexing.open({
      path: this.filename,
      folder: this._indexFolder,
      storage: file.storage ?? fileStorage,
      findFile: () => file.blocks.realPath,
      isReadOnly: !this._isWritable
    }, this.since)
  }

  /** @type {(seqs: number[], cb: Callback<void>) => void} */
  _delete (seqs, cb) {
    const run = () => {
      this._maintenance.deleteRecords(seqs, this._indexing === null ? cb : this._indexing.deleting(seqs, cb))
    }
    if (!seqs.some((seq) => this._appender.hasReturned(seq))) run()
    else toCallback(this._file.durability.sync(), (err) => err ? cb(err) : run())
  }

  get _maintenance () {
    return (this._maintaining ??= new Maintenance(this._file, this._appender, this.compactionProgress))
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  sync (cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('sync', cb, (cb) => {
      const sync = () => toCallback(this._file.durability.sync(), cb)
      this._appender.flush(() => this._maintenance.clean((err) => err ? cb(err) : sync()))
    }), 'sync')
  }

  /** @param {{ sync?: boolean | undefined }} [options] */
  flushSync (options = {}) {
    const isSynced = parseFlush('flushSync', options)
    this._checkCanWriteNow('flushSync', this.pendingSize > 0)
    this._appender.flushNow(isSynced)
    this._openLog?.finishAgain()
  }

  /** @type {(values: unknown, options?: import('./contract').AppendSyncOptions) => any} */
  appendSync (values, options = {}) {
    const isSynced = parseFlush('appendSync', options)
    const givesSeqs = parseAppend('appendSync', options)
    this._checkCanWriteNow('appendSync', false)
    const records = this._file.codec.encodeAll(values)
    const done = this._conditions?.note(records, () => {})
    const result = this._appendRecordsNow(records, isSynced, givesSeqs)
    done?.(null, result)
    return result
  }

  /** @type {(given: Buffer | Buffer[], isSynced: boolean, givesSeqs: boolean) => any} an array is a batch */
  _appendRecordsNow (given, isSynced, givesSeqs) {
    if (this._foreignError !== null) throw this._foreignError
    const records = Array.isArray(given) ? given : [given]
    let dataSize = 0
    for (let index = 0; index < records.length; index++) {
      const err = this._checkRecord(records[index])
      if (err !== null) throw Array.isArray(given) ? ofBatch(err, index) : err
      dataSize += records[index].length
    }
    if (records.length === 0) return givesSeqs ? [] : this.since.value
    const result = this._appender.appendNow(records, dataSize, isSynced, givesSeqs)
    this._openLog?.finishAgain()
    return result
  }

  /** Throws if the call may not write without waiting. @type {(name: string, mayBeClosed: boolean) => void} */
  _checkCanWriteNow (name, mayBeClosed) {
    super._checkCanWriteNow(name, mayBeClosed)
    if (!this.supports.flushSync) throw this._notSupported(name, 'its storage has no synchronous calls; await sync() instead')
    if (!this._appender.canFlushNow) throw notReady(this.filename, 'is being replaced by its compacted copy', name)
  }

  /** @type {(cb?: NodeCallback<import('./maintenance').LogStats>) => any} */
  stats (cb) {
    return this._run('stats', cb, (cb) => {
      const { store, blocks } = this._file
      cb(null, {
        framing: store.name,
        codec: store.codecName,
        id: store.id?.toString('hex') ?? null,
        epoch: store.supports.uniqueSeqs ? null : store.epoch,
        size: store.end,
        since: this.since.value,
        blockSize: blocks.blockSize,
        lock: blocks.lock,
        cache: store.cacheStats()
      })
    })
  }

  /** @type {(cb?: NodeCallback<number | null>) => any} */
  measureReclaimable (cb) {
    return this._run('measureReclaimable', cb, (cb) => {
      toCallback(this._file.replacement.withOneFile((store) => store.measureReclaimable()), cb)
    })
  }

  /** @type {(cb?: NodeCallback<import('./maintenance').Compacted>) => any} */
  compact (cb) {
    return callbackOrPromise(cb, (cb) => this._runWrite('compact', cb, (cb) => {
      if (this.supports.compact) {
        const compact = () => this._maintenance.compact()
        return toCallback(this._indexing === null ? this._compactAlone(compact) : this._indexing.during(compact), cb)
      }
      cb(this._notSupported('compact', `${this._file.store.name} ties seqs to places in the file; convert it to the checked framing`))
    }), 'compact')
  }

  /**
   * Deleted values are nowhere afterwards: an index that this log was opened without may have them, too.
   * @template T
   * @param {() => Promise<T>} compact
   */
  async _compactAlone (compact) {
    const { store } = this._file
    const compacted = await compact()
    if (this._file.store !== store) {
      const folder = this._indexFolder
      await removeFiles(this._file.storage ?? fileStorage, folder, (name) => RUN_FILE.test(name)).catch((err) => {
        throw notRemoved('compact: the log is compacted', folder, err)
      })
    }
    return compacted
  }

  /** Where an index is, if there is one. */
  get _indexFolder () {
    return `${this._file.blocks.realPath}.index`
  }

  /** @type {(count: number, cb?: NodeCallback<import('./partitions').Partition[]>) => any} */
  partitions (count, cb) {
    return this._run('partitions', cb, (cb) => {
      const { partition } = require('./partitions')
      toCallback(this._refresh().then(() => this._file.replacement.withOneFile(() => partition(this._file, count))), cb)
    })
  }

  /**
   * @param {string | URL} path
   * @param {import('./snapshot').SnapshotOptions | NodeCallback<void>} [options]
   * @param {NodeCallback<void>} [cb]
   * @returns {any}
   */
  snapshot (path, options, cb) {
    if (typeof options === 'function') return this.snapshot(path, undefined, options)
    return callbackOrPromise(cb, (cb) => {
      /** @type {unknown} */
      let target
      try {
        target = resolvePath(path, this._file.storage)
      } catch (err) {
        return this._lifecycle.run('snapshot', cb, (cb) => cb(asError(err, 'snapshot: the path')))
      }
      this._lifecycle.run('snapshot', cb, (cb) => {
        if (typeof target !== 'string' || target === '') return cb(misuse(`snapshot: expected a path, got ${reasonOf(path)}`))
        require('./snapshot').snapshot(this._file, this.recovery, target, options, cb)
      })
    }, 'snapshot')
  }

  get _proofs () {
    return require('./read/prove-record').proofsOf(this._file)
  }

  /** Waits for the appends, which are not counted as calls. @param {(err: Error | null) => void} cb */
  _shutDown (cb) {
    if (this._abandoned !== null) toCallback(this._abandoned, cb)
    else this._appender.flush(() => this._end(cb))
  }

  /** @param {(err: Error | null) => void} cb */
  _end (cb) {
    const { durability, follower, waitingStreams } = this._file
    this._openLog?.forget()
    follower?.close()
    waitingStreams.close()
    toCallback(endAll([
      () => this._indexing?.close(),
      () => this._isWritable ? durability.finish() : null,
      () => this._closeFiles()
    ]), cb)
  }

  /** Closes the log's file, which unlocks it, and what is beside it. */
  _closeFiles () {
    const { blocks, store } = this._file
    return endAll([() => store?.isLines ? store.closeBeside() : null, () => promisesOf(blocks).close()])
  }

  /**
   * Fails opening as soon as the signal is aborted.
   * @type {(signal: AbortSignal, loading: ReturnType<typeof load>) => void}
   */
  _loadUnless (signal, loading) {
    abortable('open', signal, (err, recovery) => {
      if (!err || !signal.aborted) return this._loaded(err, recovery ?? null)
      // Waiting calls fail at once. Only `close` waits until opening has completed what it has begun to write.
      this._abandoned = loading.catch(() => {}).then(() => this._closeFiles())
      this._abandoned.catch(() => {})
      this._lifecycle.opened(err)
    }, (cb) => toCallback(loading, cb))
  }

  /** @type {(err: Error | null, recovery: import('./load').Recovery | null) => void} */
  _loaded (err, recovery) {
    // Nothing will read the file, so it does not stay open until the user closes the log.
    if (err) return toCallback(this._closeFiles(), () => this._lifecycle.opened(explainFolder(err, this.filename)))
    this.recovery = recovery
    this._isWritable = this._readOnlyError('') === null
    const { codec, store } = this._file
    Object.assign(this.supports, store.supports, { flushSync: this._file.blocks.hasSyncCalls })
    this._foreignError = codec.compareName(store.codecName, this.filename, 'append')
    // No writer can append to a damaged log, so nothing can follow.
    const mayGrow = this._file.blocks.flags === 'r' && !this._isFixed && !recovery?.damage.length && !this._lifecycle.isClosed
    if (mayGrow) this._file.follower = new Follower(this._file)
    try {
      if (this._indexing !== null) this._openIndex(this._indexing)
    } catch (thrown) {
      // Without its index it is not what was asked for, and nobody would close it.
      this._isWritable = false
      this._file.follower?.close()
      return this._loaded(asError(thrown, 'open of the index'), null)
    }
    const isCompacting = () => this._maintaining !== null && this._maintaining.isCompacting
    if (this._isWritable) this._openLog = new OpenLog(this._file, this._appender, isCompacting)
    this._lifecycle.opened(null)
  }

  /** Why the log may not be written; null if it may. @type {(name: string) => LogError | null} */
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

  /** @param {string} name */
  _writeError (name) {
    return (this._isWritable ? null : this._readOnlyError(name)) ?? this._file.durability.error
  }

  /** @type {(record: Buffer) => LogError | null} */
  _checkRecord (record) {
    const { store, maxRecordSize } = this._file
    const sizeMax = Math.min(maxRecordSize, store.recordSizeMax)
    if (record.length > sizeMax) return tooLargeToAppend('a record', record.length, sizeMax)
    return store.checkRecord === null ? null : store.checkRecord(record)
  }
}

/** @type {(path: string, parsed: ReturnType<typeof parseOptions>, made: NewFile | null) => LogFile} */
function createFile (path, parsed, made) {
  /** @type {any} */
  const file = {
    blocks: BlockFile(path, { ...parsed.blocks, made }),
    store: null,
    codec: parsed.codec,
    newId: parsed.id,
    maxRecordSize: parsed.maxRecordSize,
    maxPendingSize: parsed.maxPendingSize,
    verify: parsed.verify,
    skipsDamage: parsed.skipsDamage,
    isStrict: parsed.isStrict,
    storage: parsed.storage,
    get logEnd () { return this.store === null ? 0 : this.store.logEnd },
    writtenSince: -1,
    since: createObservable(),
    durable: createObservable(),
    lifecycle: new Lifecycle((name) => closedError(name, path)),
    waitingStreams: new WaitingStreams(),
    replacement: new Replacement(),
    follower: null
  }
  file.durability = new Durability(file, parsed.fsync)
  return file
}

/** @type {(name: string, path: string, uncopied: NonNullable<import('./load').Recovery['uncopied']>) => LogError} */
function uncopiedError (name, path, { offset, size, cause }) {
  return new LogError('ERR_LOG_READ_ONLY', `${name}: the ${size} bytes of ${path} from ${offset} on may not be on the disk, ` +
    `and could not be copied to ${path}.tail (${cause.message}). So the log was opened for reading ` +
    'only; make room, and open it again', { cause, offset, path })
}

/**
 * Opens or creates a log, with or without `new`, and returns it at once: it loads in the background, and calls wait
 * until it is loaded. The path may be a `file:` URL. An unknown option is misuse. The codec determines the type of the
 * values; without a codec they are Buffers. `OffsetLog<Message>(path, { codec })` takes and gives values of that type.
 * @param {string | URL} path
 * @param {OffsetLogOptions} [options]
 * @returns {Log}
 */
function OffsetLog (path, options) {
  return new Log(path, options)
}
OffsetLog.prototype = Log.prototype

/**
 * The file of a log that does not exist yet. `prepare` does most of the work; `openNew` then takes little time.
 * @param {string} temporary  its path until then, in the folder of the log
 * @param {OffsetLogOptions} options  of the log
 * @returns {NewFile | null}  null if the storage cannot name and open a file without waiting
 */
function createNewFile (temporary, options) {
  const { framing, storage, blocks: { initial, lock } } = parseOptions(options)
  if (!(framing in newStores) || !NewFile.isPossible(storage, lock)) return null
  return new NewFile(storage, temporary, initial?.() ?? Buffer.alloc(0))
}

/** @type {(path: string, options: OffsetLogOptions, made: NewFile) => Log} open; throws if that fails */
function openNew (path, options, made) {
  return new Log(path, options, made)
}

/**
 * Opens a log for reading that nobody else writes, so it is not followed.
 * @type {(path: string, options: OffsetLogOptions) => Log}
 */
function openFixed (path, options) {
  const log = new Log(path, { ...options, flags: 'r' })
  log._isFixed = true
  return log
}
describe(Log, 'OffsetLog', ({ filename, since, durable }) => ({ filename, since: since.value, durable: durable.value }))

exports.Log = Log
exports.createNewFile = createNewFile
exports.openFixed = openFixed
exports.openNew = openNew

/** @type {import('./contract').OffsetLogConstructor} */
exports.OffsetLog = /** @type {any} */ (OffsetLog)
