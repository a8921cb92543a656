'use strict'
// Keeps a read-only log up to date with its writer: notices changes of the file, lets the store find new records, and
// wakes live streams.

const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { clearInterval, setInterval } = require('node:timers')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { pause, promisesOf } = require('@millrace/flow')
const { closedError, isShortRead, replacedError } = require('./errors')
const { TAIL_SUFFIX } = require('@millrace/framing')
const { findPlace, peekId } = require('./recover/identify')
const { openSteadily } = require('./load')
const { goesOn, marksOf } = require('./read/same-log')

// Bytes that are being changed look damaged, so they are read again after these times. A change takes less than the
// sum.
const LOOK_AGAIN_MS = [0, 10, 50]
// A file that was not written for this long is not being changed.
const QUIET_MS = 200
// A file that becomes shorter at this many looks is not a log.
const SHORT_READ_COUNT_MAX = 100
// While a writer writes the log's end anew, the end is missing. The follower looks for it every TAIL_POLL_MS, and gives
// up once it has not grown for TAIL_MS_MAX.
const TAIL_POLL_MS = 10
const TAIL_MS_MAX = 10_000
// A file may be renamed, and another one be made: nothing of that changes the old one.
const PLACE_POLL_MS = 1000

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * What a store found that was appended since its last look.
 * @typedef {object} News
 * @property {number} since  seq of the last readable record
 * @property {number} durable  the records up to this seq are durable; -1 if none
 */

class Follower {
  #file
  _watch
  /** Callers that wait for the next look. @type {Done[]} */
  #waiting = []
  #isBusy = false
  #isQuiet = false
  /** When the file was changed, by its own clock, and when that was first seen, by the steady one. */
  #modified = { ms: NaN, seenMs: 0 }
  /** Why the last look failed: a live stream that comes to the end would wait for nothing. @type {Error | null} */
  failure = null
  /** @type {Set<() => void>} */
  #listeners = new Set()
  /** Whether records that were read may be others since the last look that did not fail. */
  #mayDiffer = false
  /** Of a text file, at the last look. */
  #size = -1
  /** How far an end that is being written anew has come, and since when. */
  #rewriting = { size: -1, atMs: 0 }
  /** The last records of a file that another one replaces. @type {import('./read/same-log').Mark[]} */
  #marks = []
  /** Looks for another file at the path. @type {NodeJS.Timeout | undefined} */
  #placeTimer
  /** Whether the next look is for that. */
  #asksPath = false

  /** @param {LogFile} file  loaded */
  constructor (file) {
    this.#file = file
    this._watch = file.blocks.watch((done) => this.refresh(done))
    // Whoever follows a folder looks whether that was moved.
    if (this.#isOfLines || !file.storage?.provesFolder) {
      this.#placeTimer = setInterval(() => {
        this.#asksPath = true
        this.refresh(() => {})
      }, PLACE_POLL_MS).unref()
    }
  }

  get #isOfLines () {
    return this.#file.store.isLines
  }

  close () {
    clearInterval(this.#placeTimer)
    this._watch.close()
  }

  /**
   * Calls a function in the turn in which records that were read may be others: the log goes on in another file, its
   * file was cut and is as long again, or lines were changed in place. A look that only fails says nothing of that.
   * @param {() => void} listener
   * @returns {() => void}  stops that
   */
  whenRecordsMayDiffer (listener) {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  #tellMayDiffer () {
    this.#mayDiffer = false
    for (const listener of this.#listeners) listener()
  }

  /** Finds everything that was committed before the call. @type {(cb: Done) => void} */
  refresh (cb) {
    this.#waiting.push(cb)
    if (!this.#isBusy) this.#run()
  }

  /**
   * Runs an action. If it fails as it would on bytes that are being changed, runs it again on bytes read anew.
   * @template T
   * @param {(cb: (err: Error | null, result?: T) => void) => void} action
   * @param {(err: Error | null, result?: T) => void} cb
   * @param {number} [attempt]
   */
  retry (action, cb, attempt = 0) {
    action((err, result) => {
      if (attempt >= this.#retryCountMax(err)) return cb(err, result)
      this.lookAgain(attempt, (found) => {
        // What the look says of a file that is too short is more than that a read found it so.
        if (found && isShortRead(err)) cb(found)
        else this.retry(action, cb, attempt + 1)
      })
    })
  }

  /** How often bytes that look damaged are read again before they count as damaged. */
  get lookCountMax () {
    return this.#isQuiet ? 1 : LOOK_AGAIN_MS.length
  }

  /** @param {Error | null} err */
  #retryCountMax (err) {
    if (!(err instanceof LogError)) return 0
    if (err.code === 'ERR_LOG_CORRUPT') return this.lookCountMax
    // Looking again waits for an end that is being written anew, and finds records appended since the last look.
    return isShortRead(err) || err.code === 'ERR_RECORD_NOT_FOUND' ? 1 : 0
  }

  /**
   * Empties the caches and refreshes.
   * @param {number} attempt  counts from 0; later ones wait longer
   * @param {(err?: Error | null) => void} cb
   */
  lookAgain (attempt, cb) {
    const look = () => {
      this.#file.store.forget()
      this.refresh(cb)
    }
    if (LOOK_AGAIN_MS[attempt] === 0) look()
    else setTimeout(look, LOOK_AGAIN_MS[attempt])
  }

  /** One look at a time. Calls made during a look wait for the next one, because the current look may be too early. */
  async #run () {
    const { lifecycle, waitingStreams } = this.#file
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting.splice(0)
      // What was another file once is not read again, whatever it is now.
      const isOver = this.failure instanceof LogError && this.failure.code === 'ERR_LOG_REPLACED'
      const err = this.failure = isOver ? this.failure : await this.#look().then(() => null, (err) => err)
      // Those that have something to read were woken, and read it first.
      if (err && !lifecycle.isClosed) nextTick(() => waitingStreams.close(err))
      for (const cb of waiting) nextTick(cb, err)
    }
    this.#isBusy = false
  }

  async #look () {
    const file = this.#file
    const { blocks, lifecycle } = file
    for (let shortReadCount = 0; !lifecycle.isClosed;) {
      const state = await this.#readState()
      if (lifecycle.isClosed) return
      const nowMs = performance.now()
      const isWritten = state.modifiedMs !== this.#modified.ms && !Number.isNaN(this.#modified.ms)
      if (state.modifiedMs !== this.#modified.ms) this.#modified = { ms: state.modifiedMs, seenMs: nowMs }
      this.#isQuiet = nowMs - this.#modified.seenMs > QUIET_MS
      if (state.place === 'detached') throw detachedError(blocks.path)
      if (this.#isOfLines) return await this.#lookAtLines(state, isWritten)
      if (file.replacement.hasFailed || await this.#isReplaced(state)) {
        await this.#reopen()
      } else if (state.size < file.store.end) {
        await this.#awaitEnd(state.size)
      } else {
        this.#rewriting.size = -1
        const err = await this.#follow()
        if (!err) {
          if (this.#mayDiffer) this.#tellMayDiffer()
          return
        }
        if (!isShortRead(err)) throw err
        // The writer cut a torn end while it was being read.
        if (shortReadCount++ < SHORT_READ_COUNT_MAX) continue
        this.#mayDiffer = true
        throw err
      }
    }
  }

  /** @type {(state: import('@millrace/block-file').FileLook, isWritten: boolean) => Promise<void>} */
  async #lookAtLines (state, isWritten) {
    const { store } = this.#file
    // Written, and no longer: some lines may be others now.
    if (isWritten && state.size === this.#size) this.#mayDiffer = true
    this.#size = state.size
    await this.#followLines(state)
    if (!this.#mayDiffer) return
    if (store.isLines) store.computedSums.clear()
    this.#tellMayDiffer()
  }

  /**
   * While the path leads nowhere, the writer may still write the file. Whoever cannot tell looks again later.
   * @param {import('@millrace/block-file').FileLook} state
   */
  async #isReplaced ({ place, isNamed }) {
    if (place !== 'gone') return false
    this.#asksPath = true
    return !isNamed || await isThere(this.#file, '').catch(() => false)
  }

  /** @returns {Promise<import('@millrace/block-file').FileLook>} */
  #readState () {
    const { blocks, store } = this.#file
    const asksPath = this.#asksPath || this.#isOfLines
    this.#asksPath = false
    return new Promise((resolve, reject) => {
      blocks.refresh((err, state) => err || !state ? reject(err) : resolve(state), store.end, asksPath)
    })
  }

  #follow () {
    const file = this.#file
    return new Promise((resolve) => file.store.follow((err, news) => {
      // Without delay: nobody may see a record before `since` has reached it.
      if (news) this.#tell(news)
      resolve(err)
    }))
  }

  /**
   * A text file that was cut or replaced has other lines at the same seqs. What the old one still got is read first.
   * @param {import('@millrace/block-file').FileLook} state
   * @param {boolean} [isOver]  whether another file has the name, so that nothing comes after this look
   * @param {number} [shortReadCount]
   * @returns {Promise<void>}
   */
  async #followLines ({ place, size }, isOver = false, shortReadCount = 0) {
    const { blocks, store, store: { end } } = this.#file
    const cut = (/** @type {string} */ found) => replacedError(blocks.path, `was cut: it has ${found} that were read`)
    const found = size < end ? cut(`${size} bytes, of ${end}`) : await this.#follow()
    // A torn end was cut while it was being read. Whether lines were cut that had been read, the size says.
    if (isShortRead(found) && shortReadCount < SHORT_READ_COUNT_MAX) {
      return this.#followLines(await this.#readState(), isOver, shortReadCount + 1)
    }
    const err = isShortRead(found) ? cut(`less than the ${end} bytes`) : found
    // Its lines are others than those that were read, at the same seqs.
    if (store.isLines && err?.code === 'ERR_LOG_REPLACED') store.failure = err
    if (err) throw err
    if (place !== 'gone') return
    if (isOver) throw replacedError(blocks.path, 'was replaced by another file')
    // While the path leads nowhere, or to an empty file, as logrotate makes it, the writer may still write the old one.
    // Whoever cannot tell looks again later.
    if (await sizeOf(this.#file, '').catch(() => -1) > 0) await this.#followLines(await this.#readState(), true)
  }

  /**
   * The file has become shorter than what was read. If a copy of the missing bytes lies beside it, the writer is
   * writing them anew; what was read stays valid.
   * @param {number} size  of the file now
   */
  async #awaitEnd (size) {
    const now = performance.now()
    const hasProgress = this.#rewriting.size !== size
    if (hasProgress) this.#rewriting = { size, atMs: now }
    const waitedMs = now - this.#rewriting.atMs
    const hasCopy = await isThere(this.#file, TAIL_SUFFIX)
    // If there is no copy, the bytes may have just been restored: look once more. Or another file is copied over it.
    const isHopeless = hasCopy ? waitedMs > TAIL_MS_MAX : !hasProgress
    if (!hasCopy || isHopeless) this.#mayDiffer = true
    if (isHopeless) throw shrunkError(this.#file, size)
    await pause(TAIL_POLL_MS)
  }

  /** The path leads to another file. If that is this log, compacted, continue in it. Earlier reads stay valid. */
  async #reopen () {
    const file = this.#file
    const { blocks, storage, store, replacement } = file
    if (!store.isChecked) throw goneError(blocks.path, new Error('its framing does not say which log it is'))
    const { id } = await peekId(blocks.path, storage).catch((err) => {
      // Another failure, such as a disk that does not answer for a moment, says nothing of whose file it is.
      throw isMissing(err) ? goneError(blocks.path, err) : err
    })
    if (!id?.equals(store.header.id)) throw replacedError(blocks.path, 'was replaced by another log')
    let isOpen = !replacement.hasFailed
    if (isOpen) this.#marks = await marksOf(store)
    replacement.holdReads()
    try {
      await promisesOf(blocks).reopen()
      isOpen = false
      const found = /** @type {import('./checked-store').CheckedStore} */ ((await openSteadily(file, '')).store)
      if (!await goesOn(this.#marks, found)) {
        throw replacedError(blocks.path, 'was replaced by another copy of this log, which has other records than were read')
      }
      file.store = found
      this.#tellMayDiffer()
    } catch (/** @type {any} */ err) {
      // What the store knows is of the old file. Once that is closed, whoever reads looks again.
      if (isOpen) replacement.end(store)
      else replacement.fail(err, (cb) => this.refresh((err) => cb(err ?? this.#stillFailed())))
      throw err
    }
    // Records appended just before the replacement lie before the new file's end, so `follow` does not report
    // them. Before anyone reads them, `since` must have reached them.
    file.writtenSince = Math.max(file.writtenSince, file.store.last)
    this.#tell({ since: file.writtenSince, durable: file.store.durableLast })
    replacement.end(file.store)
    this._watch.restart()
  }

  /** A closed log is not looked at. @returns {Error | null} */
  #stillFailed () {
    const { blocks, replacement } = this.#file
    return replacement.hasFailed ? closedError('read', blocks.path) : null
  }

  /** @param {News} news */
  #tell ({ since, durable }) {
    const file = this.#file
    if (since > file.since.value) {
      file.since.set(since)
      file.waitingStreams.wake()
    }
    const shown = Math.min(durable, file.since.value)
    if (shown > file.durable.value) file.durable.set(shown)
  }
}

/** @type {(path: string, cause: Error) => LogError} */
function goneError (path, cause) {
  return new LogError('ERR_LOG_CORRUPT', `${path} was removed, or replaced by another file (${cause.message}); open it ` +
    'again', { cause, path })
}

/** @param {string} path */
function detachedError (path) {
  return new LogError('ERR_FILE_MOVED', `${path} was removed or replaced where it comes from, and here the path still ` +
    'leads to the old file, as if only this file were mounted; mount its folder instead, and open it again', { path })
}

/** @type {(file: LogFile, size: number) => LogError} */
function shrunkError ({ blocks: { path }, store: { end } }, size) {
  return new LogError('ERR_LOG_CORRUPT', `${path} has ${size} bytes, but ${end} were read before: another program has ` +
    'cut committed records off. Keep a copy of the file, and open it again', { offset: size, path })
}

/** Whether the log has a file with this suffix. @type {(file: LogFile, suffix: string) => Promise<boolean>} */
async function isThere (file, suffix) {
  return await sizeOf(file, suffix) !== -1
}

/** Bytes of its file with this suffix; -1: there is none. @type {(file: LogFile, suffix: string) => Promise<number>} */
async function sizeOf ({ blocks, storage = fileStorage }, suffix) {
  try {
    const options = /** @type {const} */ ({ flags: 'r', createFolder: false })
    const handle = promisesOf(await promisesOf(storage).open(await findPlace(blocks, storage) + suffix, options))
    return await handle.size().finally(() => handle.close())
  } catch (err) {
    if (isMissing(/** @type {NodeJS.ErrnoException} */ (err))) return -1
    throw err
  }
}

/** @param {NodeJS.ErrnoException} err */
function isMissing ({ code }) {
  return code === 'ENOENT' || code === 'ENOTDIR'
}

exports.Follower = Follower
