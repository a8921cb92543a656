'use strict'
// Looks for whole headers where a chunk cannot be entered: its own, if one bit of it was flipped, and the next one.

const { isZero } = require('@millrace/flow')
const {
  CONTINUED_OFFSET, ChunkHeader, FLAGS_OFFSET, PAYLOAD_SIZE_OFFSET, POSITION_OFFSET, checkChunk, findHeaderAt,
  isHeaderWhole, readUint48
} = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, PAGE_SIZE, endOfPage } = require('../layout')

/**
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {import('../offset-framing').Window} Window
 */

// Physical position of the next header in the page, from `from` on; -1 if there is none. The window must reach to
// `pageEnd` or the file's end. `shift`: logical position less physical position, at least.
/** @type {(cursor: ChunkCursor, from: number, pageEnd: number, rules: Rules, shift: number) => number} */
function findHeader ({ window }, from, pageEnd, rules, shift) {
  const { buffer, view, start } = window
  const heldEnd = Math.min(pageEnd, window.end)
  const last = Math.min(heldEnd - CHUNK_HEADER_SIZE, endOfPage(from) - CHUNK_SIZE_MIN)
  if (last < from || isZeroIn(window, from, heldEnd)) return -1
  if (!rules.hasGaps) {
    const found = findHeaderAt(buffer, view, from - start, last - start, start + shift, rules)
    return found === -1 ? -1 : start + found
  }
  for (let at = from; at <= last; at++) {
    const offset = at - start
    if (isLikelyHeader(view, offset, at + shift) && isHeaderWhole(buffer, view, offset, rules.salt)) return at
  }
  return -1
}

/** @type {(view: DataView, offset: number, positionMin: number) => boolean} */
function isLikelyHeader (view, offset, positionMin) {
  // Known flags, a size that fits into a page, and nothing continued, because only a page's first chunk continues a
  // record.
  if (view.getUint8(offset + FLAGS_OFFSET) !== 0 || view.getUint16(offset + CONTINUED_OFFSET) !== 0) return false
  if (view.getUint16(offset + PAYLOAD_SIZE_OFFSET) > PAGE_SIZE - CHUNK_HEADER_SIZE) return false
  return readUint48(view, offset + POSITION_OFFSET) >= positionMin
}

/** Whether a range, at most a page long, is zero. @type {(window: Window, from: number, to: number) => boolean} */
function isZeroIn ({ buffer, start }, from, to) {
  return isZero(buffer, from - start, to - start)
}

/**
 * Repairs a chunk's header in which one bit was flipped. Each bit changes the checksum by a difference of its own, so
 * at most one is the right one.
 * @param {Buffer} bytes  from the chunk's start to the end of its page or of the file
 * @param {number} physical  position of the chunk
 * @param {Rules} rules
 * @returns {{ chunk: Buffer, header: ChunkHeader } | null}  null unless the chunk is good with one bit changed
 */
function mendHeader (bytes, physical, rules) {
  const chunk = Buffer.from(bytes)
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const header = new ChunkHeader()
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    chunk[bit >>> 3] ^= 1 << (bit & 7)
    if (isHeaderWhole(chunk, view, 0, rules.salt)) {
      if (checkChunk(chunk, view, 0, physical, chunk.length, rules, header) !== null) return null
      return { chunk: chunk.subarray(0, CHUNK_HEADER_SIZE + header.size), header }
    }
    chunk[bit >>> 3] ^= 1 << (bit & 7)
  }
  return null
}

exports.findHeader = findHeader
exports.mendHeader = mendHeader
exports.isZeroIn = isZeroIn
