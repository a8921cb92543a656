'use strict'
// The logs of one folder, by name. A log is opened when it is first used, and the one that was not used for longest is
// closed when too many are open. One server owns the folder: it holds the lock of a small log in it.

const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { Folder, resolvePath } = require('@millrace/block-file')
const { withDictionary } = require('@millrace/dictionary')
const { atExit, isTooFarAhead, onAbort, promisesOf } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog, SharedCache, listSegments } = require('@millrace/segmented-log')
const { Committer } = require('./committer')
const { Counter } = require('./counts/counter')
const { Problem, unavailable } = require('./problem')
const { decodeRecord, recordCodec } = require('./record')

/** Never a part of another name, nor a name that means something to a system; case is no difference on some disks. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** What a record has beside the client's value is less. */
const ENVELOPE_SIZE = 1024
const PREFIX = 'log-'
const OWNER_FILE = 'server.log'
/** The log of events, which are counted. */
const EVENTS = 'se'
const COUNTS_FOLDER = 'counts'
/** Of a quota, so much may be written before its counts are saved: far less than a drop leaves. */
const UNSAVED_SHARE = 0.25
/** A log that cannot be opened is not tried for every request. */
const REOPEN_MS = 500
/** How often a segment is begun so that the time may fall, if records come meanwhile. */
const FALL_ATTEMPTS = 5
/** After these the log must be opened again. */
const BROKEN = new Set(['ERR_LOG_POISONED', 'ERR_FILE_MOVED', 'ERR_FILE_NOT_UNDONE', 'ERR_LOG_CLOSED', 'ERR_LOG_READ_ONLY'])

/** @typedef {import('./options').Log} Log */
/** @typedef {import('./options').Options} Options */

class NamedLog {
  users = 0
  lastTimeMs = 0
  /** How many records got a time. */
  #timedCount = 0
  /** @type {Promise<void> | null} */
  #falling = null
  /** By the steady clock: if the time could not fall, it is not tried for every request. */
  #fallAgainMs = 0
  /** What was found of its segments. @type {import('./reading').Periods} */
  periods = new Map()
  isBroken = false
  /** @type {Log} */
  log = /** @type {any} */ (null)
  /** @type {Committer} */
  committer = /** @type {any} */ (null)
  /** Of the log of events. @type {Counter | null} */
  counter = null
  /** Resolves when it is open. @type {Promise<void>} */
  ready = Promise.resolve()
  isReady = false
  #breaking = new AbortController()

  /** @param {string} name */
  constructor (name) {
    this.name = name
  }

  /** Aborted if the log fails, and another one takes its place. @returns {AbortSignal} */
  get broken () {
    return this.#breaking.signal
  }

  break () {
    this.isBroken = true
    this.#breaking.abort()
  }

  mend () {
    this.isBroken = false
    this.#breaking = new AbortController()
  }

  /** Whether it may be closed. */
  get isIdle () {
    return this.users === 0 && this.isReady && !this.isBroken && this.committer.isIdle
  }

  /**
   * The time of a record that comes now, to be taken in the turn in which the record is handed to the committer. It
   * never falls within a segment, so readers can skip segments.
   */
  now () {
    this.#timedCount++
    this.lastTimeMs = Math.max(this.lastTimeMs, Date.now())
    return this.lastTimeMs
  }

  /** Whether the clock was far ahead when the last record came, and is not now. */
  get isAhead () {
    return isTooFarAhead(this.lastTimeMs, Date.now()) && performance.now() >= this.#fallAgainMs
  }

  /** Begins a segment, in which times may be earlier. Requests to write wait for it. @returns {Promise<void>} */
  fall () {
    this.#falling ??= this.#fall().catch(() => {
      this.#fallAgainMs = performance.now() + REOPEN_MS
    }).finally(() => { this.#falling = null })
    return this.#falling
  }

  async #fall () {
    for (let attempt = 1; attempt <= FALL_ATTEMPTS; attempt++) {
      await this.committer.flush()
      const { pendingCount } = this.committer
      const countBefore = this.#timedCount
      await this.log.roll()
      // A request that was under way may have put a record with the time before into the new segment.
      if (pendingCount > 0 || this.#timedCount !== countBefore) continue
      this.lastTimeMs = 0
      return
    }
    throw new Error('records come all the time')
  }
}

/** Callers that wait until something holds. */
class Waiting {
  /** @type {Set<() => void>} */
  #checks = new Set()

  /**
   * Resolves once the condition holds, or the signal is aborted.
   * @type {(holds: () => boolean, signal: AbortSignal) => Promise<void>}
   */
  async until (holds, signal) {
    if (holds() || signal.aborted) return
    await new Promise((resolve) => {
      const end = () => {
        forget()
        this.#checks.delete(check)
        resolve(null)
      }
      const forget = onAbort(signal, end)
      const check = () => { if (holds()) end() }
      this.#checks.add(check)
    })
  }

  /** Something may hold now. */
  wake () {
    for (const check of [...this.#checks]) check()
  }
}

class NamedLogs {
  #options
  #cache
  /** By name, the one that was used last at the end. @type {Map<string, NamedLog>} */
  #open = new Map()
  /** The one that was used last, which is the last of these. @type {NamedLog | null} */
  #latest = null
  /** Logs that are being closed. @type {Map<string, Promise<void>>} */
  #closing = new Map()
  /** Names of all logs on the disk. @type {Set<string>} */
  #known = new Set()
  /** @type {ReturnType<typeof OffsetLog> | null} */
  #owner = null
  /** The server's folder: another one that gets its path is not touched. */
  #place
  #abort = new AbortController()
  #waiting = new Waiting()
  #forgetExit = () => {}
  #isOpen = false
  #isClosed = false
  /** @type {((name: string, err: Error) => void)} */
  #report
  #meter

  /**
   * @param {Options} options
   * @param {(name: string, err: Error) => void} report
   * @param {import('./metrics').WriteMeter} meter
   */
  constructor (options, report, meter) {
    this.#options = options
    this.#report = report
    this.#meter = meter
    this.#cache = new SharedCache(options.cache)
    this.#place = new Folder(options.storage, resolvePath(options.folder))
  }

  /** Waits, as long as it takes, until no other server has the folder. */
  async open () {
    const { folder, mode } = this.#options
    const { signal } = this.#abort
    const options = { codec: jsonCodec, lockTimeout: Infinity, signal, ...(mode !== undefined && { mode }) }
    this.#owner = OffsetLog(path.join(folder, OWNER_FILE), options)
    await this.#owner.ready()
    await this.#place.open()
    const names = await promisesOf(this.storage).listFolder(folder)
    for (const name of names) if (name.startsWith(PREFIX)) this.#known.add(name.slice(PREFIX.length))
    this.#forgetExit = atExit(() => this.#flushAtExit())
    this.#isOpen = true
    this.#waiting.wake()
  }

  /** Of the server's folder, and of what is in it, wherever its path leads once it is open. */
  get storage () {
    return this.#place.storage
  }

  get isOpen () {
    return this.#isOpen && !this.#isClosed
  }

  /** Names of all logs. */
  get names () {
    return this.#known
  }

  /** Resolves once the folder is open, or the signal is aborted. @param {AbortSignal} signal */
  whenOpen (signal) {
    return this.#waiting.until(() => this.isOpen, signal)
  }

  /**
   * Resolves once there is a log of this name, or the signal is aborted.
   * @type {(name: string, signal: AbortSignal) => Promise<void>}
   */
  whenKnown (name, signal) {
    return this.#waiting.until(() => this.#known.has(name), signal)
  }

  /** Those that are open. @returns {Iterable<NamedLog>} */
  get opened () {
    return this.#open.values()
  }

  /** @param {string} name @throws {Problem} */
  static checkName (name) {
    if (NAME.test(name)) return
    const rule = 'the name of a log has 1 to 64 of the characters a-z, 0-9, _ and -, and begins with a letter or a digit'
    throw new Problem(400, rule, { code: 'bad_name' })
  }

  /**
   * The caller must call `release`.
   * @param {string} name
   * @param {boolean} mayMake
   * @returns {NamedLog | Promise<NamedLog>}  at once if it is open
   */
  acquire (name, mayMake) {
    const entry = this.#open.get(name)
    if (!this.isOpen) throw unavailable(this.#isClosed ? 'the server is stopping' : 'the server is starting, or another one has its folder')
    const isUsable = entry !== undefined && entry.isReady && !entry.isBroken
    if (!isUsable || (mayMake && entry.isAhead)) return this.#acquire(name, mayMake)
    entry.users++
    if (entry !== this.#latest) {
      this.#open.delete(name)
      this.#open.set(name, entry)
      this.#latest = entry
    }
    return entry
  }

  /** @type {(name: string, mayMake: boolean) => Promise<NamedLog>} */
  async #acquire (name, mayMake) {
    NamedLogs.checkName(name)
    if (!this.#known.has(name)) this.#checkNew(name, mayMake)
    while (this.#closing.has(name)) await this.#closing.get(name)
    let entry = this.#open.get(name)
    if (entry === undefined) {
      entry = new NamedLog(name)
      this.#open.set(name, entry)
      this.#latest = entry
      entry.ready = this.#makeRoom().then(() => this.#openLog(/** @type {NamedLog} */ (entry)))
    }
    entry.users++
    try {
      await entry.ready
    } catch (err) {
      entry.users--
      if (this.#open.get(name) === entry) this.#open.delete(name)
      throw err
    }
    if (!entry.isBroken && mayMake && entry.isAhead) await entry.fall()
    if (!entry.isBroken) return entry
    entry.users--
    throw unavailable('the log is being opened again after a failure')
  }

  /** @type {(name: string, mayMake: boolean) => void} */
  #checkNew (name, mayMake) {
    if (!mayMake) throw new Problem(404, `there is no log ${name}; the first record makes it`, { code: 'no_log' })
    const { logs } = this.#options.limits
    if (this.#known.size >= logs) throw new Problem(403, `there may be ${logs} logs, no more`, { code: 'too_many_logs' })
    this.#known.add(name)
    this.#waiting.wake()
  }

  async #makeRoom () {
    const { openLogs } = this.#options
    while (this.#open.size > openLogs) {
      const idle = [...this.#open.values()].find(({ isIdle }) => isIdle)
      if (idle === undefined) throw unavailable(`${openLogs} logs are in use`)
      await this.#closeLog(idle)
    }
  }

  /** @param {NamedLog} entry */
  async #openLog (entry) {
    entry.log = await this.#openFolder(entry.name)
    try {
      await this.#prepare(entry)
    } catch (err) {
      // The next request opens it again.
      await entry.log.close().catch(() => {})
      throw err
    }
  }

  /** @param {NamedLog} entry */
  async #prepare (entry) {
    const { limits, bufferMs } = this.#options
    const last = await entry.log.last({})
    entry.lastTimeMs = Number(last === undefined ? 0 : decodeRecord(last.value)?.time) || 0
    const counter = entry.name === EVENTS ? await this.#openCounter(entry) : null
    entry.counter = counter
    entry.committer = new Committer(entry.log, {
      bufferMs,
      pendingSize: limits.pendingSize,
      onFailure: (err) => this.#failed(entry, err),
      meter: this.#meter,
      ...(counter && { onWritten: counter.written.bind(counter) })
    })
    entry.isReady = true
  }

  /** @param {NamedLog} entry */
  async #openCounter ({ name, log }) {
    const { limits, log: { maxSize = Infinity } } = this.#options
    const counter = new Counter(log, {
      storage: this.#place.storage,
      folder: path.join(this.#place.path, COUNTS_FOLDER),
      eventsPerDay: limits.eventsPerDay,
      unsavedSize: maxSize * UNSAVED_SHARE,
      onFailure: (err) => this.#report(name, err)
    })
    await counter.open()
    return counter
  }

  /** @param {string} name @returns {Promise<Log>} */
  async #openFolder (name) {
    const { log: { framing, ...options }, dictionary, indexes, limits } = this.#options
    const index = indexes.get(name)
    const folder = path.join(this.#place.path, PREFIX + name)
    // An existing log keeps its own.
    const isNew = framing !== undefined && await isEmpty(folder, this.#place.storage)
    /** @type {any} */
    const log = SegmentedLog(folder, {
      cache: this.#cache,
      openSegments: 2,
      ...options,
      ...(isNew && { framing }),
      ...(index && { index }),
      storage: this.#place.storage,
      codec: dictionary ? withDictionary(recordCodec) : recordCodec,
      strict: true,
      maxRecordSize: limits.recordSize + ENVELOPE_SIZE
    })
    await log.ready()
    return log
  }

  /** @type {(entry: NamedLog, err: Error & { code?: string }) => void} */
  #failed (entry, err) {
    this.#report(entry.name, err)
    if (entry.isBroken || this.#isClosed || !BROKEN.has(String(err.code))) return
    entry.break()
    entry.ready = this.#reopen(entry)
  }

  /** @param {NamedLog} entry */
  async #reopen (entry) {
    await entry.log.close().catch(() => {})
    while (!this.#isClosed) {
      try {
        entry.log = await this.#openFolder(entry.name)
        await entry.counter?.restart(entry.log)
        entry.committer.replaceLog(entry.log)
        entry.mend()
        return
      } catch (/** @type {any} */ err) {
        this.#report(entry.name, err)
        await entry.log.close().catch(() => {})
        await sleep(REOPEN_MS, undefined, { ref: false })
      }
    }
  }

  /** @param {NamedLog} entry */
  release (entry) {
    entry.users--
  }

  /** @param {NamedLog} entry */
  #closeLog (entry) {
    const closing = this.#flushAndClose(entry).finally(() => this.#closing.delete(entry.name))
    this.#open.delete(entry.name)
    this.#closing.set(entry.name, closing)
    return closing
  }

  /** @param {NamedLog} entry */
  async #flushAndClose ({ name, committer, counter, log }) {
    await committer.flush()
    await counter?.close()
    const lost = committer.stop()
    if (lost > 0) this.#report(name, new Error(`${lost} buffered records could not be written, and are lost`))
    await log.close().catch((/** @type {Error} */ err) => this.#report(name, err))
  }

  #flushAtExit () {
    for (const { isReady, committer } of this.#open.values()) {
      try {
        if (isReady) committer.flushSync()
      } catch {
        // Nobody is left to report to.
      }
    }
  }

  /** Writes and syncs everything, and gives the folder back. */
  async close () {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#abort.abort()
    await Promise.allSettled([...this.#open.values()].map(({ ready }) => ready))
    for (const entry of [...this.#open.values()]) if (entry.isReady) await this.#closeLog(entry)
    await Promise.all(this.#closing.values())
    this.#forgetExit()
    await this.#place.close()
    await this.#owner?.close().catch((/** @type {any} */ err) => {
      if (err.code !== 'ABORT_ERR') this.#report(OWNER_FILE, err)
    })
  }
}

/**
 * Whether a folder has no log.
 * @type {(folder: string, storage: import('@millrace/block-file').Storage) => Promise<boolean>}
 */
async function isEmpty (folder, storage) {
  try {
    return (await listSegments(folder, storage)).length === 0
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return true
    throw err
  }
}

exports.EVENTS = EVENTS
exports.NamedLog = NamedLog
exports.NamedLogs = NamedLogs
