'use strict'
// Changes the file, one change after the other. A change that fails leaves file, size and cache as they were, or says
// that it could not.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { call, toCallback, trampoline } = require('@millrace/flow')
const { openSized } = require('./open')
const { closedError, rangeError } = require('./reader')
const { AdaptiveIo, readWhole, readWholeSync, writeWhole, writeWholeSync } = require('./whole-io')

// So much is read, or synced, without asking a thread, as long as the disk answers at once.
const INLINE_SIZE_MAX = 64 * 1024
// So much is written likewise. The page cache takes it in half a millisecond, and from the core that has just made it.
const INLINE_WRITE_SIZE_MAX = 1024 * 1024
// A sync that takes longer holds up the event loop for more than asking a thread costs.
const SLOW_SYNC_MS = 2

/**
 * @typedef {import('./reader').OpenFile} OpenFile
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {(err: Error | null) => void} Done
 */

class Writer {
  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    /** @type {Array<{ name: string, change: (handle: StorageHandle, done: Done) => void, done: Done }>} */
    this._queue = []
    this._isBusy = false
    // Set when bytes of a failed append could not be cut off: they must be gone before anything is appended.
    this._hasDebris = false
    this._writeIo = new AdaptiveIo()
    this._syncIo = new AdaptiveIo({ slowMs: SLOW_SYNC_MS, asyncCountMin: 1 })
    this._unsyncedSize = 0
    // How many zeros to keep behind the end, and where those that are there end.
    this._reserveSize = 0
    this._reserveEnd = 0
  }

  /**
   * Keeps zeros behind the end, so that a sync after an append need not write the file's size too. A crash leaves them.
   * @param {number} size  in bytes
   */
  reserve (size) {
    this._reserveSize = size
  }

  /**
   * @param {Buffer} bytes  must not change until `cb` runs
   * @param {(err: Error | null, size?: number) => void} cb
   */
  append (bytes, cb) {
    const { size, cache } = this._file
    let newSize = 0
    this._enqueue('append', (handle, done) => {
      const position = size.value
      newSize = position + bytes.length
      this._clearDebris(handle, (err) => {
        if (err) return done(err)
        this._writeAtEnd(handle, bytes, position, (err) => {
          if (err) return this._cutDebris(handle, err, done)
          cache.patch(bytes, position)
          size.set(newSize)
          done(null)
        })
      })
    }, (err) => err ? cb(err) : cb(null, newSize))
  }

  /**
   * @param {StorageHandle} handle
   * @param {Buffer} bytes
   * @param {number} position
   * @param {Done} done
   */
  _writeAtEnd (handle, bytes, position, done) {
    const end = position + bytes.length
    if (this._reserveSize === 0 || end <= this._reserveEnd) return this._write(handle, bytes, position, done)
    const padded = Buffer.alloc(bytes.length + this._reserveSize)
    bytes.copy(padded)
    this._write(handle, padded, position, (err) => {
      if (!err) this._reserveEnd = position + padded.length
      // There may be room for the bytes all the same.
      if (err) this._write(handle, bytes, position, done)
      else done(null)
    })
  }

  /**
   * @param {StorageHandle} handle
   * @param {Buffer} target
   * @param {number} position
   * @param {(err: Error | null, count: number) => void} done
   */
  _read (handle, target, position, done) {
    const { adaptiveIo } = this._file
    if (target.length > INLINE_SIZE_MAX || !adaptiveIo.mayBlock()) {
      adaptiveIo.noteAsync()
      return readWhole(handle, target, position, done)
    }
    let count
    try {
      count = adaptiveIo.time(() => readWholeSync(handle, target, position))
    } catch (err) {
      return done(/** @type {Error} */ (err), 0)
    }
    done(null, count)
  }

  /**
   * @param {StorageHandle} handle
   * @param {Buffer} bytes
   * @param {number} position
   * @param {Done} done
   */
  _write (handle, bytes, position, done) {
    this._unsyncedSize += bytes.length
    const { writeSync } = handle
    if (writeSync === undefined || bytes.length > INLINE_WRITE_SIZE_MAX || !this._writeIo.mayBlock()) {
      this._writeIo.noteAsync()
      return writeWhole(handle, bytes, position, done)
    }
    try {
      this._writeIo.time(() => writeWholeSync(writeSync, bytes, position))
    } catch (err) {
      return done(/** @type {Error} */ (err))
    }
    done(null)
  }

  /**
   * @param {Buffer} bytes  must not change until `cb` runs
   * @param {number} position  the range must lie within the file when its turn comes
   * @param {boolean} isQuiet  whether readers need not read the bytes again
   * @param {Done} cb
   */
  overwrite (bytes, position, isQuiet, cb) {
    const end = position + bytes.length
    this._enqueue('write', (handle, done) => {
      if (end > this._file.size.value) return done(rangeError('write', position, end, this._file))
      this._file.lock.write(position, end, (release) => {
        this._overwriteLocked(handle, bytes, position, isQuiet, (err) => {
          release()
          done(err)
        })
      })
    }, cb)
  }

  /**
   * @param {StorageHandle} handle
   * @param {Buffer} bytes
   * @param {number} position
   * @param {boolean} isQuiet
   * @param {Done} done
   */
  _overwriteLocked (handle, bytes, position, isQuiet, done) {
    const { cache } = this._file
    const before = Buffer.allocUnsafe(bytes.length)
    this._read(handle, before, position, (err, count) => {
      if (err) return done(err)
      if (count < before.length) return done(rangeError('write', position, position + bytes.length, this._file))
      if (!isQuiet) this._file.rewriteCount++
      this._write(handle, bytes, position, (err) => {
        if (!err) {
          cache.patch(bytes, position)
          return done(null)
        }
        writeWhole(handle, before, position, (undoErr) => {
          if (!undoErr) return done(err)
          cache.drop(position, position + bytes.length)
          done(this._notUndone(err, position, position + bytes.length))
        })
      })
    })
  }

  /**
   * @param {number} newSize  a larger one than the file's changes nothing
   * @param {Done} cb
   */
  truncate (newSize, cb) {
    const { size, cache, lock } = this._file
    this._enqueue('truncate', (handle, done) => {
      if (newSize >= size.value) return done(null)
      lock.write(newSize, Infinity, (release) => {
        handle.truncate(newSize, (err) => {
          if (!err) {
            this._reserveEnd = 0
            this._file.rewriteCount++
            cache.drop(newSize, Infinity)
            size.set(newSize)
          }
          release()
          done(err)
        })
      })
    }, cb)
  }

  /**
   * Gives back what was reserved behind the end.
   * @param {Done} cb
   */
  trim (cb) {
    this._enqueue('trim', (handle, done) => {
      const { value: size } = this._file.size
      if (this._reserveEnd <= size) return done(null)
      handle.truncate(size, (err) => {
        if (!err) this._reserveEnd = 0
        done(err)
      })
    }, cb)
  }

  /**
   * Goes on with another file, which gets the name of this one.
   * @param {string} from  in the same folder, whole and synced
   * @param {Done} cb  ERR_FILE_NOT_UNDONE: which of the two has the name after a power cut cannot be told
   */
  replaceWith (from, cb) {
    this._enqueue('replace', (handle, done) => toCallback(this._replace(handle, from), done), cb)
  }

  /**
   * @param {StorageHandle} handle
   * @param {string} from
   */
  async _replace (handle, from) {
    const { storage, path: filePath, lockHeld } = this._file
    const isExclusive = lockHeld?.kind === 'kernel'
    const next = await openSized(storage, from, { flags: 'r+', createFolder: false, mustExist: true, isExclusive })
    const release = await this._excludeReaders()
    try {
      await this._mayReplace(handle, from, next.handle)
      await call(storage, 'rename', from, filePath)
    } catch (err) {
      await call(next.handle, 'close').catch(() => {})
      release()
      throw err
    }
    /** @type {Error | null} */
    const syncError = await call(storage, 'syncFolder', path.dirname(filePath)).then(() => null, (err) => err)
    this._goOnWith(next)
    await call(handle, 'close').catch(() => {})
    release()
    if (syncError) throw nameNotSynced(syncError, filePath)
  }

  /**
   * Nobody may be in the middle of a read while the handle changes.
   * @returns {Promise<() => void>}  ends it
   */
  _excludeReaders () {
    return new Promise((resolve) => this._file.lock.write(0, Infinity, resolve))
  }

  /**
   * Before a file gets the name of another it has that one's owner, mode and lock; and the name must still be that of
   * the file it is to replace.
   * @param {StorageHandle} handle
   * @param {string} from
   * @param {StorageHandle} newHandle
   */
  async _mayReplace (handle, from, newHandle) {
    const { storage, path: filePath, lockHeld } = this._file
    if (lockHeld?.kind === 'kernel' && newHandle.tryLock) {
      const outcome = await call(newHandle, 'tryLock')
      if (outcome !== 'held') {
        throw new LogError('ERR_LOG_LOCKED', `replace: the file that is to become ${filePath} cannot be locked (${outcome}): ` +
          'another process has it open; try again', { path: filePath })
      }
    }
    await call(this, '_checkName', handle, false)
    if (storage.copyOwnership) await call(storage, 'copyOwnership', filePath, from)
  }

  /**
   * What is written to a file that has lost its name is lost.
   * @param {StorageHandle} handle
   * @param {boolean} mayBlock
   * @param {Done} cb  ERR_FILE_MOVED
   */
  _checkName (handle, mayBlock, cb) {
    const { lockHeld, path: filePath } = this._file
    const { isAt, isAtSync } = handle
    // Without a lock there is no promise that the file is the one of that name: it may be meant to have none.
    if (lockHeld === null || !isAt) return cb(null)
    if (!mayBlock || !isAtSync) return isAt(filePath, (err, isThere) => cb(err || isThere ? err : moved(filePath)))
    let failure = null
    try {
      if (!isAtSync(filePath)) failure = moved(filePath)
    } catch (err) {
      failure = /** @type {Error} */ (err)
    }
    cb(failure)
  }

  /**
   * Goes on with the file that has the name now, to read it.
   * @param {Done} cb
   */
  reopen (cb) {
    this._enqueue('reopen', (handle, done) => toCallback(this._reopen(handle), done), cb)
  }

  /** @param {StorageHandle} handle */
  async _reopen (handle) {
    const { storage, path: filePath } = this._file
    const next = await openSized(storage, filePath, { flags: 'r', createFolder: false })
    const release = await this._excludeReaders()
    this._goOnWith(next)
    await call(handle, 'close').finally(release)
  }

  /** @param {import('./open').Sized} next */
  _goOnWith ({ handle, size: newSize }) {
    const { cache, size } = this._file
    this._file.handle = handle
    this._file.rewriteCount++
    this._reserveEnd = 0
    this._hasDebris = false
    cache.drop(0, Infinity)
    size.set(newSize)
  }

  /** @param {Done} cb */
  sync (cb) {
    this._enqueue('sync', (handle, done) => {
      const isSmall = this._unsyncedSize <= INLINE_SIZE_MAX
      this._unsyncedSize = 0
      this._syncHandle(handle, isSmall, (err) => {
        if (err) return done(err)
        this._checkName(handle, this._syncIo.mayBlock(), (err) => err ? done(err) : this._syncName(done))
      })
    }, cb)
  }

  /**
   * @param {StorageHandle} handle
   * @param {boolean} isSmall  whether little was written since the last sync
   * @param {Done} done
   */
  _syncHandle (handle, isSmall, done) {
    const { syncSync } = handle
    if (!isSmall || syncSync === undefined || !this._syncIo.mayBlock()) {
      this._syncIo.noteAsync()
      return handle.sync(done)
    }
    try {
      this._syncIo.time(syncSync)
    } catch (err) {
      return done(/** @type {Error} */ (err))
    }
    done(null)
  }

  /**
   * The bytes of a file whose name is lost with the power are lost too.
   * @param {Done} done
   */
  _syncName (done) {
    const { storage, path: filePath, hasUnsyncedName } = this._file
    if (!hasUnsyncedName) return done(null)
    storage.syncFolder(path.dirname(filePath), (err) => {
      if (!err) this._file.hasUnsyncedName = false
      done(err)
    })
  }

  /**
   * Whether nothing is being changed, or about to be, and the storage has calls that return only when they are done: as
   * the process ends there is no waiting.
   */
  get canEndNow () {
    const { handle } = this._file
    const isSync = handle?.writeSync !== undefined && handle.syncSync !== undefined && handle.truncateSync !== undefined
    return isSync && !this._isBusy && this._queue.length === 0 && !this._hasDebris
  }

  /**
   * Cuts off what was reserved behind the end, writes, and syncs, all at once. Only where `canEndNow`.
   * @param {Array<{ bytes: Buffer, position: number }>} writes
   * @throws what the file system says; ERR_FILE_MOVED
   */
  endNow (writes) {
    const { size: { value: size } } = this._file
    const handle = /** @type {Required<StorageHandle>} */ (this._file.handle)
    if (this._reserveEnd > size) handle.truncateSync(size)
    this._reserveEnd = 0
    for (const { bytes, position } of writes) writeWholeSync(handle.writeSync, bytes, position)
    handle.syncSync()
    this._checkName(handle, true, (err) => { if (err) throw err })
  }

  /**
   * @param {string} name
   * @param {(handle: StorageHandle, done: Done) => void} change
   * @param {Done} done
   */
  _enqueue (name, change, done) {
    this._queue.push({ name, change, done })
    if (!this._isBusy) this._runQueue()
  }

  _runQueue () {
    this._isBusy = true
    trampoline((next) => {
      const task = this._queue.shift()
      if (task === undefined) {
        this._isBusy = false
        return
      }
      const finish = (/** @type {Error | null} */ err) => {
        // Not called from here, so that a callback which throws cannot stop the queue.
        process.nextTick(task.done, err ?? null)
        next()
      }
      const { handle, path } = this._file
      if (handle === null) finish(closedError(task.name, path))
      else task.change(handle, finish)
    })
  }

  /**
   * @param {StorageHandle} handle
   * @param {Error} err  why the append failed
   * @param {Done} done
   */
  _cutDebris (handle, err, done) {
    const { value: size } = this._file.size
    this._reserveEnd = 0
    handle.truncate(size, (undoErr) => {
      this._hasDebris = Boolean(undoErr)
      done(undoErr ? this._notUndone(err, size, Infinity) : err)
    })
  }

  /**
   * @param {StorageHandle} handle
   * @param {Done} done
   */
  _clearDebris (handle, done) {
    if (!this._hasDebris) return done(null)
    handle.truncate(this._file.size.value, (err) => {
      if (!err) this._hasDebris = false
      done(err)
    })
  }

  /**
   * @param {Error} cause
   * @param {number} start
   * @param {number} end
   */
  _notUndone (cause, start, end) {
    const { path } = this._file
    const range = end === Infinity ? `bytes past ${start}` : `bytes ${start} to ${end}`
    return new LogError('ERR_FILE_NOT_UNDONE', `write: ${path} could not be written (${cause.message}), and ${range} ` +
      'could not be put back; close the file and check the disk', { cause, offset: start, path })
  }
}

/** @param {string} path */
function moved (path) {
  return new LogError('ERR_FILE_MOVED', `${path} leads to another file now, or to none: the open file was renamed, ` +
    'removed or replaced. Close it, and find out where it went before you open it again', { path })
}

/**
 * @param {Error} cause
 * @param {string} path
 */
function nameNotSynced (cause, path) {
  return new LogError('ERR_FILE_NOT_UNDONE', `replace: ${path} has a new file, but its folder could not be synced ` +
    `(${cause.message}), so a power cut may bring the old one back; close the file and check the disk`, { cause, path })
}

// Keeps reads and overwrites of the same bytes apart, so that nobody reads a half-written range. Appends need no lock:
// nothing past the file's size is ever read.

/** @typedef {{ start: number, end: number }} Range */

class RangeLock {
  constructor () {
    /** @type {Set<Range>} */
    this._readers = new Set()
    // Writes come one at a time, from the writer's queue; this one is running or waiting for its readers to leave.
    /** @type {(Range & { run: (() => void) | null }) | null} */
    this._writer = null
    /** @type {Array<{ range: Range, run: (release: () => void) => void }>} */
    this._waiting = []
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {boolean}  whether a read that is over before anything else can run needs no lock
   */
  isFree (start, end) {
    return this._writer === null || end <= this._writer.start || start >= this._writer.end
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {(release: () => void) => void} run  runs at once when no overwrite of these bytes is near
   */
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

  /**
   * @param {number} start
   * @param {number} end
   * @param {(release: () => void) => void} run  runs once the reads of these bytes that had begun are over
   */
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

exports.Writer = Writer
exports.RangeLock = RangeLock
