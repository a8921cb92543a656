'use strict'
// A view: its state, how far that is, and what changes both. Reading takes turns with building again; saving takes
// turns of its own, so that a long build is saved on the way.
//
// No record waits in a queue: the view reads the log from its cursor, at its own pace.

const { clearTimeout, setTimeout } = require('node:timers')
const { LogError, asError, misuse, reasonOf, timerMs } = require('@millrace/errors')
const { Turns, createObservable } = require('@millrace/flow')
const { findDoubt, judgeRecord, provePlace } = require('@millrace/offset-log/composing')
const { DamagedState, StateFile } = require('./state-file')

/** After an append others probably follow. */
const FOLLOW_MS = 20
/** Encoding the state takes at most this part of the time. */
const SAVE_SHARE = 1 / 20
/** How often a build begins anew if records are dropped meanwhile. */
const BUILD_MAX = 5
/** Its records can be read, and nothing more can be written. */
const UNWRITABLE = ['ERR_LOG_READ_ONLY', 'ERR_LOG_POISONED']

/** The files of the views of each open log, with the names. @type {WeakMap<object, Map<string, string>>} */
const taken = new WeakMap()

/**
 * @typedef {object} ViewStatus
 * @property {number} since  up to this seq the records are in the state
 * @property {number | null} saved  up to this seq the saved state has them; null if there is none
 * @property {Error | null} failure  why the view cannot go on, or could not be saved the last time
 */

/**
 * @template [S=any]
 */
class View {
  #log
  #options
  #file
  #state = /** @type {S} */ (undefined)
  #cursor = -1
  /** The cursor in the file. @type {number | null} */
  #saved = null
  #isLoaded = false
  /** Whether another process writes the log and the file, or the log cannot be written. */
  #isReader = false
  /** How often the state began anew. */
  #generation = 0
  /** How often it begins anew if records are dropped; 0 once it has come to the end of the log. */
  #buildsLeft = 0
  /** Why it cannot go on: opening it again, or building it again, may help. @type {LogError | null} */
  #failure = null
  /** @type {Error | null} */
  #saveFailure = null
  /** Why the state could not be encoded the last time. @type {LogError | null} */
  #encodeFailure = null
  #reads = new Turns()
  #saves = new Turns()
  #reading = new AbortController()
  /** @type {NodeJS.Timeout | null} */
  #followTimer = null
  /** @type {NodeJS.Timeout | null} */
  #saveTimer = null
  #encodeMs = 0
  #stopListening
  /** @type {Promise<void> | null} */
  #closing = null

  /**
   * @param {any} log
   * @param {ReturnType<typeof import('./options').parseOptions>} options
   */
  constructor (log, options) {
    const { name, path, storage } = options
    const names = taken.get(log) ?? new Map()
    // Views of one name would share a hold.
    const other = names.get(path) ?? [...names.values()].find((known) => known === name)
    if (other !== undefined) {
      const what = other === name ? `a view ${name} already` : `a view ${other} with the file of ${name}`
      throw misuse(`createView: the log has ${what}; use that one, or close it first`)
    }
    taken.set(log, names.set(path, name))
    this.#log = log
    this.#options = options
    this.#file = new StateFile(storage, path)
    /** The name, as it was given. */
    this.name = name
    /** Up to which seq the records are in the state, as an observable; -1 if none is. */
    this.since = /** @type {import('@millrace/flow').Observable<number>} */ (createObservable())
    this.#stopListening = log.since(() => this.#follow(), false)
    this.#follow()
  }

  /**
   * The state so far, without waiting; undefined until the view has been read.
   * @returns {S}
   */
  get value () {
    return this.#state
  }

  /**
   * Waits until every record that the log has now is in the state.
   * @returns {Promise<S>}  the state. Do not change it
   * @throws ERR_VIEW_REDUCE, ERR_VIEW_STALE, ERR_VIEW_CLOSED, ERR_CODEC_ENCODE; or what a read of the log fails with
   */
  async get () {
    this.#checkIsOpen('get')
    await this.#log.ready()
    const target = this.#log.since.value
    do {
      await this.#reads.run(() => this.#catchUp(target))
      // Closed, or built again, while it was read.
      this.#checkIsOpen('get')
      // The log of a follower may become shorter.
    } while (this.#cursor < Math.min(target, this.#log.since.value))
    // A later state may be one that can be saved.
    if (this.#encodeFailure !== null) this.#encode()
    return this.#state
  }

  /** Waits as `get`. */
  async ready () {
    await this.get()
  }

  /**
   * Folds what the log has, from its first record on. What was deleted or dropped is then no longer in the state.
   * @returns {Promise<void>}  once it is saved
   */
  async rebuild () {
    this.#checkIsOpen('rebuild')
    this.#stopReading()
    await this.#reads.run(async () => {
      await this.#load()
      await this.#begin()
    })
    await this.get()
    await this.save()
  }

  /** Saves the state now; it syncs the log. A reader saves nothing. */
  async save () {
    this.#checkIsOpen('save')
    await this.#saves.run(() => this.#save())
  }

  /**
   * How far it is, and what has failed.
   * @returns {ViewStatus}
   */
  status () {
    const failure = this.#failure ?? this.#encodeFailure ?? this.#saveFailure
    return { since: this.#cursor, saved: this.#saved, failure }
  }

  /** Saves the state, and stops following the log. Call it before the log is closed. */
  async close () {
    this.#closing ??= this.#end(() => this.#saves.run(() => this.#saveLast()))
    await this.#closing
  }

  /** Removes the file and the hold, and stops following the log. */
  async drop () {
    this.#checkIsOpen('drop')
    // Only who may write the log.
    await this.#log.sync()
    await this.#file.readOwn()
    this.#checkIsOpen('drop')
    this.#closing = this.#end(async () => {
      await this.#file.remove()
      await this.#log.release?.(this.#hold)
    })
    await this.#closing
  }

  /** @param {() => Promise<void>} action  the last one */
  async #end (action) {
    this.#stopListening()
    this.#stopReading()
    if (this.#followTimer !== null) clearTimeout(this.#followTimer)
    if (this.#saveTimer !== null) clearTimeout(this.#saveTimer)
    await this.#reads.settled()
    await this.#saves.settled()
    try {
      await action()
    } catch (/** @type {any} */ err) {
      // What is not saved is folded again.
      if (err.code !== 'ERR_LOG_CLOSED') throw err
    } finally {
      taken.get(this.#log)?.delete(this.#options.path)
    }
  }

  get #hold () {
    return `view-${this.name}`
  }

  /** @param {string} call */
  #checkIsOpen (call) {
    if (this.#closing !== null) throw new LogError('ERR_VIEW_CLOSED', `${call}: the view ${this.name} is closed`)
  }

  #stopReading () {
    this.#reading.abort()
    this.#reading = new AbortController()
  }

  #follow () {
    if (this.#closing !== null) return
    this.#followTimer ??= setTimeout(() => {
      this.#followTimer = null
      // `get` says what is wrong, and tries again.
      this.#reads.run(() => this.#catchUp()).catch(() => {})
    }, FOLLOW_MS).unref()
  }

  // Reading. One at a time.

  async #load () {
    if (this.#isLoaded) return
    const log = this.#log
    await log.ready()
    this.#isReader = await log.sync().then(() => false, isUnwritable)
    // What the writer has saved may be newer than what was seen of its log.
    if (this.#isReader) await log.refresh?.()
    const doubt = await this.#takeSaved()
    if (doubt !== null) await this.#beginUnlessStale(doubt)
    else await this.#keep(this.#cursor)
    this.#isLoaded = true
  }

  /** @returns {Promise<string | null>}  why it cannot be taken; null if it was, '' if there is none of this version */
  async #takeSaved () {
    const { version, codec } = this.#options
    try {
      const found = await this.#file.read()
      if (found === null || found.place.version !== version) return ''
      const doubt = await findDoubt(this.#log, found.place)
      if (doubt !== null) return doubt
      this.#state = decodeState(codec, found.state)
      this.#cursor = this.#saved = found.place.cursor
      this.#generation++
      this.#tell()
      return null
    } catch (err) {
      if (err instanceof DamagedState) return err.message
      throw err
    }
  }

  /** @param {string} doubt  about what was saved; '' if nothing was */
  async #beginUnlessStale (doubt) {
    await this.#begin()
    if (doubt !== '' && await hasDropped(this.#log)) this.#fail(this.#staleError(`its saved state does not fit the log: ${doubt}`))
  }

  async #begin () {
    this.#state = decodeState(this.#options.codec, this.#options.initial)
    this.#cursor = -1
    this.#saved = null
    this.#failure = null
    this.#encodeFailure = null
    this.#generation++
    this.#buildsLeft = BUILD_MAX
    this.#tell()
    await this.#keep(0)
  }

  /** Lets retention wait. @param {number} seq */
  async #keep (seq) {
    if (!this.#isReader) await this.#log.hold?.(this.#hold, Math.max(0, seq))
  }

  /** @param {number} [target]  because a log may grow all the time; its end now by default */
  async #catchUp (target) {
    if (this.#closing !== null) return
    const { signal } = this.#reading
    await this.#load()
    const goal = target ?? Number(this.#log.since.value)
    while (!signal.aborted) {
      if (this.#failure !== null) throw this.#failure
      const end = Number(this.#log.since.value)
      if (end <= this.#cursor) {
        if (end === this.#cursor || !await isGone(this.#log, this.#cursor)) break
        // That of a follower may become shorter.
        await this.#beginUnlessStale('the log has lost its end')
        continue
      }
      if (this.#cursor >= goal) return
      this.#saveLater()
      await this.#readTo(Math.min(end, goal), signal).catch((err) => this.#recover(err, signal))
    }
    if (!signal.aborted) this.#buildsLeft = 0
  }

  /** @type {(end: number, signal: AbortSignal) => Promise<void>} */
  async #readTo (end, signal) {
    const { where } = this.#options
    const range = { gt: this.#cursor, lte: end, signal, ...(where !== undefined && { where }) }
    for await (const { seq, value } of this.#log.stream(range)) {
      if (signal.aborted) return
      this.#step(value, seq)
      this.#cursor = seq
      this.#tell()
    }
    this.#cursor = end
    this.#tell()
  }

  /** @type {(value: unknown, seq: number) => void} throws ERR_VIEW_REDUCE */
  #step (value, seq) {
    let next
    let isPromise = false
    try {
      next = this.#options.reduce(this.#state, value, seq)
      isPromise = typeof next?.then === 'function'
    } catch (err) {
      throw this.#reduceError(`threw "${reasonOf(err)}"`, seq, err)
    }
    if (next === undefined) throw this.#reduceError('returned undefined; return the state', seq)
    if (isPromise) {
      // Its failure would be an unhandled rejection.
      Promise.resolve(next).catch(() => {})
      throw this.#reduceError('returned a promise; a fold cannot wait', seq)
    }
    this.#state = next
  }

  /** @type {(what: string, seq: number, cause?: unknown) => LogError} */
  #reduceError (what, seq, cause) {
    const message = `view ${this.name}: reduce ${what}, at the record ${seq}; nothing after it is in the view`
    return new LogError('ERR_VIEW_REDUCE', message, { seq, cause })
  }

  /** @type {(err: any, signal: AbortSignal) => Promise<void>} */
  async #recover (err, signal) {
    if (signal.aborted) return
    if (err.code === 'ERR_LOG_SEQ_LOST') return this.#beginUnlessStale('a power cut took the record at its place')
    const isDropped = err.code === 'ERR_LOG_SEQ_RETAINED'
    if (isDropped && this.#buildsLeft > 1) {
      const left = this.#buildsLeft - 1
      await this.#begin()
      this.#buildsLeft = left
      return
    }
    if (err.code === 'ERR_VIEW_REDUCE') this.#fail(err)
    else if (isDropped) this.#fail(this.#staleError('the log has dropped records before they were folded', err))
    else throw err
  }

  /** @type {(what: string, cause?: unknown) => LogError} */
  #staleError (what, cause) {
    return new LogError('ERR_VIEW_STALE', `view ${this.name}: ${what}. It cannot be built again as it was, because ` +
      'the log has dropped its first records; rebuild() folds those that are left', { path: this.#options.path, cause })
  }

  /** @param {LogError} err  that lasts */
  #fail (err) {
    this.#failure = err
    warn(err)
  }

  #tell () {
    /** @type {any} */ (this.since).set(this.#cursor)
  }

  // Saving. One at a time.

  #saveLater () {
    if (this.#isReader || this.#failure !== null || this.#closing !== null) return
    if (this.#options.saveMs === Infinity) return
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = null
      this.save().then(() => { if (this.#cursor !== this.#saved) this.#saveLater() }, (err) => {
        if (err.code === 'ERR_LOG_CLOSED') return
        this.#isReader ||= UNWRITABLE.includes(err.code)
        if (this.#saveFailure === null && err !== this.#encodeFailure) this.#warnOfSave(err)
        this.#saveFailure = err
        this.#saveLater()
      })
    }, timerMs(Math.max(this.#options.saveMs, this.#encodeMs / SAVE_SHARE))).unref()
  }

  async #saveLast () {
    const told = this.#encodeFailure
    await this.#save().catch((err) => {
      if (told === null || err !== this.#encodeFailure) throw err
    })
  }

  async #save () {
    // A reduce that threw may have changed half of the state.
    if (!this.#isLoaded || this.#isReader || this.#failure !== null || this.#cursor === this.#saved) return
    const log = this.#log
    const cursor = this.#cursor
    const generation = this.#generation
    const state = this.#encode()
    const place = await provePlace(log, cursor)
    // A power cut must not take a record that is in the state.
    await log.sync()
    if (generation !== this.#generation) return
    await this.#file.replace({ version: this.#options.version, ...place }, state)
    if (generation !== this.#generation) return
    await this.#keep(cursor)
    // It may have begun anew meanwhile.
    if (generation !== this.#generation) return
    this.#saved = cursor
    this.#saveFailure = null
  }

  /** @param {Error & { code?: string }} err */
  #warnOfSave (err) {
    const next = this.#isReader ? 'open the log again' : 'it is tried again'
    const message = `view ${this.name}: ${this.#options.path} could not be saved (${reasonOf(err)}); ${next}. Until then the ` +
      'view goes on in memory'
    process.emitWarning(message, { type: 'ViewWarning', code: err.code })
  }

  /** @returns {Uint8Array} */
  #encode () {
    const beganMs = performance.now()
    try {
      const bytes = Buffer.from(this.#options.codec.encode(this.#state))
      this.#encodeFailure = null
      return bytes
    } catch (cause) {
      const err = new LogError('ERR_CODEC_ENCODE', `view ${this.name}: the state cannot be saved: ${reasonOf(cause)}; ` +
        'change the state, or give a codec that can store it', { cause })
      if (this.#encodeFailure === null) warn(err)
      this.#encodeFailure = err
      throw err
    } finally {
      this.#encodeMs = performance.now() - beganMs
    }
  }
}

/**
 * Whether a log has lost a record. After an open, the log may end before it only because it is deleted.
 * @type {(log: any, seq: number) => Promise<boolean>}
 */
async function isGone (log, seq) {
  return ['lost', 'missing'].includes(await judgeRecord(log, seq))
}

/** Whether a log has dropped its first records. @type {(log: any) => Promise<boolean>} */
async function hasDropped (log) {
  try {
    // A read from the very beginning does not tell.
    await log.scan({ gte: 1, limit: 1 }, () => {})
    return false
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_LOG_SEQ_RETAINED') return true
    if (err.code === 'ERR_LOG_CORRUPT') return false
    throw err
  }
}

/** @type {(codec: import('./options').StateCodec, bytes: Buffer) => any} throws DamagedState */
function decodeState (codec, bytes) {
  try {
    return codec.decode(codec.buffer ? bytes : bytes.toString())
  } catch (err) {
    throw new DamagedState(`the saved state does not decode: ${asError(err, 'the codec of a view').message}`)
  }
}

/** @param {any} err @returns {true} */
function isUnwritable (err) {
  if (UNWRITABLE.includes(err.code)) return true
  throw err
}

/** @param {Error & { code?: string }} err */
function warn (err) {
  process.emitWarning(err.message, { type: 'ViewWarning', code: err.code })
}

exports.View = View
