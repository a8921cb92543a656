'use strict'
// Keeps a read-only log up with the process that writes it: notices that the file changed, lets the framing find what
// is new in it, and wakes the streams that wait for that.

const { performance } = require('node:perf_hooks')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call, pause } = require('@millrace/flow')
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
  #file
  #durable
  _watch
  /** @type {Done[]} who waits for the next look */
  #waiting = []
  #isBusy = false
  #isQuiet = false
  /** How far the end has come that is being written anew, and when. */
  #rewriting = { size: -1, atMs: 0 }

  /**
   * @param {LogFile} file  loaded
   * @param {import('@millrace/flow').Obz<number>} durable
   */
  constructor (file, durable) {
    this.#file = file
    this.#durable = durable
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
    this.#waiting.push(cb)
    if (!this.#isBusy) this.#run()
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
      if (attempt < this.#retryCountMax(err)) this.lookAgain(attempt, () => this.retry(action, cb, attempt + 1))
      else cb(err, result)
    })
  }

  /** How often what looks damaged is read again before it is believed. */
  get lookCountMax () {
    return this.#isQuiet ? 1 : LOOK_AGAIN_MS.length
  }

  /** @param {Error | null} err */
  #retryCountMax (err) {
    if (!(err instanceof LogError)) return 0
    if (err.code === 'ERR_LOG_CORRUPT') return this.lookCountMax
    // The end is being written anew: looking again waits for it. Or it was appended after the last look.
    return isShortRead(err) || err.code === 'ERR_RECORD_NOT_FOUND' ? 1 : 0
  }

  /**
   * Forgets all bytes that were read, so that what comes next is read anew.
   * @param {number} attempt  from 0: later ones wait longer
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

  /** One look at a time: who asks while one is under way waits for the next. */
  async #run () {
    const { lifecycle, waitingStreams } = this.#file
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting.splice(0)
      const err = await this.#look().then(() => null, (err) => err)
      if (err && !lifecycle.isClosed) for (const stream of waitingStreams) stream.close(err)
      for (const cb of waiting) process.nextTick(cb, err)
    }
    this.#isBusy = false
  }

  async #look () {
    const file = this.#file
    const { blocks, lifecycle } = file
    for (let shortReadCount = 0; !lifecycle.isClosed;) {
      /** @type {{ size: number, modifiedMs: number, isGone: boolean }} */
      const state = await new Promise((resolve, reject) => {
        blocks.refresh((err, state) => err || !state ? reject(err) : resolve(state), file.store.end)
      })
      if (lifecycle.isClosed) return
      this.#isQuiet = Date.now() - state.modifiedMs > QUIET_MS
      if (state.isGone) {
        await this.#reopen()
      } else if (state.size < file.store.end) {
        await this.#awaitEnd(state.size)
      } else {
        this.#rewriting.size = -1
        const err = await this.#follow()
        if (!err) return
        // The writer took back what was no whole commit while it was being read.
        if (!isShortRead(err) || shortReadCount++ === SHORT_READ_COUNT_MAX) throw err
      }
    }
  }

  /** @returns {Promise<Error | null>} */
  #follow () {
    const file = this.#file
    return new Promise((resolve) => file.store.follow((err, news) => {
      // At once: nobody may see a record before `since` has reached it.
      if (news) this.#tell(news)
      resolve(err)
    }))
  }

  /**
   * The file has lost bytes that were read before. If a copy of them lies beside it, its writer is writing them anew;
   * what was read stays good.
   * @param {number} size  of the file now
   */
  async #awaitEnd (size) {
    const now = performance.now()
    const hasProgress = this.#rewriting.size !== size
    if (hasProgress) this.#rewriting = { size, atMs: now }
    const waitedMs = now - this.#rewriting.atMs
    // Without a copy all may be there again, just now.
    const isHopeless = await hasTailCopy(this.#file) ? waitedMs > TAIL_MS_MAX : !hasProgress
    if (isHopeless) throw shrunkError(this.#file, size)
    await pause(TAIL_POLL_MS)
  }

  /** The log was compacted, as a rule: it has another file now. What was read so far can be read still. */
  async #reopen () {
    const file = this.#file
    const { blocks, storage, store, replacement } = file
    if (!('header' in store)) throw goneError(blocks.path, new Error('its framing does not say which log it is'))
    const { id } = await peekId(blocks.path, storage).catch((err) => { throw goneError(blocks.path, err) })
    if (!id?.equals(store.header.id)) throw goneError(blocks.path, new Error('it is another log'))
    replacement.begin(store)
    try {
      await call(blocks, 'reopen')
      file.store = (await openSteadily(file, '')).store
      // What was appended before the file was replaced is not behind the new one's end.
      file.writtenSince = Math.max(file.writtenSince, file.store.last)
    } finally {
      replacement.end(file.store)
    }
    this._watch.restart()
  }

  /** @param {News} news */
  #tell ({ since, durable }) {
    const file = this.#file
    if (since > file.since.value) {
      file.since.set(since)
      for (const stream of file.waitingStreams) process.nextTick(() => stream.wake())
    }
    const shown = Math.min(durable, file.since.value)
    if (shown > this.#durable.value) this.#durable.set(shown)
  }
}

/**
 * @param {string} path
 * @param {Error} cause
 */
function goneError (path, cause) {
  return new LogError('ERR_LOG_CORRUPT', `${path} was removed, or replaced by another file (${cause.message}); open it ` +
    'again', { cause, path })
}

/**
 * @param {LogFile} file
 * @param {number} size
 */
function shrunkError ({ blocks: { path }, store: { end } }, size) {
  return new LogError('ERR_LOG_CORRUPT', `${path} has ${size} bytes, but ${end} were read before: another program has ` +
    'cut committed records off. Keep a copy of the file, and open it again', { offset: size, path })
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
  /** @type {Array<() => void> | null} who waits; null when nothing is being replaced */
  #waiting = null

  /** @param {{ isReplaced: boolean }} store  that nobody may rely on from now on */
  begin (store) {
    store.isReplaced = true
    this.#waiting = []
  }

  /** @param {{ isReplaced: boolean }} store  to go on with: another one, or the same */
  end (store) {
    store.isReplaced = false
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const run of waiting) process.nextTick(run)
  }

  /** @param {() => void} run  at once, unless something is being replaced */
  wait (run) {
    if (this.#waiting) this.#waiting.push(run)
    else run()
  }
}

exports.Follower = Follower
exports.Replacement = Replacement
