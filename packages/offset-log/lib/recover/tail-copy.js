'use strict'
// Copies the end of a log during recovery: before it is cut, and before an unsynced end is written anew.
//
// An earlier session may have left an end unsynced. After a failed writeback the page cache holds bytes that the disk
// lacks, but the kernel counts them as clean. On ext4 their blocks also stay marked as never written: writing the same
// bytes in place, with a successful fdatasync, does not bring them to the disk. To cut the file and write the bytes
// anew does. So `TailCopy` copies them to `<log>.tail` first. If it is interrupted, the next open finishes its work
// from the copy. See docs/internals/format.md.

const path = require('node:path')
const { BlockFile, fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { CRC_SIZE, TAIL_HEADER_SIZE, TAIL_SUFFIX, crc32 } = require('@millrace/framing')
const { findPlace } = require('./identify')

const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x54, 0x0d, 0x0a, 0x1a, 0x0a])
const COPY_SIZE = 1024 * 1024
// An unfinished copy has this suffix too.
const UNFINISHED_SUFFIX = '.new'

/**
 * @typedef {import('../load').BlockFile} BlockFileHandle
 * @typedef {object} CopiedHead  what a copy must know of the log
 * @property {{ id: Buffer, salt: number }} header
 * @property {{ sequence: number, reservedEnd: number, end: number } | null} slot  the newest one
 * @property {boolean} lostSlot
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {{ offset: number, size: number }} Range  of the log's file, in bytes
 * @typedef {Range & { id: Buffer, sequence: number }} Described  by the head of a copy
 * @typedef {Range & { path: string }} Unrestored  bytes of the log that only the copy at `path` has
 */

class TailCopy {
  #blocks
  #head
  #storage
  #path

  /**
   * @param {BlockFileHandle} blocks  the log's file
   * @param {CopiedHead} head
   * @param {Storage} [storage]
   */
  constructor (blocks, head, storage = fileStorage) {
    this.#blocks = blocks
    this.#head = head
    this.#storage = storage
    this.#path = blocks.realPath + TAIL_SUFFIX
  }

  /** The sequence of the newest whole slot. */
  get #sequence () {
    return this.#head.slot?.sequence ?? 0
  }

  /** Whether the earlier session closed the log. Then there is no copy to look for. */
  get #wasClosed () {
    const { slot, lostSlot } = this.#head
    return !lostSlot && slot?.reservedEnd === 0 && slot.end === this.#blocks.size.value
  }

  /**
   * Finishes what an earlier open began.
   * @returns {Promise<number>}  the log is durable up to here; 0 if there was nothing to finish
   * @throws {LogError} ERR_LOG_CORRUPT if the copy is damaged
   */
  async restore () {
    if (this.#wasClosed) return 0
    await promisesOf(this.#blocks).removeBeside(TAIL_SUFFIX + UNFINISHED_SUFFIX)
    const end = await this.#withCopy(async (copy, range) => {
      if (this.#isOutdated(range)) return 0
      // The process that renamed the copy may have been killed before it synced the folder.
      await promisesOf(this.#storage).syncFolder(path.dirname(this.#path))
      await this.#writeAnew(copy, range)
      return range.offset + range.size
    })
    if (end !== null) await this.#remove()
    return end ?? 0
  }

  /**
   * For readers. They leave the copy to the next writer.
   * @returns {Promise<Unrestored | null>}  the bytes that the log lacks now
   */
  async find () {
    if (this.#wasClosed) return null
    try {
      this.#path = await findPlace(this.#blocks, this.#storage) + TAIL_SUFFIX
      return await this.#withCopy(async (copy, range) => {
        if (this.#isOutdated(range) || await this.#isRestored(copy, range)) return null
        return { offset: range.offset, size: range.size, path: this.#path }
      })
    } catch (err) {
      // The copy is damaged, or a writer is restoring it now: the log became shorter during the comparison.
      if (err instanceof LogError && ['ERR_LOG_CORRUPT', 'ERR_FILE_SHORT_READ'].includes(err.code)) return null
      throw err
    }
  }

  /**
   * @template T
   * @param {(copy: BlockFileHandle, described: Described) => Promise<T>} use
   * @returns {Promise<T | null>}  null if no copy belongs to this log. A copy of another log is left alone
   */
  async #withCopy (use) {
    const copy = await this.#openCopy()
    if (copy === null) return null
    try {
      const described = await this.#read(copy)
      return described && await use(copy, described)
    } finally {
      await promisesOf(copy).close()
    }
  }

  /**
   * The log gets a slot of a higher sequence only after the copy was used, and before the next append. A lower sequence
   * does not make the copy outdated: a power cut may have taken a slot that was only in the page cache.
   * @param {Described} described
   */
  #isOutdated ({ sequence }) {
    return this.#sequence > sequence
  }

  /**
   * Whether the log has all the bytes of the copy.
   * @type {(copy: BlockFileHandle, range: Range) => Promise<boolean>}
   */
  async #isRestored (copy, { offset, size }) {
    if (offset + size > this.#blocks.size.value) return false
    let isSame = true
    let at = offset
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, async (bytes) => {
      const found = Buffer.alloc(bytes.length)
      await promisesOf(this.#blocks).readInto(found, at)
      isSame &&= found.equals(bytes)
      at += bytes.length
    })
    return isSame
  }

  /** @returns {Promise<BlockFileHandle | null>}  null if there is none */
  async #openCopy () {
    const copy = BlockFile(this.#path, { flags: 'r', cache: 0, storage: this.#storage })
    try {
      await promisesOf(copy).ready()
      return copy
    } catch (err) {
      await promisesOf(copy).close()
      if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return null
      throw err
    }
  }

  /**
   * A copy gets its name when it is whole and synced, so a wrong checksum is damage.
   * @param {BlockFileHandle} copy
   * @returns {Promise<Described | null>}  null if the copy belongs to another log
   */
  async #read (copy) {
    const { id, salt } = this.#head.header
    const bytes = Buffer.alloc(TAIL_HEADER_SIZE)
    await promisesOf(copy).readInto(bytes.subarray(0, Math.min(copy.size.value, TAIL_HEADER_SIZE)), 0)
    const described = decodeTailHeader(bytes, salt)
    if (!described?.id.equals(id)) return null
    const end = TAIL_HEADER_SIZE + described.size
    if (copy.size.value === end + CRC_SIZE) {
      let crc = salt
      await eachPart(copy, 0, end, async (bytes) => { crc = crc32(bytes, crc) })
      const found = Buffer.alloc(CRC_SIZE)
      await promisesOf(copy).readInto(found, end)
      if (found.readUInt32BE(0) === crc) return described
    }
    throw new LogError('ERR_LOG_CORRUPT', `open: ${this.#path} is damaged. It has the ${described.size} bytes of the log from ` +
      `${described.offset} on, which were being written anew. Copy both files; if you move it away, the log opens without those bytes`,
    { path: this.#path })
  }

  /**
   * Copies a range of the log's end, and changes nothing in the log.
   * @param {Range} range
   * @returns {Promise<void>}  the copy is durable
   * @throws errors of the file system; the unfinished copy is removed
   */
  async save ({ offset, size }) {
    const { id, salt } = this.#head.header
    const copy = BlockFile(this.#path + UNFINISHED_SUFFIX, { cache: 0, storage: this.#storage })
    try {
      await promisesOf(copy).ready()
      await promisesOf(copy).truncate(0)
      const head = encodeTailHeader({ id, sequence: this.#sequence, offset, size }, salt)
      await promisesOf(copy).append(head)
      let crc = crc32(head, salt)
      await eachPart(this.#blocks, offset, offset + size, async (bytes) => {
        crc = crc32(bytes, crc)
        await promisesOf(copy).append(bytes)
      })
      const trailer = Buffer.alloc(CRC_SIZE)
      trailer.writeUInt32BE(crc)
      await promisesOf(copy).append(trailer)
      await promisesOf(copy).sync()
      await promisesOf(copy).close()
      await this.#publish()
    } catch (err) {
      await promisesOf(copy).close().catch(() => {})
      await promisesOf(this.#blocks).removeBeside(TAIL_SUFFIX + UNFINISHED_SUFFIX).catch(() => {})
      throw err
    }
  }

  /** A copy of this log would have been restored already, so any file of this name belongs to somebody else. */
  async #publish () {
    const other = await this.#openCopy()
    if (other !== null) {
      await promisesOf(other).close()
      throw new LogError('EEXIST', `${this.#path} already exists, and does not belong to this log; move it away`, { path: this.#path })
    }
    await promisesOf(this.#storage).rename(this.#path + UNFINISHED_SUFFIX, this.#path)
    await promisesOf(this.#storage).syncFolder(path.dirname(this.#path))
  }

  /**
   * Writes the saved range anew and removes the copy.
   * @param {Range} range
   * @returns {Promise<void>}  the range is durable
   */
  async rewrite (range) {
    const copy = /** @type {BlockFileHandle} */ (await this.#openCopy())
    try {
      await this.#writeAnew(copy, range)
    } finally {
      await promisesOf(copy).close()
    }
    await this.#remove()
  }

  /** @type {(copy: BlockFileHandle, range: Range) => Promise<void>} */
  async #writeAnew (copy, { offset, size }) {
    await promisesOf(this.#blocks).truncate(offset)
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, (bytes) => promisesOf(this.#blocks).append(bytes))
    await promisesOf(this.#blocks).sync()
  }

  /**
   * Call it once the copy is closed: Windows removes no open file. Syncs the folder. If a power cut brought the copy
   * back, the next open would cut what was appended meanwhile.
   */
  async #remove () {
    await promisesOf(this.#blocks).removeBeside(TAIL_SUFFIX)
    await promisesOf(this.#storage).syncFolder(path.dirname(this.#path))
  }
}

/**
 * Cuts what lies after the last whole commit or frame, after copying it to a file beside the log.
 * @param {BlockFileHandle} blocks  the log's file
 * @param {number} end  where the log ends
 * @param {number} contentEnd  only zeros lie after it
 * @param {Storage} [storage]
 * @returns {Promise<string | null>}  the path of the copy; null if there was nothing to copy
 */
async function cutEnd (blocks, end, contentEnd, storage) {
  const keptAt = contentEnd === end ? null : await keepBytes(blocks, end, contentEnd, storage)
  await promisesOf(blocks).truncate(end)
  await promisesOf(blocks).sync()
  return keptAt
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} start
 * @param {number} end
 * @param {Storage} [storage]
 * @returns {Promise<string>}  the path of the copy, which is durable
 */
async function keepBytes (blocks, start, end, storage) {
  const copy = await openUnused(`${blocks.path}.cut-${start}`, storage)
  try {
    await eachPart(blocks, start, end, (bytes) => promisesOf(copy).append(bytes))
    await promisesOf(copy).sync()
  } catch (err) {
    // Half a copy is of no use. `openUnused` takes an empty file again.
    await promisesOf(copy).truncate(0).catch(() => {})
    await promisesOf(copy).close().catch(() => {})
    throw err
  }
  await promisesOf(copy).close()
  return copy.path
}

/**
 * Numbers the name until no earlier copy has it, so no copy is overwritten.
 * @type {(base: string, storage?: Storage) => Promise<BlockFileHandle>}
 */
async function openUnused (base, storage) {
  for (let attempt = 0; ; attempt++) {
    const copy = BlockFile(attempt === 0 ? base : `${base}-${attempt}`, { storage, cache: 0 })
    await promisesOf(copy).ready()
    if (copy.size.value === 0) return copy
    await promisesOf(copy).close().catch(() => {})
  }
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} start
 * @param {number} end
 * @param {(bytes: Buffer) => Promise<unknown>} visit  the next call overwrites the bytes
 */
async function eachPart (blocks, start, end, visit) {
  const buffer = Buffer.allocUnsafe(Math.min(COPY_SIZE, end - start))
  for (let at = start; at < end; at += buffer.length) {
    const bytes = buffer.subarray(0, Math.min(buffer.length, end - at))
    await promisesOf(blocks).readInto(bytes, at)
    await visit(bytes)
  }
}

/** @type {(described: Described, salt: number) => Buffer} */
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

/** @type {(bytes: Buffer, salt: number) => Described | null} */
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
