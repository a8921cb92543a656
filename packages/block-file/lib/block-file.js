'use strict'
// BlockFile: opens, checks what callers ask for, and hands it to the reader, the writer or a scan.

const { dirname } = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const {
  createObservable, Lifecycle, SyncBudget, readUInt32BE, readUInt48BE, readUInt53BE, toCallback
} = require('@millrace/flow')
const { BlockCache, Reader } = require('./block-cache')
const { FileWatch } = require('./file-watch')
const { close, open } = require('./open')
const { fileStorage, resolvePath } = require('./storage')
const { AdaptiveIo, closedError, fetch, fetchNow, rangeError } = require('./whole-io')
const { Peeker, scanBlocks, SpanReader } = require('./span-reader')
const { RangeLock, Writer } = require('./writer')

// A read that takes long may only have lost its turn to another process, on a busy machine, which is no reason to go
// through threads, who have to wait for theirs too. A disk that makes others wait does so again, within as many reads.
const ASYNC_COUNT_MIN = 2
const QUICK_COUNT_MIN = 64
// bench-flumelog-offset found 64 KiB a good default; our figures agree (see the README).
const BLOCK_SIZE = 64 * 1024
const CACHE_SIZE = 16 * 1024 * 1024
const CACHE_SIZE_MAX = 2 ** 31

/**
 * @typedef {object} BlockFileOptions
 * @property {number} [blockSize]  bytes: the unit of caching; 64 KiB by default
 * @property {'r' | 'r+'} [flags]  `r+`, the default, reads and writes and creates the file; `r` never changes anything
 * @property {number} [cache]  bytes that the cache may hold; 16 MiB by default, 0 for none
 * @property {boolean} [createFolder]  create the folder of the file too; false by default
 * @property {(() => Buffer) | null} [initial]  makes the bytes of a file that is missing or empty; it exists with all
 *   of them, on stable storage, or not at all
 * @property {boolean} [lock]  false by default; true keeps others from opening the file for writing while it is open,
 *   if they lock it too. With `r` nothing is locked
 * @property {number} [lockTimeout]  ms to wait for a lock that somebody else has; 0, the default, fails at once
 * @property {import('./storage').Storage} [storage]  the file system by default
 */

/** @typedef {import('./whole-io').OpenFile} OpenFile */

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
    const { blockSize, cache, storage, ...request } = parseOptions(givenPath, options)
    const path = resolvePath(givenPath, storage)
    const { flags, createFolder } = request
    try {
      if (createFolder && flags === 'r+') storage.makeFolderSync?.(path)
    } catch {
      // Opening the file makes it again, and says why it cannot.
    }
    this.path = path
    /** Where the file really is: with no symlink in it, once it is open for writing. What lies beside it lies there. */
    this.realPath = path
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
    toCallback(open(storage, path, request), (err, opened) => {
      if (err) return this._lifecycle.opened(err)
      const { handle, size, path, lock, past } = opened
      // Whoever created it may have failed to sync its name. Doing so once more costs little.
      const hasUnsyncedName = this.flags === 'r+'
      Object.assign(this._file, { handle, path, lockHeld: lock, hasUnsyncedName })
      this.realPath = path
      this.past = past
      this.size.set(size)
      this._lifecycle.opened(null)
    })
  }

  /** How many overwrites and truncations there were: bytes that were read before one may be stale. */
  get rewriteCount () {
    return this._file.rewriteCount
  }

  /** @param {Callback<void>} cb  runs when the file is open, or failed to */
  ready (cb) {
    this._lifecycle.run('ready', cb, (cb) => cb(null))
  }

  /**
   * @param {number} start  position of the first byte
   * @param {number} end  position after the last byte
   * @param {Callback<Buffer>} cb  the bytes are the caller's own; may run before `read` returns
   */
  read (start, end, cb) {
    this._read(start, end, takeAll, cb)
  }

  /**
   * Reads past the cache, for a caller who keeps a cache of its own.
   * @param {Buffer} target  filled whole; must not be used until `cb` runs
   * @param {number} position
   * @param {Callback<void>} cb  may run before `readInto` returns
   */
  readInto (target, position, cb) {
    this._lifecycle.run('read', cb, (cb) => {
      const err = this._whyNotRange('read', position, position + target.length)
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

  /** @type {(position: number, cb: Callback<number>) => void} */
  readUInt32BE (position, cb) {
    this._readInteger(position, position + 4, readUInt32BE, cb)
  }

  /** @type {(position: number, cb: Callback<number>) => void} */
  readUInt48BE (position, cb) {
    this._readInteger(position, position + 6, readUInt48BE, cb)
  }

  /**
   * @param {number} position  of eight bytes
   * @param {Callback<number>} cb  ERR_FILE_NUMBER_TOO_LARGE above 2^53 - 1
   */
  readUInt53BE (position, cb) {
    this._readInteger(position, position + 8, readUInt53BE, cb)
  }

  /**
   * Adds to the end. Calls made meanwhile queue up, in order.
   * @param {Uint8Array} bytes  must not change until `cb` runs
   * @param {Callback<number>} cb  the new size; `size` has it already
   */
  append (bytes, cb) {
    this._change('append', cb, (cb) => this._writer.append(toBuffer('append', bytes), cb))
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

  /** @type {(bytes: Uint8Array, position: number, isQuiet: boolean, cb: Callback<void>) => void} */
  _overwrite (bytes, position, isQuiet, cb) {
    this._change('write', cb, (cb) => {
      const buffer = toBuffer('write', bytes)
      if (!isPosition(position)) throw misuse(`write: expected a whole position, got ${String(position)}`)
      this._writer.overwrite(buffer, position, isQuiet, cb)
    })
  }

  /**
   * @param {number} size  in bytes; one above the file's size changes nothing
   * @param {Callback<void>} cb
   */
  truncate (size, cb) {
    this._change('truncate', cb, (cb) => {
      if (!isPosition(size)) throw misuse(`truncate: expected a whole size, got ${String(size)}`)
      this._writer.truncate(size, cb)
    })
  }

  /** @param {Callback<void>} cb  runs when all that was written before is on stable storage */
  sync (cb) {
    this._change('sync', cb, (cb) => this._writer.sync(cb))
  }

  /**
   * Visits every block in order, at the speed of the file: large reads ahead, no copies, past the cache.
   * @param {{ start?: number, end?: number }} range  the whole file by default; the first and last block may be cut
   * @param {(block: Buffer, position: number) => unknown} onBlock  a block is good until it returns; false ends all
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
   * Keeps zeros behind the end, in the file but not in `size`, so that syncing an append need not write the file's size
   * too: half the time, on a fast disk. A crash leaves them there; `trim` takes them away.
   * @param {number} size  how many, in bytes; 0, the default, for none
   */
  reserve (size) {
    this._writer.reserveSize = size
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
    this._change('markIntact', cb, (cb) => {
      const { lockHeld } = this._file
      if (lockHeld?.markIntact) lockHeld.markIntact(isIntact, cb)
      else cb(null)
    })
  }

  /**
   * Puts another file in the place of this one, in one step, and goes on with it. Whoever has read the old one must
   * know.
   * @param {string} from  its path, in the same folder; whole and on stable storage
   * @param {Callback<void>} cb  ERR_FILE_NOT_UNDONE: which of the two has the name after a power cut cannot be told
   */
  replaceWith (from, cb) {
    this._change('replaceWith', cb, (cb) => this._writer.replaceWith(from, cb))
  }

  /**
   * Removes a file that lies beside this one, if there is one.
   * @param {string} suffix  what its name has more than this one's
   * @param {Callback<void>} cb  it does not come back with the power
   */
  removeBeside (suffix, cb) {
    const { storage } = this._file
    this._change('removeBeside', cb, (cb) => storage.unlink(this.realPath + suffix, (err) => {
      if (err) cb(/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT' ? null : err)
      else storage.syncFolder(dirname(this.realPath), cb)
    }))
  }

  /** @param {Callback<void>} cb  the file ends at `size` */
  trim (cb) {
    this._change('trim', cb, (cb) => this._writer.trim(cb))
  }

  /** Whether the file can be left as it should be though the process ends: nothing is being changed. */
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

  /** For reading records here and there, each of a few bytes. The file must be open. */
  createPeeker () {
    return new Peeker(this._file)
  }

  /**
   * Takes note of how large the file is now, when another process writes it.
   * @param {Callback<FileLook>} cb  `size` has it already
   * @param {number} [least]  bytes that are known to be there: a file that has fewer is only told of
   */
  refresh (cb, least = 0) {
    this._lifecycle.run('refresh', cb, (cb) => {
      lookAt(/** @type {import('./storage').StorageHandle} */ (this._file.handle), (err, look) => {
        if (err || !look) return cb(err)
        const { value: before } = this.size
        if (look.size >= least && look.size !== before) {
          if (look.size < before) this.invalidate()
          // The block that the file ended in has bytes now that the cached one has not.
          else this._file.cache.drop(before, Infinity)
          this.size.set(look.size)
        }
        cb(null, look)
      })
    })
  }

  /**
   * Goes on with the file that has the name now, if this one was opened for reading.
   * @param {Callback<void>} cb
   */
  reopen (cb) {
    this._lifecycle.run('reopen', cb, (cb) => this._writer.reopen(cb))
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
    if (typeof cb !== 'function') throw misuse(`close: expected a callback, got ${typeof cb}`)
    this._lifecycle.close((cb) => {
      const { handle, path, lockHeld } = this._file
      this._file.handle = null
      if (handle === null) cb(null)
      else toCallback(close(path, handle, lockHeld), cb)
    }, cb)
  }

  /**
   * @template T
   * @param {string} name
   * @param {Callback<T>} cb
   * @param {(cb: Done<T>) => void} action  runs once the file is open, if it may be written
   */
  _change (name, cb, action) {
    const refuse = () => {
      throw new LogError('ERR_FILE_READ_ONLY', `${name}: ${this.path} was opened with flags "r"; open it with "r+"`,
        { path: this.path })
    }
    this._lifecycle.run(name, cb, this.flags === 'r+' ? action : refuse)
  }

  /**
   * @template T
   * @param {number} start
   * @param {number} end
   * @param {(bytes: Buffer, offset: number) => T} decode  what it throws goes to the callback
   * @param {Callback<T>} cb
   */
  _read (start, end, decode, cb) {
    // Most reads find the file open and their bytes at hand: for these nothing is made but the result.
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

  /**
   * @param {number} start
   * @param {number} end
   * @param {(bytes: Buffer, offset: number) => number} decode
   * @param {Callback<number>} cb
   */
  _readInteger (start, end, decode, cb) {
    // Of a cached one nothing is copied.
    if (typeof cb === 'function' && this._lifecycle.isOpen && this._whyNotRange('read', start, end) === null) {
      const offset = this._reader.findCached(start, end)
      if (offset !== -1) return this._answer(this._file.cache.arena, offset, decode, cb)
    }
    this._read(start, end, decode, cb)
  }

  /**
   * @template T
   * @param {Buffer} bytes
   * @param {number} offset
   * @param {(bytes: Buffer, offset: number) => T} decode
   * @param {Callback<T>} cb
   */
  _answer (bytes, offset, decode, cb) {
    let value
    try {
      value = decode(bytes, offset)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    this._turns.deliver(cb, value)
  }

  /** @type {(name: string, start: number, end: number) => Error | null} */
  _whyNotRange (name, start, end) {
    if (!isPosition(start) || !isPosition(end) || start > end) {
      return misuse(`${name}: expected whole positions, start <= end, got ${String(start)} to ${String(end)}`)
    }
    return end > this.size.value ? rangeError(name, start, end, this._file) : null
  }
}

/** @type {(path: string, options?: BlockFileOptions) => Required<BlockFileOptions>} */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (path, options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`BlockFile: expected options, got ${String(options)}`)
  const {
    blockSize = BLOCK_SIZE, flags = 'r+', cache = CACHE_SIZE, createFolder = false, initial = null,
    lock = false, lockTimeout = 0, storage = fileStorage
  } = options
  if (typeof path !== 'string' || path === '') throw misuse(`BlockFile: expected a path, got ${String(path)}`)
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) {
    throw misuse(`BlockFile: blockSize must be a whole number of bytes, got ${String(blockSize)}`)
  }
  if (flags !== 'r' && flags !== 'r+') throw misuse(`BlockFile: flags must be "r" or "r+", got ${String(flags)}`)
  if (!Number.isSafeInteger(cache) || cache < 0 || cache > CACHE_SIZE_MAX) {
    throw misuse(`BlockFile: cache must be from 0 to ${CACHE_SIZE_MAX} bytes, got ${String(cache)}`)
  }
  if (initial !== null && typeof initial !== 'function') throw misuse('BlockFile: initial must be a function')
  if (typeof lock !== 'boolean') throw misuse(`BlockFile: lock must be true or false, got ${String(lock)}`)
  if (typeof lockTimeout !== 'number' || !(lockTimeout >= 0)) {
    throw misuse(`BlockFile: lockTimeout must be 0 or more milliseconds, got ${String(lockTimeout)}`)
  }
  if (typeof storage?.open !== 'function') throw misuse('BlockFile: storage must have the function open')
  return { blockSize, flags, cache, createFolder, initial, lock, lockTimeout, storage }
}

/**
 * @param {import('./storage').StorageHandle} handle
 * @param {Done<FileLook>} cb
 */
function lookAt (handle, cb) {
  if (!handle.stat) return handle.size((err, size = 0) => cb(err, { size, modifiedMs: Infinity, isGone: false }))
  handle.stat((err, state) => {
    if (err || !state) return cb(err)
    const { size, modifiedNs, nameCount } = state
    cb(null, { size, modifiedMs: Number(modifiedNs / 1_000_000n), isGone: nameCount === 0n })
  })
}

/** @param {Buffer} bytes */
function takeAll (bytes) {
  return bytes
}

/** @param {unknown} position */
function isPosition (position) {
  return Number.isSafeInteger(position) && /** @type {number} */ (position) >= 0
}

/**
 * @param {string} name
 * @param {Uint8Array} bytes
 * @returns {Buffer}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function toBuffer (name, bytes) {
  if (Buffer.isBuffer(bytes)) return bytes
  if (!(bytes instanceof Uint8Array)) throw misuse(`${name}: expected a Buffer, got ${typeof bytes}`)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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
