'use strict'
// Proves many chunks, headers and payloads, by one checksum over all of them: what it should be follows from the sums
// that their headers say. To ask native code for each of them is a quarter of what a page's sum takes.

const { Piece } = require('@millrace/flow')
const { CRC_SIZE, PAYLOAD_CRC_OFFSET, PAYLOAD_SIZE_OFFSET } = require('./chunk-header')
const { crc32, crc32OfFew, createShiftTable, shift } = require('./crc32')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, PAGE_SIZE } = require('./layout')

/** Nearly all chunks of a log that was written in bulk have so much payload. */
const FULL_SIZE = PAGE_SIZE - CHUNK_HEADER_SIZE
const SIZE_BITS = 14

/**
 * @typedef {object} Tables  for shifts by sizes
 * @property {Int32Array} header
 * @property {Int32Array} full
 * @property {Int32Array[]} powers  1, 2, 4 and so on: made when first needed
 * @property {number} field  what the sum of a header's first field becomes, were it zeros, at the header's end
 */

/** Made when first needed. @type {Tables | null} */
let tables = null

/** @returns {Tables} */
function createTables () {
  const zeros = Buffer.alloc(CRC_SIZE)
  return {
    header: createShiftTable(CHUNK_HEADER_SIZE),
    full: createShiftTable(FULL_SIZE),
    powers: [],
    field: shift(createShiftTable(CHUNK_HEADER_SIZE - CRC_SIZE), crc32OfFew(zeros, 0, CRC_SIZE, 0))
  }
}

class ChunkRun {
  /** @param {number} salt  of the file */
  constructor (salt) {
    this._tables = (tables ??= createTables())
    // The sums of all headers begin with the salt.
    const zeros = Buffer.alloc(CHUNK_HEADER_SIZE - CRC_SIZE)
    const [salted, plain] = [salt, 0].map((seed) => crc32OfFew(zeros, 0, zeros.length, seed))
    this._constant = this._tables.field ^ salted ^ plain
    /** Up to where in the file chunks have the sums that they say. */
    this.provenEnd = 0
    /** Up to where that was looked at. From `provenEnd` on one of them may be damaged: they are summed one by one. */
    this.triedEnd = 0
    /** What the sum of all bytes should be, as a signed number. */
    this._expected = 0
  }

  /**
   * Nothing is proven.
   * @param {number} [until]  up to where chunks are to be summed one by one
   */
  forget (until = 0) {
    this.provenEnd = 0
    this.triedEnd = until
  }

  /**
   * @param {Buffer} bytes
   * @param {DataView} view  over the same memory, from the same start
   * @param {number} start  offset of a chunk
   * @param {number} end  how far the bytes, and the log, reach
   * @param {number} physical  where the chunk is in the file
   */
  prove (bytes, view, start, end, physical) {
    const runEnd = this._walk(view, start, end, physical)
    // One that is the only one is summed by whoever enters it.
    this.triedEnd = physical + Math.max(runEnd - start, 1)
    this.provenEnd = physical
    if (runEnd === start) return
    const sum = crc32(new Piece(bytes.buffer, bytes.byteOffset + start, runEnd - start))
    if ((sum | 0) === this._expected) this.provenEnd = this.triedEnd
  }

  /**
   * @param {DataView} view
   * @param {number} start
   * @param {number} end
   * @param {number} physical
   * @returns {number}  where the last whole chunk ends; `start` where there are not two
   */
  _walk (view, start, end, physical) {
    const { _constant: constant, _tables: { header, full } } = this
    let offset = start
    let pageEnd = start + PAGE_SIZE - physical % PAGE_SIZE
    let [count, sum] = [0, 0]
    while (Math.min(pageEnd, end) - offset >= CHUNK_SIZE_MIN) {
      const size = view.getUint16(offset + PAYLOAD_SIZE_OFFSET)
      const chunkEnd = offset + CHUNK_HEADER_SIZE + size
      if (chunkEnd > pageEnd || chunkEnd > end) break
      // Behind the chunks before: the field of the header's sum, the rest of the header, whose sum it is, the payload.
      const atField = sum ^ view.getInt32(offset, true)
      const atPayload = shift(header, atField) ^ view.getInt32(offset) ^ constant
      const atEnd = size === FULL_SIZE ? shift(full, atPayload) : this._shiftBy(size, atPayload)
      sum = atEnd ^ view.getInt32(offset + PAYLOAD_CRC_OFFSET)
      offset = chunkEnd
      if (offset === pageEnd) pageEnd += PAGE_SIZE
      count++
    }
    this._expected = sum
    return count < 2 ? start : offset
  }

  /**
   * @param {number} size
   * @param {number} crc
   */
  _shiftBy (size, crc) {
    const { powers } = this._tables
    if (powers.length === 0) for (let bit = 0; bit < SIZE_BITS; bit++) powers.push(createShiftTable(1 << bit))
    for (let bit = 0; size >>> bit !== 0; bit++) if (size >>> bit & 1) crc = shift(powers[bit], crc)
    return crc
  }
}

exports.ChunkRun = ChunkRun
