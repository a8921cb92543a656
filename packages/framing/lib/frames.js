'use strict'
// A record that is split over pages: where it ends, and its pieces put together in the window.

const { ENTRY } = require('./chunk-cursor')
const { CONTINUED_OFFSET } = require('./chunk-header')
const { CHUNK_HEADER_SIZE, FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, endOfPage } = require('./layout')

/** What a page holds of a record that began before it. */
const PIECE_SIZE_MAX = PAGE_SIZE - CHUNK_HEADER_SIZE

/** @typedef {import('./chunk-cursor').ChunkCursor} ChunkCursor */

/**
 * @param {{ at: number, chunkEnd: number }} frame  where it begins, and where its chunk ends
 * @param {number} size  of the record
 * @returns {number}  where its last piece ends in the file
 */
function findRecordEnd ({ at, chunkEnd }, size) {
  const rest = size - (chunkEnd - at - LENGTH_SIZE)
  if (rest <= 0) return at + LENGTH_SIZE + size
  const fullPages = Math.ceil(rest / PIECE_SIZE_MAX) - 1
  return endOfPage(at) + fullPages * PAGE_SIZE + CHUNK_HEADER_SIZE + rest - fullPages * PIECE_SIZE_MAX
}

/**
 * A length that lies may claim all of the file, once in every page: so what lies behind is read only as far as the
 * pages say, each in its first header, that they go on with the record; and then as much again.
 * @param {ChunkCursor} cursor  at the record's frame
 * @param {number} size  of the record
 * @param {number} recordEnd
 * @param {number} limit  not before the record's end
 * @returns {number}  how far the window must reach before it is worth while to assemble the record, or to look again
 */
function findReach (cursor, size, recordEnd, limit) {
  // All of the last page: it is checked as a whole.
  const end = Math.min(limit, endOfPage(recordEnd - 1))
  if (cursor.holds(end)) return end
  const { at, chunkEnd, view, window: { start } } = cursor
  let rest = size - (chunkEnd - at - LENGTH_SIZE)
  let page = endOfPage(at)
  while (cursor.holds(page + CHUNK_HEADER_SIZE)) {
    const piece = Math.min(rest, PIECE_SIZE_MAX)
    if (view.getUint16(page - start + CONTINUED_OFFSET) !== piece) return Math.min(limit, endOfPage(page))
    rest -= piece
    page += PAGE_SIZE
  }
  return Math.min(end, Math.max(page + PAGE_SIZE, 2 * page - at))
}

/**
 * Moves the pieces together, over the chunk headers between them. Those are gone from the window then; nothing else is.
 * @param {ChunkCursor} cursor  at the record's frame; afterwards behind its last piece
 * @param {number} size  of the record
 * @param {number} limit  the window holds all up to there that the pieces need
 * @returns {boolean}  false when a piece is damaged
 */
function assembleRecord (cursor, size, limit) {
  const { buffer, start } = cursor.window
  let target = cursor.chunkEnd - start
  let rest = size - (cursor.chunkEnd - cursor.at - LENGTH_SIZE)
  while (rest > 0) {
    if (cursor.enter(limit) !== ENTRY.ENTERED) return false
    const piece = Math.min(rest, PIECE_SIZE_MAX)
    if (!cursor.header.hasRest(piece)) return cursor.fail('PIECE')
    const pieceStart = cursor.chunkStart + CHUNK_HEADER_SIZE - start
    buffer.copyWithin(target, pieceStart, pieceStart + piece)
    target += piece
    rest -= piece
  }
  return true
}

// Goes through the frames of one chunk, and notes what there is to know of them.

class FrameCount {
  constructor () {
    /** How many records lie whole in the chunk and are not erased, and the seq of the last of them. */
    this.recordCount = 0
    this.last = -1
    /** How many erased records begin in it. */
    this.erasedCount = 0
    /** The last frame, if it goes on in the next chunk: where it begins, -1 if it does not, and how much is to come. */
    this.openOffset = -1
    this.openSeq = 0
    this.openRest = 0
    this.isOpenErased = false
    /** The sum of the gaps. */
    this.gapSize = 0
    /** Logical position behind the last frame that is no padding. */
    this.contentEnd = 0
  }

  /**
   * @param {DataView} view
   * @param {number} start  of the first frame
   * @param {number} end  of the chunk
   * @param {number} position  logical, of the first frame
   */
  count (view, start, end, position) {
    this.recordCount = this.erasedCount = this.gapSize = 0
    this.openOffset = -1
    let shift = position - start
    let at = start
    while (end - at >= LENGTH_SIZE) {
      const word = view.getUint32(at)
      const size = word & FRAME_LENGTH_MASK
      const type = word >>> 30
      if (type === FRAME_TYPES.PADDING) break
      if (type === FRAME_TYPES.GAP) {
        shift += size
        this.gapSize += size
        at += LENGTH_SIZE
        continue
      }
      const frameEnd = at + LENGTH_SIZE + size
      if (type === FRAME_TYPES.ERASED) this.erasedCount++
      if (frameEnd > end) {
        this.openOffset = at
        this.openSeq = at + shift
        this.openRest = frameEnd - end
        this.isOpenErased = type === FRAME_TYPES.ERASED
        break
      }
      if (type === FRAME_TYPES.RECORD) {
        this.recordCount++
        this.last = at + shift
      }
      at = frameEnd
    }
    this.contentEnd = (this.openOffset === -1 ? at : end) + shift
  }
}

exports.findRecordEnd = findRecordEnd
exports.findReach = findReach
exports.assembleRecord = assembleRecord
exports.FrameCount = FrameCount
exports.PIECE_SIZE_MAX = PIECE_SIZE_MAX
