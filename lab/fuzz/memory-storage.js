// @ts-nocheck
'use strict'
// Files in memory, as a storage: synchronous wherever a storage may be, and counted.

const path = require('node:path')

/**
 * @typedef {(err: (Error & { code?: string }) | null, result?: any) => void} Callback
 * @typedef {{ bytes: Buffer, size: number }} File  room for more, and how much of it is the file
 */

class MemoryStorage {
  /**
   * @param {object} [options]
   * @param {number} [options.transferSizeMax]  reads and writes of more bytes are short
   * @param {boolean} [options.isAsync]  without the synchronous calls that a storage need not have
   * @param {boolean} [options.hasState]  with the call that tells when a file was written last: long ago
   * @param {(() => void) | null} [options.onWritten]  runs after each write
   */
  constructor ({ transferSizeMax = Infinity, isAsync = false, hasState = false, onWritten = null } = {}) {
    this._transferSizeMax = transferSizeMax
    this._isAsync = isAsync
    this._hasState = hasState
    this._onWritten = onWritten
    /** @type {Map<string, File>} */
    this._files = new Map()
    this.callCount = 0
    /** Bytes read and written. */
    this.transferred = 0
    /** What was asked for that may change a file. */
    this.changeCount = 0
    this.open = this.open.bind(this)
    this.rename = this.rename.bind(this)
    this.unlink = this.unlink.bind(this)
    this.syncFolder = this.syncFolder.bind(this)
    this.listFolder = this.listFolder.bind(this)
  }

  /**
   * @param {string} path
   * @param {Buffer} bytes  the storage's from now on
   */
  put (path, bytes) {
    this._files.set(path, { bytes, size: bytes.length })
  }

  /** @returns {string[]} */
  list () {
    return [...this._files.keys()].sort()
  }

  /**
   * @param {string} path
   * @returns {Buffer}  a copy
   */
  read (path) {
    const { bytes, size } = /** @type {File} */ (this._files.get(path))
    return Buffer.from(bytes.subarray(0, size))
  }

  /**
   * @param {string} path
   * @param {{ flags: string, mustExist?: boolean }} options
   * @param {Callback} cb
   */
  open (path, { flags, mustExist = false }, cb) {
    this.callCount++
    let file = this._files.get(path)
    if (file === undefined) {
      if (flags === 'r' || mustExist) return process.nextTick(cb, missing(path))
      this.changeCount++
      file = { bytes: Buffer.alloc(0), size: 0 }
      this._files.set(path, file)
    }
    process.nextTick(cb, null, this._createHandle(file))
  }

  /**
   * @param {string} from
   * @param {string} to
   * @param {Callback} cb
   */
  rename (from, to, cb) {
    this._noteChange()
    const file = this._files.get(from)
    if (file === undefined) return process.nextTick(cb, missing(from))
    this._files.delete(from)
    this._files.set(to, file)
    process.nextTick(cb, null)
  }

  /**
   * @param {string} path
   * @param {Callback} cb
   */
  unlink (path, cb) {
    this._noteChange()
    process.nextTick(cb, this._files.delete(path) ? null : missing(path))
  }

  /**
   * @param {string} path
   * @param {Callback} cb
   */
  syncFolder (path, cb) {
    this.callCount++
    process.nextTick(cb, null)
  }

  /**
   * @param {string} folder
   * @param {Callback} cb
   */
  listFolder (folder, cb) {
    this.callCount++
    const names = this.list().filter((file) => path.dirname(file) === folder).map((file) => path.basename(file))
    process.nextTick(cb, null, names)
  }

  _noteChange () {
    this.callCount++
    this.changeCount++
  }

  /** @param {File} file */
  _createHandle (file) {
    const read = (...range) => this._read(file, ...range)
    const write = (...range) => this._write(file, ...range)
    const handle = {
      read: (buf, offset, length, position, cb) => process.nextTick(cb, null, read(buf, offset, length, position)),
      readSync: read,
      write: (buf, offset, length, position, cb) => process.nextTick(cb, null, write(buf, offset, length, position)),
      truncate: (size, cb) => {
        this._noteChange()
        this._resize(file, size)
        process.nextTick(cb, null)
      },
      sync: (cb) => {
        this.callCount++
        process.nextTick(cb, null)
      },
      size: (cb) => {
        this.callCount++
        process.nextTick(cb, null, file.size)
      },
      close: (cb) => {
        this.callCount++
        process.nextTick(cb, null)
      }
    }
    if (!this._isAsync) Object.assign(handle, { writeSync: write, syncSync: () => { this.callCount++ } })
    if (this._hasState) Object.assign(handle, { stat: (cb) => this._stat(file, cb) })
    return handle
  }

  /**
   * @param {File} file
   * @param {Callback} cb
   */
  _stat ({ size }, cb) {
    this.callCount++
    process.nextTick(cb, null, { size, modifiedNs: 0n, device: 1n, inode: 1n, nameCount: 1n })
  }

  /**
   * @param {File} file
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   */
  _read ({ bytes, size }, buf, offset, length, position) {
    this.callCount++
    const end = Math.min(size, position + Math.min(length, this._transferSizeMax))
    const count = position < end ? bytes.copy(buf, offset, position, end) : 0
    this.transferred += count
    return count
  }

  /**
   * @param {File} file
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   */
  _write (file, buf, offset, length, position) {
    this._noteChange()
    const count = Math.min(length, this._transferSizeMax)
    if (position + count > file.size) this._resize(file, position + count)
    buf.copy(file.bytes, position, offset, offset + count)
    this.transferred += count
    this._onWritten?.()
    return count
  }

  /**
   * @param {File} file
   * @param {number} size
   */
  _resize (file, size) {
    if (size > file.bytes.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * file.size))
      file.bytes.copy(larger, 0, 0, file.size)
      file.bytes = larger
    } else if (size > file.size) {
      file.bytes.fill(0, file.size, size)
    }
    file.size = size
  }
}

/** @param {string} path */
function missing (path) {
  return Object.assign(new Error(`there is no ${path}`), { code: 'ENOENT' })
}

exports.MemoryStorage = MemoryStorage
