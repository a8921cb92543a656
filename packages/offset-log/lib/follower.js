'use strict'
// Keeps a read-only log up with the process that writes it: notices that the file changed, lets the framing find what
// is new in it, and wakes the streams that wait for that.

const { performance } = require('node:perf_hooks')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call, toCallback } = require('@millrace/flow')
const { isShortRead } = require('./errors')
const { TAIL_SUFFIX } = require('@millrace/framing')
const { peekId } = require('./recover/identify')
const { openSteadily } = require('./load')

// What is read while it is being changed looks damaged; a change takes less than this, so it is read again after it.
const LOOK_AGAIN_MS = [0, 10, 50]
// A file that was not written for so long is not being changed.
const QUIET_MS = 200
// A file that grows shorter at every look is not a log.
const SHORT_READ_COUNT_MAX = 100
// While its writer writes the end of a log anew, that is missing: so often it is looked for, and so long after the last
// byte of it came.
const TAIL_POLL_MS = 10
const TAIL_MS_MAX = 10_000

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * What a framing finds that was appended since it looked last.
 * @typedef {object} News
 * @property {number} since  seq of the last record that can be read
 * @property {number} durable  seq up to which all is known to be on stable storage, -1 if none
 */

class Follower {
  /**
   * @param {LogFile} file  loaded
   * @param {import('@millrace/flow').Obz<number>} durable
   */
  constructor (file, durable) {
    this._file = file
    this._durable = durable
    /** @type {Done[] | null} who waits for the refresh that is under way */
    this._waiting = null
    /** @type {Done[]} who asked since it began */
    this._next = []
    this._isQuiet = false
    /** How far the end has come that is being written anew, and when. @type {{ size: number, atMs: number } | null} */
    this._rewriting = null
    this._watch = file.blocks.watch((done) => this.refresh(done))
  }

  close () {
    this._watch.close()
  }

  /**
   * Takes in all that was committed before the call.
   * @param {Done} cb
   */
  refresh (cb) {
    this._next.push(cb)
    if (this._waiting === null) this._run()
  }

  /**
   * Runs an action, and once more, on bytes read anew, if it fails as it would when they were changed meanwhile.
   * @template T
   * @param {(cb: (err: Error | null, result?: T) => void) => void} action
   * @param {(err: Error | null, result?: T) => void} cb
   * @param {number} [attempt]
   */
  retry (action, cb, attempt = 0) {
    action((err, result) => {
      if (attempt < this._retryCountMax(err)) this.lookAgain(attempt, () => this.retry(action, cb, attempt + 1))
      else cb(err, result)
    })
  }

  /** How often what looks damaged is read again before it is believed. */
  get lookCountMax () {
    return this._isQuiet ? 1 : LOOK_AGAIN_MS.length
  }

  /** @param {Error | null} err */
  _retryCountMax (err) {
    if (!(err instanceof LogError)) return 0
    if (err.code === 'ERR_LOG_CORRUPT') return this.lookCountMax
    // The end is being written anew: looking again waits for it.
    if (isShortRead(err)) return 1
    // Appended after the last look.
    return err.code === 'ERR_RECORD_NOT_FOUND' ? 1 : 0
  }

  /**
   * Forgets all bytes that were read, so that what comes next is read anew.
   * @param {number} attempt  from 0: later ones wait longer
   * @param {(err?: Error | null) => void} cb
   */
  lookAgain (attempt, cb) {
    const look = () => {
      this._file.store.forget()
      this.refresh(cb)
    }
    if (LOOK_AGAIN_MS[attempt] === 0) look()
    else setTimeout(look, LOOK_AGAIN_MS[attempt])
  }

  _run () {
    this._waiting = this._next
    this._next = []
    this._look(0)
  }

  /** @param {number} attempt */
  _look (attempt) {
    const { blocks, lifecycle } = this._file
    if (lifecycle.isClosed) return this._end(null)
    blocks.refresh((err, state) => {
      if (err || !state || lifecycle.isClosed) return this._end(err)
      this._isQuiet = Date.now() - state.modifiedMs > QUIET_MS
      if (state.isGone) return this._reopen(attempt)
      if (state.size < this._file.store.end) return this._awaitEnd(state.size, attempt)
      this._rewriting = null
      this._file.store.follow((err, news) => {
        if (news) this._tell(news)
        // The writer took back what was no whole commit while it was being read.
        if (isShortRead(err) && attempt < SHORT_READ_COUNT_MAX) this._look(attempt + 1)
        else this._end(err)
      })
    }, this._file.store.end)
  }

  /**
   * The file has lost bytes that were read before. If a copy of them lies beside it, its writer is writing them anew;
   * what was read stays good.
   * @param {number} size  of the file now
   * @param {number} attempt
   */
  _awaitEnd (size, attempt) {
    const now = performance.now()
    const hasProgress = this._rewriting?.size !== size
    if (hasProgress) this._rewriting = { size, atMs: now }
    const waitedMs = now - (this._rewriting?.atMs ?? now)
    toCallback(hasTailCopy(this._file), (_, isThere) => {
      // Without a copy all may be there again, just now.
      const isHopeless = isThere ? waitedMs > TAIL_MS_MAX : !hasProgress
      if (isHopeless) this._end(this._shrunk(size))
      else setTimeout(() => this._look(attempt), TAIL_POLL_MS)
    })
  }

  /**
   * The log was compacted, as a rule: it has another file now.
   * @param {number} attempt
   */
  _reopen (attempt) {
    const { blocks, storage, store } = this._file
    if (!('header' in store)) return this._end(this._gone(new Error('its framing does not say which log it is')))
    peekId(blocks.path, storage, (err, found) => {
      // What was read so far can be read still.
      if (err || !found) return this._end(this._gone(err ?? new Error('it cannot be read')))
      if (!found.id?.equals(store.header.id)) return this._end(this._gone(new Error('it is another log')))
      this._goOn(attempt)
    })
  }

  /** @param {number} attempt */
  _goOn (attempt) {
    const { _file: file } = this
    file.replacement.begin(file.store)
    toCallback(this._openReplacement(), (err) => {
      file.replacement.end(file.store)
      if (err) return this._end(err)
      this._watch.restart()
      this._look(attempt)
    })
  }

  async _openReplacement () {
    const { _file: file } = this
    await call(file.blocks, 'reopen')
    const { store } = await openSteadily(file, '')
    file.store = store
    // What was appended before the file was replaced is not behind the new one's end.
    file.writtenSince = Math.max(file.writtenSince, store.last)
  }

  /** @param {Error} cause */
  _gone (cause) {
    const { path } = this._file.blocks
    return new LogError('ERR_LOG_CORRUPT', `${path} was removed, or replaced by another file (${cause.message}); open it ` +
      'again', { cause, path })
  }

  /** @param {News} news */
  _tell ({ since, durable }) {
    const { _file: file } = this
    if (since > file.since.value) {
      file.since.set(since)
      for (const stream of file.waitingStreams) process.nextTick(() => stream.wake())
    }
    const shown = Math.min(durable, file.since.value)
    if (shown > this._durable.value) this._durable.set(shown)
  }

  /** @param {Error | null} err */
  _end (err) {
    const waiting = this._waiting ?? []
    this._waiting = null
    if (err && !this._file.lifecycle.isClosed) for (const stream of this._file.waitingStreams) stream.close(err)
    for (const cb of waiting) process.nextTick(cb, err)
    if (this._next.length > 0) this._run()
  }

  /** @param {number} size */
  _shrunk (size) {
    const { blocks: { path }, store: { end } } = this._file
    return new LogError('ERR_LOG_CORRUPT', `${path} has ${size} bytes, but ${end} of it were read before: something has ` +
      'cut off what was committed. Keep a copy of the file, and open it again', { offset: size, path })
  }
}

/**
 * @param {LogFile} file
 * @returns {Promise<boolean>}  whether there is a copy of the log's end beside it
 */
async function hasTailCopy ({ blocks, storage = fileStorage }) {
  try {
    const realPath = storage.realPath ? await call(storage, 'realPath', blocks.path) : blocks.path
    const handle = await call(storage, 'open', realPath + TAIL_SUFFIX, { flags: 'r', createFolder: false })
    await call(handle, 'close')
    return true
  } catch {
    return false
  }
}

// While a log's file is being replaced, readers wait; afterwards they go on in the one that it is.

class Replacement {
  constructor () {
    /** @type {Array<() => void> | null} who waits; null when nothing is being replaced */
    this._waiting = null
  }

  /** @param {{ isReplaced: boolean }} store  that nobody may rely on from now on */
  begin (store) {
    store.isReplaced = true
    this._waiting = []
  }

  /** @param {{ isReplaced: boolean }} store  to go on with: another one, or the same */
  end (store) {
    store.isReplaced = false
    const waiting = this._waiting ?? []
    this._waiting = null
    for (const run of waiting) process.nextTick(run)
  }

  /** @param {() => void} run  at once, unless something is being replaced */
  wait (run) {
    if (this._waiting) this._waiting.push(run)
    else run()
  }
}

exports.Follower = Follower
exports.Replacement = Replacement
