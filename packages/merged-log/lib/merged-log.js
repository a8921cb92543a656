'use strict'
// The reading side: the slots of a folder as one log for reading, merged by time.

const { Readable } = require('node:stream')
const { FolderWatch, resolveFolder } = require('@millrace/block-file')
const { LogError, asError, checkOptions, misuse } = require('@millrace/errors')
const { Lifecycle, abortError, callbackOrPromise, describe, rethrowAsync, toCallback } = require('@millrace/flow')
const { createFailedSource, createSource, errors } = require('@millrace/offset-log/composing')
const { SegmentedLog } = require('@millrace/segmented-log')
const { Merge, boundsOf } = require('./merge')
const { parseKey, parseMergedOptions, parseRead } = require('./options')
const { listOnlySlots, listSlots, slotPath } = require('./slots')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @typedef {import('./options').MergedLogOptions} MergedLogOptions */
/** @typedef {import('./options').MergedReadOptions} MergedReadOptions */
/** @typedef {import('./merge').OpenSlot} OpenSlot */
/** What MergedLog gives. @typedef {Log} MergedLog */
/** @typedef {string | { slot: number, seq: number }} Key  of a record; as a text, '0:4096' */

/** @typedef {import('@millrace/offset-log').Explanation} Explanation */

/**
 * How a read finds its records, in all slots together.
 * @typedef {object} MergedExplanation
 * @property {string[]} uses  The paths of the index that are used.
 * @property {number | null} candidates  How many records are read because the index names them, at most; null without
 *   an index.
 * @property {number} runs  How many files of the index are looked into.
 * @property {{ records: number | null } | null} scanned  How many records are scanned, null if that is unknown; or null
 *   if none is.
 * @property {Array<{ slot: number } & Explanation>} slots  Each slot alone, with the reason.
 */

/**
 * @typedef {object} MergedItem
 * @property {string} seq  Slot and seq, such as '0:4096'.
 * @property {number | null} time  Of the record, in ms since 1970; null if it has none.
 * @property {any} value  The record.
 *
 * @typedef {import('./options').Position} Position
 * @typedef {import('@millrace/offset-log').Source<any> & { readonly position: Position }} MergedSource  its position is
 *   where to go on, with the option `after`, or if the stream is reversed, with `upTo`
 */

/** Records that a Readable reads ahead: the default of Node.js. */
const READ_AHEAD = 16
const OF_COUNT = ['where', 'onCorrupt', 'onRetained', 'signal', 'after', 'upTo']
const OF_ONE = [...OF_COUNT, 'seqs', 'values']
const OF_EXPLAIN = [...OF_COUNT, 'reverse']
/** Nothing more comes of a slot that says so. */
const OVER = ['ERR_FILE_MOVED', 'ERR_LOG_REPLACED', 'ERR_LOG_CORRUPT']
/** Methods that other logs have, and how many arguments stand before the callback. */
const WRITING = { append: 1, del: 1, sync: 0, compact: 0 }
const BY_SEQ = { scan: 2, snapshot: 1, partitions: 1 }

class Log {
  #options
  #lifecycle
  /** In order. @type {OpenSlot[]} */
  #slots = []
  /** @type {Set<Merge>} */
  #merges = new Set()
  /** @type {Set<(log: any, slot: number) => void>} */
  #listeners = new Set()
  /** @type {FolderWatch | null} */
  #watch = null
  /** Why slots cannot be opened. @type {Map<number, LogError>} */
  #failing = new Map()
  /** Set once a slot, or its newest segment, is another: live streams miss what is there. @type {LogError | null} */
  #moved = null
  #hasIndex

  /** @param {string | URL} givenPath  @param {MergedLogOptions} [options] */
  constructor (givenPath, options) {
    this.#options = parseMergedOptions(options)
    this.#hasIndex = this.#options.segmented.index !== undefined
    const folder = resolveFolder('MergedLog', givenPath, this.#options.storage)
    /** The folder of all slots. */
    this.filename = folder
    /** What this log can do. */
    this.supports = Object.freeze({
      atomicBatch: true,
      durable: false,
      onCorrupt: true,
      flushSync: false,
      compact: false,
      snapshot: false,
      partitions: false,
      del: false,
      uniqueSeqs: true
    })
    this.#lifecycle = new Lifecycle((name) => errors.closedError(name, folder))
    for (const [name, count] of Object.entries({ ...WRITING, ...BY_SEQ })) this.#refuse(name, count)
    toCallback(this.#open(), (err) => this.#lifecycle.opened(err))
  }

  async #open () {
    const { filename } = this
    await this.#look(listOnlySlots)
    const [err] = this.#failing.values()
    if (this.#slots.length === 0 && err !== undefined) throw err
    if (this.#slots.length === 0) {
      throw new LogError('ENOENT', `open: there is no slot with a log in ${filename}; check the path, or wait until a ` +
        'process writes there', { path: filename })
    }
    for (const [slot, err] of this.#failing) this.#warn(slot, err)
    this.#watch = new FolderWatch(filename, this.#options.storage, () => this.#look())
  }

  /** Opens slots that are new. */
  async #look (list = listSlots) {
    const { storage, segmented } = this.#options
    const found = await list(this.filename, storage)
    const fresh = found.filter((number) => this.#slots.every(({ slot }) => slot !== number))
    // The signal is for the open of this log.
    const options = this.#lifecycle.hasOpened ? { ...segmented, signal: undefined } : segmented
    for (const slot of fresh) {
      const log = SegmentedLog(slotPath(this.filename, slot), options)
      try {
        await log.ready()
      } catch (/** @type {any} */ err) {
        // It has no segment yet.
        if (err.code === 'ENOENT') continue
        if (err.name === 'AbortError') {
          await this.#closeSlots()
          throw err
        }
        const before = this.#failing.get(slot)
        this.#failing.set(slot, err)
        if (this.#lifecycle.hasOpened && before?.message !== err.message) this.#warn(slot, err)
        continue
      }
      this.#failing.delete(slot)
      if (this.#lifecycle.isClosed) return log.close()
      const open = { slot, log }
      this.#slots.push(open)
      for (const merge of this.#merges) merge.add(open)
      for (const listener of this.#listeners) rethrowAsync(() => listener(log, slot))
    }
    this.#slots.sort((a, b) => a.slot - b.slot)
    await this.#findMoved(found)
  }

  /**
   * Nothing more comes of a slot whose folder, or newest segment, was replaced by another one or cut. A slot that was
   * removed is missed by nobody.
   * @param {number[]} found  the slots that are there
   */
  async #findMoved (found) {
    for (const { slot, log } of [...this.#slots]) {
      if (this.#moved !== null || !found.includes(slot)) continue
      try {
        await log.refresh()
      } catch (/** @type {any} */ err) {
        if (!OVER.includes(err.code)) continue
        // What is damaged may be put right.
        if (err.code !== 'ERR_LOG_CORRUPT') this.#moved = err
        for (const merge of [...this.#merges]) merge.fail(err)
      }
    }
  }

  /**
   * A slot cannot be opened. The others are read; it is tried again.
   * @type {(slot: number, err: LogError) => void}
   */
  #warn (slot, { code, message }) {
    const text = `${this.filename}: slot ${slot} cannot be opened, and is tried again; until then its records are missing: ${message}`
    process.emitWarning(text, { type: 'MergedLogWarning', ...(typeof code === 'string' && { code }) })
  }

  /**
   * Waits until the slots are open. It fails with ENOENT if the folder has no slot with a log yet.
   * @type {(cb?: NodeCallback<void>) => any}
   */
  ready (cb) {
    return this.#run('ready', cb, async () => {})
  }

  /**
   * The slots that cannot be opened, whose records are missing in all reads, and why.
   * @returns {Array<{ slot: number, error: Error }>}
   */
  get failing () {
    return [...this.#failing].map(([slot, error]) => ({ slot, error }))
  }

  /**
   * Calls a function with the log of each slot, now and when a slot is added. The log is only read: it cannot hold
   * records.
   * @param {(log: any, slot: number) => void} onSlot
   * @returns {() => void}  stops that
   */
  eachSlot (onSlot) {
    this.#lifecycle.whenOpen(() => {
      for (const { log, slot } of this.#slots) rethrowAsync(() => onSlot(log, slot))
      this.#listeners.add(onSlot)
    })
    return () => this.#listeners.delete(onSlot)
  }

  /**
   * Delivers the records of all slots as `{ seq, time, value }`, merged by time.
   * @param {MergedReadOptions} [options]
   * @returns {MergedSource}
   */
  stream (options) {
    try {
      return this.#stream(parseRead('stream', options))
    } catch (err) {
      return this.#withPosition(createFailedSource(asError(err, 'stream: an option')), { position: {} })
    }
  }

  /** @param {ReturnType<typeof parseRead>} read */
  #stream (read) {
    const { timeOf, latenessMs } = this.#options
    const open = (/** @type {Merge} */ merge) => this.#run('stream', undefined, async () => {
      if (read.live && this.#moved !== null) throw this.#moved
      if (read.live) this.#merges.add(merge)
      // A list of its own: closing empties the other one before the stream looks at it, and a stream without slots ends
      // as if there were no records.
      return [...this.#slots]
    })
    const refine = (/** @type {Error} */ err) => {
      const isClosed = this.#lifecycle.isClosed && /** @type {LogError} */ (err).code === 'ERR_LOG_CLOSED'
      return isClosed ? errors.closedError('stream', this.filename) : err
    }
    const merge = new Merge(open, read, { timeOf, latenessMs, refine }, (merge) => this.#merges.delete(merge))
    return this.#withPosition(createSource(merge), merge)
  }

  /** @type {(source: any, merge: { position: Position }) => MergedSource} */
  #withPosition (source, merge) {
    return Object.defineProperty(source, 'position', { get: () => ({ ...merge.position }) })
  }

  /**
   * Delivers the same as a Readable of Node.js.
   * @param {MergedReadOptions & import('@millrace/offset-log').ReadAhead} [options]
   */
  toReadable (options = {}) {
    try {
      checkOptions('toReadable', options)
    } catch (err) {
      return Readable.from(createFailedSource(/** @type {Error} */ (err)))
    }
    const { highWaterMark = READ_AHEAD, ...read } = options
    return Readable.from(this.stream(read), { objectMode: true, highWaterMark })
  }

  /**
   * Reads one record. The key is a text such as '0:4096', or `{ slot, seq }`. It takes the option `signal`.
   * @type {(key: Key, options?: any, cb?: NodeCallback<any>) => any}
   */
  get (key, options, cb) {
    return this.#read('get', options, cb, (options) => this.#get('get', key, options))
  }

  /**
   * Reads many records, and returns their values in the order of the keys.
   * @type {(keys: readonly Key[], options?: any, cb?: NodeCallback<any[]>) => any}
   */
  getMany (keys, options, cb) {
    return this.#read('getMany', options, cb, async (options) => {
      if (!Array.isArray(keys)) throw misuse(`getMany: expected an array of seqs, got ${typeof keys}`)
      return Promise.all(keys.map((key) => this.#get('getMany', key, options).catch((err) => {
        if (err.code !== 'flumelog:deleted') throw err
      })))
    })
  }

  /** @type {(call: string, key: unknown, options: any) => Promise<any>} */
  async #get (call, key, options) {
    const { slot, seq } = parseKey(call, key)
    const open = this.#slots.find((open) => open.slot === slot)
    if (open === undefined) {
      throw new LogError('ERR_RECORD_NOT_FOUND', `${call}: there is no slot ${slot} in ${this.filename}`, { path: this.filename })
    }
    return options === undefined ? open.log.get(seq) : open.log.get(seq, options)
  }

  /**
   * Counts records. It takes `where`, `onCorrupt`, `onRetained`, `signal`, `after` and `upTo`.
   * @type {(options?: any, cb?: NodeCallback<number>) => any}
   */
  count (options, cb) {
    return this.#read('count', options, cb, async (options) => {
      const { of: { where, onCorrupt, onRetained }, after, upTo, signal } = parseRead('count', options, OF_COUNT)
      const common = { where, onCorrupt, onRetained, ...signal !== null && { signal } }
      const counts = await Promise.all(this.#slots.map(({ log, slot }) => {
        return log.count({ ...common, ...boundsIn(slot, after, upTo) })
      }))
      return counts.reduce((sum, count) => sum + count, 0)
    })
  }

  /**
   * Reads the earliest record. It takes `where`, `onCorrupt`, `onRetained`, `signal`, `after`, `upTo`, `seqs` and
   * `values`.
   * @type {(options?: any, cb?: NodeCallback<any>) => any}
   */
  first (options, cb) {
    return this.#one('first', false, options, cb)
  }

  /** Reads the latest record; options as of `first`. @type {(options?: any, cb?: NodeCallback<any>) => any} */
  last (options, cb) {
    return this.#one('last', true, options, cb)
  }

  /** @type {(call: string, reverse: boolean, options: any, cb?: NodeCallback<any>) => any} */
  #one (call, reverse, options, cb) {
    return this.#read(call, options, cb, async (options) => {
      const read = parseRead(call, options, OF_ONE)
      // As of one log: without a position, it asks for what is there.
      const byDefault = options?.after === undefined ? 'skip' : 'error'
      const onRetained = read.of.onRetained ?? byDefault
      const source = this.#stream({ ...read, of: { ...read.of, onRetained, reverse }, reverse, limit: 1 })
      const items = source[Symbol.asyncIterator]()
      const { value } = await items.next()
      // The stream listens to the signal.
      await items.return?.(undefined)
      return value
    })
  }

  /**
   * Says how a read would find its records. It takes the options of `count`, and `reverse`.
   * @type {(options?: any, cb?: NodeCallback<MergedExplanation>) => any}
   */
  explain (options, cb) {
    return this.#read('explain', options, cb, async (options) => {
      const { of, after, upTo, signal } = parseRead('explain', options, OF_EXPLAIN)
      if (signal?.aborted) throw abortError('explain', signal)
      return explainSlots(await Promise.all(this.#slots.map(async ({ log, slot }) => {
        return { slot, ...await log.explain({ ...of, ...boundsIn(slot, after, upTo) }) }
      })))
    })
  }

  /**
   * The index that the log was opened with, of all slots: waits until it has what is readable now (`ready`), describes
   * it (`status`), or lets go of it (`drop`): its files are the writers'. Null if there is none.
   * @type {import('@millrace/offset-log').IndexCalls | null}
   */
  get index () {
    if (!this.#hasIndex) return null
    /** @type {(name: 'ready' | 'status' | 'drop', sumUp?: (results: any[]) => any) => any} */
    const call = (name, sumUp = () => {}) => (/** @type {any} */ cb) => this.#run(`index.${name}`, cb, async () => {
      if (name === 'drop') delete this.#options.segmented.index
      return sumUp(await Promise.all(this.#slots.map(({ log }) => log.index?.[name]())))
    })
    return { ready: call('ready'), status: call('status', sumStatus), drop: call('drop') }
  }

  /** `{ slotCount, slots }`: what `stats` of each slot says. @type {(cb?: NodeCallback<any>) => any} */
  stats (cb) {
    return this.#run('stats', cb, async () => {
      const slots = await Promise.all(this.#slots.map(async ({ log, slot }) => ({ slot, ...await log.stats() })))
      return { slotCount: slots.length, slots }
    })
  }

  /** Ends live streams, and closes the logs of the slots. @type {(cb?: NodeCallback<void>) => any} */
  close (cb) {
    const shutDown = async () => {
      for (const merge of this.#merges) merge.end(errors.closedError('stream', this.filename))
      await this.#watch?.close()
      await this.#closeSlots()
    }
    return callbackOrPromise(cb, (cb) => this.#lifecycle.close((cb) => toCallback(shutDown(), cb), cb), 'close')
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  async #closeSlots () {
    await Promise.all(this.#slots.splice(0).map(({ log }) => log.close()))
  }

  /** Makes a method that this log cannot have. @type {(name: string, argumentCount: number) => void} */
  #refuse (name, argumentCount) {
    const how = name === 'del'
      ? 'a record is deleted with `del` of the SlotLog that has its slot, or if no process has slot N, with SegmentedLog ' +
        `in ${slotPath(this.filename, 'N')}`
      : 'write with SlotLog'
    const err = Object.hasOwn(WRITING, name)
      ? new LogError('ERR_LOG_READ_ONLY', `${name}: a merged log is for reading; ${how}`, { path: this.filename })
      : new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by a merged log; use the logs of its slots (eachSlot)`)
    Object.defineProperty(this, name, {
      value: (/** @type {any[]} */ ...args) => {
        const [first, second] = args.slice(argumentCount)
        // The callback of `append` may stand after its options.
        const hasOptions = typeof second === 'function' || (name === 'append' && typeof first === 'object' && first !== null)
        return this.#run(name, hasOptions ? second : first, async () => { throw err })
      }
    })
  }

  /**
   * The callback may stand in the place of the options.
   * @type {(name: string, options: any, cb: NodeCallback<any> | undefined,
   *   action: (options: any) => Promise<any>) => any}
   */
  #read (name, options, cb, action) {
    if (typeof options === 'function') return this.#read(name, undefined, options, action)
    return this.#run(name, cb, () => action(options))
  }

  /** @type {(name: string, cb: NodeCallback<any> | undefined, action: () => Promise<any>) => any} */
  #run (name, cb, action) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.run(name, cb, (cb) => toCallback(action(), cb)), name)
  }
}

/** @type {(slot: number, after: Position, upTo: Position | null) => object} the bounds of a read in a slot */
function boundsIn (slot, after, upTo) {
  return boundsOf(after[slot], upTo === null ? undefined : upTo[slot] ?? -1)
}

/** @type {(numbers: Array<number | null>) => number | null} null if there is none */
function sumKnown (numbers) {
  const known = numbers.filter((number) => number !== null)
  return known.length === 0 ? null : known.reduce((sum, number) => sum + number, 0)
}

/** @param {MergedExplanation['slots']} slots @returns {MergedExplanation} */
function explainSlots (slots) {
  const scanned = slots.flatMap(({ scanned }) => scanned ?? [])
  const counts = scanned.map(({ records }) => records)
  return {
    uses: [...new Set(slots.flatMap(({ uses }) => uses))],
    candidates: sumKnown(slots.map(({ candidates }) => candidates)),
    runs: slots.reduce((sum, { runs }) => sum + runs, 0),
    scanned: scanned.length === 0 ? null : { records: counts.includes(null) ? null : sumKnown(counts) },
    slots
  }
}

/** What the indexes of the slots are together; undefined if they were dropped. @param {any[]} given */
function sumStatus (given) {
  const all = given.filter((status) => status !== undefined)
  const [first] = all
  if (first === undefined) return undefined
  const sumOf = (/** @type {string} */ name) => all.reduce((sum, status) => sum + status[name], 0)
  return {
    paths: first.paths,
    isReady: all.every(({ isReady }) => isReady),
    runs: sumOf('runs'),
    records: sumOf('records'),
    tail: sumOf('tail'),
    size: sumOf('size'),
    failure: all.find(({ failure }) => failure !== null)?.failure ?? null
  }
}

/**
 * The slots of a folder as one log for reading; with or without `new`. It takes no locks. New slots are noticed within
 * half a second. A slot that cannot be opened is a warning of the process, and one of `failing`; the others are read,
 * and it is tried again. If none can be opened, neither can the log. `append`, `del`, `sync` and `compact` fail with
 * ERR_LOG_READ_ONLY, `scan` and `snapshot` with ERR_NOT_SUPPORTED: use the logs of the slots. A folder that has
 * segments is refused with ERR_LOG_UNKNOWN_FORMAT.
 * @param {string | URL} folder
 * @param {MergedLogOptions} [options]
 * @returns {Log}
 */
function MergedLog (folder, options) {
  return new Log(folder, options)
}
MergedLog.prototype = Log.prototype
describe(Log, 'MergedLog', ({ filename }) => ({ filename }))

/**
 * @type {{
 *   new (folder: string | URL, options?: MergedLogOptions): Log
 *   (folder: string | URL, options?: MergedLogOptions): Log
 * }}
 */
exports.MergedLog = /** @type {any} */ (MergedLog)
