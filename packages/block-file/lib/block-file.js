'use strict'
// BlockFile: opens the file, checks arguments, and hands each call to the reader, the writer or a scan.

const { basename, dirname } = require('node:path')
const { nextTick } = require('node:process')
const { isUint8Array } = require('node:util').types
const { LogError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const {
  createObservable, Lifecycle, parseSignal, SyncBudget, readUInt32BE, readUInt48BE, readUInt53BE, toCallback, toPromise
} = require('@millrace/flow')
const { BlockCache, Reader, cacheOf } = require('./block-cache')
const { FileWatch } = require('./file-watch')
const { SEGMENT_NAME, openMember } = require('./folder')
const { close, open } = require('./open')
const { fileStorage, resolvePath } = require('./storage')
const { endsAsLeft, AdaptiveIo, RangeLock, closedError, fetch, fetchNow, rangeError } = require('./whole-io')
const { SharedCache } = require('./shared-cache')
const { Peeker, scanBlocks, SpanReader } = require('./span-reader')
const { Writer } = require('./writer')

// One slow read need not mean a slow disk: on a busy machine the process may have lost its turn, and a pool thread
// would wait for its turn too. So after a slow read only 2 reads go through the pool. If another read within the next
// 64 is slow, the disk is slow, and more reads go through the pool.
const ASYNC_COUNT_MIN = 2
const QUICK_COUNT_MIN = 64
// bench-flumelog-offset found 64 KiB a good default, and our figures agree.
const BLOCK_SIZE = 64 * 1024
const CACHE_SIZE = 16 * 1024 * 1024
const CACHE_SIZE_MAX = 2 ** 31
const KNOWN = ['blockSize', 'flags', 'cache', 'createFolder', 'initial', 'lock', 'lockTimeout', 'mustExist', 'errorIfExists',
  'signal', 'made', 'storage']

/**
 * @typedef {object} BlockFileOptions
 * @property {number} [blockSize]  The unit of caching, in bytes; 64 KiB by default. It may differ at every open.
 * @property {'r' | 'r+'} [flags]  `r+`, the default, reads and writes, and creates the file with mode 0600. `r` never
 *   changes anything.
 * @property {number | import('./shared-cache').SharedCacheHandle} [cache]  How much memory keeps blocks, in bytes; 16
 *   MiB by default, 0 for none. It grows as it is used. Or a `SharedCache(size)`, memory for the caches of many files:
 *   those that were not used lately give theirs to the others.
 * @property {boolean} [createFolder]  True creates the file's folder too; false by default.
 * @property {(() => Buffer) | null} [initial]  Makes the first bytes of a missing or empty file. The file then appears
 *   with all of them, on stable storage, or not at all.
 * @property {boolean | import('./storage').StorageLock} [lock]  With `r+`, true keeps out other writers that lock the
 *   file too, in every thread, process and container, by whatever path; false by default. A file that is named as a
 *   segment belongs to its folder, so the folder's lock is taken. Or the lock of a `Folder` that is open, for a file in
 *   it.
 * @property {number} [lockTimeout]  How many ms to wait for a lock that is held; 0, the default, fails at once with
 *   ERR_LOG_LOCKED.
 * @property {boolean} [mustExist]  True fails with ENOENT if there is no file, and makes nothing; false by default.
 * @property {boolean} [errorIfExists]  True fails with EEXIST if there is a file, and does not change it; false by
 *   default.
 * @property {AbortSignal} [signal]  An abort ends the waiting for a lock, with ABORT_ERR. It does nothing to an open
 *   file.
 * @property {import('./new-file').NewFile | null} [made]  Gets this path and is opened before the constructor returns,
 *   which throws if that fails.
 * @property {import('./storage').Storage} [storage]  Replaces the file system.
 */

/** @typedef {import('./whole-io').OpenFile} OpenFile */

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} Callback  a user's callback */
/** @template T @typedef {import('./storage').Callback<T>} Done  an internal callback */

/**
 * @typedef {{
 *   new (path: string | URL, options?: BlockFileOptions): BlockFileHandle
 *   (path: string | URL, options?: BlockFileOptions): BlockFileHandle
 * }} BlockFileConstructor
 */

/**
 * @typedef {object} FileLook
 * @property {number} size  in bytes
 * @property {number} modifiedMs  the time of the last write, since 1970; Infinity if the storage does not tell
 * @property {'here' | 'gone' | 'detached'} place  Gone: the file was removed, or replaced by another. Detached: it was,
 *   but the path still leads to it, as that of a file that is mounted alone into a container does
 * @property {boolean} isNamed  false once the file has no name any more: it was removed, or replaced by another
 */

/** Positions and sizes are in bytes. Bytes that are passed to a change must not change until its callback runs. */
class BlockFileHandle {
  /** @param {string | URL} givenPath  @param {BlockFileOptions} [options] */
  constructor (givenPath, options) {
    const { blockSize, cache, storage, made, ...request } = parseOptions(givenPath, options)
    const path = resolvePath(givenPath, storage)
    const { flags, createFolder, mustExist, signal } = request
    try {
      if (createFolder && flags === 'r+' && !mustExist && !signal?.aborted) storage.makeFolderSync?.(path)
    } catch {
      // `open` makes the folder again and reports the failure.
    }
    this.path = path
    /**
     * The file's path, with every symlink followed once the file is open for writing. Files beside it lie here. Who
     * looks for some of a file that is only read sets it.
     */
    this.realPath = path
    this.blockSize = blockSize
    this.flags = flags
    /** The size in bytes; undefined until the file is open. @type {import('@millrace/flow').Obz<number>} */
    this.size = createObservable()
    /** @type {BlockCache | null} */
    this._ownCache = null
    /** How many names the file had at the last look; null before the first. @type {bigint | null} */
    this._nameCount = null
    this._isDetached = false
    /** @type {OpenFile} */
    this._file = {
      path,
      blockSize,
      handle: null,
      size: this.size,
      cache: null,
      memory: cache,
      rangeLock: new RangeLock(),
      adaptiveIo: new AdaptiveIo({ asyncCountMin: ASYNC_COUNT_MIN, quickCountMin: QUICK_COUNT_MIN }),
      storage,
      hasUnsyncedName: false,
      hasSyncCalls: false,
      lockHeld: null,
      rewriteCount: 0
    }
    /** @type {Reader | null} */
    this._ownReader = null
    this._writer = new Writer(this._file)
    this._turns = new SyncBudget()
    this._lifecycle = new Lifecycle((name) => closedError(name, path))
    /** What may be lost if the last writer crashed; known once the file is open. @type {import('./storage').Past} */
    this.past = 'unknown'
    // Of a segment that somebody opens alone, the lock is that of its folder.
    const isMember = flags === 'r+' && request.lock === true && SEGMENT_NAME.test(basename(path))
    /** @type {Callback<import('./open').Opened>} */
    const begin = (err, opened) => {
      if (err) return this._lifecycle.opened(err)
      const { handle, size, path, lock, past } = opened
      // The process that created the file may have failed to sync its name. One more sync costs little.
      const hasUnsyncedName = this.flags === 'r+'
      const hasSyncCalls = Boolean(handle.writeSync && handle.syncSync && handle.truncateSync && storage.syncFolderSync)
      Object.assign(this._file, { handle, path, lockHeld: lock, hasUnsyncedName, hasSyncCalls })
      this.realPath = path
      this.past = past
      this.size.set(size)
      this._lifecycle.opened(null)
    }
    if (made !== null) begin(null, made.openNow(path, request.lock))
    else toCallback((isMember ? openMember : open)(storage, path, request), begin)
  }

  /** Overwrites and truncations so far. Bytes that were read before the last one may be stale. */
  get rewriteCount () {
    return this._file.rewriteCount
  }

  /** Waits until the file is open. @param {Callback<void>} cb  fails with the error of opening */
  ready (cb) {
    this._lifecycle.ready(cb)
  }

  /**
   * Reads bytes `start` to `end`, without `end`. `cb` may run before `read` returns. The Buffer is yours: nothing
   * changes it later. It may be a part of what was read ahead, so a small one that you keep keeps up to 256 KiB of
   * memory alive; copy it if that matters. It fails with ERR_FILE_RANGE past the end of the file, and with
   * ERR_FILE_SHORT_READ if another program has truncated the file.
   * @type {(start: number, end: number, cb: Callback<Buffer>) => void}
   */
  read (start, end, cb) {
    this._read(start, end, takeAll, cb)
  }

  /**
   * Fills `target` and bypasses the cache, for callers with their own cache. Do not touch `target` until `cb` runs,
   * which may be before `readInto` returns.
   * @type {(target: Buffer, position: number, cb: Callback<void>) => void}
   */
  readInto (target, position, cb) {
    this._lifecycle.run('read', cb, (cb) => {
      const err = this._whyNotRange('read', position, position + target.length)
      if (err) cb(err)
      else fetch(this._file, target, position, cb)
    })
  }

  /**
   * Like `readInto`, but never waits.
   * @param {Buffer} target
   * @param {number} offset  in the target
   * @param {number} size  in bytes; the range must lie in the file
   * @param {number} position
   * @returns {boolean}  whether the bytes are in the target. If not, `readInto` waits for them or reports the error
   */
  readIntoNow (target, offset, size, position) {
    return fetchNow(this._file, target, offset, size, position)
  }

  /** Whether the file ends where this process left it. True if only waiting could tell. */
  get endsAsLeft () {
    return endsAsLeft(this._file)
  }

  /** Reads an unsigned integer of 4 bytes. @type {(position: number, cb: Callback<number>) => void} */
  readUInt32BE (position, cb) {
    this._readInteger(position, position + 4, readUInt32BE, cb)
  }

  /** Reads an unsigned integer of 6 bytes. @type {(position: number, cb: Callback<number>) => void} */
  readUInt48BE (position, cb) {
    this._readInteger(position, position + 6, readUInt48BE, cb)
  }

  /**
   * Reads an unsigned integer of 8 bytes. It fails with ERR_FILE_NUMBER_TOO_LARGE above 2^53 - 1.
   * @type {(position: number, cb: Callback<number>) => void}
   */
  readUInt53BE (position, cb) {
    this._readInteger(position, position + 8, readUInt53BE, cb)
  }

  /**
   * Adds bytes at the end, in the order of the calls. Gives the new size, which `size` has already.
   * @type {(bytes: Uint8Array, cb: Callback<number>) => void}
   */
  append (bytes, cb) {
    this._change('append', cb, (cb) => this._writer.append(toBuffer('append', bytes), cb))
  }

  /**
   * Like `append`, but usually done before it returns. The file must be open for writing.
   * @param {Buffer} bytes
   * @returns {Promise<number> | null}  null if the bytes are in the file already
   * @throws errors of the file system, as the promise rejects with
   */
  beginAppend (bytes) {
    return this._lifecycle.isOpen && this._writer.tryAppend(bytes) ? null : toPromise((cb) => this.append(bytes, cb))
  }

  /**
   * Overwrites bytes; never extends the file.
   * @type {(bytes: Uint8Array, position: number, cb: Callback<void>) => void}
   */
  write (bytes, position, cb) {
    this._overwrite(bytes, position, false, cb)
  }

  /**
   * Like `write`, but readers do not read again. Only for bytes that no reader keeps, or that do not change.
   * @type {(bytes: Uint8Array, position: number, cb: Callback<void>) => void}
   */
  writeQuietly (bytes, position, cb) {
    this._overwrite(bytes, position, true, cb)
  }

  /** @type {(bytes: Uint8Array, position: number, isQuiet: boolean, cb: Callback<void>) => void} */
  _overwrite (bytes, position, isQuiet, cb) {
    this._change('write', cb, (cb) => {
      const buffer = toBuffer('write', bytes)
      if (!isPosition(position)) throw misuse(`write: expected a whole position, got ${reasonOf(position)}`)
      this._writer.overwrite(buffer, position, isQuiet, cb)
    })
  }

  /** Cuts the end off. A `size` above the file's changes nothing. @type {(size: number, cb: Callback<void>) => void} */
  truncate (size, cb) {
    this._change('truncate', cb, (cb) => {
      if (!isPosition(size)) throw misuse(`truncate: expected a whole size, got ${reasonOf(size)}`)
      this._writer.truncate(size, cb)
    })
  }

  /** Waits until everything written before is on stable storage. @param {Callback<void>} cb */
  sync (cb) {
    this._change('sync', cb, (cb) => this._writer.sync(cb))
  }

  /**
   * Like `sync`, but done before it returns if the disk answers at once.
   * @returns {Promise<void> | null}  null if everything is on stable storage already
   * @throws errors of the file system, as the promise rejects with
   */
  beginSync () {
    return this.trySync() ? null : toPromise((cb) => this.sync(cb))
  }

  /**
   * Syncs if the disk answers at once. The file must be open for writing.
   * @returns {boolean}  whether everything is on stable storage; if not, call `sync`
   * @throws errors of the file system
   */
  trySync () {
    return this._lifecycle.isOpen && this._writer.trySync()
  }

  /**
   * Visits every block in order, at the speed of the file: it reads ahead, bypasses the cache and copies nothing. Every
   * 2 ms other events get a turn.
   * @param {{ start?: number, end?: number }} range  the whole file by default; the first and last block may be cut
   * @param {(block: Buffer, position: number) => unknown} onBlock  the block is valid until it returns; false ends the
   *   scan
   * @param {Callback<void>} cb
   */
  scan (range, onBlock, cb) {
    this._lifecycle.run('scan', cb, (cb) => {
      const start = range.start ?? 0
      const end = range.end ?? this.size.value
      const err = this._whyNotRange('scan', start, end)
      if (err) cb(err)
      else scanBlocks(this._file, start, end, onBlock, cb)
    })
  }

  /**
   * Keeps `size` zero bytes after the end, in the file but not in `file.size`. A sync after an append then need not
   * write the file's size, which halves its time on a fast disk. A crash leaves the zeros; `trim` removes them.
   * @param {number} size  0, the default, for none
   */
  reserve (size) {
    this._writer.reserveSize = size
  }

  /**
   * The lock in force: the kernel's lock, the record beside the file, or none. `blindSpot` says what it cannot keep
   * out. The file must be open.
   * @returns {{ kind: 'kernel' | 'file' | 'none', blindSpot: string | null }}
   */
  get lock () {
    const { kind = 'file', blindSpot = null } = this._file.lockHeld ?? { kind: /** @type {const} */ ('none') }
    return { kind, blindSpot }
  }

  /**
   * Notes in the lock whether all bytes that were ever shown are in the file or the page cache. If this process is then
   * killed, the next writer knows that nothing is lost. Does nothing if the storage has no such note.
   * @type {(isIntact: boolean, cb: Callback<void>) => void}
   */
  markIntact (isIntact, cb) {
    this._change('markIntact', cb, (cb) => {
      const { lockHeld } = this._file
      if (lockHeld?.markIntact) lockHeld.markIntact(isIntact, cb)
      else cb(null)
    })
  }

  /**
   * Renames another file over this one and continues with it. The bytes at a position may change: the caller tells
   * those who have read the old file.
   * @param {string} from  its path, in the same folder; the file is complete and on stable storage
   * @param {Callback<void>} cb  ERR_FILE_NOT_UNDONE: after a power cut either file may have the name
   * @param {() => void} [check]  called just before the renaming; may throw
   */
  replaceWith (from, cb, check = () => {}) {
    this._change('replaceWith', cb, (cb) => this._writer.replaceWith(from, cb, check))
  }

  /** Durably removes the file `realPath + suffix` if it exists. @type {(suffix: string, cb: Callback<void>) => void} */
  removeBeside (suffix, cb) {
    const { storage } = this._file
    this._change('removeBeside', cb, (cb) => storage.unlink(this.realPath + suffix, (err) => {
      if (err) cb(/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? null : err)
      else storage.syncFolder(dirname(this.realPath), cb)
    }))
  }

  /** Removes the reserved zeros: the file then ends at `size`. @param {Callback<void>} cb */
  trim (cb) {
    this._change('trim', cb, (cb) => this._writer.trim(cb))
  }

  // Synchronous changes. They overtake the changes that wait, and the one that is running.

  /** Whether no change is running or waiting. */
  get isIdle () {
    return this._writer.isIdle
  }

  /** Whether the storage has synchronous calls for everything that the methods below need. The file must be open. */
  get hasSyncCalls () {
    return this._file.hasSyncCalls
  }

  /** Whether the methods below may be called now. Do not call them after the `check` of `replaceWith`. */
  get canWriteNow () {
    return this._writer.canWriteNow
  }

  /**
   * Writes the appends that wait, and completes the running one with the same bytes at the same place. Their callbacks
   * run later.
   * @throws errors of the file system
   */
  appendAllNow () {
    this._writer.appendAllNow()
  }

  /**
   * Adds bytes at the end. Call `appendAllNow` first.
   * @param {Buffer} bytes
   * @throws errors of the file system; ERR_FILE_NOT_UNDONE if the bytes may be in the file
   */
  appendNow (bytes) {
    this._writer.appendNow(bytes)
  }

  /**
   * Overwrites. Changes of the same bytes that run or wait get these bytes too, so they change nothing. Only for bytes
   * that no reader keeps.
   * @param {Buffer} bytes
   * @param {number} position
   * @throws errors of the file system; any part of the range may then be overwritten
   */
  writeNow (bytes, position) {
    this._writer.overwriteNow(bytes, position)
  }

  /** Puts everything written so far on stable storage. @throws ERR_FILE_MOVED, errors of the file system */
  syncNow () {
    this._writer.syncNow()
  }

  /** Removes the reserved zeros. @throws errors of the file system */
  trimNow () {
    this._writer.trimNow()
  }

  /** Removes the lock's record, for an `exit` handler. @throws errors of the file system */
  unlockNow () {
    this._file.lockHeld?.releaseSync?.()
  }

  /**
   * A window over the file, for reading frames in place. The file must be open.
   * @param {{ givesBuffers?: boolean }} [options]  true if the bytes are kept: every load then takes new memory
   * @returns {SpanReader}
   */
  createSpanReader (options) {
    return new SpanReader(this._file, options)
  }

  /** Reads a few bytes at any place without waiting. The file must be open. */
  createPeeker () {
    return new Peeker(this._file)
  }

  /**
   * Updates `size` after another process wrote the file.
   * @param {Callback<FileLook>} cb  `size` is already set
   * @param {number} [least]  bytes that are known to exist; `size` stays if the file has fewer
   * @param {boolean} [asksPath]  true also notices that the file was renamed, once another one has its name
   */
  refresh (cb, least = 0, asksPath = false) {
    this._lifecycle.run('refresh', cb, (cb) => {
      this.#look(asksPath, (err, look) => {
        if (err || !look) return cb(err)
        const { value: before } = this.size
        if (look.size >= least && look.size !== before) {
          if (look.size < before) this.invalidate()
          // The cached last block lacks the bytes that the file has gained.
          else this._file.cache?.drop(before, Infinity)
          this.size.set(look.size)
        }
        cb(null, look)
      })
    })
  }

  /** @type {(asksPath: boolean, cb: Done<FileLook>) => void} */
  #look (asksPath, cb) {
    const { path } = this._file
    const handle = /** @type {import('./storage').StorageHandle} */ (this._file.handle)
    if (!handle.stat) return handle.size((err, size = 0) => cb(err, { size, modifiedMs: Infinity, place: 'here', isNamed: true }))
    handle.stat((err, state) => {
      if (err || !state) return cb(err)
      const { size, modifiedNs, nameCount } = state
      const known = this._nameCount
      this._nameCount = nameCount
      /** @type {FileLook} */
      const look = { size, modifiedMs: Number(modifiedNs / 1_000_000n), place: 'here', isNamed: nameCount !== 0n }
      // To ask for the path at each look would cost as much as the look.
      if (!asksPath && nameCount !== 0n && (known === null || known === nameCount)) return cb(null, look)
      if (!handle.isAt) return cb(null, { ...look, place: nameCount === 0n ? 'gone' : 'here' })
      handle.isAt(path, (err, isHere) => {
        // A file that had no name from the start is on a file system that does not count them.
        if (isHere && nameCount === 0n && known !== null && known !== 0n) this._isDetached = true
        if (err ? nameCount === 0n : !isHere) look.place = 'gone'
        else if (this._isDetached) look.place = 'detached'
        cb(null, look)
      })
    })
  }

  /** Continues with the file that has the name now. Only for a file opened with `r`. @param {Callback<void>} cb */
  reopen (cb) {
    this._nameCount = null
    this._isDetached = false
    this._lifecycle.run('reopen', cb, (cb) => this._writer.reopen(cb))
  }

  /** Forgets cached bytes, which another process may have changed. Readers read again what they still hold. */
  invalidate () {
    this._file.cache?.drop(0, Infinity)
    this._file.rewriteCount++
  }

  /**
   * Reports that another process may have changed the file. The file must be open.
   * @param {(done: () => void) => void} onChange  not called again before it calls `done`
   * @returns {FileWatch}  close it before the file
   */
  watch (onChange) {
    return new FileWatch(this._file, onChange)
  }

  /**
   * A cache in the same bounds, for a caller with blocks of its own. It takes the place of one that was made before,
   * and is empty once the file is closed.
   * @param {number} blockSize  in bytes
   */
  createCache (blockSize) {
    this._ownCache?.release()
    this._ownCache = new BlockCache(blockSize, this._file.memory)
    return this._ownCache
  }

  /** What the cache holds now, and what it may hold. */
  cacheStats () {
    const { hitCount, missCount, slotCount } = cacheOf(this._file)
    return { hitCount, missCount, slotCount, blockSize: this.blockSize }
  }

  /** Waits for all earlier calls, then closes. A second call waits for the same end. @param {Callback<void>} cb */
  close (cb) {
    if (typeof cb !== 'function') throw misuse(`close: expected a callback, got ${typeof cb}`)
    this._lifecycle.close((cb) => {
      const { handle, rangeLock, lockHeld } = this._file
      this._file.handle = null
      this._file.cache?.release()
      this._ownCache?.release()
      // A replacement that could not open the file again leaves the lock.
      if (handle === null) return lockHeld ? lockHeld.release(cb) : cb(null)
      // A span reader may still be reading. Its descriptor must not be closed, nor become that of another file.
      rangeLock.write(0, Infinity, (release) => {
        release()
        toCallback(close(handle, lockHeld), cb)
      })
    }, cb)
  }

  /** @type {<T>(name: string, cb: Callback<T>, action: (cb: Done<T>) => void) => void} refuses if opened with `r` */
  _change (name, cb, action) {
    const refuse = () => {
      throw new LogError('ERR_FILE_READ_ONLY', `${name}: ${this.path} was opened with flags "r"; open it with "r+"`,
        { path: this.path })
    }
    this._lifecycle.run(name, cb, this.flags === 'r+' ? action : refuse)
  }

  /** Made by the first read by blocks: a log may have a cache of its own. */
  get _reader () {
    return (this._ownReader ??= new Reader(this._file))
  }

  /** @type {<T>(start: number, end: number, decode: (bytes: Buffer, offset: number) => T, cb: Callback<T>) => void} */
  _read (start, end, decode, cb) {
    // The usual case: the file is open and the bytes are at hand. It allocates nothing but the result.
    if (typeof cb === 'function' && this._lifecycle.isOpen && this._whyNotRange('read', start, end) === null) {
      const bytes = this._reader.readAtHand(start, end)
      if (bytes !== null) return this._answer(bytes, 0, decode, cb)
    }
    this._lifecycle.run('read', cb, (cb) => {
      const err = this._whyNotRange('read', start, end)
      if (err) return cb(err)
      this._reader.read(start, end, (err, bytes) => err || !bytes ? cb(err) : this._answer(bytes, 0, decode, cb))
    })
  }

  /** @type {(start: number, end: number, decode: (buf: Buffer, at: number) => number, cb: Callback<number>) => void} */
  _readInteger (start, end, decode, cb) {
    // An integer in a cached block is read in place.
    if (typeof cb === 'function' && this._lifecycle.isOpen && this._whyNotRange('read', start, end) === null) {
      const offset = this._reader.findCached(start, end)
      if (offset !== -1) return this._answer(this._reader.arena, offset, decode, cb)
    }
    this._read(start, end, decode, cb)
  }

  /** @type {<T>(bytes: Buffer, at: number, decode: (bytes: Buffer, at: number) => T, cb: Callback<T>) => void} */
  _answer (bytes, offset, decode, cb) {
    let value
    try {
      value = decode(bytes, offset)
    } catch (err) {
      return nextTick(cb, err)
    }
    this._turns.deliver(cb, value)
  }

  /** @type {(name: string, start: number, end: number) => Error | null} */
  _whyNotRange (name, start, end) {
    if (!isPosition(start) || !isPosition(end) || start > end) {
      return misuse(`${name}: expected whole positions, start <= end, got ${reasonOf(start)} to ${reasonOf(end)}`)
    }
    return end > this.size.value ? rangeError(name, start, end, this._file) : null
  }
}

/**
 * @param {unknown} path
 * @param {BlockFileOptions} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (path, options = {}) {
  let isRight = options !== null && typeof options === 'object' && !Array.isArray(options)
  for (const name in options) isRight &&= KNOWN.includes(name)
  if (!isRight) checkOptions('BlockFile', options, KNOWN)
  const {
    blockSize = BLOCK_SIZE, flags = 'r+', cache = CACHE_SIZE, createFolder = false, initial = null,
    lock = false, lockTimeout = 0, mustExist = false, errorIfExists = false, storage = fileStorage, made = null
  } = options
  if (!(path instanceof URL) && (typeof path !== 'string' || path === '')) throw misuse(`BlockFile: expected a path, got ${reasonOf(path)}`)
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) {
    throw misuse(`BlockFile: blockSize must be a whole number of bytes, got ${reasonOf(blockSize)}`)
  }
  if (flags !== 'r' && flags !== 'r+') throw misuse(`BlockFile: flags must be "r" or "r+", got ${reasonOf(flags)}`)
  const isSize = typeof cache === 'number' && Number.isSafeInteger(cache) && cache >= 0 && cache <= CACHE_SIZE_MAX
  if (!isSize && !(cache instanceof SharedCache)) {
    throw misuse(`BlockFile: cache must be from 0 to ${CACHE_SIZE_MAX} bytes, or a SharedCache, got ${reasonOf(cache)}`)
  }
  if (initial !== null && typeof initial !== 'function') throw misuse('BlockFile: initial must be a function')
  const isLock = typeof lock === 'object' && lock !== null && typeof lock.release === 'function'
  for (const [name, value] of Object.entries({ lock: isLock || lock, mustExist, errorIfExists })) {
    if (typeof value !== 'boolean') throw misuse(`BlockFile: ${name} must be true or false, got ${reasonOf(value)}`)
  }
  if (errorIfExists && (mustExist || flags === 'r')) {
    throw misuse('BlockFile: errorIfExists makes a new file; leave out mustExist, and open it with flags "r+"')
  }
  if (typeof lockTimeout !== 'number' || !(lockTimeout >= 0)) {
    throw misuse(`BlockFile: lockTimeout must be 0 or more milliseconds, got ${reasonOf(lockTimeout)}`)
  }
  if (typeof storage?.open !== 'function') throw misuse('BlockFile: storage must have the function open')
  const signal = options.signal === undefined ? null : parseSignal('BlockFile', options.signal)
  const request = { flags, createFolder, initial, lock, lockTimeout, mustExist, errorIfExists, signal }
  return { ...request, blockSize, cache, storage, made }
}

/** @param {Buffer} bytes */
function takeAll (bytes) {
  return bytes
}

/** @param {unknown} position */
function isPosition (position) {
  return Number.isSafeInteger(position) && /** @type {number} */ (position) >= 0
}

/** @type {(name: string, bytes: Uint8Array) => Buffer} */
function toBuffer (name, bytes) {
  if (Buffer.isBuffer(bytes)) return bytes
  if (!(bytes instanceof Uint8Array || isUint8Array(bytes))) throw misuse(`${name}: expected a Buffer, got ${typeof bytes}`)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Opens a file as aligned blocks, with or without `new`. Methods may be called at once: they wait until it is open.
 * @type {(path: string, options?: BlockFileOptions) => BlockFileHandle}
 */
function BlockFile (path, options) {
  return new BlockFileHandle(path, options)
}
BlockFile.prototype = BlockFileHandle.prototype

/** @typedef {BlockFileHandle} BlockFile */

exports.BlockFileHandle = BlockFileHandle

/** @type {BlockFileConstructor} */
exports.BlockFile = /** @type {any} */ (BlockFile)
