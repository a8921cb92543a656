'use strict'
// SegmentedLog, the Log contract over a folder of segments. It checks the arguments and the state of the log, then
// passes the call to the part that does the work.

const path = require('node:path')
const { resolvePath } = require('@millrace/block-file')
const { LogError, asError, misuse } = require('@millrace/errors')
const { abortable, call, callbackOrPromise, createSettler, toCallback } = require('@millrace/flow')
const {
  Getter, RecordStream, createFailedSource, createReadable, createSink, createSource, createWritable, errors,
  parseFlush, parseRange, reads, scan
} = require('@millrace/offset-log/composing')
const { Appending } = require('./appending')
const { Upkeep } = require('./upkeep')
const { Core } = require('./core')
const { deleteRecords } = require('./deleting')
const { Following } = require('./following')
const { Holds } = require('./holds')
const { list, openFolder } = require('./opening')
const { parseOptions } = require('./options')
const { Retention } = require('./retention')
const { parseTimeBounds } = require('./times')

/** @template T @typedef {import('@millrace/flow').Callback<T>} Callback */
/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

// flumedb calls methods of the log without the log as `this`.
const BOUND = ['ready', 'append', 'get', 'getMany', 'first', 'last', 'count', 'stream', 'toReadable', 'scan', 'del',
  'toWritable', 'toSink', 'drained', 'sync', 'flushSync', 'appendSync', 'stats', 'measureReclaimable', 'compact', 'snapshot', 'close',
  'roll', 'segments', 'dropBefore', 'hold', 'release', 'holds']

class Log {
  #core
  #getter
  #appending
  #retention
  #holds
  #upkeep
  /** Of a log opened for reading. @type {Following | null} */
  #following = null
  /** Segments with deletions that are not synced yet. @type {Set<import('./segments').Segment>} */
  #unsynced = new Set()

  /** @param {string | URL} givenPath  @param {import('./options').SegmentedLogOptions} [options] */
  constructor (givenPath, options) {
    const parsed = parseOptions(options)
    const folder = resolvePath(givenPath, parsed.storage)
    if (typeof folder !== 'string' || folder === '') throw misuse(`SegmentedLog: expected the path of a folder, got ${String(givenPath)}`)
    this.#core = new Core(folder, parsed)
    this.#retention = new Retention(this.#core)
    this.#holds = new Holds(this.#core, this.#retention)
    this.#upkeep = new Upkeep(this.#core, this.#retention)
    this.#appending = new Appending(this.#core, this.#retention, this.#upkeep)
    this.#getter = new Getter(this.#core.file)
    this.filename = folder
    this.codec = parsed.codec.codec
    this.since = this.#core.since
    this.durable = this.#core.durable
    /** What retention dropped, each time that it did. */
    this.dropped = this.#retention.dropped
    this.methods = { del: /** @type {const} */ ('async') }
    this.supports = {
      atomicBatch: true,
      compact: false,
      snapshot: false,
      durable: true,
      onCorrupt: true,
      threads: false,
      flushSync: false
    }
    /** Set once loaded: what opening found wrong in the newest segment; null if nothing. @type {any} */
    this.recovery = null
    const methods = /** @type {any} */ (this)
    for (const name of BOUND) methods[name] = methods[name].bind(this)
    try {
      if (parsed.isWriter && !parsed.mustExist && !parsed.signal?.aborted) parsed.storage.makeFolderSync?.(path.join(folder, 'segment'))
    } catch {
      // Opening makes the folder again, and reports the failure.
    }
    const opening = this.#open()
    const { lifecycle } = this.#core
    abortable('open', parsed.signal, (err) => {
      // The newest segment may still be opening.
      if (err) opening.then(() => this.#closeSegments(), () => {}).catch(() => {})
      lifecycle.opened(err)
    }, (cb) => toCallback(opening, cb))
  }

  async #open () {
    const { folder, options, segments } = this.#core
    const opened = await openFolder(folder, options)
    const { log } = opened
    segments.begin(opened.segments, opened.kept)
    this.#core.activate(segments.last, log)
    try {
      this.#core.begin(await this.#findSinceBefore())
    } catch (err) {
      await this.#closeSegments().catch(() => {})
      throw err
    }
    this.recovery = opened.recovery
    this.supports.flushSync = log.supports.flushSync
    if (options.isWriter) {
      this.#retention.start()
      this.#upkeep.start()
    } else this.#following = new Following(this.#core)
  }

  /** The last record in front of the newest segment, if that has none: -1 if there is none. */
  async #findSinceBefore () {
    const { segments } = this.#core
    if (segments.last.log.since.value !== -1) return -1
    for (let segment = segments.before(segments.last); segment !== null; segment = segments.before(segment)) {
      const { base } = segment
      const since = await segments.use(segment, async (log) => log.since.value)
      if (since !== -1) return base + since
    }
    return -1
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  ready (cb) {
    return this.#run('ready', cb, (cb) => cb(null))
  }

  /** @type {(values: unknown, cb?: NodeCallback<any>) => any} */
  append (values, cb) {
    if (typeof cb === 'function') return this.#append(values, /** @type {Callback<number>} */ (cb))
    const settler = createSettler(cb, 'append')
    this.#append(values, settler.cb)
    return settler.promise
  }

  /** @type {(values: unknown, cb: Callback<number>) => void} */
  #append (values, cb) {
    const { lifecycle, options: { maxPendingSize } } = this.#core
    const { pendingSize, filename } = this
    if (pendingSize >= maxPendingSize) {
      return process.nextTick(cb, errors.overloaded(filename, pendingSize, maxPendingSize))
    }
    let records
    try {
      records = this.#core.options.codec.encodeAll(values)
    } catch (err) {
      return this.#runWrite('append', cb, (cb) => cb(errors.unreadable(err)))
    }
    const size = sizeOf(records)
    if (lifecycle.isOpen) return this.#appendRecords(records, size, cb)
    let waits = true
    const stopWaiting = () => {
      if (waits) this.#appending.reserve(-size)
      waits = false
    }
    this.#appending.reserve(size)
    lifecycle.run('append', (err, seq) => {
      stopWaiting()
      if (err) cb(err)
      else cb(null, seq)
    }, (cb) => {
      stopWaiting()
      this.#appendRecords(records, size, cb)
    })
  }

  /** @type {(records: Buffer | Buffer[], size: number, cb: Callback<number>) => void} */
  #appendRecords (records, size, cb) {
    const err = this.#writeError('append')
    if (err) return process.nextTick(cb, err)
    this.#appending.append(records, size, cb)
  }

  /** @type {(seq: number, options?: any, cb?: NodeCallback<any>) => any} the callback may be the second argument */
  get (seq, options, cb) {
    if (typeof options === 'function') this.#getter.get(seq, /** @type {Callback<any>} */ (options))
    else if (options === undefined) return callbackOrPromise(cb, (cb) => this.#getter.get(seq, cb), 'get')
    else return this.#read('get', seq, options, cb)
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
    return callbackOrPromise(cb, (cb) => {
      let period
      try {
        period = this.#parsePeriod(name, options)
      } catch (err) {
        return this.#core.lifecycle.run(name, cb, (cb) => cb(asError(err, `${name}: an option`)))
      }
      reads[name](period.file, this.#getter, { what, options: period.options }, cb)
    }, name)
  }

  /** @param {import('@millrace/offset-log').ReadOptions} [options] */
  stream (options = {}) {
    try {
      const period = this.#parsePeriod('stream', options)
      const range = parseRange('stream', period.options, this.#core.options.isStrict)
      return createSource(new RecordStream(period.file, range, options))
    } catch (err) {
      return createFailedSource(asError(err, 'stream: an option'))
    }
  }

  /**
   * @template {object | undefined} T
   * @param {string} call
   * @param {T} options  of a read
   * @returns {{ file: import('./core').LogFile, options: T }}  the log within the time bounds, and the other options
   * @throws {TypeError} ERR_INVALID_ARGUMENT
   */
  #parsePeriod (call, options) {
    const { file, times } = this.#core
    if (options === null || typeof options !== 'object' || !('time' in options)) return { file, options }
    const { time, ...others } = options
    if (time === undefined) return { file, options: /** @type {T} */ (others) }
    if (times === null) throw misuse(`${call}: time bounds need to know where the time is; open the log with the option time, such as ['time']`)
    return { file: this.#core.fileWithin(parseTimeBounds(call, time)), options: /** @type {T} */ (others) }
  }

  /** @param {any} [options] */
  toReadable (options = {}) {
    const period = this.#parsePeriod('toReadable', options)
    return createReadable(period.file, period.options)
  }

  /** @param {import('@millrace/offset-log').WritableOptions} [options] */
  toWritable (options = {}) {
    return createWritable(/** @type {any} */ (this), options)
  }

  /** @param {(err: Error | null) => void} [done] */
  toSink (done) {
    return createSink(/** @type {any} */ (this), done)
  }

  get pendingSize () {
    return this.#appending.pendingSize
  }

  get needsDrain () {
    return this.#appending.needsDrain
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  drained (cb) {
    return this.#run('drained', cb, (cb) => this.#appending.whenDrained(() => cb(null)))
  }

  /** @type {(options: any, onRecords: any, cb?: NodeCallback<any>) => any} */
  scan (options = {}, onRecords, cb) {
    return callbackOrPromise(cb, (cb) => {
      const { lifecycle, options: { isStrict } } = this.#core
      /** @type {import('@millrace/offset-log/composing').Range} */
      let range
      /** @type {import('./core').LogFile} */
      let file
      try {
        const period = this.#parsePeriod('scan', options)
        file = period.file
        range = parseRange('scan', period.options, isStrict)
      } catch (err) {
        return lifecycle.run('scan', cb, (cb) => cb(asError(err, 'scan: an option')))
      }
      abortable('scan', range.signal, cb, (cb) => lifecycle.run('scan', cb, (cb) => {
        if (options.threads !== undefined) return cb(notSupported('scan', 'leave out threads'))
        if (typeof onRecords !== 'function') return cb(misuse(`scan: expected a function, got ${typeof onRecords}`))
        scan(file, range, onRecords, cb)
      }))
    }, 'scan')
  }

  /** @type {(seqs: number | readonly number[], cb?: NodeCallback<void>) => any} */
  del (seqs, cb) {
    return callbackOrPromise(cb, (cb) => this.#runWrite('del', cb, (cb) => {
      if (typeof seqs !== 'number' && !Array.isArray(seqs)) {
        return cb(misuse(`del: expected a seq or an array of them, got ${typeof seqs}`))
      }
      toCallback(deleteRecords({ core: this.#core, upkeep: this.#upkeep }, typeof seqs === 'number' ? [seqs] : [...seqs], this.#unsynced), cb)
    }), 'del')
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  sync (cb) {
    return this.#runAsync('sync', cb, async () => {
      await this.#appending.settled()
      const { segments } = this.#core
      for (const segment of this.#unsynced) {
        this.#unsynced.delete(segment)
        if (!segment.isActive && !segment.isDropped) await segments.use(segment, (log) => call(log, 'sync'))
      }
      await call(segments.last.log, 'sync')
    })
  }

  /** @param {{ sync?: boolean | undefined }} [options] */
  flushSync (options) {
    this.#checkCanWriteNow('flushSync', this.pendingSize > 0)
    this.#appending.flushSync(options)
  }

  /** @type {(values: unknown, options?: { sync?: boolean | undefined }) => number} */
  appendSync (values, options = {}) {
    const isSynced = parseFlush('appendSync', options)
    this.#checkCanWriteNow('appendSync', false)
    const records = this.#core.options.codec.encodeAll(values)
    return this.#appending.appendNow(records, sizeOf(records), isSynced)
  }

  /** Throws if the call may not write without waiting. @type {(name: string, mayBeClosed: boolean) => void} */
  #checkCanWriteNow (name, mayBeClosed) {
    const { lifecycle, segments } = this.#core
    if (lifecycle.isClosed && !mayBeClosed) throw errors.closedError(name, this.filename)
    if (lifecycle.openError !== null) throw lifecycle.openError
    if (!lifecycle.hasOpened) throw errors.notReady(this.filename, 'is being opened', name)
    const err = this.#writeError(name)
    if (err !== null) throw err
    segments.last.log._checkCanWriteNow(name, mayBeClosed)
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  stats (cb) {
    return this.#run('stats', cb, (cb) => toCallback(this.#describe(), cb))
  }

  async #describe () {
    const { segments } = this.#core
    const stats = await call(segments.last.log, 'stats')
    return { ...stats, since: this.since.value, segmentCount: segments.count }
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
    return this.#run(name, cb, (cb) => cb(notSupported(name, 'drop old segments, or copy the folder while the log is closed')))
  }

  /** Seals the newest segment, if it has a record, and begins the next one. @type {(cb?: NodeCallback<void>) => any} */
  roll (cb) {
    return this.#runAsync('roll', cb, async () => {
      await this.#appending.settled()
      if (this.#core.segments.last.log.since.value !== -1) await this.#appending.roll()
    })
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  segments (cb) {
    return this.#run('segments', cb, (cb) => toCallback(this.#listSegments(), cb))
  }

  /** Another process may have compressed some of them. */
  async #listSegments () {
    const { folder, options, segments } = this.#core
    const listing = await list(folder, options)
    const formats = new Map(listing.segments.map(({ name, format }) => [name, format]))
    return segments.list.map(({ name, base, createdMs, format, keptUntilMs }) => {
      const { suffix = '', name: compressed = null } = formats.get(name) ?? format ?? {}
      const isKept = keptUntilMs !== null
      return { path: path.join(folder, name + suffix), base, created: new Date(createdMs), compressed, kept: isKept }
    })
  }

  /** @type {(seq: number, cb?: NodeCallback<import('./retention').Dropped>) => any} */
  dropBefore (seq, cb) {
    return this.#runAsync('dropBefore', cb, () => this.#retention.dropBefore(seq))
  }

  /** @type {(name: string, seq: number, cb?: NodeCallback<void>) => any} */
  hold (name, seq, cb) {
    return this.#runAsync('hold', cb, () => this.#holds.set(name, seq))
  }

  /** @type {(name: string, cb?: NodeCallback<void>) => any} */
  release (name, cb) {
    return this.#runAsync('release', cb, () => this.#holds.release(name))
  }

  /** @type {(cb?: NodeCallback<import('./holds').Hold[]>) => any} */
  holds (cb) {
    return this.#run('holds', cb, (cb) => toCallback(this.#holds.list(), cb))
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  close (cb) {
    return callbackOrPromise(cb, (cb) => this.#core.lifecycle.close((cb) => toCallback(this.#closeSegments(), cb), cb), 'close')
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  async #closeSegments () {
    const { segments } = this.#core
    if (segments.count === 0) return
    await this.#following?.close()
    await this.#appending.settled()
    await this.#upkeep.stop()
    await this.#retention.stop()
    this.#core.end()
    await segments.end()
  }

  /** Why the log may not be written; null if it may. @param {string} name */
  #writeError (name) {
    if (this.#core.options.isWriter) return this.#core.segments.last.log._writeError(name)
    return new LogError('ERR_LOG_READ_ONLY', `${name}: ${this.filename} was opened with flags "r"; open it with "r+"`, { path: this.filename })
  }

  /** @type {(name: string, cb: NodeCallback<any> | undefined, action: (cb: Callback<any>) => void) => any} */
  #run (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this.#core.lifecycle.run(name, cb, action), name)
  }

  /**
   * Runs the action once the log is open, if it may be written.
   * @type {(name: string, cb: Callback<any>, action: (cb: Callback<any>) => void) => void}
   */
  #runWrite (name, cb, action) {
    this.#core.lifecycle.run(name, cb, (cb) => {
      const err = this.#writeError(name)
      if (err) cb(err)
      else action(cb)
    })
  }

  /** @type {(name: string, cb: NodeCallback<any> | undefined, action: () => Promise<any>) => any} */
  #runAsync (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this.#runWrite(name, cb, (cb) => toCallback(action(), cb)), name)
  }
}

/** @param {Buffer | Buffer[]} records @returns {number} in bytes */
function sizeOf (records) {
  return Array.isArray(records) ? records.reduce((sum, { length }) => sum + length, 0) : records.length
}

/** @type {(name: string, advice: string) => LogError} */
function notSupported (name, advice) {
  return new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by a segmented log; ${advice}`)
}

/**
 * Opens or creates a log in a folder; with or without `new`. Methods may be called at once: they wait until it is open.
 * @param {string | URL} path
 * @param {import('./options').SegmentedLogOptions} [options]
 * @returns {Log}
 */
function SegmentedLog (path, options) {
  return new Log(path, options)
}
SegmentedLog.prototype = Log.prototype

/** @type {import('./contract').SegmentedLogConstructor} */
exports.SegmentedLog = /** @type {any} */ (SegmentedLog)
