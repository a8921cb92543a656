'use strict'
// Finds where a record that is split over pages ends, joins its pieces in the window, and counts the frames of a chunk.

const { ENTRY } = require('./chunk-cursor')
const { CONTINUED_OFFSET } = require('./chunk-header')
const { CHUNK_HEADER_SIZE, FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, endOfPage } = require('./layout')

/** How many bytes of a record that began before fit into one page. */
const PIECE_SIZE_MAX = PAGE_SIZE - CHUNK_HEADER_SIZE

/** @typedef {import('./chunk-cursor').ChunkCursor} ChunkCursor */

/**
 * The physical position where the record's last piece ends. The frame begins at `at`, its chunk ends at `chunkEnd`.
 * @type {(frame: { at: number, chunkEnd: number }, size: number) => number}
 */
function findRecordEnd ({ at, chunkEnd }, size) {
  const rest = size - (chunkEnd - at - LENGTH_SIZE)
  if (rest <= 0) return at + LENGTH_SIZE + size
  const fullPages = Math.ceil(rest / PIECE_SIZE_MAX) - 1
  return endOfPage(at) + fullPages * PAGE_SIZE + CHUNK_HEADER_SIZE + rest - fullPages * PIECE_SIZE_MAX
}

/**
 * How far the window must reach before it is worth assembling the record, or calling this again. A wrong length may
 * claim the whole file, once in every page. So this asks for one page, and then for twice what it has, as long as the
 * first header of each page confirms that the record continues there.
 * The cursor is at the record's frame, and `limit` is not before `recordEnd`.
 * @type {(cursor: ChunkCursor, size: number, recordEnd: number, limit: number) => number}
 */
function findReach (cursor, size, recordEnd, limit) {
  // The last page is needed as a whole, because it is checked as a whole.
  const end = Math.min(limit, endOfPage(recordEnd - 1))
  if (cursor.holds(end)) return end
  const { at, chunkEnd, window: { view, start } } = cursor
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
 * Joins the record at the cursor: moves its pieces over the chunk headers between them. The window loses these headers
 * and nothing else. It must hold the pieces, as far as they lie before `limit`. Afterwards the cursor is after the
 * last piece. Returns false if a piece is damaged.
 * @type {(cursor: ChunkCursor, size: number, limit: number) => boolean}
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

// Counts the frames of one chunk.

class FrameCount {
  constructor () {
    /** The number of records that lie whole in the chunk and are not erased, and the seq of the last one. */
    this.recordCount = 0
    this.last = -1
    /** The number of erased records that begin in the chunk. */
    this.erasedCount = 0
    /** The last frame, if it continues in the next chunk: its offset (-1 if it does not), seq and missing bytes. */
    this.openOffset = -1
    this.openSeq = 0
    this.openRest = 0
    this.isOpenErased = false
    /** How many positions the gaps leave out. */
    this.gapSize = 0
    /** Logical position after the last frame other than padding. */
    this.contentEnd = 0
  }

  // Counts from the first frame, at `start`, to the chunk's end. `position` is the logical position of the first frame.
  /** @type {(view: DataView, start: number, end: number, position: number) => void} */
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
