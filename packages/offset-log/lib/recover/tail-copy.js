'use strict'
// The copies that recovery makes of a log's end. What it cuts is copied so that it can still be looked at.
//
// A `TailCopy` makes an end durable that a session has left unsynced. The page cache may hold bytes there that are not
// on the disk, though nothing is dirty: after a failed writeback the kernel counts them as clean, and on ext4 their
// blocks stay marked as never written, so that writing the same bytes again in place, with a successful fdatasync, does
// not bring them to the disk. Cutting the file and writing them anew does. So the bytes are copied to `<log>.tail`
// first, which the next open replays if this one does not come to its end. See docs/format.md.

const path = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')
const { CRC_SIZE, TAIL_HEADER_SIZE, TAIL_SUFFIX, crc32 } = require('@millrace/framing')

const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x54, 0x0d, 0x0a, 0x1a, 0x0a])
const COPY_SIZE = 1024 * 1024
// A copy that is not whole yet has a name of its own.
const UNFINISHED_SUFFIX = '.new'

/**
 * @typedef {import('../load').BlockFile} BlockFileHandle
 * @typedef {import('@millrace/framing').Head} Head
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {{ offset: number, size: number }} Range  of the log's file, in bytes
 * @typedef {Range & { id: Buffer, sequence: number }} Described  by the head of a copy
 * @typedef {Range & { path: string }} Unrestored  bytes of the log that only its copy has
 */

class TailCopy {
  #blocks
  #head
  #storage
  #path

  /**
   * @param {BlockFileHandle} blocks  the log's file, open for writing
   * @param {Head} head
   * @param {Storage} [storage]
   */
  constructor (blocks, head, storage = fileStorage) {
    this.#blocks = blocks
    this.#head = head
    this.#storage = storage
    this.#path = blocks.realPath + TAIL_SUFFIX
  }

  /** Of the newest slot that can be read. */
  get #sequence () {
    return this.#head.slot?.sequence ?? 0
  }

  /** Whether the session before has left nothing to do: then nobody need look for a copy. */
  get #wasClosed () {
    const { slot, lostSlot } = this.#head
    return !lostSlot && slot?.reservedEnd === 0 && slot.end === this.#blocks.size.value
  }

  /**
   * Finishes what an earlier open has begun.
   * @returns {Promise<number>}  all before that position is on stable storage now; 0 if there was nothing to finish
   * @throws {LogError} ERR_LOG_CORRUPT when the copy is damaged that all depends on
   */
  async restore () {
    if (this.#wasClosed) return 0
    await call(this.#blocks, 'removeBeside', TAIL_SUFFIX + UNFINISHED_SUFFIX)
    return await this.#withCopy(async (copy, range) => {
      if (this.#isOutdated(range)) {
        await this.#remove()
        return 0
      }
      // Whoever gave the copy its name may have been killed before that was on stable storage.
      await call(this.#storage, 'syncFolder', path.dirname(this.#path))
      await this.#writeAnew(copy, range)
      return range.offset + range.size
    }) ?? 0
  }

  /**
   * For those who only read: the copy belongs to the next writer, which finishes what an earlier one has begun.
   * @returns {Promise<Unrestored | null>}  the bytes that the log is to get back and does not have now
   */
  async find () {
    if (this.#wasClosed) return null
    try {
      return await this.#withCopy(async (copy, range) => {
        if (this.#isOutdated(range) || await this.#isRestored(copy, range)) return null
        return { offset: range.offset, size: range.size, path: this.#path }
      })
    } catch (err) {
      // The copy is damaged; or a writer is at it just now: the log became shorter while it was compared.
      if (err instanceof LogError && ['ERR_LOG_CORRUPT', 'ERR_FILE_SHORT_READ'].includes(err.code)) return null
      throw err
    }
  }

  /**
   * @template T
   * @param {(copy: BlockFileHandle, described: Described) => Promise<T>} use
   * @returns {Promise<T | null>}  null if there is no copy, or none of this log: then it is left alone
   */
  async #withCopy (use) {
    const copy = await this.#openCopy()
    if (copy === null) return null
    try {
      const described = await this.#read(copy)
      return described && await use(copy, described)
    } finally {
      await call(copy, 'close')
    }
  }

  /**
   * The slot that a copy was made under may have been in the page cache only, and gone with the power: an older one is
   * as good. A newer one was written when the copy had served, and before anything was appended.
   * @param {Described} described
   */
  #isOutdated ({ sequence }) {
    return this.#sequence > sequence
  }

  /**
   * @param {BlockFileHandle} copy
   * @param {Range} range
   * @returns {Promise<boolean>}  whether the log has all that the copy has
   */
  async #isRestored (copy, { offset, size }) {
    if (offset + size > this.#blocks.size.value) return false
    let isSame = true
    let at = offset
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, async (bytes) => {
      const found = Buffer.alloc(bytes.length)
      await call(this.#blocks, 'readInto', found, at)
      isSame &&= found.equals(bytes)
      at += bytes.length
    })
    return isSame
  }

  /** @returns {Promise<BlockFileHandle | null>}  null if there is none */
  async #openCopy () {
    const copy = BlockFile(this.#path, { flags: 'r', cache: 0, storage: this.#storage })
    try {
      await call(copy, 'ready')
      return copy
    } catch (err) {
      await call(copy, 'close')
      if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return null
      throw err
    }
  }

  /**
   * A copy has its name since it was whole and synced.
   * @param {BlockFileHandle} copy
   * @returns {Promise<Described | null>}  null if it is not of this log
   */
  async #read (copy) {
    const { id, salt } = this.#head.header
    const bytes = Buffer.alloc(TAIL_HEADER_SIZE)
    await call(copy, 'readInto', bytes.subarray(0, Math.min(copy.size.value, TAIL_HEADER_SIZE)), 0)
    const described = decodeTailHeader(bytes, salt)
    if (!described?.id.equals(id)) return null
    const end = TAIL_HEADER_SIZE + described.size
    if (copy.size.value === end + CRC_SIZE) {
      let crc = salt
      await eachPart(copy, 0, end, async (bytes) => { crc = crc32(bytes, crc) })
      const found = Buffer.alloc(CRC_SIZE)
      await call(copy, 'readInto', found, end)
      if (found.readUInt32BE(0) === crc) return described
    }
    throw new LogError('ERR_LOG_CORRUPT', `open: ${this.#path} is damaged. It has the ${described.size} bytes of the log from ` +
      `${described.offset} on, which were being written anew. Copy both files; if you move it away, the log opens without those bytes`,
    { path: this.#path })
  }

  /**
   * Copies a range of the log's end. Nothing of the log is changed.
   * @param {Range} range
   * @returns {Promise<void>}  the copy is on stable storage
   * @throws what the file system says; then nothing is left of the copy
   */
  async save ({ offset, size }) {
    const { id, salt } = this.#head.header
    const copy = BlockFile(this.#path + UNFINISHED_SUFFIX, { cache: 0, storage: this.#storage })
    try {
      await call(copy, 'ready')
      await call(copy, 'truncate', 0)
      const head = encodeTailHeader({ id, sequence: this.#sequence, offset, size }, salt)
      await call(copy, 'append', head)
      let crc = crc32(head, salt)
      await eachPart(this.#blocks, offset, offset + size, async (bytes) => {
        crc = crc32(bytes, crc)
        await call(copy, 'append', bytes)
      })
      const trailer = Buffer.alloc(CRC_SIZE)
      trailer.writeUInt32BE(crc)
      await call(copy, 'append', trailer)
      await call(copy, 'sync')
      await call(copy, 'close')
      await this.#publish()
    } catch (err) {
      await call(copy, 'close').catch(() => {})
      await call(this.#blocks, 'removeBeside', TAIL_SUFFIX + UNFINISHED_SUFFIX).catch(() => {})
      throw err
    }
  }

  /** The copy gets its name; what else has that is not ours, or it would have been replayed. */
  async #publish () {
    const other = await this.#openCopy()
    if (other !== null) {
      await call(other, 'close')
      throw new LogError('EEXIST', `${this.#path} already exists, and does not belong to this log; move it away`, { path: this.#path })
    }
    await call(this.#storage, 'rename', this.#path + UNFINISHED_SUFFIX, this.#path)
    await call(this.#storage, 'syncFolder', path.dirname(this.#path))
  }

  /**
   * Writes anew what was saved.
   * @param {Range} range
   * @returns {Promise<void>}  it is on stable storage, and the copy is gone
   */
  async rewrite (range) {
    const copy = /** @type {BlockFileHandle} */ (await this.#openCopy())
    try {
      await this.#writeAnew(copy, range)
    } finally {
      await call(copy, 'close')
    }
  }

  /**
   * @param {BlockFileHandle} copy  removed once it has served
   * @param {Range} range
   */
  async #writeAnew (copy, { offset, size }) {
    await call(this.#blocks, 'truncate', offset)
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, (bytes) => call(this.#blocks, 'append', bytes))
    await call(this.#blocks, 'sync')
    await this.#remove()
  }

  /** It must not come back with the power: what is appended next would be cut for it. */
  async #remove () {
    await call(this.#blocks, 'removeBeside', TAIL_SUFFIX)
    await call(this.#storage, 'syncFolder', path.dirname(this.#path))
  }
}

/**
 * Cuts what is behind the last whole commit, or frame. Its bytes are copied into a file beside the log before, so that
 * they can still be looked at.
 * @param {BlockFileHandle} blocks  the log's file
 * @param {number} end  where the log ends
 * @param {number} contentEnd  nothing but zeros lies behind it
 * @param {Storage} [storage]
 * @returns {Promise<string | null>}  the path of the copy; null if there was nothing to copy
 */
async function cutEnd (blocks, end, contentEnd, storage) {
  const keptAt = contentEnd === end ? null : await keepBytes(blocks, end, contentEnd, storage)
  await call(blocks, 'truncate', end)
  await call(blocks, 'sync')
  return keptAt
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} start
 * @param {number} end
 * @param {Storage} [storage]
 * @returns {Promise<string>}  the path of the copy, which is on stable storage
 */
async function keepBytes (blocks, start, end, storage) {
  const copy = await openUnused(`${blocks.path}.cut-${start}`, storage)
  try {
    await eachPart(blocks, start, end, (bytes) => call(copy, 'append', bytes))
    await call(copy, 'sync')
  } catch (err) {
    // Half a copy is of no use; an empty one is used again.
    await call(copy, 'truncate', 0).catch(() => {})
    await call(copy, 'close').catch(() => {})
    throw err
  }
  await call(copy, 'close')
  return copy.path
}

/**
 * A copy from before is never overwritten: the name gets a number until it is new.
 * @param {string} base
 * @param {Storage} [storage]
 * @returns {Promise<BlockFileHandle>}
 */
async function openUnused (base, storage) {
  for (let attempt = 0; ; attempt++) {
    const copy = BlockFile(attempt === 0 ? base : `${base}-${attempt}`, { storage, cache: 0 })
    await call(copy, 'ready')
    if (copy.size.value === 0) return copy
    await call(copy, 'close').catch(() => {})
  }
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} start
 * @param {number} end
 * @param {(bytes: Buffer) => Promise<unknown>} visit  the bytes are good until it is done
 */
async function eachPart (blocks, start, end, visit) {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_SIZE, end - start))
  for (let at = start; at < end; at += buffer.length) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, end - at))
    await call(blocks, 'readInto', bytes, at)
    await visit(bytes)
  }
}

/**
 * @param {Described} described
 * @param {number} salt
 * @returns {Buffer}
 */
function encodeTailHeader ({ id, sequence, offset, size }, salt) {
  const bytes = Buffer.alloc(TAIL_HEADER_SIZE)
  MAGIC.copy(bytes)
  id.copy(bytes, 8)
  bytes.writeUIntBE(sequence, 24, 6)
  bytes.writeUIntBE(offset, 30, 6)
  bytes.writeUIntBE(size, 36, 6)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 44), salt), 44)
  return bytes
}

/**
 * @param {Buffer} bytes
 * @param {number} salt
 * @returns {Described | null}  null if it is none
 */
function decodeTailHeader (bytes, salt) {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null
  if (crc32(bytes.subarray(0, 44), salt) !== bytes.readUInt32BE(44)) return null
  return {
    id: Buffer.from(bytes.subarray(8, 24)),
    sequence: bytes.readUIntBE(24, 6),
    offset: bytes.readUIntBE(30, 6),
    size: bytes.readUIntBE(36, 6)
  }
}

exports.TailCopy = TailCopy
exports.cutEnd = cutEnd
