'use strict'
// The writer makes one change to the file at a time. If a change fails, the file, its size and the cache are as before;
// otherwise the error is ERR_FILE_NOT_UNDONE. Bytes that are passed in must not change until the callback runs.

const path = require('node:path')
const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { LogError } = require('@millrace/errors')
const { promisesOf, toCallback, toPromise } = require('@millrace/flow')
const { checkName, excludeReaders, reopen, replaceWith } = require('./replace')
const {
  AdaptiveIo, closedError, moved, rangeError, readWhole, readWholeSync,
  writeWhole, writeWholeSync
} = require('./whole-io')

// Reads and syncs of up to this many bytes bypass the thread pool, as long as the disk answers at once.
const INLINE_SIZE_MAX = 64 * 1024
// The same for writes. The page cache takes this much in half a millisecond, from the core that made the bytes.
const INLINE_WRITE_SIZE_MAX = 1024 * 1024
// A slower sync blocks the event loop for longer than the thread pool would cost.
const SLOW_SYNC_MS = 2

/**
 * @typedef {import('./whole-io').OpenFile} OpenFile
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {(err: Error | null, result?: any) => void} Done
 * @typedef {(handle: StorageHandle, done: Done, task: Task) => void} Change
 * @typedef {{ name: string, change: Change, cb: Done, bytes: Buffer | null, size: number | null }} Task
 *   an append has `bytes`; once they are in the file, `size` is the file's size after them
 * @typedef {{ bytes: Buffer, position: number }} Held  memory that a pool thread may write to the file at any time
 */

class Writer {
  /** @type {Task[]} */
  #queue = []
  /** @type {Task | null} */
  #running = null
  /** Whether tasks are being taken from the queue. */
  #isBeginning = false
  /** The sync that is running, beside later changes. @type {Task | null} */
  #syncing = null
  /** @type {Set<Held>} */
  #held = new Set()
  /** Whether bytes of a failed append are still after the end. The next append must cut them off first. */
  #hasDebris = false
  #unsyncedSize = 0
  /** Where the reserved zeros end. */
  #reserveEnd = 0

  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    this._writeIo = new AdaptiveIo()
    this._syncIo = new AdaptiveIo({ slowMs: SLOW_SYNC_MS, asyncCountMin: 1 })
    /** How many zeros to keep after the end; see `BlockFile.reserve`. */
    this.reserveSize = 0
  }

  /**
   * Appends at once, if nothing is running or waiting and the disk is expected to answer at once.
   * @param {Buffer} bytes
   * @returns {boolean}  whether they are in the file
   * @throws errors of the file system; then the file is as before, or the error is ERR_FILE_NOT_UNDONE
   */
  tryAppend (bytes) {
    // Beside a sync, a write may have to wait for the disk.
    if (!this.isIdle || this.#hasDebris || !this._file.hasSyncCalls) return false
    if (bytes.length > INLINE_WRITE_SIZE_MAX || !this._writeIo.mayBlock()) return false
    const beganMs = performance.now()
    this.appendNow(bytes)
    this._writeIo.note(performance.now() - beganMs)
    return true
  }

  /**
   * Syncs at once, if nothing is running or waiting and the disk is expected to answer at once.
   * @returns {boolean}  whether everything is on stable storage
   * @throws as `syncNow`
   */
  trySync () {
    const { hasSyncCalls, hasUnsyncedName } = this._file
    const isSmall = this.#unsyncedSize <= INLINE_SIZE_MAX && !hasUnsyncedName
    if (!this.isIdle || !isSmall || !hasSyncCalls || !this.#now.isAtSync || !this._syncIo.mayBlock()) return false
    const beganMs = performance.now()
    this.syncNow()
    this._syncIo.note(performance.now() - beganMs)
    return true
  }

  /** @type {(bytes: Buffer, cb: (err: Error | null, size?: number) => void) => void} */
  append (bytes, cb) {
    this.#enqueue('append', (handle, done, task) => {
      if (!this.#hasDebris) return this.#append(handle, bytes, done, task)
      truncate(handle, this._file.size.value, (err) => {
        if (err) return done(err)
        this.#hasDebris = false
        this.#append(handle, bytes, done, task)
      })
    }, cb, bytes)
  }

  /** @type {(handle: StorageHandle, bytes: Buffer, done: Done, task: Task) => void} */
  #append (handle, bytes, done, task) {
    const { value: size } = this._file.size
    const end = size + bytes.length
    const finish = (/** @type {Error | null} */ err) => {
      // `appendAllNow` has put the same bytes there.
      if (task.size !== null) return done(null, task.size)
      if (!err) {
        this._file.cache?.patch(bytes, size)
        this._file.size.set(task.size = end)
        return done(null, end)
      }
      this.#reserveEnd = 0
      truncate(handle, size, (undoErr) => {
        this.#hasDebris = Boolean(undoErr)
        done(undoErr ? this.#notUndone(err, size, Infinity) : err)
      })
    }
    if (this.reserveSize === 0 || end <= this.#reserveEnd) return this.#write(handle, bytes, size, finish)
    const padded = this.#pad(bytes)
    this.#write(handle, padded, size, (err) => {
      // Without the zeros there may be room for the bytes.
      if (err && task.size === null) return this.#write(handle, bytes, size, finish)
      if (!err) this.#reserveEnd = size + padded.length
      finish(null)
    })
  }

  /** @param {Buffer} bytes */
  #pad (bytes) {
    const padded = Buffer.alloc(bytes.length + this.reserveSize)
    bytes.copy(padded)
    return padded
  }

  /** @type {(handle: StorageHandle, bytes: Buffer, position: number, done: Done) => void} */
  #write (handle, bytes, position, done) {
    this.#unsyncedSize += bytes.length
    const { writeSync } = handle
    const isQuick = this.#syncing === null && bytes.length <= INLINE_WRITE_SIZE_MAX
    if (writeSync === undefined || !isQuick || !this._writeIo.mayBlock()) {
      this._writeIo.noteAsync()
      const held = this.#hold(bytes, position)
      return writeWhole(handle, bytes, position, (err) => {
        this.#held.delete(held)
        done(err)
      })
    }
    try {
      const beganMs = performance.now()
      writeWholeSync(writeSync, bytes, position)
      this._writeIo.note(performance.now() - beganMs)
    } catch (err) {
      return done(/** @type {Error} */ (err))
    }
    done(null)
  }

  // Overwrites a range, which must lie in the file when its turn comes.
  // `isQuiet` says that readers need not read the range again.
  /** @type {(bytes: Buffer, position: number, isQuiet: boolean, cb: Done) => void} */
  overwrite (bytes, position, isQuiet, cb) {
    // Held while it waits, too: then it cannot undo what `overwriteNow` does meanwhile.
    const held = [this.#hold(bytes, position)]
    this.#enqueueAsync('write', async (handle) => {
      const end = position + bytes.length
      if (end > this._file.size.value) throw rangeError('write', position, end, this._file)
      const release = await excludeReaders(this._file, position, end)
      try {
        const before = await this.#readBefore(handle, position, end)
        held.push(this.#hold(before, position))
        if (!isQuiet) this._file.rewriteCount++
        /** @type {Error | null} */
        const err = await toPromise((cb) => this.#write(handle, bytes, position, cb)).catch((err) => err)
        // A read may have made the cache meanwhile.
        if (!err) return this._file.cache?.patch(bytes, position)
        await toPromise((cb) => writeWhole(handle, before, position, cb)).catch(() => {
          this._file.cache?.drop(position, end)
          throw this.#notUndone(err, position, end)
        })
        throw err
      } finally {
        release()
      }
    }, (err) => {
      for (const one of held) this.#held.delete(one)
      cb(err)
    })
  }

  /** @type {(bytes: Buffer, position: number) => Held} */
  #hold (bytes, position) {
    const held = { bytes, position }
    this.#held.add(held)
    return held
  }

  /** @type {(handle: StorageHandle, start: number, end: number) => Promise<Buffer>} */
  async #readBefore (handle, start, end) {
    const { adaptiveIo } = this._file
    const bytes = Buffer.allocUnsafe(end - start)
    let count
    if (bytes.length > INLINE_SIZE_MAX || !adaptiveIo.mayBlock()) {
      adaptiveIo.noteAsync()
      count = await toPromise((cb) => readWhole(handle, bytes, start, cb))
    } else {
      const beganMs = performance.now()
      count = readWholeSync(handle, bytes, start)
      adaptiveIo.note(performance.now() - beganMs)
    }
    if (count < bytes.length) throw rangeError('write', start, end, this._file)
    return bytes
  }

  /** A `newSize` above the file's changes nothing. @type {(newSize: number, cb: Done) => void} */
  truncate (newSize, cb) {
    this.#enqueueAsync('truncate', async (handle) => {
      const { size } = this._file
      if (newSize >= size.value) return
      const release = await excludeReaders(this._file, newSize, Infinity)
      try {
        await promisesOf(handle).truncate(newSize)
        this.#reserveEnd = 0
        this._file.rewriteCount++
        this._file.cache?.drop(newSize, Infinity)
        size.set(newSize)
      } finally {
        release()
      }
    }, cb)
  }

  /** Cuts off the reserved zeros. @param {Done} cb */
  trim (cb) {
    this.#enqueueAsync('trim', async (handle) => {
      const { value: size } = this._file.size
      if (this.#reserveEnd <= size) return
      await toPromise((cb) => truncate(handle, size, cb))
      this.#reserveEnd = 0
    }, cb)
  }

  // Renames the file `from` over this one and continues with it. `from` is in the same folder, complete and synced.
  // `check` is called just before, and may throw. After ERR_FILE_NOT_UNDONE and a power cut, either file may have the
  // name.
  /** @type {(from: string, cb: Done, check: () => void) => void} */
  replaceWith (from, cb, check) {
    this.#enqueueAsync('replace', (handle) => replaceWith(this._file, handle, from, check, this.#goOnWith), cb)
  }

  /** Continues with the file that has the name now, for reading. @param {Done} cb */
  reopen (cb) {
    this.#enqueueAsync('reopen', (handle) => reopen(this._file, handle, this.#goOnWith), cb)
  }

  /** @param {import('./open').Sized} next */
  #goOnWith = ({ handle, size: newSize }) => {
    const { cache, size } = this._file
    this._file.handle = handle
    this._file.rewriteCount++
    this.#reserveEnd = 0
    this.#hasDebris = false
    cache?.drop(0, Infinity)
    size.set(newSize)
  }

  /** Later appends and overwrites do not wait for it. @param {Done} cb */
  sync (cb) {
    this.#enqueue('sync', (handle, done) => {
      const { syncSync } = handle
      const isSmall = this.#unsyncedSize <= INLINE_SIZE_MAX
      this.#unsyncedSize = 0
      if (!isSmall || syncSync === undefined || !this._syncIo.mayBlock()) {
        this._syncIo.noteAsync()
        return handle.sync((err) => err ? done(err) : this.#syncName(handle, done))
      }
      try {
        const beganMs = performance.now()
        syncSync()
        this._syncIo.note(performance.now() - beganMs)
      } catch (err) {
        return done(/** @type {Error} */ (err))
      }
      this.#syncName(handle, done)
    }, cb)
  }

  // A file without its name is lost. Another file may get the name, or a power cut may take a name that is not synced.
  /** @type {(handle: StorageHandle, done: Done) => void} */
  #syncName (handle, done) {
    const { storage, path: filePath } = this._file
    if (!handle.isAtSync || this._file.hasUnsyncedName || !this._syncIo.mayBlock()) {
      return toCallback(checkName(this._file, handle).then(async () => {
        if (!this._file.hasUnsyncedName) return
        await promisesOf(storage).syncFolder(path.dirname(filePath))
        this._file.hasUnsyncedName = false
      }), done)
    }
    try {
      this.#checkNameNow(handle)
    } catch (err) {
      return done(/** @type {Error} */ (err))
    }
    done(null)
  }

  /** @param {StorageHandle} handle */
  #checkNameNow (handle) {
    const { lockHeld, path: filePath } = this._file
    if (!lockHeld || !handle.isAtSync || handle.isKnownAt?.(filePath)) return
    if (!handle.isAtSync(filePath)) throw moved(filePath)
  }

  // The synchronous changes. They overtake the queue, and what a pool thread is writing meanwhile. Such a thread may
  // write its memory at any later time, even while the process ends. So that memory always gets the newest bytes first:
  // then its write changes nothing.

  /** Whether no change is running or waiting. */
  get isIdle () {
    return this.#running === null && this.#syncing === null && this.#queue.length === 0
  }

  /** Whether the synchronous changes are possible now: they must not overtake a truncation. */
  get canWriteNow () {
    const { hasSyncCalls, handle } = this._file
    return hasSyncCalls && handle !== null && this.#running?.name !== 'truncate'
  }

  get #now () {
    return /** @type {Required<StorageHandle>} */ (this._file.handle)
  }

  // Completes the appends that are running or waiting, with the same bytes at the same places.
  appendAllNow () {
    for (const task of [this.#running, ...this.#queue]) {
      if (!task?.bytes || task.size !== null) continue
      // A running write ends by itself, whatever happens here: it must not be cut off.
      if (task === this.#running) this.#writeNow(task.bytes, this._file.size.value)
      else this.appendNow(task.bytes)
      if (task === this.#running) this.#grow(task.bytes)
      task.size = this._file.size.value
    }
  }

  // Call `appendAllNow` first. If it throws, the file is as before, or the error is ERR_FILE_NOT_UNDONE.
  /** @param {Buffer} bytes */
  appendNow (bytes) {
    const { value: size } = this._file.size
    if (this.#hasDebris) this.#now.truncateSync(size)
    this.#hasDebris = false
    try {
      const needsRoom = this.reserveSize > 0 && size + bytes.length > this.#reserveEnd
      if (!needsRoom || !this.#writePaddedNow(bytes, size)) this.#writeNow(bytes, size)
    } catch (err) {
      this.#undoAppend(size, /** @type {Error} */ (err))
      throw err
    }
    this.#grow(bytes)
  }

  // False if there is no room for zeros after the bytes: without them there may be room for the bytes.
  /** @type {(bytes: Buffer, size: number) => boolean} */
  #writePaddedNow (bytes, size) {
    const padded = this.#pad(bytes)
    try {
      this.#writeNow(padded, size)
    } catch {
      return false
    }
    this.#reserveEnd = size + padded.length
    return true
  }

  /** @type {(size: number, cause: Error) => void} */
  #undoAppend (size, cause) {
    this.#reserveEnd = 0
    for (const { bytes, position } of this.#held) bytes.fill(0, Math.min(bytes.length, Math.max(0, size - position)))
    try {
      this.#now.truncateSync(size)
    } catch {
      this.#hasDebris = true
      throw this.#notUndone(cause, size, Infinity)
    }
  }

  /** @param {Buffer} bytes  are in the file after its size */
  #grow (bytes) {
    const { size, cache } = this._file
    if (cache !== null && cache.size > 0) cache.patch(bytes, size.value)
    size.set(size.value + bytes.length)
  }

  // Overwrites. If it throws, any part of the range may be overwritten.
  /** @type {(bytes: Buffer, position: number) => void} */
  overwriteNow (bytes, position) {
    this.#writeNow(bytes, position)
    this._file.cache?.patch(bytes, position)
  }

  /** @type {(bytes: Buffer, position: number) => void} */
  #writeNow (bytes, position) {
    for (const held of this.#held) {
      const offset = position - held.position
      if (offset >= 0) bytes.copy(held.bytes, Math.min(offset, held.bytes.length))
      else bytes.copy(held.bytes, 0, Math.min(-offset, bytes.length))
    }
    this.#unsyncedSize += bytes.length
    writeWholeSync(this.#now.writeSync, bytes, position)
  }

  // Throws ERR_FILE_MOVED, and errors of the file system.
  syncNow () {
    const { storage, path: filePath } = this._file
    this.#unsyncedSize = 0
    this.#now.syncSync()
    this.#checkNameNow(this.#now)
    if (this._file.hasUnsyncedName) storage.syncFolderSync?.(path.dirname(filePath))
    this._file.hasUnsyncedName = false
  }

  trimNow () {
    const { size: { value: size } } = this._file
    if (this.#reserveEnd > size) this.#now.truncateSync(size)
    this.#reserveEnd = 0
  }

  /** @type {(name: string, change: (handle: StorageHandle) => Promise<void>, cb: Done) => void} */
  #enqueueAsync (name, change, cb) {
    this.#enqueue(name, (handle, done) => toCallback(change(handle), done), cb)
  }

  /** @type {(name: string, change: Change, cb: Done, bytes?: Buffer | null) => void} */
  #enqueue (name, change, cb, bytes = null) {
    this.#queue.push({ name, change, cb, bytes, size: null })
    this.#runNext()
  }

  #runNext () {
    if (this.#isBeginning) return
    this.#isBeginning = true
    while (this.#running === null && this.#queue.length > 0 && this.#mayBegin(this.#queue[0])) {
      this.#begin(/** @type {Task} */ (this.#queue.shift()))
    }
    this.#isBeginning = false
  }

  /** @param {Task} task */
  #begin (task) {
    if (task.name === 'sync') this.#syncing = task
    else this.#running = task
    /** @type {Done} */
    const finish = (err, result) => {
      // In the next tick, so that a callback that throws cannot stop the queue.
      nextTick(task.cb, err ?? null, result)
      if (task === this.#syncing) this.#syncing = null
      else this.#running = null
      this.#runNext()
    }
    const { handle, path } = this._file
    if (task.size !== null) finish(null, task.size)
    else if (handle === null) finish(closedError(task.name, path))
    else task.change(handle, finish, task)
  }

  /** Beside a sync only bytes are written: other changes may close the file. @param {Task} task */
  #mayBegin ({ name }) {
    return this.#syncing === null || name === 'append' || name === 'write'
  }

  /** @type {(cause: Error, start: number, end: number) => LogError} */
  #notUndone (cause, start, end) {
    const { path } = this._file
    const range = end === Infinity ? `bytes past ${start}` : `bytes ${start} to ${end}`
    return new LogError('ERR_FILE_NOT_UNDONE', `write: ${path} could not be written (${cause.message}), and ${range} ` +
      'could not be put back; close the file and check the disk', { cause, offset: start, path })
  }
}

// Synchronously if that is possible: a cut that a pool thread makes later would take what was appended since.
/** @type {(handle: StorageHandle, size: number, cb: Done) => void} */
function truncate (handle, size, cb) {
  if (handle.truncateSync === undefined) return handle.truncate(size, cb)
  try {
    handle.truncateSync(size)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  cb(null)
}

exports.Writer = Writer
