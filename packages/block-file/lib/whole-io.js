'use strict'
// Transfers that are complete: if the kernel reads or writes only part of the bytes, the transfer continues. Also
// decides whether a transfer may block, and reads ranges of an open file past the cache.

const fs = require('node:fs')
const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')

/** @typedef {import('./storage').StorageHandle} StorageHandle */

/**
 * The state of one block file, shared by its reader, writer and span readers.
 * @typedef {object} OpenFile
 * @property {string} path  as given; once the file is open for writing, with every symlink followed
 * @property {import('./storage').StorageHandle | null} handle  null before the file is open and after it is closed
 * @property {import('@millrace/flow').Obz<number>} size  readable bytes; nothing reads past it
 * @property {number} blockSize  in bytes
 * @property {import('./block-cache').BlockCache | null} cache  null until something is read by blocks
 * @property {number | import('./shared-cache').SharedCacheHandle} memory  of the cache, as `BlockCache` takes it
 * @property {RangeLock} rangeLock
 * @property {import('./whole-io').AdaptiveIo} adaptiveIo
 * @property {import('./storage').Storage} storage
 * @property {boolean} hasSyncCalls  whether the storage has the calls that the synchronous changes need
 * @property {boolean} hasUnsyncedName  whether the file's name may not be on stable storage yet
 * @property {import('./storage').StorageLock | null} lockHeld  keeps other writers out
 * @property {number} rewriteCount  overwrites and truncations so far; bytes read before the last one may be stale
 */

/**
 * The calls of `node:fs` as promises. Unlike in `node:fs/promises`, an open file is a descriptor.
 * @typedef {Omit<typeof import('node:fs/promises'), 'open'> & {
 *   open: (path: string, flags: number | string, mode?: number) => Promise<number>
 *   read: (fd: number, bytes: Buffer, offset: number, size: number, position: number) => Promise<number>
 *   fstat: (fd: number, options: { bigint: true }) => Promise<import('node:fs').BigIntStats>
 *   fsync: (fd: number) => Promise<void>
 *   close: (fd: number) => Promise<void>
 * }} FileCalls
 */

const files = /** @type {FileCalls} */ (/** @type {unknown} */ (promisesOf(fs)))

// The kernel and Node.js take at most 2 GiB per call.
const TRANSFER_SIZE_MAX = 2 ** 30

/**
 * Reads until `buf` is full or the file ends.
 * @param {StorageHandle} handle
 * @param {Buffer} buf  do not touch it until `cb` runs
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

/** Returns the number of bytes read. @type {(handle: StorageHandle, buf: Buffer, position: number) => number} */
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
 * @param {Buffer} buf  do not change it until `cb` runs
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
 * Writes all of the bytes, in as many writes as it takes, before it returns.
 * @type {(writeSync: NonNullable<StorageHandle['writeSync']>, buf: Buffer, position: number) => void}
 */
function writeWholeSync (writeSync, buf, position) {
  for (let done = 0; done < buf.length;) {
    const count = writeSync(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done)
    if (count === 0) throw tookNothing(done, buf.length)
    done += count
  }
}

// Without this error a disk that takes no bytes and reports none would loop forever.
/** @type {(done: number, size: number) => LogError} */
function tookNothing (done, size) {
  return new LogError('EIO', `write: the disk took ${done} of ${size} bytes`)
}

// Synchronous or through the thread pool? Synchronous calls are cheaper while the disk answers at once: bytes that a
// pool thread read must change cores, which costs more than the read, and a small write or a fast sync takes less time
// than asking a thread. After a slow call, the next calls go through the pool.

// 256 KiB from the page cache take about 0.03 ms. A call that takes this long was answered by something slower.
const SLOW_MS = 1
// After a slow call, at most this many calls go through the pool before a synchronous one is tried.
const ASYNC_COUNT_MAX = 32
// After TIMED_COUNT quick calls timed one by one, `begin` and `end` time TOGETHER_COUNT calls at once.
const TIMED_COUNT = 64
const TOGETHER_COUNT = 4

class AdaptiveIo {
  /**
   * @param {object} [options]
   * @param {number} [options.slowMs]  a call that takes longer is slow
   * @param {number} [options.asyncCountMin]  how many calls go through the pool after a slow call. The number doubles
   *   if the next slow call comes soon: a disk that is slow now and then is not treated like one that always is
   * @param {number} [options.quickCountMin]  after this many quick calls, the next slow call no longer comes soon
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

  /** Whether the next call may be synchronous. */
  mayBlock () {
    return this._asyncLeft === 0
  }

  /** Counts a call that goes through the pool. */
  noteAsync () {
    if (this._asyncLeft > 0) this._asyncLeft--
  }

  /**
   * Times calls so short that reading the clock twice for each would show. While calls are quick, a few are timed
   * together, with the time between them. If that took long, the cause is unknown, so the next calls are timed singly.
   * @returns {number}  pass it to `end` right after the call
   */
  begin () {
    return this._timedLeft > 0 ? performance.now() : this._lookedAt
  }

  /** @param {number} started  the result of `begin` */
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

  /** @param {number} ms  the duration of a synchronous call */
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

// Reads a range of the file past the cache: synchronously if that is quick, otherwise through the pool.

// A larger read would block the event loop even if all of it is in the page cache.
const SYNC_SIZE_MAX = 1024 * 1024

// Fills `target`. `cb` may run before `fetch` returns.
/** @type {(file: OpenFile, target: Buffer, position: number, cb: (err: Error | null) => void) => void} */
function fetch (file, target, position, cb) {
  const end = position + target.length
  if (file.handle === null) return cb(closedError('read', file.path))
  const { handle, rangeLock, adaptiveIo } = file
  if (target.length <= SYNC_SIZE_MAX && rangeLock.isFree(position, end) && adaptiveIo.mayBlock()) {
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
  rangeLock.read(position, end, (release) => {
    // While the read waited, the file may have been replaced by another one, or closed.
    if (file.handle === null) {
      release()
      return cb(closedError('read', file.path))
    }
    readWhole(file.handle, target, position, (err, count) => {
      release()
      cb(err || count === target.length ? err : shortReadError(file, position + count))
    })
  })
}

// Like `fetch`, but never waits, and allocates nothing. If it returns false, `fetch` waits or reports the error. The
// range must lie in the file. `offset` is a position in the target.
/** @type {(file: OpenFile, target: Buffer, offset: number, size: number, position: number) => boolean} */
function fetchNow (file, target, offset, size, position) {
  const { handle, rangeLock, adaptiveIo } = file
  if (size > SYNC_SIZE_MAX || handle === null || !adaptiveIo.mayBlock()) return false
  if (!rangeLock.isFree(position, position + size)) return false
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

/** @type {(path: string, outcome: string) => LogError} */
function notLocked (path, outcome) {
  return new LogError('ERR_LOG_LOCKED', `replace: the file that is to become ${path} cannot be locked (${outcome}): ` +
    'another process has it open; try again', { path })
}

/** @param {string} path */
function moved (path) {
  return new LogError('ERR_FILE_MOVED', `${path} leads to another file now, or to none: the open file was renamed, ` +
    'removed or replaced. Close it, and find out where it went before you open it again', { path })
}

/** @type {(cause: Error, path: string) => LogError} */
function notReopened (cause, path) {
  return new LogError('ERR_FILE_NOT_UNDONE', `replace: ${path} was closed to be replaced, and could not be opened again ` +
    `(${cause.message}). The file is whole; close what is open, and open it again`, { cause, path })
}

/** @type {(cause: Error, path: string) => LogError} */
function nameNotSynced (cause, path) {
  return new LogError('ERR_FILE_NOT_UNDONE', `replace: ${path} has a new file, but its folder could not be synced ` +
    `(${cause.message}), so a power cut may bring the old one back; close the file and check the disk`, { cause, path })
}

// RangeLock keeps reads and overwrites of the same bytes apart, so that no reader sees a half-written range. Appends
// need no lock: nobody reads past the file's size.

/** @typedef {{ start: number, end: number }} Range */

class RangeLock {
  constructor () {
    /** @type {Set<Range>} */
    this._readers = new Set()
    // The one write that is running, or waiting until its readers are done. The writer's queue admits no second one.
    /** @type {(Range & { run: (() => void) | null }) | null} */
    this._writer = null
    /** @type {Array<{ range: Range, run: (release: () => void) => void }>} */
    this._waiting = []
  }

  /** Whether a synchronous read of the range needs no lock. @type {(start: number, end: number) => boolean} */
  isFree (start, end) {
    return this._writer === null || end <= this._writer.start || start >= this._writer.end
  }

  // Calls `run` at once, unless an overwrite of these bytes is running or waiting.
  /** @type {(start: number, end: number, run: (release: () => void) => void) => void} */
  read (start, end, run) {
    const range = { start, end }
    if (!this.isFree(start, end)) {
      this._waiting.push({ range, run })
      return
    }
    this._readers.add(range)
    run(() => {
      this._readers.delete(range)
      this._startWriter()
    })
  }

  // Calls `run` once the running reads of these bytes are done.
  /** @type {(start: number, end: number, run: (release: () => void) => void) => void} */
  write (start, end, run) {
    this._writer = { start, end, run: () => run(() => this._endWriter()) }
    this._startWriter()
  }

  _startWriter () {
    const writer = this._writer
    if (writer === null || writer.run === null) return
    for (const reader of this._readers) {
      if (reader.start < writer.end && reader.end > writer.start) return
    }
    const { run } = writer
    writer.run = null
    run()
  }

  _endWriter () {
    this._writer = null
    const waiting = this._waiting
    this._waiting = []
    for (const { range, run } of waiting) this.read(range.start, range.end, run)
  }
}

const END = Buffer.alloc(2)

/**
 * Whether the file ends at its size, by one short read: another program may have appended to it, or cut it.
 * @param {OpenFile} file
 */
function endsAsLeft ({ handle, size: { value: size } }) {
  if (handle === null || handle.readSync === undefined) return true
  const before = Math.min(1, size)
  return handle.readSync(END, 0, before + 1, size - before) === before
}

/**
 * An error of a call that reached a file through the open folder names the file as the caller did.
 * @type {(err: any, reach: string, folder: string) => any}
 */
function nameAsGiven (err, reach, folder) {
  if (typeof err?.message !== 'string' || !err.message.includes(`${reach}/`)) return err
  for (const name of ['message', 'path', 'dest']) {
    if (typeof err[name] === 'string') err[name] = err[name].replaceAll(`${reach}/`, `${folder}/`)
  }
  return err
}

exports.files = files
exports.readWhole = readWhole
exports.readWholeSync = readWholeSync
exports.writeWhole = writeWhole
exports.writeWholeSync = writeWholeSync
exports.AdaptiveIo = AdaptiveIo
exports.nameAsGiven = nameAsGiven
exports.notAFile = notAFile
exports.fetch = fetch
exports.fetchNow = fetchNow
exports.closedError = closedError
exports.rangeError = rangeError
exports.notLocked = notLocked
exports.moved = moved
exports.notReopened = notReopened
exports.nameNotSynced = nameNotSynced
exports.RangeLock = RangeLock
exports.endsAsLeft = endsAsLeft
