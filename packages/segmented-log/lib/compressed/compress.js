'use strict'
// Makes a compressed file from a plain one, and back. The new file is whole, read again, compared and on stable storage
// when the call ends; if it fails, the new file is removed.

const { readWhole, writeWhole } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const { MEMBER_SIZE, encodeIndex } = require('./member-index')
const { MemberCache, createHandle } = require('./storage')

/** Bytes that are written at once. */
const WRITE_SIZE = 1024 * 1024
/** After so many bytes it shows whether the rest is worth compressing. */
const SAMPLE_SIZE = 4 * 1024 * 1024
/** Less than this is not saved for reads that take longer. */
const RATIO_MAX = 0.95

/**
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {import('@millrace/block-file').StorageHandle} StorageHandle
 * @typedef {import('./formats').Format} Format
 */

/** Writes a file in order. */
class Output {
  size = 0
  #handle
  /** @type {Buffer[]} */
  #waiting = []
  #waitingSize = 0

  /** @param {StorageHandle} handle */
  constructor (handle) {
    this.#handle = handle
  }

  /** @param {Buffer} bytes */
  async append (bytes) {
    this.#waiting.push(bytes)
    this.#waitingSize += bytes.length
    if (this.#waitingSize >= WRITE_SIZE) await this.flush()
  }

  async flush () {
    const bytes = Buffer.concat(this.#waiting.splice(0), this.#waitingSize)
    this.#waitingSize = 0
    await toPromise((cb) => writeWhole(this.#handle, bytes, this.size, cb))
    this.size += bytes.length
  }
}

/**
 * @param {Storage} storage
 * @param {{ from: string, to: string }} paths  `to` is replaced if it exists
 * @param {Format} format
 * @param {() => void} check  called between members; throws to end the call
 * @returns {Promise<number | null>}  the size of the new file; null if it is not worth it, and was not made
 */
async function compressFile (storage, { from, to }, format, check) {
  return withFiles(storage, from, to, async (source, target) => {
    const plainSize = await promisesOf(source).size()
    const output = new Output(target)
    const sizes = []
    let total = 0
    for (let position = 0; position < plainSize; position += MEMBER_SIZE) {
      check()
      const member = await format.compress(await readAt(source, Math.min(MEMBER_SIZE, plainSize - position), position))
      sizes.push(member.length)
      total += member.length
      const done = position + MEMBER_SIZE
      if ((done >= plainSize || done >= SAMPLE_SIZE) && total > RATIO_MAX * Math.min(done, plainSize)) return null
      await output.append(member)
    }
    await output.append(encodeIndex(format, sizes, plainSize))
    await output.flush()
    await promisesOf(target).sync()
    const reading = await createHandle(target, to, format, new MemberCache())
    if (await promisesOf(reading).size() !== plainSize) throw differs(to, 0)
    await compare(source, reading, plainSize, to, check)
    return output.size
  })
}

/**
 * @param {Storage} storage
 * @param {{ from: string, to: string }} paths  `to` is replaced if it exists
 * @param {Format} format
 */
async function inflateFile (storage, { from, to }, format) {
  return withFiles(storage, from, to, async (source, target) => {
    const reading = await createHandle(source, from, format, new MemberCache())
    const plainSize = await promisesOf(reading).size()
    const output = new Output(target)
    for (let position = 0; position < plainSize; position += MEMBER_SIZE) {
      await output.append(await readAt(reading, Math.min(MEMBER_SIZE, plainSize - position), position))
    }
    await output.flush()
    await promisesOf(target).sync()
    await compare(reading, target, plainSize, to, () => {})
    return plainSize
  })
}

/**
 * @template T
 * @param {Storage} storage
 * @param {string} from
 * @param {string} to
 * @param {(source: StorageHandle, target: StorageHandle) => Promise<T>} write
 * @returns {Promise<T>}
 */
async function withFiles (storage, from, to, write) {
  /** @type {StorageHandle[]} */
  const handles = []
  const close = () => Promise.all(handles.splice(0).map((handle) => promisesOf(handle).close()))
  try {
    handles.push(await promisesOf(storage).open(from, { flags: 'r', createFolder: false }))
    handles.push(await promisesOf(storage).open(to, { flags: 'r+', createFolder: false }))
    await promisesOf(handles[1]).truncate(0)
    const result = await write(handles[0], handles[1])
    await close()
    if (result === null) await promisesOf(storage).unlink(to)
    return result
  } catch (err) {
    await close().catch(() => {})
    await promisesOf(storage).unlink(to).catch(() => {})
    throw err
  }
}

/** @type {(a: StorageHandle, b: StorageHandle, size: number, path: string, check: () => void) => Promise<void>} */
async function compare (a, b, size, path, check) {
  for (let position = 0; position < size; position += MEMBER_SIZE) {
    check()
    const length = Math.min(MEMBER_SIZE, size - position)
    const [expected, found] = await Promise.all([readAt(a, length, position), readAt(b, length, position)])
    if (!expected.equals(found)) throw differs(path, position)
  }
}

/** @type {(handle: StorageHandle, size: number, position: number) => Promise<Buffer>} */
async function readAt (handle, size, position) {
  const bytes = Buffer.allocUnsafe(size)
  const count = await toPromise((cb) => readWhole(handle, bytes, position, cb))
  if (count !== size) throw new LogError('EIO', `the file ends at ${position + count}, before the size that it had`, { offset: position + count })
  return bytes
}

/** @type {(path: string, offset: number) => LogError} */
function differs (path, offset) {
  return new LogError('EIO', `${path} was written and read again, and differs; the memory or the disk is faulty`, { offset, path })
}

exports.compressFile = compressFile
exports.inflateFile = inflateFile
