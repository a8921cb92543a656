'use strict'
// A storage that shows compressed files as the plain ones. If `events.log` is missing and `events.log.gz` is there, a
// reader of `events.log` gets its bytes, one member at a time. So the log, `verify` and `repair` work on it unchanged.
//
// A member that does not inflate to what the index says is read up to its damage, the rest as zeros. The log's own
// checksums then report the damage, with its place in the log, and readers that skip damage skip it.

const { nextTick } = require('node:process')
const { callbackify } = require('node:util')
const { fileStorage, readWhole, readWholeSync } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf, toCallback, toPromise } = require('@millrace/flow')
const { checkSupported, formatOf, formats, inflateDamaged, isDamage } = require('./formats')
const { readIndex } = require('./member-index')

/** Of the members that all files of a storage keep inflated, together. */
const CACHE_SIZE = 1024 * 1024
const UNCHANGED = /** @type {const} */ (['openSync', 'rename', 'renameSync', 'unlink', 'unlinkSync', 'syncFolder', 'syncFolderSync',
  'listFolder', 'makeFolderSync', 'toAbsolute', 'realPath', 'copyOwnership', 'lock', 'hasKernelLocks', 'findHolder'])

/**
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {import('@millrace/block-file').StorageHandle} StorageHandle
 * @typedef {Parameters<Storage['open']>[1]} OpenOptions
 * @typedef {import('./formats').Format} Format
 * @typedef {import('./member-index').MemberIndex} MemberIndex
 */

/** Keeps the members that were inflated last. */
class MemberCache {
  /** By handle and member, the least recently used first. @type {Map<string, Buffer>} */
  #members = new Map()
  #size = 0
  #fileCount = 0

  /** @returns {number}  names one open file */
  nameFile () {
    return ++this.#fileCount
  }

  /** @param {string} key */
  get (key) {
    const bytes = this.#members.get(key)
    if (bytes === undefined) return null
    this.#members.delete(key)
    this.#members.set(key, bytes)
    return bytes
  }

  /** @type {(key: string, bytes: Buffer) => Buffer} */
  put (key, bytes) {
    this.drop(key)
    this.#members.set(key, bytes)
    this.#size += bytes.length
    for (const oldest of this.#members.keys()) {
      if (this.#size <= CACHE_SIZE) break
      this.drop(oldest)
    }
    return bytes
  }

  /** @param {string} key */
  drop (key) {
    this.#size -= this.#members.get(key)?.length ?? 0
    this.#members.delete(key)
  }

  /** @param {number} name  of a file */
  dropFile (name) {
    for (const key of [...this.#members.keys()]) if (key.startsWith(`${name} `)) this.drop(key)
  }
}

/** Reads the plain bytes of one compressed file. */
class MemberReader {
  #handle
  #format
  #cache
  #name

  /**
   * @param {StorageHandle} handle
   * @param {Format} format
   * @param {MemberIndex} index
   * @param {MemberCache} cache
   */
  constructor (handle, format, index, cache) {
    this.#handle = handle
    this.#format = format
    this.#cache = cache
    this.#name = cache.nameFile()
    this.index = index
  }

  /** @type {(target: Buffer, offset: number, length: number, position: number) => Promise<number>} */
  async read (target, offset, length, position) {
    const pieces = this.#piecesOf(length, position)
    for (const piece of pieces) {
      const bytes = this.#cache.get(this.#key(piece.member)) ?? await this.#inflate(piece.member)
      offset += bytes.copy(target, offset, piece.start, piece.end)
    }
    return sizeOf(pieces)
  }

  /** @type {(target: Buffer, offset: number, length: number, position: number) => number} */
  readSync (target, offset, length, position) {
    const pieces = this.#piecesOf(length, position)
    for (const piece of pieces) {
      const bytes = this.#cache.get(this.#key(piece.member)) ?? this.#inflateSync(piece.member)
      offset += bytes.copy(target, offset, piece.start, piece.end)
    }
    return sizeOf(pieces)
  }

  forget () {
    this.#cache.dropFile(this.#name)
  }

  /** The parts of members that make a range. @type {(length: number, position: number) => Piece[]} */
  #piecesOf (length, position) {
    const { memberSize, plainSize } = this.index
    const end = Math.min(position + length, plainSize)
    const pieces = []
    for (let at = position; at < end;) {
      const member = Math.floor(at / memberSize)
      const first = member * memberSize
      const upTo = Math.min(end, first + memberSize)
      pieces.push({ member, start: at - first, end: upTo - first })
      at = upTo
    }
    return pieces
  }

  /** @param {number} member */
  #key (member) {
    return `${this.#name} ${member}`
  }

  /** Room for the compressed bytes of a member. @param {number} member */
  #describe (member) {
    const { memberSize, plainSize, offsets } = this.index
    const size = Math.min(memberSize, plainSize - member * memberSize)
    return { compressed: Buffer.allocUnsafe(offsets[member + 1] - offsets[member]), position: offsets[member], size }
  }

  /** @param {number} member */
  async #inflate (member) {
    const { compressed, position, size } = this.#describe(member)
    await toPromise((cb) => readWhole(this.#handle, compressed, position, cb))
    const whole = this.#format.inflate(compressed, size)
    const bytes = await whole.catch((err) => this.#inflateDamaged(err, compressed, size))
    return this.#keep(member, bytes, compressed, size)
  }

  /** @param {number} member */
  #inflateSync (member) {
    const { compressed, position, size } = this.#describe(member)
    readWholeSync(this.#handle, compressed, position)
    let bytes
    try {
      bytes = this.#format.inflateSync(compressed, size)
    } catch (err) {
      bytes = this.#inflateDamaged(err, compressed, size)
    }
    return this.#keep(member, bytes, compressed, size)
  }

  /** @type {(err: any, compressed: Buffer, size: number) => Buffer} */
  #inflateDamaged (err, compressed, size) {
    // If memory was short, for example, the member may be sound.
    if (!isDamage(err)) throw err
    return inflateDamaged(this.#format, compressed, size)
  }

  /** @type {(member: number, bytes: Buffer, compressed: Buffer, size: number) => Buffer} */
  #keep (member, bytes, compressed, size) {
    const whole = bytes.length === size ? bytes : inflateDamaged(this.#format, compressed, size)
    return this.#cache.put(this.#key(member), whole)
  }
}

/** @typedef {{ member: number, start: number, end: number }} Piece */

/** @param {Piece[]} pieces */
function sizeOf (pieces) {
  return pieces.reduce((sum, { start, end }) => sum + end - start, 0)
}

/**
 * @param {StorageHandle} handle  of the compressed file
 * @param {string} path
 * @param {Format} format
 * @param {MemberCache} cache
 * @returns {Promise<StorageHandle>}
 */
async function createHandle (handle, path, format, cache) {
  checkSupported(format, path)
  const index = await readIndex(format, await promisesOf(handle).size(), async (size, position) => {
    const bytes = Buffer.alloc(size)
    await toPromise((cb) => readWhole(handle, bytes, position, cb))
    return bytes
  }, path)
  const reader = new MemberReader(handle, format, index, cache)
  const { stat, tryLock, isAt, isAtSync } = handle
  // Whoever asks may know the plain path.
  const named = (/** @type {string} */ name) => name.endsWith(format.suffix) ? name : name + format.suffix
  const refuse = (/** @type {(err: Error) => void} */ cb) => {
    const message = `${path} is compressed, and cannot be written; a segmented log inflates it first`
    nextTick(cb, new LogError('EROFS', message, { path }))
  }
  const { plainSize } = index
  return {
    read: callbackify(reader.read.bind(reader)),
    readSync: reader.readSync.bind(reader),
    write: (buf, offset, length, position, cb) => refuse(cb),
    truncate: (size, cb) => refuse(cb),
    sync: (cb) => handle.sync(cb),
    size: (cb) => nextTick(cb, null, plainSize),
    stat: stat && ((cb) => stat.call(handle, (err, state) => cb(err, state && { ...state, size: plainSize }))),
    tryLock: tryLock?.bind(handle),
    isAt: isAt && ((name, cb) => isAt.call(handle, named(name), cb)),
    isAtSync: isAtSync && ((name) => isAtSync.call(handle, named(name))),
    close: (cb) => {
      reader.forget()
      handle.close(cb)
    }
  }
}

/**
 * For other packages, such as `@millrace/repair`, to read compressed segments.
 * @param {Storage} [storage]  the file system by default
 * @returns {Storage}  shows compressed files, named with the suffix or without it, as the plain ones, read-only
 */
function createPlainStorage (storage = fileStorage) {
  const cache = new MemberCache()

  /** @type {(path: string, format: Format, options: OpenOptions) => Promise<StorageHandle>} */
  async function openCompressed (path, format, options) {
    const handle = await promisesOf(storage).open(path, { ...options, mustExist: options.flags !== 'r' })
    try {
      return await createHandle(handle, path, format, cache)
    } catch (err) {
      await promisesOf(handle).close().catch(() => {})
      throw err
    }
  }

  /** @type {(path: string, options: OpenOptions) => Promise<StorageHandle>} */
  async function open (path, options) {
    const given = formatOf(path)
    if (given) return openCompressed(path, given, options)
    const makesFile = options.flags === 'r+' && !options.mustExist
    const attempts = [() => promisesOf(storage).open(path, options)]
    if (!makesFile) {
      for (const format of formats) attempts.push(() => openCompressed(path + format.suffix, format, options))
      // A writer that inflates the file makes the plain one before it removes the other.
      attempts.push(attempts[0])
    }
    let missing
    for (const attempt of attempts) {
      try {
        return await attempt()
      } catch (err) {
        if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOENT') throw err
        missing ??= err
      }
    }
    throw missing
  }

  /** @type {NonNullable<Storage['watch']>} */
  function watch (path, onEvent, cb) {
    const watchOne = (/** @type {string} */ name) => promisesOf(storage).watch(name, onEvent)
    const watching = formats.reduce((before, { suffix }) => before.catch(() => watchOne(path + suffix)), watchOne(path))
    toCallback(watching, cb)
  }

  const { replacesOpenFiles, provesFolder } = storage
  /** @type {any} */
  const plain = { open: callbackify(open), replacesOpenFiles, provesFolder }
  for (const name of UNCHANGED) if (storage[name]) plain[name] = /** @type {Function} */ (storage[name]).bind(storage)
  if (storage.watch) plain.watch = watch
  return plain
}

exports.createHandle = createHandle
exports.MemberCache = MemberCache
exports.createPlainStorage = createPlainStorage
