'use strict'
// A new file that is there as a whole or not at all: it is written aside, synced, and renamed. What is there already is
// never touched. Its path is locked meanwhile, and the file aside named by the lock: what a process leaves that is
// killed is in nobody's way, and known to whoever takes its lock.

const { dirname } = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')

const BUFFER_SIZE = 1024 * 1024
const PADDING = Buffer.alloc(64)

/**
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 */

/**
 * @template T
 * @param {string} target
 * @param {Storage | undefined} storage
 * @param {(output: Output) => Promise<T>} write
 * @param {(result: T, path: string) => Promise<void>} [check]  runs once all is on stable storage, under its first name
 * @returns {Promise<T>}  what was written; the file has its name for good
 * @throws EEXIST when there is something, or being made; after any failure nothing is left
 */
async function writeAside (target, storage = fileStorage, write, check = async () => {}) {
  await checkAbsent(storage, target, target)
  const { path, release } = await lockTarget(storage, target)
  let result
  try {
    await checkAbsent(storage, target, target)
    await checkAbsent(storage, path, target)
    result = await fillAndRename({ storage, path, target }, write, check)
  } catch (err) {
    await release().catch(() => {})
    throw err
  }
  await release()
  return result
}

/**
 * @template T
 * @param {{ storage: Storage, path: string, target: string }} names
 * @param {(output: Output) => Promise<T>} write
 * @param {(result: T, path: string) => Promise<void>} check
 */
async function fillAndRename ({ storage, path, target }, write, check) {
  const blocks = BlockFile(path, { cache: 0, createFolder: true, storage })
  await call(blocks, 'ready')
  try {
    const output = new Output(blocks)
    const result = await write(output)
    await output.flush()
    await call(blocks, 'sync')
    await call(blocks, 'close')
    await check(result, path)
    await checkAbsent(storage, target, target)
    await call(storage, 'rename', path, target)
    await call(storage, 'syncFolder', dirname(target))
    return result
  } catch (err) {
    await call(blocks, 'close').catch(() => {})
    await call(storage, 'unlink', path).catch(() => {})
    throw err
  }
}

/**
 * A storage without locks cannot be reached from elsewhere.
 * @param {Storage} storage
 * @param {string} target
 * @returns {Promise<{ path: string, release: () => Promise<void> }>}  where the file is written, and what ends the lock
 */
async function lockTarget (storage, target) {
  if (!storage.lock) return { path: `${target}.new`, release: async () => {} }
  const lockPath = storage.realPath ? await call(storage, 'realPath', target) : target
  /** @type {import('@millrace/block-file').StorageLock} */
  const lock = await call(storage, 'lock', lockPath, { createFolder: true }).catch((err) => {
    throw err.code === 'ERR_LOG_LOCKED' ? beingMade(target, err) : err
  })
  const { nonce, deadNonce } = lock
  // If it cannot be removed it is in nobody's way.
  if (deadNonce) await call(storage, 'unlink', `${target}.${deadNonce}.new`).catch(() => {})
  return { path: nonce ? `${target}.${nonce}.new` : `${target}.new`, release: () => call(lock, 'release', lockPath) }
}

/**
 * @param {Storage} storage
 * @param {string} name
 * @param {string} target
 */
async function checkAbsent (storage, name, target) {
  let handle
  try {
    handle = await call(storage, 'open', name, { flags: 'r', createFolder: false })
  } catch (err) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (err)
    if (code === 'ENOENT') return
    throw code === 'EISDIR' ? exists(name, target) : err
  }
  await call(handle, 'close')
  throw exists(name, target)
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
  /** Where the next byte goes. */
  end = 0
  #blocks
  /** What is to be done, in order. @type {Array<() => Promise<unknown>>} */
  #work = []
  /** What was appended last. @type {Buffer | null} */
  #buffer = null
  #used = 0
  /** One that was written. @type {Buffer | null} */
  #spare = null

  /** @param {BlockFileHandle} blocks  open and empty */
  constructor (blocks) {
    this.#blocks = blocks
  }

  /** Whether there is enough to be done. */
  get isFull () {
    return this.#work.length > 0
  }

  /** @param {Buffer} bytes  copied */
  append (bytes) {
    this.end += bytes.length
    for (let done = 0; done < bytes.length;) {
      if (this.#buffer === null) {
        this.#buffer = this.#spare ?? Buffer.allocUnsafeSlow(BUFFER_SIZE)
        this.#spare = null
      }
      const buffer = this.#buffer
      const count = bytes.copy(buffer, this.#used, done)
      done += count
      this.#used += count
      if (this.#used === BUFFER_SIZE) this.#seal()
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
   * @param {() => Buffer | Promise<Buffer>} make  the next part, until there are so many bytes
   */
  fill (size, make) {
    this.end += size
    this.#push(async () => {
      while (size > 0) {
        const bytes = await make()
        size -= bytes.length
        await call(this.#blocks, 'append', bytes)
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
    this.fill(end - start, async () => {
      const bytes = Buffer.allocUnsafe(Math.min(BUFFER_SIZE, end - start))
      await call(source, 'readInto', bytes, start)
      start += bytes.length
      return bytes
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
    this.#push(async () => {
      const head = Buffer.alloc(headSize)
      await call(this.#blocks, 'readInto', head, start)
      const bytes = Buffer.alloc(measure(head))
      await call(this.#blocks, 'readInto', bytes, start)
      edit(bytes)
      await call(this.#blocks, 'write', bytes, start)
    })
  }

  /**
   * @param {number} start
   * @param {Buffer} bytes  in place of those that were appended
   */
  put (start, bytes) {
    this.#push(() => call(this.#blocks, 'write', bytes, start))
  }

  /** @param {number} size  what was appended behind it is gone */
  cut (size) {
    if (size === this.end) return
    this.end = size
    this.#push(() => call(this.#blocks, 'truncate', size))
  }

  /** What made it full is done. */
  async drain () {
    for (let work = this.#work.shift(); work !== undefined; work = this.#work.shift()) await work()
  }

  /** All is done. */
  async flush () {
    this.#seal()
    await this.drain()
  }

  /** @param {() => Promise<unknown>} work */
  #push (work) {
    this.#seal()
    this.#work.push(work)
  }

  #seal () {
    const buffer = this.#buffer
    const used = this.#used
    if (buffer === null || used === 0) return
    this.#buffer = null
    this.#used = 0
    this.#work.push(async () => {
      await call(this.#blocks, 'append', buffer.subarray(0, used))
      this.#spare = buffer
    })
  }
}

exports.writeAside = writeAside
exports.Output = Output
