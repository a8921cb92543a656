'use strict'
// Makes a new file that appears as a whole or not at all: it is written under another name, synced, and renamed.
//
// - An existing file is never overwritten.
// - The target's path is locked meanwhile. The unfinished file is named after the lock. So a file that a killed process
//   left is in nobody's way, and the next holder of the lock removes it.

const { dirname } = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { SUMS_SUFFIX } = require('@millrace/framing')

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
 * @param {(result: T, path: string) => Promise<void>} [check]  of the durable file, before it is renamed
 * @returns {Promise<T>}  what `write` returned; the file has its name, durably
 * @throws EEXIST if the file exists or is being made; after any failure nothing is left
 */
async function writeAside (target, storage = fileStorage, write, check = async () => {}) {
  await checkAbsent(storage, target, target)
  // It would describe the new file, or have it taken for lines, but is of another file.
  await checkAbsent(storage, target + SUMS_SUFFIX, target + SUMS_SUFFIX)
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
  let made = path
  try {
    await promisesOf(blocks).ready()
    const output = new Output(blocks)
    const result = await write(output)
    await output.flush()
    await promisesOf(blocks).sync()
    await promisesOf(blocks).close()
    await check(result, path)
    await checkAbsent(storage, target, target)
    await promisesOf(storage).rename(path, target)
    made = target
    await promisesOf(storage).syncFolder(dirname(target))
    return result
  } catch (err) {
    await promisesOf(blocks).close().catch(() => {})
    await promisesOf(storage).unlink(made).catch(() => {})
    throw err
  }
}

/**
 * Locks the path of a file, or of a folder, that is to be made, and says where to make it. No other process can reach a
 * storage without locks.
 * @param {Storage} storage
 * @param {string} target
 * @param {(unfinished: string) => Promise<void>} [remove]  what a killed process left; a file by default
 * @returns {Promise<{ path: string, release: () => Promise<void> }>}  `path`: of the unfinished file
 */
async function lockTarget (storage, target, remove = promisesOf(storage).unlink) {
  if (!storage.lock) return { path: `${target}.new`, release: async () => {} }
  const lockPath = storage.realPath ? await promisesOf(storage).realPath(target) : target
  /** @type {import('@millrace/block-file').StorageLock} */
  const lock = await promisesOf(storage).lock(lockPath, { createFolder: true }).catch((err) => {
    throw err.code === 'ERR_LOG_LOCKED' ? beingMade(target, err) : err
  })
  const { nonce, deadNonce } = lock
  // If it stays, it is in nobody's way.
  if (deadNonce) await remove(`${target}.${deadNonce}.new`).catch(() => {})
  return { path: nonce ? `${target}.${nonce}.new` : `${target}.new`, release: () => promisesOf(lock).release() }
}

/** @type {(storage: Storage | undefined, name: string, target: string) => Promise<void>} `target`: of the call */
async function checkAbsent (storage = fileStorage, name, target) {
  let handle
  try {
    handle = await promisesOf(storage).open(name, { flags: 'r', createFolder: false })
  } catch (err) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (err)
    if (code === 'ENOENT') return
    throw code === 'EISDIR' ? exists(name, target) : err
  }
  await promisesOf(handle).close()
  throw exists(name, target)
}

/** @type {(name: string, target: string) => LogError} */
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

// A file that is being made. Each call adds to a queue of work, which `drain` does in order. So a walk over a log need
// not wait at each call, only when the output is full.

class Output {
  /** The position of the next byte. */
  end = 0
  #blocks
  /** @type {Array<() => Promise<unknown>>} */
  #work = []
  /** Appended bytes that are not in the queue yet. @type {Buffer | null} */
  #buffer = null
  #used = 0
  /** A written buffer, to be used again. @type {Buffer | null} */
  #spare = null

  /** @param {BlockFileHandle} blocks  open and empty */
  constructor (blocks) {
    this.#blocks = blocks
  }

  /** Whether work waits for `drain`. */
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

  /** @param {number} end  zeros are appended up to here */
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
   * Appends bytes that are made only when they are written.
   * @param {number} size
   * @param {() => Buffer | Promise<Buffer>} make  the next bytes; called until it has made `size` bytes
   */
  fill (size, make) {
    this.end += size
    this.#push(async () => {
      while (size > 0) {
        const bytes = await make()
        size -= bytes.length
        await promisesOf(this.#blocks).append(bytes)
      }
    })
  }

  /** Appends bytes of another file. @type {(source: BlockFileHandle, start: number, end: number) => void} */
  copy (source, start, end) {
    this.fill(end - start, async () => {
      const bytes = Buffer.allocUnsafe(Math.min(BUFFER_SIZE, end - start))
      await promisesOf(source).readInto(bytes, start)
      start += bytes.length
      return bytes
    })
  }

  /**
   * Edits appended bytes in place.
   * @param {number} start
   * @param {number} headSize
   * @param {(head: Buffer) => number} measure  returns how many bytes to edit, given the first `headSize` bytes
   * @param {(bytes: Buffer) => void} edit
   */
  change (start, headSize, measure, edit) {
    this.#push(async () => {
      const head = Buffer.alloc(headSize)
      await promisesOf(this.#blocks).readInto(head, start)
      const bytes = Buffer.alloc(measure(head))
      await promisesOf(this.#blocks).readInto(bytes, start)
      edit(bytes)
      await promisesOf(this.#blocks).write(bytes, start)
    })
  }

  /** Replaces appended bytes. @type {(start: number, bytes: Buffer) => void} */
  put (start, bytes) {
    this.#push(() => promisesOf(this.#blocks).write(bytes, start))
  }

  /** @param {number} size  whatever was appended after it is cut off */
  cut (size) {
    if (size === this.end) return
    this.end = size
    this.#push(() => promisesOf(this.#blocks).truncate(size))
  }

  /** Does the queued work. */
  async drain () {
    for (let work = this.#work.shift(); work !== undefined; work = this.#work.shift()) await work()
  }

  /** Does all work, up to the last appended byte. */
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
      await promisesOf(this.#blocks).append(buffer.subarray(0, used))
      this.#spare = buffer
    })
  }
}

exports.checkAbsent = checkAbsent
exports.lockTarget = lockTarget
exports.writeAside = writeAside
exports.Output = Output
