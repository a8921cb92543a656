'use strict'
// Transfers that are whole: what the kernel read or wrote only in part is continued until it is all there. And when a
// transfer may be made without asking a thread. Reads a range of an open file past its cache.

const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')

/** @typedef {import('./storage').StorageHandle} StorageHandle */

/**
 * What the reader, the writer and the span readers of one block file share.
 * @typedef {object} OpenFile
 * @property {string} path  as it was given until the file is open for writing, then with no symlink in it
 * @property {import('./storage').StorageHandle | null} handle  null before the file is open and after it was closed
 * @property {import('@millrace/flow').Obz<number>} size  bytes that are readable; what lies past it is nobody's yet
 * @property {number} blockSize  in bytes
 * @property {import('./block-cache').BlockCache} cache
 * @property {import('./writer').RangeLock} lock
 * @property {import('./whole-io').AdaptiveIo} adaptiveIo
 * @property {import('./storage').Storage} storage
 * @property {boolean} hasUnsyncedName  its name may not be on stable storage yet
 * @property {import('./storage').StorageLock | null} lockHeld  what keeps other writers out
 * @property {number} rewriteCount  overwrites and truncations so far: bytes kept from before one may be stale
 */

// The kernel and Node take at most 2 GiB a call.
const TRANSFER_SIZE_MAX = 2 ** 30

/**
 * Reads until `buf` is full or the file ends.
 * @param {StorageHandle} handle
 * @param {Buffer} buf  filled from its start; the caller's again when `cb` runs
 * @param {number} position  in the file, in bytes
 * @param {(err: Error | null, bytesRead: number) => void} cb  `bytesRead` is below `buf.length` only at the file's end
 */
function readWhole (handle, buf, position, cb) {
  let done = 0
  const next = () => {
    handle.read(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done, (err, count) => {
      if (err) return cb(err, done)
      done += /** @type {number} */ (count)
      if (count === 0 || done === buf.length) cb(null, done)
      else next()
    })
  }
  next()
}

/**
 * The same in one go, blocking.
 * @param {StorageHandle} handle
 * @param {Buffer} buf
 * @param {number} position
 * @returns {number}  bytes read
 */
function readWholeSync (handle, buf, position) {
  let done = 0
  while (done < buf.length) {
    const length = Math.min(buf.length - done, TRANSFER_SIZE_MAX)
    const count = handle.readSync(buf, done, length, position + done)
    if (count === 0) break
    done += count
  }
  return done
}

/**
 * Writes all of `buf`, or fails; after a failure any part of it may be in the file.
 * @param {StorageHandle} handle
 * @param {Buffer} buf  must not change until `cb` runs
 * @param {number} position
 * @param {(err: Error | null) => void} cb
 */
function writeWhole (handle, buf, position, cb) {
  let done = 0
  const next = () => {
    handle.write(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done, (err, count) => {
      if (err) return cb(err)
      if (count === 0) return cb(tookNothing(done, buf.length))
      done += /** @type {number} */ (count)
      if (done === buf.length) cb(null)
      else next()
    })
  }
  if (buf.length === 0) cb(null)
  else next()
}

/**
 * The same in one go, blocking.
 * @param {NonNullable<StorageHandle['writeSync']>} writeSync
 * @param {Buffer} buf
 * @param {number} position
 */
function writeWholeSync (writeSync, buf, position) {
  for (let done = 0; done < buf.length;) {
    const count = writeSync(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done)
    if (count === 0) throw tookNothing(done, buf.length)
    done += count
  }
}

/**
 * A disk that takes nothing and reports no error would have us ask for ever.
 * @param {number} done
 * @param {number} size
 */
function tookNothing (done, size) {
  return new LogError('EIO', `write: the disk took ${done} of ${size} bytes`)
}

// How to read, write or sync without making others wait: synchronously while that is answered at once, asynchronously
// after a call that had to wait for a disk. Bytes that a thread has read change cores, which costs more than the read
// itself; and a small write, or a sync on a fast disk, takes less time than asking a thread for it.

// From the page cache 256 KiB take some 0.03 ms. A call that took this long was answered by something slower.
const SLOW_MS = 1
// After a slow call so many go through the thread pool before a synchronous one is tried again.
const ASYNC_COUNT_MAX = 32
// Calls that may be timed together are so again after so many quick ones, and then so many are.
const TIMED_COUNT = 64
const TOGETHER_COUNT = 4

class AdaptiveIo {
  /**
   * @param {object} [options]
   * @param {number} [options.slowMs]  how long a call may take
   * @param {number} [options.asyncCountMin]  how many go through the pool after one slow call; twice as many after each
   *   that follows soon, so that a disk which is slow now and then is not taken for one that always is
   * @param {number} [options.quickCountMin]  how many quick calls it takes until the next slow one is not soon
   */
  constructor ({ slowMs = SLOW_MS, asyncCountMin = ASYNC_COUNT_MAX, quickCountMin = 1 } = {}) {
    this._slowMs = slowMs
    this._asyncCountMin = asyncCountMin
    this._quickCountMin = quickCountMin
    this._asyncCount = asyncCountMin
    this._asyncLeft = 0
    this._quickCount = 0
    this._timedLeft = TIMED_COUNT
    this._togetherLeft = 0
    this._lookedAt = 0
  }

  /** Whether the next call may block. */
  mayBlock () {
    return this._asyncLeft === 0
  }

  /** One goes through the pool. */
  noteAsync () {
    if (this._asyncLeft > 0) this._asyncLeft--
  }

  /**
   * For calls so short that two looks at the clock for each would show. While all are quick, a few of them are timed
   * together, with what lies between them. If that took long, nobody can tell what did: so the next ones are timed one
   * by one, and what is slow is seen then.
   * @returns {number}  to be given to `end`, right after the call
   */
  begin () {
    return this._timedLeft > 0 ? performance.now() : this._lookedAt
  }

  /** @param {number} started  what `begin` gave */
  end (started) {
    const isAlone = this._timedLeft > 0
    if (!isAlone && --this._togetherLeft > 0) return
    const now = performance.now()
    const ms = now - started
    this._lookedAt = now
    this._togetherLeft = TOGETHER_COUNT
    if (isAlone) this.note(ms)
    if (ms > this._slowMs) this._timedLeft = TIMED_COUNT
    else if (isAlone) this._timedLeft--
  }

  /** @param {number} ms  that a synchronous call took */
  note (ms) {
    if (ms > this._slowMs) {
      this._asyncLeft = this._asyncCount
      this._asyncCount = Math.min(2 * this._asyncCount, ASYNC_COUNT_MAX)
      this._quickCount = 0
    } else if (++this._quickCount >= this._quickCountMin) {
      this._asyncCount = this._asyncCountMin
      this._quickCount = 0
    }
  }
}

// Reads a range of the file itself, past the cache: now if that will not make others wait, else through the pool.

// A larger read would hold up the event loop even when the page cache has it all.
const SYNC_SIZE_MAX = 1024 * 1024

/**
 * @param {OpenFile} file
 * @param {Buffer} target  filled whole
 * @param {number} position
 * @param {(err: Error | null) => void} cb  may run before `fetch` returns
 */
function fetch (file, target, position, cb) {
  const end = position + target.length
  if (file.handle === null) return cb(closedError('read', file.path))
  const { handle, lock, adaptiveIo } = file
  if (target.length <= SYNC_SIZE_MAX && lock.isFree(position, end) && adaptiveIo.mayBlock()) {
    let count
    try {
      const beganMs = performance.now()
      count = readWholeSync(handle, target, position)
      adaptiveIo.note(performance.now() - beganMs)
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    return cb(count === target.length ? null : shortReadError(file, position + count))
  }
  adaptiveIo.noteAsync()
  lock.read(position, end, (release) => {
    readWhole(handle, target, position, (err, count) => {
      release()
      cb(err || count === target.length ? err : shortReadError(file, position + count))
    })
  })
}

/**
 * The same where nobody has to wait, and nothing is made. What fails, or comes in part, is left to `fetch`.
 * @param {OpenFile} file
 * @param {Buffer} target
 * @param {number} offset  in the target
 * @param {number} size  in bytes; the file must have so many
 * @param {number} position
 * @returns {boolean}  whether they are in the target
 */
function fetchNow (file, target, offset, size, position) {
  const { handle, lock, adaptiveIo } = file
  if (size > SYNC_SIZE_MAX || handle === null || !adaptiveIo.mayBlock()) return false
  if (!lock.isFree(position, position + size)) return false
  const started = adaptiveIo.begin()
  try {
    if (handle.readSync(target, offset, size, position) !== size) return false
  } catch {
    return false
  }
  adaptiveIo.end(started)
  return true
}

/** @type {(file: OpenFile, end: number) => LogError} */
function shortReadError ({ path, size }, end) {
  return new LogError('ERR_FILE_SHORT_READ', `read: ${path} ends at ${end} but was ${size.value} bytes; ` +
    'another program has truncated it; close it and find that program', { offset: end, path })
}

/** @type {(what: string, path: string) => LogError} */
function closedError (what, path) {
  return new LogError('ERR_FILE_CLOSED', `${what}: ${path} is closed; open it again first`, { path })
}

/** @type {(what: string, start: number, end: number, file: OpenFile) => LogError} */
function rangeError (what, start, end, { path, size }) {
  return new LogError('ERR_FILE_RANGE', `${what}: bytes ${start} to ${end} reach past the end of ${path}, ` +
    `which is at ${size.value}; stay below it`, { offset: start, path })
}

/** @type {(filePath: string, stat: { isDirectory: () => boolean }) => LogError} */
function notAFile (filePath, stat) {
  const found = stat.isDirectory() ? 'a directory' : 'not a regular file'
  const code = stat.isDirectory() ? 'EISDIR' : 'ERR_INVALID_ARGUMENT'
  return new LogError(code, `open: ${filePath} is ${found}; give the path of a file`, { path: filePath })
}

exports.readWhole = readWhole
exports.readWholeSync = readWholeSync
exports.writeWhole = writeWhole
exports.writeWholeSync = writeWholeSync
exports.AdaptiveIo = AdaptiveIo
exports.notAFile = notAFile
exports.fetch = fetch
exports.fetchNow = fetchNow
exports.closedError = closedError
exports.rangeError = rangeError
