'use strict'
// What a recorded disk was asked, and the images that a power cut may make of it: all that was flushed, and of what was
// written since any blocks, some of them torn.

const fs = require('node:fs')
const { pickSubset } = require('../choices')

/** An entry: its kind (u8), then when it came, where and how many bytes (f64 each); the bytes follow. */
const ENTRY_SIZE = 25
const KINDS = { WRITE: 1, FLUSH: 2, FAILED: 3 }
// What the file system writes at once reaches the disk in any order, block by block. A torn one has some sectors; not
// the first, for with a torn superblock ext4 cannot be mounted before e2fsck has mended it.
const BLOCK_SIZE = 4096
const SECTOR_SIZE = 512
// Later than anything, but not for ever: what never happens has not happened by then.
const AFTER_ALL = Number.MAX_SAFE_INTEGER

/**
 * @typedef {object} Entry
 * @property {number} kind
 * @property {number} at  when it came
 * @property {number} offset  on the disk
 * @property {number} size  in bytes
 * @property {Buffer} [bytes]
 */

/** Nanoseconds, the same for all processes of a machine: what was answered before an entry came has a lower number. */
function now () {
  return Number(process.hrtime.bigint())
}

/**
 * @param {Buffer} target
 * @param {Entry} entry
 */
function encodeEntry (target, { kind, at, offset, size }) {
  target.writeUInt8(kind, 0)
  target.writeDoubleLE(at, 1)
  target.writeDoubleLE(offset, 9)
  target.writeDoubleLE(size, 17)
}

/**
 * @param {string} file
 * @returns {Entry[]}
 */
function readRecord (file) {
  const bytes = fs.readFileSync(file)
  const entries = []
  for (let position = 0; position + ENTRY_SIZE <= bytes.length;) {
    const size = bytes.readDoubleLE(position + 17)
    const start = position + ENTRY_SIZE
    entries.push({
      kind: bytes.readUInt8(position),
      at: bytes.readDoubleLE(position + 1),
      offset: bytes.readDoubleLE(position + 9),
      size,
      bytes: bytes.subarray(start, start + size)
    })
    position = start + size
  }
  return entries
}

class DiskRecord {
  /**
   * @param {string} baseFile  the image that the disk began with
   * @param {string} recordFile
   */
  constructor (baseFile, recordFile) {
    this._base = fs.readFileSync(baseFile)
    this.entries = readRecord(recordFile)
    /** What is certainly there before the entry with this index. */
    this._durable = { index: 0, bytes: Buffer.from(this._base) }
  }

  /**
   * @param {number} index  of an entry: the power goes right before it, or at the end
   * @returns {number}  the latest time that this may be
   */
  timeOf (index) {
    return index < this.entries.length ? this.entries[index].at - 1 : AFTER_ALL
  }

  /**
   * @param {(limit: number) => number} random
   * @returns {number}  index of an entry before which the power goes, more often one with much that is not flushed
   */
  pickMoment (random) {
    const some = Array.from({ length: 1 + random(3) }, () => random(this.entries.length + 1))
    const unflushedBefore = (/** @type {number} */ index) => index - this._flushedBefore(index)
    return some.reduce((best, index) => unflushedBefore(index) > unflushedBefore(best) ? index : best)
  }

  /** @param {number} index */
  _flushedBefore (index) {
    let end = index
    while (end > 0 && this.entries[end - 1].kind !== KINDS.FLUSH) end--
    return end
  }

  /**
   * @param {number} index
   * @param {(limit: number) => number} random
   * @returns {Buffer}  the disk after a power cut right before that entry
   */
  makeImage (index, random) {
    const flushedEnd = this._flushedBefore(index)
    const image = Buffer.from(this._durableAt(flushedEnd))
    const blocks = this.entries.slice(flushedEnd, index).flatMap(blocksOf)
    if (blocks.length === 0) return image
    const isKept = pickSubset(blocks.length, random)
    const hasTorn = random(3) === 0
    blocks.forEach((block, at) => {
      if (hasTorn && block.offset >= BLOCK_SIZE && random(8) === 0) tear(block, image, random)
      else if (isKept(at)) block.bytes.copy(image, block.offset)
    })
    return image
  }

  /** @param {number} end  index of an entry: those before it are on the disk */
  _durableAt (end) {
    if (end < this._durable.index) this._durable = { index: 0, bytes: Buffer.from(this._base) }
    const { _durable: durable } = this
    for (; durable.index < end; durable.index++) {
      const { kind, offset, bytes } = this.entries[durable.index]
      if (kind === KINDS.WRITE) bytes?.copy(durable.bytes, offset)
    }
    return durable.bytes
  }
}

/** @param {Entry} entry */
function blocksOf ({ kind, offset, bytes = Buffer.alloc(0) }) {
  const blocks = []
  if (kind !== KINDS.WRITE) return []
  for (let start = 0; start < bytes.length;) {
    const end = Math.min(bytes.length, start + BLOCK_SIZE - (offset + start) % BLOCK_SIZE)
    blocks.push({ offset: offset + start, bytes: bytes.subarray(start, end) })
    start = end
  }
  return blocks
}

/**
 * @param {{ offset: number, bytes: Buffer }} block
 * @param {Buffer} image  gets some of its sectors
 * @param {(limit: number) => number} random
 */
function tear ({ offset, bytes }, image, random) {
  const isKept = pickSubset(bytes.length / SECTOR_SIZE, random)
  for (let start = 0; start < bytes.length; start += SECTOR_SIZE) {
    if (isKept(start / SECTOR_SIZE)) bytes.copy(image, offset + start, start, start + SECTOR_SIZE)
  }
}

exports.AFTER_ALL = AFTER_ALL
exports.DiskRecord = DiskRecord
exports.ENTRY_SIZE = ENTRY_SIZE
exports.KINDS = KINDS
exports.encodeEntry = encodeEntry
exports.now = now
