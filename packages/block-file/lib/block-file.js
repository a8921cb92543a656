'use strict'
// BlockFile: opens, checks what callers ask for, and hands it to the reader, the writer or a scan.

const { dirname } = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const { createObservable, Lifecycle, SyncBudget, readUInt32BE, readUInt48BE, readUInt53BE } = require('@millrace/flow')
const { BlockCache } = require('./block-cache')
const { closedError, fetch, fetchNow, rangeError, Reader } = require('./reader')
const { FileWatch } = require('./file-watch')
const { closeLocked, openLocked, replaceLocked } = require('./open')
const { parseOptions } = require('./options')
const { resolvePath } = require('./storage')
const { AdaptiveIo } = require('./whole-io')
const { Peeker, scanBlocks, SpanReader } = require('./span-reader')
const { RangeLock, Writer } = require('./writer')

// A read that takes long may only have lost its turn to another process, on a busy machine, which is no reason to go
// through threads, who have to wait for theirs too. A disk that makes others wait does so again, within as many reads.
const ASYNC_COUNT_MIN = 2
const QUICK_COUNT_MIN = 64

/**
 * @typedef {import('./options').BlockFileOptions} BlockFileOptions
 * @typedef {import('./reader').OpenFile} OpenFile
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} Callback  a user's
 */

/**
 * @template T
 * @typedef {import('./storage').Callback<T>} Done  one of ours
 */

/**
 * @typedef {{
 *   new (path: string, options?: BlockFileOptions): BlockFileHandle
 *   (path: string, options?: BlockFileOptions): BlockFileHandle
 * }} BlockFileConstructor
 */

/**
 * @typedef {object} FileLook
 * @property {number} size  in bytes
 * @property {number} modifiedMs  when it was written last, since 1970; Infinity if the storage does not tell
 * @property {boolean} isGone  whether it was removed, or replaced by another
 */

class BlockFileHandle {
  /**
   * @param {string} givenPath
   * @param {BlockFileOptions} [options]
   */
  constructor (givenPath, options) {
    const parsed = parseOptions(givenPath, options)
    const { blockSize, flags, cache, createFolder, initial, lock, lockTimeout, storage } = parsed
    const path = resolvePath(givenPath, storage)
    if (createFolder && flags === 'r+') makeFolderNow(storage, path)
    this.path = path
    this.blockSize = blockSize
    this.flags = flags
    /** @type {import('@millrace/flow').Obz<number>} */
    this.size = createObservable()
    /** @type {OpenFile} */
    this._file = {
      path,
      blockSize,
      handle: null,
      size: this.size,
      cache: new BlockCache(blockSize, cache),
      lock: new RangeLock(),
      adaptiveIo: new AdaptiveIo({ asyncCountMin: ASYNC_COUNT_MIN, quickCountMin: QUICK_COUNT_MIN }),
      storage,
      hasUnsyncedName: false,
      lockHeld: null,
      rewriteCount: 0
    }
    this._reader = new Reader(this._file)
    this._writer = new Writer(this._file)
    this._turns = new SyncBudget()
    this._lifecycle = new Lifecycle((name) => closedError(name, path))
    /**
     * What became of the file since a holder of its lock did not give it back. Known once the file is open.
     * @type {import('./storage').Past}
     */
    this.past = 'unknown'
    const request = { flags, createFolder, initial, lock, lockTimeout }
    openLocked(storage, path, request, (err, opened) => this._opened(err, opened))
  }

  /** How many overwrites and truncations there were: bytes that were read before one may be stale. */
  get rewriteCount () {
    return this._file.rewriteCount
  }

  /** @param {Callback<void>} cb  runs when the file is open, or failed to */
  ready (cb) {
    this._run('ready', cb, (cb) => cb(null))
  }

  /**
   * @param {number} start  position of the first byte
   * @param {number} end  position after the last byte
   * @param {Callback<Buffer>} cb  the bytes are the caller's own; may run before `read` returns
   */
  read (start, end, cb) {
    checkCallback('read', cb)
    // Most reads find the file open and their bytes at hand: for these nothing is made but the result.
    if (this._lifecycle.isOpen && this._checkRange('read', start, end) === null) {
      const bytes = this._reader.readAtHand(start, end)
      if (bytes !== null) return this._turns.deliver(cb, bytes)
    }
    this._run('read', (err, bytes) => err ? cb(err, bytes) : this._turns.deliver(cb, bytes), (cb) => {
      const err = this._checkRange('read', start, end)
      if (err) cb(err)
      else this._reader.read(start, end, cb)
    })
  }

  /**
   * Reads past the cache, for a caller who keeps a cache of its own.
   * @param {Buffer} target  filled whole; must not be used until `cb` runs
   * @param {number} position
   * @param {Callback<void>} cb  may run before `readInto` returns
   */
  readInto (target, position, cb) {
    this._run('read', cb, (cb) => {
      const err = this._checkRange('read', position, position + target.length)
      if (err) cb(err)
      else fetch(this._file, target, position, cb)
    })
  }

  /**
   * The same where nobody has to wait.
   * @param {Buffer} target
   * @param {number} offset  in the target
   * @param {number} size  in bytes; the file must have so many
   * @param {number} position
   * @returns {boolean}  whether they are in the target; if not, `readInto` waits, or says why
   */
  readIntoNow (target, offset, size, position) {
    return fetchNow(this._file, target, offset, size, position)
  }

  /**
   * @param {number} position
   * @param {Callback<number>} cb
   */
  readUInt32BE (position, cb) {
    this._readInteger(position, 4, readUInt32BE, cb)
  }

  /**
   * @param {number} position
   * @param {Callback<number>} cb
   */
  readUInt48BE (position, cb) {
    this._readInteger(position, 6, readUInt48BE, cb)
  }

  /**
   * @param {number} position  of eight bytes
   * @param {Callback<number>} cb  ERR_FILE_NUMBER_TOO_LARGE above 2^53 - 1
   */
  readUInt53BE (position, cb) {
    this._readInteger(position, 8, readUInt53BE, cb)
  }

  /**
   * Adds to the end. Calls made meanwhile queue up, in order.
   * @param {Uint8Array} bytes  must not change until `cb` runs
   * @param {Callback<number>} cb  the new size; `size` has it already
   */
  append (bytes, cb) {
    this._runWrite('append', cb, (cb) => {
      if (!(bytes instanceof Uint8Array)) return cb(misuse(`append: expected a Buffer, got ${typeof bytes}`))
      this._writer.append(toBuffer(bytes), cb)
    })
  }

  /**
   * Overwrites bytes; never extends the file.
   * @param {Uint8Array} bytes  must not change until `cb` runs
   * @param {number} position
   * @param {Callback<void>} cb
   */
  write (bytes, position, cb) {
    this._overwrite(bytes, position, false, cb)
  }

  /**
   * Overwrites bytes that nobody has read and kept, or with the same ones: readers are not sent to read them again.
   * @param {Uint8Array} bytes  must not change until `cb` runs
   * @param {number} position
   * @param {Callback<void>} cb
   */
  writeQuietly (bytes, position, cb) {
    this._overwrite(bytes, position, true, cb)
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} position
   * @param {boolean} isQuiet
   * @param {Callback<void>} cb
   */
  _overwrite (bytes, position, isQuiet, cb) {
    this._runWrite('write', cb, (cb) => {
      if (!(bytes instanceof Uint8Array)) return cb(misuse(`write: expected a Buffer, got ${typeof bytes}`))
      if (!isPosition(position)) return cb(misuse(`write: expected a whole position, got ${String(position)}`))
      this._writer.overwrite(toBuffer(bytes), position, isQuiet, cb)
    })
  }

  /**
   * @param {number} size  in bytes; one above the file's size changes nothing
   * @param {Callback<void>} cb
   */
  truncate (size, cb) {
    this._runWrite('truncate', cb, (cb) => {
      if (!isPosition(size)) return cb(misuse(`truncate: expected a whole size, got ${String(size)}`))
      this._writer.truncate(size, cb)
    })
  }

  /** @param {Callback<void>} cb  runs when all that was written before is on stable storage */
  sync (cb) {
    this._runWrite('sync', cb, (cb) => this._writer.sync(cb))
  }

  /**
   * Visits every block in order, at the speed of the file: large reads ahead, no copies, past the cache.
   * @param {{ start?: number, end?: number }} range  the whole file by default; the first and last block may be cut
   * @param {(block: Buffer, position: number) => unknown} onBlock  a block is good until it returns; false ends all
   * @param {Callback<void>} cb
   */
  scan (range, onBlock, cb) {
    this._run('scan', cb, (cb) => {
      const start = range.start ?? 0
      const end = range.end ?? this.size.value
      const err = this._checkRange('scan', start, end)
      if (err) return cb(err)
      scanBlocks(this._file, start, end, onBlock, cb)
    })
  }

  /**
   * Keeps zeros behind the end, in the file but not in `size`, so that syncing an append need not write the file's size
   * too: half the time, on a fast disk. A crash leaves them there; `trim` takes them away.
   * @param {number} size  how many, in bytes; 0, the default, for none
   */
  reserve (size) {
    this._writer.reserve(size)
  }

  /**
   * What keeps other writers out, once the file is open: the kernel's lock on it, the record beside it, or nothing.
   * @returns {{ kind: 'kernel' | 'file' | 'none', blindSpot: string | null }}  `blindSpot` says what it cannot keep out
   */
  get lock () {
    const { kind = 'file', blindSpot = null } = this._file.lockHeld ?? { kind: /** @type {const} */ ('none') }
    return { kind, blindSpot }
  }

  /**
   * Notes, in the lock, whether all that was ever shown of the file would be found by the next one, were this process
   * killed. Does nothing where there are no locks.
   * @param {boolean} isIntact
   * @param {Callback<void>} cb
   */
  markIntact (isIntact, cb) {
    this._runWrite('markIntact', cb, (cb) => {
      const { lockHeld } = this._file
      if (lockHeld?.markIntact) lockHeld.markIntact(isIntact, cb)
      else cb(null)
    })
  }

  /** Where the file really is: with no symlink in it, once it is open for writing. What lies beside it lies there. */
  get realPath () {
    return this._file.path
  }

  /**
   * Puts another file in the place of this one, in one step, and goes on with it. Whoever has read the old one must
   * know.
   * @param {string} from  its path, in the same folder; whole and on stable storage
   * @param {Callback<void>} cb
   */
  replaceWith (from, cb) {
    this._runWrite('replaceWith', cb, (cb) => {
      replaceLocked(this._file.lockHeld, (cb) => this._writer.replaceWith(from, cb), cb)
    })
  }

  /**
   * Removes a file that lies beside this one, if there is one.
   * @param {string} suffix  what its name has more than this one's
   * @param {Callback<void>} cb  it does not come back with the power
   */
  removeBeside (suffix, cb) {
    const { storage } = this._file
    this._runWrite('removeBeside', cb, (cb) => storage.unlink(this.realPath + suffix, (err) => {
      if (err) return cb(/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? null : err)
      storage.syncFolder(dirname(this.realPath), (err) => cb(err))
    }))
  }

  /** @param {Callback<void>} cb  the file ends at `size` */
  trim (cb) {
    this._runWrite('trim', cb, (cb) => this._writer.trim(cb))
  }

  /**
   * Whether the file can be left as it should be though the process ends: nothing is being changed.
   * @returns {boolean}
   */
  get canEndNow () {
    return this._lifecycle.isOpen && this._writer.canEndNow
  }

  /**
   * Overwrites and syncs at once, for an `exit` handler. Only this and `unlockNow` may be called afterwards.
   * @param {Array<{ bytes: Buffer, position: number }>} writes  in order
   * @throws what the file system says; then any of them may be there
   */
  endNow (writes) {
    this._writer.endNow(writes)
  }

  /**
   * Removes the record of the lock, as the process ends.
   * @throws what the file system says
   */
  unlockNow () {
    this._file.lockHeld?.releaseSync?.()
  }

  /**
   * A window of one's own over the file, for reading frames in place. The file must be open.
   * @param {{ givesBuffers?: boolean }} [options]  whether the bytes may be kept: then every load takes new memory
   * @returns {SpanReader}
   */
  createSpanReader (options) {
    return new SpanReader(this._file, options)
  }

  /**
   * For reading records here and there, each of a few bytes. The file must be open.
   * @returns {Peeker}
   */
  createPeeker () {
    return new Peeker(this._file)
  }

  /**
   * Takes note of how large the file is now, when another process writes it.
   * @param {Callback<FileLook>} cb  `size` has it already
   * @param {number} [least]  bytes that are known to be there: a file that has fewer is only told of
   */
  refresh (cb, least = 0) {
    this._run('refresh', cb, (cb) => {
      const handle = /** @type {import('./storage').StorageHandle} */ (this._file.handle)
      readState(handle, (err, state) => {
        if (err || !state) return cb(err)
        const { size } = state
        const { value: before } = this.size
        if (size < least) return cb(null, state)
        if (size < before) this.invalidate()
        // The block that the file ended in has bytes now that the cached one has not.
        if (size > before) this._file.cache.drop(before, Infinity)
        if (size !== before) this.size.set(size)
        cb(null, state)
      })
    })
  }

  /**
   * Goes on with the file that has the name now, if this one was opened for reading.
   * @param {Callback<void>} cb
   */
  reopen (cb) {
    this._run('reopen', cb, (cb) => this._writer.reopen(cb))
  }

  /**
   * Forgets every byte that was kept: another process may have changed it. Readers read anew what they have not yet
   * delivered.
   */
  invalidate () {
    this._file.cache.drop(0, Infinity)
    this._file.rewriteCount++
  }

  /**
   * Tells when the file may have changed that another process writes. The file must be open.
   * @param {(done: () => void) => void} onChange  not called again before it calls `done`
   * @returns {FileWatch}  to be closed before the file is
   */
  watch (onChange) {
    return new FileWatch(this._file, onChange)
  }

  /** How well the cache does. */
  cacheStats () {
    const { hitCount, missCount, slotCount } = this._file.cache
    return { hitCount, missCount, slotCount, blockSize: this.blockSize }
  }

  /**
   * Waits for what was asked before, then closes. A second call waits for the same end.
   * @param {Callback<void>} cb
   */
  close (cb) {
    checkCallback('close', cb)
    this._lifecycle.close((cb) => {
      const { handle } = this._file
      this._file.handle = null
      if (handle === null) cb(null)
      else closeLocked(this._file.path, handle, this._file.lockHeld, cb)
    }, cb)
  }

  /**
   * @param {Error | null} err
   * @param {import('./open').Opened} [opened]
   */
  _opened (err, opened) {
    if (err || !opened) return this._lifecycle.opened(err)
    const { handle, size, path, lock, past } = opened
    this._file.handle = handle
    this._file.path = path
    this._file.lockHeld = lock
    this.past = past
    // Whoever created it may have failed to sync its name. Doing so once more costs little.
    this._file.hasUnsyncedName = this.flags === 'r+'
    this.size.set(size)
    this._lifecycle.opened(null)
  }

  /**
   * @template T
   * @param {string} name
   * @param {Callback<T>} cb
   * @param {(cb: Done<T>) => void} action  runs once the file is open
   */
  _run (name, cb, action) {
    checkCallback(name, cb)
    this._lifecycle.run(name, /** @type {Done<T>} */ (cb), action)
  }

  /**
   * @template T
   * @param {string} name
   * @param {Callback<T>} cb
   * @param {(cb: Done<T>) => void} action
   */
  _runWrite (name, cb, action) {
    this._run(name, cb, (cb) => {
      if (this.flags === 'r+') return action(cb)
      cb(new LogError('ERR_FILE_READ_ONLY', `${name}: ${this.path} was opened with flags "r"; open it with "r+"`,
        { path: this.path }))
    })
  }

  /**
   * @param {number} position
   * @param {number} width  in bytes
   * @param {(buf: Buffer, offset: number) => number} decode
   * @param {Callback<number>} cb
   */
  _readInteger (position, width, decode, cb) {
    checkCallback('read', cb)
    this._run('read', (err, value) => err ? cb(err, value) : this._turns.deliver(cb, value), (cb) => {
      const err = this._checkRange('read', position, position + width)
      if (err) cb(err)
      else this._reader.readInPlace(position, position + width, decode, cb)
    })
  }

  /**
   * @param {string} name
   * @param {number} start
   * @param {number} end
   * @returns {Error | null}
   */
  _checkRange (name, start, end) {
    if (!isPosition(start) || !isPosition(end) || start > end) {
      return misuse(`${name}: expected whole positions, start <= end, got ${String(start)} to ${String(end)}`)
    }
    return end > this.size.value ? rangeError(name, start, end, this._file) : null
  }
}

/**
 * @param {import('./storage').StorageHandle} handle
 * @param {Done<FileLook>} cb
 */
function readState (handle, cb) {
  if (!handle.stat) return handle.size((err, size = 0) => cb(err, { size, modifiedMs: Infinity, isGone: false }))
  handle.stat((err, state) => {
    if (err || !state) return cb(err)
    const { size, modifiedNs, nameCount } = state
    cb(null, { size, modifiedMs: Number(modifiedNs / 1_000_000n), isGone: nameCount === 0n })
  })
}

/**
 * @param {import('./storage').Storage} storage
 * @param {string} path  of a file in it
 */
function makeFolderNow (storage, path) {
  try {
    storage.makeFolderSync?.(path)
  } catch {
    // Opening the file makes it again, and says why it cannot.
  }
}

/** @param {unknown} position */
function isPosition (position) {
  return Number.isSafeInteger(position) && /** @type {number} */ (position) >= 0
}

/**
 * @param {string} name
 * @param {unknown} cb
 */
function checkCallback (name, cb) {
  if (typeof cb !== 'function') throw misuse(`${name}: expected a callback, got ${typeof cb}`)
}

/** @param {Uint8Array} bytes */
function toBuffer (bytes) {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Opens a file as aligned blocks; with or without `new`. Calls may be made at once: they wait until it is open.
 * @param {string} path
 * @param {BlockFileOptions} [options]
 * @returns {BlockFileHandle}
 */
function BlockFile (path, options) {
  return new BlockFileHandle(path, options)
}
BlockFile.prototype = BlockFileHandle.prototype

/** @typedef {BlockFileHandle} BlockFile */

exports.BlockFileHandle = BlockFileHandle

/** @type {BlockFileConstructor} */
exports.BlockFile = /** @type {any} */ (BlockFile)
