'use strict'
// The writing side: claims the first slot that no process has, and appends to the log in it. The lock of that log
// decides who has a slot, so a slot whose process was killed is free again.

const { Folder, resolveFolder } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { Lifecycle, callbackOrPromise, describe, toCallback } = require('@millrace/flow')
const { errors } = require('@millrace/offset-log/composing')
const { SegmentedLog } = require('@millrace/segmented-log')
const { parseSlotOptions } = require('./options')
const { Quota } = require('./quota')
const { listOnlySlots, slotPath } = require('./slots')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @typedef {import('./options').SlotLogOptions} SlotLogOptions */
/** @typedef {Omit<import('@millrace/offset-log').AppendOptions, 'if'>} AppendOptions */
/** @typedef {import('@millrace/offset-log').AppendSyncOptions} AppendSyncOptions */
/** @typedef {AppendOptions & { seqs: true }} AllSeqs */
/** What SlotLog gives. @typedef {Log} SlotLog */

const NOT_OPEN = Object.freeze({ atomicBatch: true, durable: true, flushSync: false })

class Log {
  #given
  #options
  /** The folder of all slots: another one that gets its path is not touched. */
  #place
  #lifecycle
  /** @type {Quota | null} */
  #quota = null

  /** @param {string | URL} givenPath  @param {SlotLogOptions} [options] */
  constructor (givenPath, options) {
    this.#given = options
    const parsed = parseSlotOptions(options)
    const folder = resolveFolder('SlotLog', givenPath, parsed.storage)
    this.#place = new Folder(parsed.storage, folder)
    const { storage } = this.#place
    this.#options = { ...parsed, storage, segmented: { ...parsed.segmented, storage } }
    /** The folder of all slots. */
    this.filename = folder
    /** As it was given. */
    this.codec = this.#options.segmented.codec
    /** The number of the slot; null until the log is ready. @type {number | null} */
    this.slot = null
    /** The log in the slot; null until the log is ready. @type {SegmentedLog | null} */
    this.log = null
    this.#lifecycle = new Lifecycle((name) => errors.closedError(name, folder))
    toCallback(this.#open(), (err) => this.#lifecycle.opened(err))
  }

  async #open () {
    try {
      await this.#place.open({ createFolder: true })
      await this.#claim()
    } catch (err) {
      await this.#place.close().catch(() => {})
      throw err
    }
  }

  async #claim () {
    const { slotCount, segmented, maxSize, storage } = this.#options
    const before = await listOnlySlots(this.filename, storage)
    for (let slot = 0; slot < slotCount; slot++) {
      const log = SegmentedLog(slotPath(this.filename, slot), segmented)
      try {
        await log.ready()
      } catch (err) {
        if (/** @type {LogError} */ (err).code === 'ERR_LOG_LOCKED') continue
        throw err
      }
      // Another process may have begun a log of segments here meanwhile.
      if (!before.includes(slot)) await this.#checkAgain(log)
      this.log = log
      this.slot = slot
      const hasLimits = maxSize < Infinity || segmented.maxAge !== undefined
      if (hasLimits) this.#quota = new Quota(this.filename, this.#options, { slot, log })
      return
    }
    throw new LogError('ERR_LOG_LOCKED', `open: other processes have all ${slotCount} slots of ${this.filename}; end one of ` +
      'them, or raise the option slots', { path: this.filename })
  }

  /** @param {SegmentedLog} log  in a slot that is new */
  async #checkAgain (log) {
    try {
      await listOnlySlots(this.filename, this.#options.storage)
    } catch (err) {
      await log.close()
      throw err
    }
  }

  /** What this log can do; calls that need what is false fail with ERR_NOT_SUPPORTED. */
  get supports () {
    return this.log?.supports ?? NOT_OPEN
  }

  /** The bytes of all appends that have not called back. */
  get pendingSize () {
    return this.log?.pendingSize ?? 0
  }

  /** Whether a caller that does not await its appends should await `drained`. */
  get needsDrain () {
    return this.log?.needsDrain ?? false
  }

  /** Waits until the log has a slot; fails if opening failed. @type {(cb?: NodeCallback<void>) => any} */
  ready (cb) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.run('ready', cb, (cb) => cb(null)), 'ready')
  }

  /**
   * Adds a record, or an array of them as an atomic batch, and returns the seq of the last one in the slot, or with
   * `seqs: true` those of all. Values that are appended before the log is ready are encoded once it is, so do not
   * change them before.
   * @overload
   * @param {unknown} values
   * @param {AllSeqs} options
   * @returns {Promise<number[]>}
   */
  /**
   * @overload
   * @param {unknown} values
   * @param {AllSeqs} options
   * @param {NodeCallback<number[]>} cb
   * @returns {void}
   */
  /**
   * @overload
   * @param {unknown} values
   * @param {AppendOptions & { seqs?: false | undefined }} [options]
   * @returns {Promise<number>}
   */
  /**
   * @overload
   * @param {unknown} values
   * @param {NodeCallback<number>} cb
   * @returns {void}
   */
  /** @param {unknown} values  @param {any} [options]  @param {NodeCallback<any>} [cb]  @returns {any} */
  append (values, options, cb) {
    if (typeof options === 'function') return this.#pass('append', options, values)
    const hasOptions = typeof options === 'object' && options !== null
    if (!hasOptions && cb === undefined) return this.#pass('append', options, values)
    return this.#run('append', cb, (log, /** @type {any} */ cb) => {
      if (!hasOptions || options.if === undefined) return log.append(values, options, cb)
      // Other processes append to other slots, and nothing is ordered between them.
      cb(new LogError('ERR_NOT_SUPPORTED', `append: a log of slots cannot decide about if, because several processes append to ${this.filename}; ` +
        'use a segmented log'))
    })
  }

  /**
   * Erases records of this slot, as `del` of a segmented log: by the seqs that `append` returned, or what stands after
   * the colon in those of `MergedLog`.
   * @type {(seqs: number | readonly number[], cb?: NodeCallback<void>) => any}
   */
  del (seqs, cb) {
    return this.#pass('del', cb, seqs)
  }

  /** Waits until `needsDrain` is false. @type {(cb?: NodeCallback<void>) => any} */
  drained (cb) {
    return this.#pass('drained', cb)
  }

  /** Waits until everything appended is on stable storage. @type {(cb?: NodeCallback<void>) => any} */
  sync (cb) {
    return this.#pass('sync', cb)
  }

  /**
   * The index that the log was opened with, of the slot: `ready`, `status` and `drop`, as of a segmented log. Null if
   * there is none.
   * @type {import('@millrace/offset-log').IndexCalls | null}
   */
  get index () {
    if (this.#options.segmented.index === undefined) return null
    /** @type {(name: 'ready' | 'status' | 'drop') => any} */
    const call = (name) => (/** @type {any} */ cb) => this.#run(`index.${name}`, cb, (log, cb) => log.index[name](cb))
    return { ready: call('ready'), status: call('status'), drop: call('drop') }
  }

  /** What `stats` of the log in the slot says. @type {(cb?: NodeCallback<any>) => any} */
  stats (cb) {
    return this.#pass('stats', cb)
  }

  /** Begins a segment in the slot. @type {(cb?: NodeCallback<void>) => any} */
  roll (cb) {
    return this.#pass('roll', cb)
  }

  /**
   * Another log with the same options, but for `signal`, in a slot of the same folder. Close this one first.
   * @returns {Log}
   */
  openAgain () {
    return new Log(this.filename, { ...this.#given, signal: undefined })
  }

  /**
   * As `flushSync` of a segmented log. It throws ERR_LOG_NOT_READY until the log is ready.
   * @param {import('@millrace/offset-log').SyncOptions} [options]
   */
  flushSync (options) {
    this.#logNow('flushSync').flushSync(options)
  }

  /**
   * As `appendSync` of a segmented log. It throws ERR_LOG_NOT_READY until the log is ready.
   * @overload
   * @param {unknown} values
   * @param {AllSeqs & AppendSyncOptions} options
   * @returns {number[]}
   */
  /**
   * @overload
   * @param {unknown} values
   * @param {AppendSyncOptions & { seqs?: false | undefined }} [options]
   * @returns {number}
   */
  /** @param {unknown} values  @param {AppendSyncOptions} [options]  @returns {any} */
  appendSync (values, options) {
    return this.#logNow('appendSync').appendSync(values, options)
  }

  /** @param {string} name  of the call, which cannot wait for the log @returns {SegmentedLog} */
  #logNow (name) {
    if (this.#lifecycle.openError !== null) throw this.#lifecycle.openError
    if (this.log === null) throw errors.notReady(this.filename, 'is being opened', name)
    return this.log
  }

  /** Waits for earlier calls, closes the log and frees the slot. @type {(cb?: NodeCallback<void>) => any} */
  close (cb) {
    const shutDown = async () => {
      await this.#quota?.close()
      await this.log?.close().finally(() => this.#place.close())
    }
    return callbackOrPromise(cb, (cb) => this.#lifecycle.close((cb) => toCallback(shutDown(), cb), cb), 'close')
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  /** Calls the log in the slot, once there is one. @type {(name: string, cb: any, ...args: unknown[]) => any} */
  #pass (name, cb, ...args) {
    return this.#run(name, cb, (log, cb) => log[name](...args, cb))
  }

  /** @type {(name: string, cb: any, action: (log: any, cb: NodeCallback<any>) => void) => any} */
  #run (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.run(name, cb, (cb) => action(this.log, cb)), name)
  }
}

/**
 * Claims the first slot of a folder that no process has (`folder/0`, `folder/1` and so on), and appends there; with or
 * without `new`. The slot is free again when its process ends, also by SIGKILL. All processes should give the same
 * options. A folder that has the segments of one log is refused with ERR_LOG_UNKNOWN_FORMAT, because readers of the
 * slots would not see them; the message says how to move them into a slot.
 * @param {string | URL} folder
 * @param {SlotLogOptions} [options]
 * @returns {Log}
 */
function SlotLog (folder, options) {
  return new Log(folder, options)
}
SlotLog.prototype = Log.prototype
describe(Log, 'SlotLog', ({ filename, slot }) => ({ filename, slot }))

/**
 * @type {{
 *   new (folder: string | URL, options?: SlotLogOptions): Log
 *   (folder: string | URL, options?: SlotLogOptions): Log
 * }}
 */
exports.SlotLog = /** @type {any} */ (SlotLog)
