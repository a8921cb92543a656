'use strict'
// BlockFile: opens, checks what callers ask for, and hands it to the reader, the writer or a scan.

const createObz = require('obz')
const { LogError, misuse } = require('@millrace/errors')
const { BlockCache } = require('./block-cache')
const { closedError } = require('./fetch')
const integers = require('./integers')
const { parseOptions } = require('./options')
const { Pace } = require('./pace')
const { RangeLock } = require('./range-lock')
const { Reader } = require('./reader')
const { scanBlocks } = require('./scan')
const { SpanReader } = require('./span-reader')
const { Writer, rangeError } = require('./writer')

// Callbacks that run before their call returns may nest; past this depth they wait for the next turn of the event
// loop, so that a caller who recurses cannot overflow the stack.
const NESTING_MAX = 100

/**
 * @typedef {import('./options').BlockFileOptions} BlockFileOptions
 * @typedef {import('./open-file').OpenFile} OpenFile
 */

/**
 * @template T
 * @typedef {import('./storage').Callback<T>} Callback
 */

class BlockFileHandle {
  /**
   * @param {string} path
   * @param {BlockFileOptions} [options]
   */
  constructor (path, options) {
    const { blockSize, flags, cache, createFolder, storage } = parseOptions(path, options)
    this.path = path
    this.blockSize = blockSize
    this.flags = flags
    /** @type {import('obz').Obz<number>} */
    this.size = createObz()
    /** @type {OpenFile} */
    this._file = {
      path,
      blockSize,
      handle: null,
      size: this.size,
      cache: new BlockCache(blockSize, cache),
      lock: new RangeLock(),
      pace: new Pace(),
      rewriteCount: 0
    }
    this._reader = new Reader(this._file)
    this._writer = new Writer(this._file)
    this._nesting = 0
    this._isClosed = false
    this._isOpen = false
    /** @type {Error | null} */
    this._openError = null
    /** @type {Array<(err: Error | null) => void> | null} null once the file is open, or failed to */
    this._whenOpen = []
    storage.open(path, { flags, createFolder }, (err, handle) => this._opened(err, handle))
  }

  /** @param {Callback<void>} cb  runs when the file is open, or failed to */
  ready (cb) {
    this._run('ready', cb, () => cb(null))
  }

  /**
   * @param {number} start  position of the first byte
   * @param {number} end  position after the last byte
   * @param {Callback<Buffer>} cb  the bytes are the caller's own; may run before `read` returns
   */
  read (start, end, cb) {
    checkCallback('read', cb)
    // Most reads find the file open and their bytes at hand: for these nothing is made but the result.
    if (this._isOpen && this._checkRange('read', start, end) === null) {
      const bytes = this._reader.readAtHand(start, end)
      if (bytes !== null) return this._deliver(cb, bytes)
    }
    this._run('read', cb, () => {
      const err = this._checkRange('read', start, end)
      if (err) return cb(err)
      this._reader.read(start, end, (err, bytes) => err ? cb(err) : this._deliver(cb, bytes))
    })
  }

  /**
   * @param {number} position
   * @param {Callback<number>} cb
   */
  readUInt32BE (position, cb) {
    this._readInteger(position, 4, integers.readUInt32BE, cb)
  }

  /**
   * @param {number} position
   * @param {Callback<number>} cb
   */
  readUInt48BE (position, cb) {
    this._readInteger(position, 6, integers.readUInt48BE, cb)
  }

  /**
   * @param {number} position  of eight bytes
   * @param {Callback<number>} cb  ERR_FILE_NUMBER_TOO_LARGE above 2^53 - 1
   */
  readUInt53BE (position, cb) {
    this._readInteger(position, 8, integers.readUInt53BE, cb)
  }

  /**
   * Adds to the end. Calls made meanwhile queue up, in order.
   * @param {Buffer} bytes  must not change until `cb` runs
   * @param {Callback<number>} cb  the new size; `size` has it already
   */
  append (bytes, cb) {
    this._runWrite('append', cb, () => {
      if (!(bytes instanceof Uint8Array)) return cb(misuse(`append: expected a Buffer, got ${typeof bytes}`))
      this._writer.append(toBuffer(bytes), cb)
    })
  }

  /**
   * Overwrites bytes; never extends the file.
   * @param {Buffer} bytes  must not change until `cb` runs
   * @param {number} position
   * @param {Callback<void>} cb
   */
  write (bytes, position, cb) {
    this._runWrite('write', cb, () => {
      if (!(bytes instanceof Uint8Array)) return cb(misuse(`write: expected a Buffer, got ${typeof bytes}`))
      if (!isPosition(position)) return cb(misuse(`write: expected a whole position, got ${String(position)}`))
      this._writer.overwrite(toBuffer(bytes), position, cb)
    })
  }

  /**
   * @param {number} size  in bytes; one above the file's size changes nothing
   * @param {Callback<void>} cb
   */
  truncate (size, cb) {
    this._runWrite('truncate', cb, () => {
      if (!isPosition(size)) return cb(misuse(`truncate: expected a whole size, got ${String(size)}`))
      this._writer.truncate(size, cb)
    })
  }

  /** @param {Callback<void>} cb  runs when all that was written before is on stable storage */
  sync (cb) {
    this._runWrite('sync', cb, () => this._writer.sync(cb))
  }

  /**
   * Visits every block in order, at the speed of the file: large reads ahead, no copies, past the cache.
   * @param {{ start?: number, end?: number }} range  the whole file by default; the first and last block may be cut
   * @param {(block: Buffer, position: number) => unknown} onBlock  a block is good until it returns; false ends all
   * @param {Callback<void>} cb
   */
  scan (range, onBlock, cb) {
    this._run('scan', cb, () => {
      const start = range.start ?? 0
      const end = range.end ?? this.size.value
      const err = this._checkRange('scan', start, end)
      if (err) return cb(err)
      scanBlocks(this._file, start, end, onBlock, cb)
    })
  }

  /**
   * A window of one's own over the file, for reading frames in place. The file must be open.
   * @returns {SpanReader}
   */
  createSpanReader () {
    return new SpanReader(this._file)
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
    this._isClosed = true
    this._isOpen = false
    this._afterOpen(() => this._writer.whenIdle(() => this._file.lock.whenNoReaders(() => {
      const { handle } = this._file
      this._file.handle = null
      if (handle === null) cb(null)
      else handle.close((err) => cb(err ?? null))
    })))
  }

  /**
   * @param {Error | null} err
   * @param {import('./storage').StorageHandle} [handle]
   */
  _opened (err, handle) {
    const settle = (/** @type {Error | null} */ err, size = 0) => {
      this._openError = err
      if (!err) this.size.set(size)
      const waiting = this._whenOpen ?? []
      this._whenOpen = null
      for (const cb of waiting) cb(err)
    }
    if (err || !handle) return settle(err)
    handle.size((err, size) => {
      if (err) return handle.close(() => settle(err))
      this._file.handle = handle
      this._isOpen = !this._isClosed
      settle(null, size)
    })
  }

  /** @param {(err: Error | null) => void} cb */
  _afterOpen (cb) {
    if (this._whenOpen) this._whenOpen.push(cb)
    else cb(this._openError)
  }

  /**
   * @param {string} name
   * @param {(err: Error) => void} cb
   * @param {() => void} action  runs once the file is open
   */
  _run (name, cb, action) {
    checkCallback(name, cb)
    if (this._isClosed) return cb(closedError(name, this.path))
    if (this._isOpen) return action()
    this._afterOpen((err) => err ? cb(err) : action())
  }

  /**
   * @param {string} name
   * @param {(err: Error) => void} cb
   * @param {() => void} action
   */
  _runWrite (name, cb, action) {
    this._run(name, cb, () => {
      if (this.flags === 'r+') return action()
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
    this._run('read', cb, () => {
      const err = this._checkRange('read', position, position + width)
      if (err) return cb(err)
      this._reader.readInPlace(position, position + width, decode, (err, value) => {
        if (err) cb(err)
        else this._deliver(cb, value)
      })
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

  /**
   * @template T
   * @param {Callback<T>} cb
   * @param {T | undefined} result
   */
  _deliver (cb, result) {
    if (this._nesting === NESTING_MAX) {
      setImmediate(cb, null, result)
      return
    }
    this._nesting++
    try {
      cb(null, result)
    } finally {
      this._nesting--
    }
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

exports.BlockFile = BlockFile
