'use strict'
// Turns records into the chunks of one commit, ready to be appended. Bytes only, no I/O.

const { putUint32 } = require('@millrace/flow')
const { ChunkHeader, writeChunkHeader } = require('./chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, SPLIT_SIZE_MIN
} = require('./layout')

/**
 * Where a log ends, and what its next chunk must know.
 * @typedef {object} Tail
 * @property {number} end  physical position of the next byte
 * @property {number} shift  logical position less the physical one
 * @property {number} chainCrc  of the last chunk
 */

/**
 * @typedef {object} CommitWriter
 * @property {number} salt
 * @property {number} epoch
 * @property {number} durable  logical position, by the tail's shift
 * @property {boolean} [isBehindLoss]  whether the commit is the first one after an unclean end
 */

/**
 * @typedef {object} Appended  one append with records at least, and none without
 * @property {Buffer[]} records  of all appends, one after the other
 * @property {number[]} ends  where the records of each append end
 * @property {number[]} seqs  gets the seq of the last record of each
 * @property {number} count  of appends
 */

/**
 * @typedef {object} Packed
 * @property {Buffer} bytes  to append at the tail's end
 * @property {number} seq  of the last record
 * @property {Tail} tail  where the log ends afterwards
 */

/**
 * @param {number} frames  bytes that they have together
 * @returns {number}  bytes that their commit takes at most
 */
function packedSizeMax (frames) {
  const perPage = CHUNK_HEADER_SIZE + CHUNK_SIZE_MIN + LENGTH_SIZE + SPLIT_SIZE_MIN
  return frames + perPage * (2 + Math.ceil(frames / (PAGE_SIZE - perPage)))
}

class CommitPacker {
  /**
   * @param {Tail} tail
   * @param {CommitWriter} writer
   * @param {Buffer} target
   */
  constructor (tail, { salt, epoch, durable, isBehindLoss = false }, target) {
    this._salt = salt
    this._tail = tail
    this._bytes = target
    this._offset = 0
    /** Where the page ends, in the target. It may lie one page back. */
    this._pageEnd = PAGE_SIZE - tail.end % PAGE_SIZE
    this._header = new ChunkHeader()
    this._header.epoch = epoch
    this._header.durable = durable
    this._header.previous = tail.chainCrc
    /** Offset of the open chunk's header, or -1. */
    this._chunkStart = -1
    /** Flags of the next chunk that others do not have. */
    this._flags = isBehindLoss ? CHUNK_FLAGS.BEHIND_LOSS : 0
  }

  /**
   * @param {Appended} group
   * @returns {Packed}
   */
  pack ({ records, ends, seqs, count }) {
    const { end, shift } = this._tail
    const bytes = this._bytes
    let start = 0
    for (let index = 0, record = 0; index < count; index++) {
      for (const last = ends[index]; record < last; record++) {
        const data = records[record]
        const { length } = data
        const dataStart = this._offset + LENGTH_SIZE
        // Nearly always the open chunk takes the whole record.
        if (this._chunkStart !== -1 && dataStart + length <= this._pageEnd) {
          start = this._offset
          putUint32(bytes, FRAME_TYPES.RECORD * 2 ** 30 + length, start)
          bytes.set(data, dataStart)
          this._offset = dataStart + length
        } else {
          this._makeRoom(length)
          start = this._offset
          this._putRecord(data)
        }
      }
      seqs[index] = end + shift + start
    }
    this._closeChunk(0)
    const tail = { end: end + this._offset, shift, chainCrc: this._header.previous }
    return { bytes: this._bytes.subarray(0, this._offset), seq: end + shift + start, tail }
  }

  /** Bytes left in the page; at its end, those of the next one. */
  get _room () {
    if (this._offset >= this._pageEnd) this._pageEnd += PAGE_SIZE
    return this._pageEnd - this._offset
  }

  /**
   * Opens a chunk where a record of that size may begin.
   * @param {number} size
   */
  _makeRoom (size) {
    const isOpen = this._chunkStart !== -1
    // At a page's end the room is that of the next page, where no chunk is open.
    const room = this._room
    if (isOpen && room === PAGE_SIZE) this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)
    const usable = this._chunkStart === -1 ? room - CHUNK_HEADER_SIZE : room
    if (usable < LENGTH_SIZE + Math.min(size, SPLIT_SIZE_MIN)) this._padPage(room)
    if (this._chunkStart === -1) this._openChunk(0)
  }

  /** @param {number} room  what is left of the page */
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

  /** @param {Buffer} data  more than the page has room for */
  _putPieces (data) {
    let done = 0
    for (;;) {
      const isFull = this._chunkStart !== -1 && this._room === PAGE_SIZE
      const size = isFull ? 0 : Math.min(data.length - done, this._room)
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

  /**
   * @param {number} type
   * @param {number} size
   */
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
 * @param {Appended} group  gets its seqs
 * @param {Tail} tail
 * @param {CommitWriter} writer
 * @param {Buffer} target  of `packedSizeMax` of the frames, or larger; the packed bytes lie in it
 * @returns {Packed}
 */
function packCommit (group, tail, writer, target) {
  return new CommitPacker(tail, writer, target).pack(group)
}

exports.packCommit = packCommit
exports.packedSizeMax = packedSizeMax
