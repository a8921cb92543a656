'use strict'
// SegmentedLog, the Log contract over a folder of segments: what it adds to the calls of every log.

const path = require('node:path')
const { nextTick } = require('node:process')
const { LogError, misuse } = require('@millrace/errors')
const { abortable, callbackOrPromise, describe, endAll, toCallback } = require('@millrace/flow')
const { BaseLog, parseAppend, parseFlush, sizeOf } = require('@millrace/offset-log/composing')
const { Appending } = require('./appending')
const { Upkeep } = require('./upkeep')
const { Core } = require('./core')
const { deleteRecords } = require('./deleting')
const { Following } = require('./following')
const { Holds } = require('./holds')
const { list, openFolder } = require('./opening')
const { parseOptions } = require('./options')
const { Proving } = require('./proving')
const { findMissing } = require('./missing')
const { watchCuts } = require('./reader')
const { Retention } = require('./retention')
const { parseTimeBounds } = require('./record-times')

/** @typedef {import('@millrace/offset-log/composing').Source} Source */
/** @typedef {import('@millrace/offset-log/composing').Sink} Sink */
/** @template T @typedef {import('@millrace/flow').Callback<T>} Callback */
/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @template [T=any] @typedef {import('./contract').SegmentedLog<T>} SegmentedLog */

/** What a log of segments can do, or not, as each of its segments can. */
const OF_SEGMENTS = /** @type {const} */ (['atomicBatch', 'onCorrupt', 'del', 'uniqueSeqs', 'flushSync'])
const CALLS = ['roll', 'segments', 'dropBefore', 'hold', 'release', 'holds']

/** @extends {BaseLog<Appending>} */
class Log extends BaseLog {
  #given
  #core
  #retention
  #holds
  #upkeep
  /** Of a log opened for reading. @type {Following | null} */
  #following = null
  /** If opening failed or was aborted: resolves once it has ended and all is closed. @type {Promise<void> | null} */
  #abandoned = null

  /** @param {string | URL} givenPath  @param {import('./options').SegmentedLogOptions} [options] */
  constructor (givenPath, options) {
    const parsed = parseOptions(givenPath, options, (err) => core.noteMoved(err))
    const { path: folder } = parsed.place
    const core = new Core(folder, parsed)
    const retention = new Retention(core)
    const upkeep = new Upkeep(core, retention)
    const appender = new Appending(core, retention, upkeep)
    /** @type {import('@millrace/offset-log/composing').Work} */
    const work = {
      append: (records, cb, givesSeqs) => log.#append(records, cb, givesSeqs),
      delete: (seqs, cb) => toCallback(log.#inPlace(() => deleteRecords({ core, upkeep }, seqs)), cb),
      shutDown: (cb) => toCallback(log.#abandoned ?? log.#closeSegments(), cb),
      writeError: (name) => log.#writeError(name),
      checkCanWriteNow: (name, mayBeClosed) => core.segments.last.sink?.checkCanWriteNow(name, mayBeClosed),
      within: (call, options) => log.#within(call, options),
      refresh: async () => log.#following?.refresh(),
      proofs: new Proving(core)
    }
    const instead = 'drop old segments; millrace snapshot copies the folder'
    super({ file: core.file, appender, kind: 'a segmented log', instead, calls: CALLS, work })
    const log = this
    this.#given = options
    this.#core = core
    this.#retention = retention
    this.#holds = new Holds(core)
    this.#upkeep = upkeep
    if (parsed.index !== null) this._useIndex(parsed.index, core.openRange, () => watchCuts(core.segments))
    this.filename = folder
    this.codec = parsed.codec.codec
    this.since = this.#core.since
    this.durable = this.#core.durable
    /** What retention dropped, each time that it did. */
    this.dropped = this.#retention.dropped
    this.supports = {
      atomicBatch: true,
      compact: false,
      snapshot: false,
      durable: true,
      onCorrupt: true,
      partitions: false,
      del: true,
      uniqueSeqs: true,
      flushSync: false
    }
    /** Set once loaded: what opening found wrong in the newest segment; null if nothing. @type {any} */
    this.recovery = null
    try {
      if (parsed.isWriter && !parsed.mustExist && !parsed.signal?.aborted) parsed.storage.makeFolderSync?.(path.join(folder, 'segment'))
    } catch {
      // Opening makes the folder again, and reports the failure.
    }
    const opening = this.#open()
    const { lifecycle } = this.#core
    abortable('open', parsed.signal, (err) => {
      // The newest segment may still be opening.
      if (err) this.#abandoned = opening.then(() => this.#closeSegments(), () => {})
      this.#abandoned?.catch(() => {})
      lifecycle.opened(err)
    }, (cb) => toCallback(opening, cb))
  }

  async #open () {
    const { folder, options, segments } = this.#core
    const opened = await openFolder(folder, options)
    const { log } = opened
    segments.begin(opened.segments, opened.kept)
    segments.last.logOptions = opened.logOptions ?? null
    this.#core.activate(segments.last, log)
    this.recovery = opened.recovery
    for (const name of OF_SEGMENTS) this.supports[name] = log.supports[name]
    try {
      await this.#begin()
    } catch (err) {
      await this.#closeSegments().catch(() => {})
      throw err
    }
  }

  /** Does what an open log does. */
  async #begin () {
    const { options, segments } = this.#core
    this.#core.begin(await this.#findSinceBefore())
    if (options.isWriter) {
      await this.#retention.start()
      this.#upkeep.start()
    } else this.#following = new Following(this.#core)
    this._indexing?.open(this.#core.indexParts, this.since)
    segments.onGone = ({ base, next }) => this._indexing?.index?.dropped({ from: base, to: next?.base ?? base })
    segments.onReplaced = ({ base, next }) => this._indexing?.index?.dropped({ from: base, to: next?.base ?? Infinity })
  }

  /** The last record before the newest segment, if that has none: -1 if there is none. */
  async #findSinceBefore () {
    const { segments } = this.#core
    if (segments.last.log.since.value !== -1) return -1
    for (let segment = segments.before(segments.last); segment !== null; segment = segments.before(segment)) {
      const { base } = segment
      const since = await segments.opened.use(segment, async (log) => log.since.value).catch((err) => {
        // What it had is lost. Reads report it.
        if (err === segment.brokenError) return -1
        throw err
      })
      if (since !== -1) return base + since
    }
    return -1
  }

  /** @type {(records: Buffer | Buffer[], cb: Callback<any>, givesSeqs: boolean) => void} */
  #append (records, cb, givesSeqs) {
    const err = this.#writeError('append')
    if (err) return nextTick(cb, err)
    this._appender.append(records, sizeOf(records), cb, givesSeqs)
  }

  /** Reads may be bound to a period. @type {(call: string, options: any) => { file: any, options: any }} */
  #within (call, options) {
    const { file, times } = this.#core
    if (options === null || typeof options !== 'object' || !('time' in options)) return { file, options }
    const { time, ...others } = options
    if (time === undefined) return { file, options: others }
    if (times === null) throw misuse(`${call}: time bounds need to know where the time is; open the log with the option time, such as ['time']`)
    return { file: this.#core.fileWithin(parseTimeBounds(call, time), this._indexing), options: others }
  }

  /** @type {(cb?: NodeCallback<void>) => any} */
  sync (cb) {
    return this.#runAsync('sync', cb, async () => {
      await this._appender.placed()
      const { segments } = this.#core
      // First the newest segment: one that is sealed meanwhile is looked at then.
      const { last } = segments
      await last.log.sync().catch((/** @type {any} */ err) => {
        // An append that does not wait may have sealed it, when all in it was durable, and dropped it.
        if (!last.isDropped) throw err
      })
      await segments.opened.syncDeletions()
    })
  }

  /** @param {{ sync?: boolean | undefined }} [options] */
  flushSync (options) {
    this._checkCanWriteNow('flushSync', this.pendingSize > 0)
    this._appender.flushSync(options)
  }

  /** @type {(values: unknown, options?: import('@millrace/offset-log').AppendSyncOptions) => any} */
  appendSync (values, options = {}) {
    const isSynced = parseFlush('appendSync', options)
    const givesSeqs = parseAppend('appendSync', options)
    this._checkCanWriteNow('appendSync', false)
    const records = this.#core.options.codec.encodeAll(values)
    const done = this._conditions?.note(records, () => {})
    const result = this._appender.appendNow(records, sizeOf(records), isSynced, givesSeqs)
    done?.(null, result)
    return result
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  stats (cb) {
    return this._run('stats', cb, (cb) => toCallback(this.#describe(), cb))
  }

  async #describe () {
    const { segments } = this.#core
    const stats = await segments.last.log.stats()
    // A reader may have come to a new segment of lines before it has a name.
    const id = stats.id ?? segments.before(segments.last)?.source?.id?.toString('hex') ?? null
    // Each file of lines counts its own epochs. Its base is far above the epochs of the one before.
    const epoch = stats.epoch === null ? null : segments.last.base + stats.epoch
    return { ...stats, id, epoch, since: this.since.value, segmentCount: segments.fileCount }
  }

  /**
   * Changes the quota, for whoever keeps several logs within one.
   * @type {(log: Log, maxSize: number) => void} of a log with the option `maxSize`
   */
  static setMaxSize (log, maxSize) {
    log.#retention.setMaxSize(maxSize)
  }

  /**
   * Another log in the same folder, with the same options but for those of the first open. Close this one first.
   * @returns {Log}
   */
  openAgain () {
    return new Log(this.filename, { ...this.#given, signal: undefined, errorIfExists: undefined })
  }

  /** Seals the newest segment, if it has a record, and begins the next one. @type {(cb?: NodeCallback<void>) => any} */
  roll (cb) {
    return this.#runAsync('roll', cb, async () => {
      await this._appender.placed()
      if (this.#core.segments.last.log.since.value !== -1) await this._appender.roll()
    })
  }

  /** @type {(cb?: NodeCallback<any>) => any} */
  segments (cb) {
    return this._run('segments', cb, (cb) => toCallback(this.#listSegments(), cb))
  }

  /** Another process may have compressed some of them. */
  async #listSegments () {
    const { folder, options, segments } = this.#core
    const listing = await list(folder, options)
    const formats = new Map(listing.segments.map(({ name, format }) => [name, format]))
    return segments.list.slice(0, segments.fileCount).map(({ name, base, createdMs, format, keptUntilMs }) => {
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
    return this._run('holds', cb, (cb) => toCallback(this.#holds.list(), cb))
  }

  /** Where records are missing between segments. @type {(log: Log) => Promise<import('./missing').Missing[]>} */
  static async findMissing (log) {
    const { segments } = log.#core
    const found = []
    for (const segment of segments.list) {
      if (segment.isActive) continue
      const look = async () => findMissing(segment, /** @type {Source} */ (segment.source), segments)
      // One that cannot be opened is reported by those who read it.
      const missing = await segments.opened.use(segment, look).catch(() => null)
      if (missing !== null) found.push(missing)
    }
    return found
  }

  async #closeSegments () {
    const { segments, options: { place } } = this.#core
    if (segments.count === 0) return
    await endAll([
      () => this._indexing?.close(),
      () => this.#following?.close(),
      () => this._appender.settled(),
      () => this.#upkeep.stop(),
      () => this.#retention.stop(),
      () => this.#core.end(),
      () => place.close()
    ])
  }

  /** @type {(name: string) => any} a LogError, or null */
  #writeError (name) {
    const { options, segments } = this.#core
    if (options.isWriter) return segments.opened.failure ?? /** @type {Sink} */ (segments.last.sink).writeError(name)
    return new LogError('ERR_LOG_READ_ONLY', `${name}: ${this.filename} was opened with flags "r"; open it with "r+"`, { path: this.filename })
  }

  /** Runs an action if the folder is where it was. @type {(action: () => Promise<any>) => Promise<any>} */
  async #inPlace (action) {
    const { segments, options: { place } } = this.#core
    try {
      await place.prove()
      return await action()
    } catch (err) {
      throw place.movedError === null ? err : segments.opened.failure
    }
  }

  /** @type {(name: string, cb: NodeCallback<any> | undefined, action: () => Promise<any>) => any} */
  #runAsync (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this._runWrite(name, cb, (cb) => toCallback(this.#inPlace(action), cb)), name)
  }
}

/**
 * Opens or creates a log in a folder, with or without `new`, and returns it at once: calls wait until it is open. A
 * folder that does not exist is made; the path may be a `file:` URL. Seqs have 53 bits. A new segment skips 64 MiB of
 * them, and an unclean end 4 GiB: that is enough for 4 PB in segments of 64 MiB, or for 2 million unclean ends. The
 * codec determines the type of the values; without a codec they are Buffers. A folder with the slots of several
 * processes (see `SlotLog`) is refused with ERR_LOG_UNKNOWN_FORMAT.
 * @param {string | URL} path
 * @param {import('./options').SegmentedLogOptions} [options]
 * @returns {Log}
 */
function SegmentedLog (path, options) {
  return new Log(path, options)
}
SegmentedLog.prototype = Log.prototype

/**
 * Finds where segments, or the ends of some, are missing before others, by what is left. The rest of the log may be
 * damaged.
 * @param {string} folder
 * @param {import('@millrace/block-file').Storage} [storage]  the file system by default
 * @returns {Promise<import('./missing').Missing[]>}
 */
async function findMissingSegments (folder, storage) {
  const log = new Log(folder, { flags: 'r', ...(storage && { storage }) })
  try {
    await log.ready()
    return await Log.findMissing(log)
  } finally {
    await log.close()
  }
}
exports.findMissingSegments = findMissingSegments
describe(Log, 'SegmentedLog', ({ filename, since, durable }) => ({ filename, since: since.value, durable: durable.value }))

/** @type {(log: any, maxSize: number) => void} see `Log.setMaxSize` */
exports.setMaxSize = (log, maxSize) => Log.setMaxSize(log, maxSize)

/** @type {import('./contract').SegmentedLogConstructor} */
exports.SegmentedLog = /** @type {any} */ (SegmentedLog)
