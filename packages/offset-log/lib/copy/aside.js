'use strict'
// A new file that is there as a whole or not at all: it is written aside, synced, and renamed. What is there already is
// never touched. Its path is locked meanwhile, and the file aside named by the lock: what a process leaves that is
// killed is in nobody's way, and known to whoever takes its lock.

const path = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')

const BUFFER_SIZE = 1024 * 1024
const PADDING = Buffer.alloc(64)

/**
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {import('@millrace/block-file').StorageLock} StorageLock
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 */

class Aside {
  /**
   * @param {string} target
   * @param {Storage} [storage]
   */
  constructor (target, storage = fileStorage) {
    this._target = target
    this.path = `${target}.new`
    this._storage = storage
    /** @type {StorageLock | null} */
    this._lock = null
    this._lockPath = target
  }

  /**
   * @template T
   * @param {(output: Output) => Promise<T>} write
   * @param {(result: T) => Promise<void>} [check]  runs once all is on stable storage, under its first name
   * @returns {Promise<T>}  what was written; the file has its name for good
   * @throws EEXIST when there is something, or being made; after any failure nothing is left
   */
  async fill (write, check = async () => {}) {
    const output = await this._open()
    try {
      const result = await write(output)
      await output.close()
      await check(result)
      await this._publish()
      return result
    } catch (err) {
      await this._abandon(output).catch(() => {})
      throw err
    }
  }

  /** @returns {Promise<Output>} */
  async _open () {
    await this._checkAbsent(this._target)
    await this._takeLock()
    try {
      await this._checkAbsent(this._target)
      await this._checkAbsent(this.path)
      const blocks = BlockFile(this.path, { cache: 0, createFolder: true, storage: this._storage })
      await call(blocks, 'ready')
      return new Output(blocks)
    } catch (err) {
      await this._release()
      throw err
    }
  }

  /** A storage without locks cannot be reached from elsewhere. */
  async _takeLock () {
    const { _storage: storage, _target: target } = this
    if (!storage.lock) return
    this._lockPath = storage.realPath ? await call(storage, 'realPath', target) : target
    try {
      this._lock = /** @type {StorageLock} */ (await call(storage, 'lock', this._lockPath, { createFolder: true }))
    } catch (err) {
      throw /** @type {any} */ (err).code === 'ERR_LOG_LOCKED' ? beingMade(target, /** @type {Error} */ (err)) : err
    }
    const { nonce, deadNonce } = this._lock
    if (nonce) this.path = `${target}.${nonce}.new`
    // If it cannot be removed it is in nobody's way.
    if (deadNonce) await call(storage, 'unlink', `${target}.${deadNonce}.new`).catch(() => {})
  }

  async _release () {
    const lock = this._lock
    this._lock = null
    if (lock) await call(lock, 'release', this._lockPath)
  }

  async _publish () {
    await this._checkAbsent(this._target)
    await call(this._storage, 'rename', this.path, this._target)
    await call(this._storage, 'syncFolder', path.dirname(this._target))
    await this._release()
  }

  /** @param {Output} output */
  async _abandon (output) {
    await output.abandon().catch(() => {})
    await call(this._storage, 'unlink', this.path).catch(() => {})
    await this._release()
  }

  /** @param {string} name */
  async _checkAbsent (name) {
    let handle
    try {
      handle = await call(this._storage, 'open', name, { flags: 'r', createFolder: false })
    } catch (err) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (err)
      if (code === 'ENOENT') return
      throw code === 'EISDIR' ? exists(name, this._target) : err
    }
    await call(handle, 'close')
    throw exists(name, this._target)
  }
}

/**
 * @param {string} name
 * @param {string} target
 */
function exists (name, target) {
  const advice = name === target
    ? 'give another path, or move it away'
    : `if an interrupted call left it, remove it. ${target} is written there first`
  return new LogError('EEXIST', `${name} already exists, and is not overwritten; ${advice}`, { path: name })
}

/**
 * @param {string} target
 * @param {Error} cause  ERR_LOG_LOCKED
 */
function beingMade (target, cause) {
  return new LogError('EEXIST', `${target} is being made already, or open for writing (${cause.message}); wait, or give ` +
    'another path', { cause, path: target })
}

// A file that is being made: bytes are appended, what was appended can be changed or cut off again, all in the order in
// which it was asked for. Nothing is written before `drain`, so that whoever goes through a log need not wait at each.

class Output {
  /** @param {BlockFileHandle} blocks  open and empty */
  constructor (blocks) {
    this._blocks = blocks
    /** Where the next byte goes. */
    this.end = 0
    /** @type {Array<() => Promise<unknown>>} what is to be done, in order */
    this._work = []
    /** @type {Buffer | null} what was appended last */
    this._buffer = null
    this._used = 0
    /** @type {Buffer | null} one that was written */
    this._spare = null
  }

  /** Whether there is enough to be done. */
  get isFull () {
    return this._work.length > 0
  }

  /** @param {Buffer} bytes  copied */
  append (bytes) {
    this.end += bytes.length
    for (let done = 0; done < bytes.length;) {
      const buffer = this._takeBuffer()
      const count = bytes.copy(buffer, this._used, done)
      done += count
      this._used += count
      if (this._used === BUFFER_SIZE) this._seal()
    }
  }

  /** @param {number} end  where the next byte goes; there are zeros up to there */
  zerosTo (end) {
    let size = end - this.end
    if (size < PADDING.length) return this.append(PADDING.subarray(0, size))
    this.fill(size, () => {
      const bytes = Buffer.alloc(Math.min(size, BUFFER_SIZE))
      size -= bytes.length
      return bytes
    })
  }

  /**
   * Appends what is made when it is written.
   * @param {number} size
   * @param {() => Buffer} make  the next part, until there are so many bytes
   */
  fill (size, make) {
    this.end += size
    this._push(async () => {
      while (size > 0) {
        const bytes = make()
        size -= bytes.length
        await call(this._blocks, 'append', bytes)
      }
    })
  }

  /**
   * Appends bytes of another file.
   * @param {BlockFileHandle} source
   * @param {number} start
   * @param {number} end
   */
  copy (source, start, end) {
    this.end += end - start
    this._push(async () => {
      while (start < end) {
        const bytes = Buffer.allocUnsafe(Math.min(BUFFER_SIZE, end - start))
        await call(source, 'readInto', bytes, start)
        start += bytes.length
        await call(this._blocks, 'append', bytes)
      }
    })
  }

  /**
   * Changes what was appended before.
   * @param {number} start
   * @param {number} headSize
   * @param {(head: Buffer) => number} measure  how many bytes there are to change, from the first `headSize`
   * @param {(bytes: Buffer) => void} edit  in place
   */
  change (start, headSize, measure, edit) {
    this._push(async () => {
      const head = Buffer.alloc(headSize)
      await call(this._blocks, 'readInto', head, start)
      const bytes = Buffer.alloc(measure(head))
      await call(this._blocks, 'readInto', bytes, start)
      edit(bytes)
      await call(this._blocks, 'write', bytes, start)
    })
  }

  /**
   * @param {number} start
   * @param {Buffer} bytes  in place of those that were appended
   */
  put (start, bytes) {
    this._push(() => call(this._blocks, 'write', bytes, start))
  }

  /** @param {number} size  what was appended behind it is gone */
  cut (size) {
    if (size === this.end) return
    this.end = size
    this._push(() => call(this._blocks, 'truncate', size))
  }

  /** What made it full is done. */
  async drain () {
    for (let work = this._work.shift(); work !== undefined; work = this._work.shift()) await work()
  }

  /** All is done. */
  async flush () {
    this._seal()
    await this.drain()
  }

  /** All is on stable storage, and the file closed. */
  async close () {
    await this.flush()
    await call(this._blocks, 'sync')
    await call(this._blocks, 'close')
  }

  /** Whatever is there is of no use. */
  async abandon () {
    this._work = []
    await call(this._blocks, 'close')
  }

  _takeBuffer () {
    this._buffer ??= this._spare ?? Buffer.allocUnsafeSlow(BUFFER_SIZE)
    if (this._buffer === this._spare) this._spare = null
    return this._buffer
  }

  /** @param {() => Promise<unknown>} work */
  _push (work) {
    this._seal()
    this._work.push(work)
  }

  _seal () {
    const { _buffer: buffer, _used: used } = this
    if (buffer === null || used === 0) return
    this._buffer = null
    this._used = 0
    this._work.push(async () => {
      await call(this._blocks, 'append', buffer.subarray(0, used))
      this._spare = buffer
    })
  }
}

exports.Aside = Aside
exports.Output = Output
