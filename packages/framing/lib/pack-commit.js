'use strict'
// Packs the records of a commit into chunks, ready to be appended. Without any I/O.

const { putUint32 } = require('@millrace/flow')
const { ChunkHeader, writeChunkHeader } = require('./chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, SPLIT_SIZE_MIN
} = require('./layout')

/** To call a function costs more than to copy fewer bytes one by one. */
const LOOPED_SIZE_MAX = 64

/**
 * Where a log ends, physically; logical position less physical position there; chain crc of the last chunk.
 * @typedef {{ end: number, shift: number, chainCrc: number }} Tail
 */

/**
 * @typedef {object} CommitWriter
 * @property {number} salt
 * @property {number} epoch
 * @property {number} durable  logical position up to which everything is on stable storage
 * @property {boolean} [isAfterLoss]  whether the commit is the first one after an unclean end
 */

/**
 * @typedef {object} Appended  at least one append; each has at least one record
 * @property {Buffer[]} records  of all appends, one after the other
 * @property {number[]} ends  by append: the index in `records` after its last record
 * @property {number[]} seqs  filled, by append: the seq of its last record
 * @property {number} count  of appends
 */

/**
 * The same for small records that lie in one buffer: an object for each would take more time than to pack it.
 * @typedef {object} AppendedSlices
 * @property {Buffer[]} first  records that come before all others, and belong to no append
 * @property {Buffer} bytes  of the others
 * @property {Uint32Array} cuts  record `i` is the bytes from `cuts[i]` to `cuts[i + 1]`
 * @property {number[]} ends
 * @property {number[]} seqs
 * @property {number} count
 */

/** @typedef {{ bytes: Buffer, seq: number, tail: Tail }} Packed  to append; seq of the last record; the end then */

/** How many bytes a commit with so many bytes of frames takes at most. @type {(frames: number) => number} */
function packedSizeMax (frames) {
  const perPage = CHUNK_HEADER_SIZE + CHUNK_SIZE_MIN + LENGTH_SIZE + SPLIT_SIZE_MIN
  return frames + perPage * (2 + Math.ceil(frames / (PAGE_SIZE - perPage)))
}

class CommitPacker {
  /** @param {Tail} tail @param {CommitWriter} writer @param {Buffer} target */
  constructor (tail, { salt, epoch, durable, isAfterLoss = false }, target) {
    this._salt = salt
    this._tail = tail
    this._bytes = target
    this._offset = 0
    /** Where the page ends in the target. The first chunk of the next page moves it on. */
    this._pageEnd = PAGE_SIZE - tail.end % PAGE_SIZE
    this._header = new ChunkHeader()
    this._header.epoch = epoch
    this._header.durable = durable
    this._header.previous = tail.chainCrc
    /** Offset of the open chunk's header, or -1. */
    this._chunkStart = -1
    /** Flags that only the next chunk gets. */
    this._flags = isAfterLoss ? CHUNK_FLAGS.AFTER_LOSS : 0
  }

  /** @type {(group: Appended) => Packed} */
  pack ({ records, ends, seqs, count }) {
    const { end, shift } = this._tail
    const bytes = this._bytes
    let start = 0
    for (let index = 0, record = 0; index < count; index++) {
      for (const last = ends[index]; record < last; record++) {
        const data = records[record]
        const { length } = data
        // Nearly always the open chunk takes the whole record.
        if (this._chunkStart === -1 || this._offset + LENGTH_SIZE + length > this._pageEnd) this._makeRoom(length)
        start = this._offset
        const dataStart = this._offset = start + LENGTH_SIZE
        putUint32(bytes, FRAME_TYPES.RECORD * 2 ** 30 + length, start)
        if (dataStart + length > this._pageEnd) {
          this._putPieces(data)
        } else {
          bytes.set(data, dataStart)
          this._offset = dataStart + length
        }
      }
      seqs[index] = end + shift + start
    }
    this._closeChunk(0)
    const tail = { end: end + this._offset, shift, chainCrc: this._header.previous }
    return { bytes: this._bytes.subarray(0, this._offset), seq: end + shift + start, tail }
  }

  /** @type {(group: AppendedSlices) => Packed} */
  packSlices ({ first, bytes: source, cuts, ends, seqs, count }) {
    const { end, shift } = this._tail
    const bytes = this._bytes
    for (const data of first) {
      this._makeRoom(data.length)
      this._putRecord(data)
    }
    let start = 0
    for (let index = 0, record = 0; index < count; index++) {
      for (const last = ends[index]; record < last; record++) {
        const from = cuts[record]
        const to = cuts[record + 1]
        let at = this._offset + LENGTH_SIZE
        if (this._chunkStart !== -1 && at + to - from <= this._pageEnd && to - from <= LOOPED_SIZE_MAX) {
          start = this._offset
          putUint32(bytes, FRAME_TYPES.RECORD * 2 ** 30 + to - from, start)
          for (let place = from; place < to; place++) bytes[at++] = source[place]
          this._offset = at
        } else {
          this._makeRoom(to - from)
          start = this._offset
          this._putRecord(source.subarray(from, to))
        }
      }
      seqs[index] = end + shift + start
    }
    this._closeChunk(0)
    const tail = { end: end + this._offset, shift, chainCrc: this._header.previous }
    return { bytes: bytes.subarray(0, this._offset), seq: end + shift + start, tail }
  }

  /** Opens a chunk in which a record of this size may begin. @type {(size: number) => void} */
  _makeRoom (size) {
    // At a page's end the room is that of the next page, where no chunk is open.
    const isAtEnd = this._offset >= this._pageEnd
    if (isAtEnd && this._chunkStart !== -1) this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
    const room = isAtEnd ? PAGE_SIZE : this._pageEnd - this._offset
    const usable = this._chunkStart === -1 ? room - CHUNK_HEADER_SIZE : room
    if (usable < LENGTH_SIZE + Math.min(size, SPLIT_SIZE_MIN)) this._padPage(room)
    if (this._chunkStart === -1) this._openChunk(0)
  }

  /** Fills the rest of the page, `room` bytes. @type {(room: number) => void} */
  _padPage (room) {
    if (this._chunkStart === -1) {
      if (room < CHUNK_SIZE_MIN) return this._putZeros(room)
      this._openChunk(0)
      room -= CHUNK_HEADER_SIZE
    }
    if (room >= LENGTH_SIZE) {
      room -= LENGTH_SIZE
      this._putLength(FRAME_TYPES.PADDING, room)
    }
    this._putZeros(room)
    this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
  }

  /** @param {Buffer} data */
  _putRecord (data) {
    this._putLength(FRAME_TYPES.RECORD, data.length)
    if (this._offset + data.length <= this._pageEnd) {
      this._bytes.set(data, this._offset)
      this._offset += data.length
      return
    }
    this._putPieces(data)
  }

  /** For data that the page has no room for. @type {(data: Buffer) => void} */
  _putPieces (data) {
    let done = 0
    for (;;) {
      const size = Math.min(data.length - done, this._pageEnd - this._offset)
      data.copy(this._bytes, this._offset, done, done + size)
      this._offset += size
      done += size
      if (done === data.length) return
      this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
      this._openChunk(Math.min(data.length - done, PAGE_SIZE - CHUNK_HEADER_SIZE))
    }
  }

  /** @param {number} continued */
  _openChunk (continued) {
    if (this._offset >= this._pageEnd) this._pageEnd += PAGE_SIZE
    this._header.position = this._tail.end + this._tail.shift + this._offset
    this._header.continued = continued
    this._chunkStart = this._offset
    this._offset += CHUNK_HEADER_SIZE
  }

  /** @param {number} flags */
  _closeChunk (flags) {
    const { _header: header, _chunkStart: start } = this
    header.size = this._offset - start - CHUNK_HEADER_SIZE
    header.flags = flags | this._flags
    this._flags = 0
    writeChunkHeader(header, this._bytes, start, this._salt)
    header.previous = header.crc
    this._chunkStart = -1
  }

  /** @type {(type: number, size: number) => void} */
  _putLength (type, size) {
    putUint32(this._bytes, type * 2 ** 30 + size, this._offset)
    this._offset += LENGTH_SIZE
  }

  /** @param {number} count */
  _putZeros (count) {
    this._bytes.fill(0, this._offset, this._offset + count)
    this._offset += count
  }
}

/**
 * Packs the records of a commit into chunks and pages.
 * @param {Appended | AppendedSlices} group  gets its seqs
 * @param {Tail} tail
 * @param {CommitWriter} writer
 * @param {Buffer} target  at least `packedSizeMax` of the frames' bytes; the packed bytes lie in it
 * @returns {Packed}
 */
function packCommit (group, tail, writer, target) {
  const packer = new CommitPacker(tail, writer, target)
  return 'cuts' in group ? packer.packSlices(group) : packer.pack(group)
}

exports.packCommit = packCommit
exports.packedSizeMax = packedSizeMax
