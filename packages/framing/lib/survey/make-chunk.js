'use strict'
// Makes chunks in place of lost ones, and changes chunks that lost a part. Every chunk keeps the chain crc that the
// chunk after it names, and every byte its place.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, readChunkHeader, writeChunkHeader } = require('../chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, RESERVATION_SIZE,
  endOfPage
} = require('../layout')
const { UNKNOWN } = require('./chunk-state')

// Only a program that computes checksums makes a file with a higher position. The result does not verify then.
const POSITION_MAX = FILE_SIZE_MAX - PAGE_SIZE

/**
 * A range of the output that is filled with chunks of one erased record each.
 * @typedef {object} Filling
 * @property {number} start  physical
 * @property {number} end
 * @property {number} position  logical, of the start
 * @property {Gaps | null} gaps  in a compacted log
 * @property {number} skip  how many positions are skipped, because an unclean end was in the range
 * @property {number} epoch
 * @property {number} durable
 * @property {number} previous  chain crc of the chunk before
 * @property {number} chainCrc  the last of the chunks gets it
 * @property {number} openSize  how many bytes of the chunk after the range belong to the last record, 0 to 3
 * @property {Owner | null} owner
 */

/**
 * In a compacted log it is unknown how many positions a lost range had. The chunks in its place take none.
 * @typedef {object} Gaps
 * @property {number} shift  logical position less physical position, at least
 * @property {number} contentEnd  logical position after the last frame before the range
 * @property {number} end  where the log ends, if nothing is after the range; otherwise 0
 * @property {number} next  where the next chunk begins, if there is one
 */

/** @typedef {{ start: number, offset: number }} Owner  of the frame whose record continues in a range: chunk, offset */

/** How many chunks fill it. Each counts one erased record. @type {(range: { start: number, end: number }) => number} */
function countChunks ({ start, end }) {
  let count = 0
  for (let at = start; at < end; at = Math.min(end, endOfPage(at))) {
    if (!isFiller(at, end)) count++
  }
  return count
}

// Whether chunks can fill the range. A chunk has at least 44 bytes, unless it is empty, or begins a page and has
// nothing but the last bytes of a record that began before.
/** @type {(lost: { start: number, owner: Owner | null, gaps: Gaps | null }, end: number) => boolean} */
function canFill ({ start, owner, gaps }, end) {
  if (end % PAGE_SIZE === 0) return true
  const pageStart = end - end % PAGE_SIZE
  const size = end - Math.max(start, pageStart)
  if (size === CHUNK_HEADER_SIZE || size >= CHUNK_SIZE_MIN) return true
  if (size < CHUNK_HEADER_SIZE || start > pageStart) return false
  return start === pageStart ? owner !== null : gaps === null && pageStart - start >= CHUNK_SIZE_MIN
}

// How many bytes of a record the last chunk has, if they are too few for a frame; otherwise 0.
/** @type {(range: { start: number, end: number }) => number} */
function restSizeOf ({ start, end }) {
  const pageStart = end - end % PAGE_SIZE
  const size = end - pageStart - CHUNK_HEADER_SIZE
  return start <= pageStart && size > 0 && size < LENGTH_SIZE ? size : 0
}

/** Returns a function that makes the next page of it. @type {(filling: Filling, salt: number) => () => Buffer} */
function fillWithChunks (filling, salt) {
  let { start: at, previous } = filling
  const { end, chainCrc } = filling
  return () => {
    const pageEnd = Math.min(end, endOfPage(at))
    if (isFiller(at, end)) {
      const zeros = Buffer.alloc(pageEnd - at)
      at = pageEnd
      return zeros
    }
    const isLast = pageEnd === end
    const isLastButOne = !isLast && end - pageEnd < CHUNK_SIZE_MIN
    const openSize = isLast ? filling.openSize : isLastButOne ? restSizeOf(filling) : 0
    const position = positionOf(filling, at, isLast ? pageEnd - at : 0)
    const place = { ...filling, position, previous, openSize, isPadding: filling.gaps !== null && openSize === 0 }
    // Only the last chunk may skip, and only if its record neither begins before it nor continues after it.
    if (!isLast || openSize > 0 || pageEnd - at < CHUNK_SIZE_MIN) place.skip = 0
    const bytes = makeLostChunk(pageEnd - at, place, isLast ? chainCrc : null, salt)
    previous = bytes.readUInt32BE(CHUNK_HEADER_SIZE - 4)
    at = pageEnd
    return bytes
  }
}

// `lastSize`: of the chunk, if it is the last one; else 0.
/** @type {(filling: Filling, at: number, lastSize: number) => number} */
function positionOf ({ start, position, gaps, openSize }, at, lastSize) {
  if (gaps === null) return Math.min(position + at - start, POSITION_MAX)
  // The record reaches to the first frame of the next chunk.
  if (lastSize > 0 && openSize > 0) return gaps.next + CHUNK_HEADER_SIZE - lastSize
  const least = Math.max(at + gaps.shift, gaps.contentEnd - CHUNK_HEADER_SIZE)
  return Math.min(lastSize === 0 ? least : Math.max(least, gaps.end - lastSize), POSITION_MAX)
}

/** @type {(at: number, end: number) => boolean} */
function isFiller (at, end) {
  const pageEnd = endOfPage(at)
  return end >= pageEnd && pageEnd - at < CHUNK_SIZE_MIN
}

/**
 * @typedef {Pick<Filling, 'position' | 'epoch' | 'durable' | 'previous' | 'openSize'> & PlaceParts} Place
 * @typedef {{ skip?: number, isPadding: boolean }} PlaceParts  isPadding: it holds padding, not an erased record
 */

// A chunk without records, of `size` bytes, with this chain crc; with any if it is null.
/** @type {(size: number, place: Place, chainCrc: number | null, salt: number) => Buffer<ArrayBuffer>} */
function makeLostChunk (size, { position, epoch, durable, previous, openSize, isPadding, skip = 0 }, chainCrc, salt) {
  const bytes = Buffer.alloc(size)
  const header = new ChunkHeader()
  Object.assign(header, { epoch, position: position + skip, durable, previous })
  header.size = size - CHUNK_HEADER_SIZE
  header.flags = CHUNK_FLAGS.WAS_ERASED | (skip > 0 ? CHUNK_FLAGS.AFTER_LOSS : 0)
  header.erasedCount = 1
  if (header.size > 0 && header.size < LENGTH_SIZE) {
    header.continued = header.size
    header.flags |= CHUNK_FLAGS.REST_ERASED
  } else if (header.size > 0) {
    const type = isPadding ? FRAME_TYPES.PADDING : FRAME_TYPES.ERASED
    bytes.writeUInt32BE(type * 2 ** 30 + header.size - LENGTH_SIZE + openSize, CHUNK_HEADER_SIZE)
  }
  writeChunkHeader(header, bytes, 0, salt)
  header.originalCrc = chainCrc ?? header.crc
  writeChunkHeader(header, bytes, 0, salt)
  return bytes
}

// Erases the last record, which continues in lost chunks: it ends with the chunk then. The chunk, from its header on,
// is changed in place; `offset` is that of the frame.
/** @type {(chunk: Buffer, offset: number, salt: number) => void} */
function eraseLastFrame (chunk, offset, salt) {
  const isErased = chunk.readUInt32BE(offset) >>> 30 === FRAME_TYPES.ERASED
  const dataStart = offset + LENGTH_SIZE
  chunk.writeUInt32BE(FRAME_TYPES.ERASED * 2 ** 30 + chunk.length - dataStart, offset)
  chunk.fill(0, dataStart)
  rewriteHeader(chunk, isErased ? 0 : 1, salt)
}

// Lets the erased record at the chunk's end continue in the next chunk, with `size` bytes (less than 0: with fewer than
// before). Changes the chunk in place.
/** @type {(chunk: Buffer, offset: number, size: number, salt: number) => void} */
function extendLastFrame (chunk, offset, size, salt) {
  chunk.writeUInt32BE(chunk.readUInt32BE(offset) + size, offset)
  rewriteHeader(chunk, 0, salt)
}

// Erases the rest of a lost record at the chunk's start, in place. It becomes an erased record of its own, unless it
// must continue the erased record before it, as it must if `isOwned`.
/** @type {(chunk: Buffer, isOwned: boolean, salt: number) => void} */
function eraseRest (chunk, isOwned, salt) {
  rewriteHeader(chunk, 1, salt, (header) => {
    const { continued } = header
    chunk.fill(0, CHUNK_HEADER_SIZE, CHUNK_HEADER_SIZE + continued)
    // An erased rest was counted when it was erased.
    if (header.flags & CHUNK_FLAGS.REST_ERASED) header.erasedCount--
    if (isOwned || continued < LENGTH_SIZE) {
      header.flags |= CHUNK_FLAGS.REST_ERASED
      return
    }
    header.flags &= ~CHUNK_FLAGS.REST_ERASED
    header.continued = 0
    chunk.writeUInt32BE(FRAME_TYPES.ERASED * 2 ** 30 + continued - LENGTH_SIZE, CHUNK_HEADER_SIZE)
  })
}

// `erased`: how many more records and pieces are erased now.
/** @type {(chunk: Buffer, erased: number, salt: number, edit?: (header: ChunkHeader) => void) => void} */
function rewriteHeader (chunk, erased, salt, edit = () => {}) {
  const header = new ChunkHeader()
  readChunkHeader(new DataView(chunk.buffer, chunk.byteOffset, chunk.length), 0, header)
  header.originalCrc = header.chainCrc
  header.flags |= CHUNK_FLAGS.WAS_ERASED
  // A chunk may claim the maximum and have fewer.
  header.erasedCount = Math.min(header.erasedCount + erased, Math.floor(header.size / LENGTH_SIZE) + 1)
  edit(header)
  writeChunkHeader(header, chunk, 0, salt)
}

// Holds back a lost range: it gets its chain crc from the chunk after it.

/**
 * @typedef {import('./chunk-state').ChunkState} ChunkState
 * @typedef {import('./survey').ChunkSink} ChunkSink
 */

/**
 * The chunk after what is held back.
 * @typedef {object} Next
 * @property {number} chainCrc  it names the chunk before by this
 * @property {number} openSize  how many of its bytes belong to a lost record
 * @property {number} position  logical
 * @property {boolean} isAfterLoss
 */

class Pending {
  #rules
  #output
  /** @type {Filling | null} */
  #lost = null
  /** Whether the commit of the chunk before it continues. */
  #wasInCommit = false
  /** The range that was filled last. @type {Filling | null} */
  #filled = null

  /** @param {import('../chunk-header').Rules} rules @param {ChunkSink | null} output */
  constructor (rules, output) {
    this.#rules = rules
    this.#output = output
  }

  get isLost () {
    return this.#lost !== null
  }

  // Loses the range from `state` on, or extends the lost range at whose end `state` is, up to `end`.
  /** @type {(state: ChunkState, end: number, owner: Owner | null) => void} */
  lose (state, end, owner) {
    if (this.#lost !== null) {
      this.#lost.end = end
      return
    }
    const { end: start, logicalEnd: position, contentEnd, epoch, durable, chainCrc: previous } = state
    const { hasGaps, shift } = this.#rules
    const gaps = hasGaps ? { shift, contentEnd, end: 0, next: 0 } : null
    this.#lost = { start, end, position, gaps, epoch, durable, previous, chainCrc: 0, openSize: 0, owner, skip: 0 }
    this.#wasInCommit = state.isInCommit
  }

  /** Whether a chunk may begin at `start`, after the lost range. @type {(start: number) => boolean} */
  canReach (start) {
    return this.#lost === null || canFill(this.#lost, start)
  }

  // Whether the lost range can end with a record that continues in a chunk at `start` and, logically, `position`.
  /** @type {(start: number, position: number) => boolean} */
  canOwn (start, position) {
    const lost = this.#lost
    if (lost === null || lost.end !== start) return false
    const size = start - Math.max(lost.start, start - PAGE_SIZE)
    if (size < CHUNK_SIZE_MIN) return false
    return lost.gaps === null || position + 2 * CHUNK_HEADER_SIZE - size >= lost.gaps.contentEnd
  }

  // Writes what is held back; `state` gets its chain crc. `next` is null at the log's end.
  /** @type {(state: ChunkState, next: Next | null) => void} */
  flush (state, next) {
    const lost = this.#lost
    this.#lost = null
    if (lost !== null) this.#fill(lost, state, next)
  }

  // If the log ends right after the range that was filled last, the chunks that determined how it ends were taken
  // back: it is held back again. Done only at the log's end, or one range would be filled anew for each of many such
  // chunks. The first state is where the output ends; all states right after the range are changed.
  /** @type {(states: ChunkState[]) => void} */
  reopen (states) {
    const filled = this.#filled
    if (filled === null || this.isLost || !isRightAfter(filled, states[0])) return
    const count = countChunks(filled)
    for (const state of states.filter((state) => isRightAfter(filled, state))) {
      state.chainCrc = UNKNOWN
      state.erasedInOutput -= count
    }
    this.#output?.cut(Math.min(this.#output.end, filled.start))
    this.#extendOwner(filled, -1)
    this.#lost = { ...filled, skip: 0 }
    this.#filled = null
  }

  /** At the log's end: leaves out what is too short for a chunk. @type {(state: ChunkState) => void} */
  trim (state) {
    const lost = this.#lost
    if (lost === null || canFill(lost, lost.end)) return
    lost.end = Math.max(lost.start, lost.end - lost.end % PAGE_SIZE)
    state.end = lost.end
    state.logicalEnd = lost.position + lost.end - lost.start
    if (lost.start < lost.end) return
    state.chainCrc = lost.previous
    state.isInCommit = this.#wasInCommit
    this.#lost = null
  }

  /** @type {(lost: Filling, state: ChunkState, next: Next | null) => void} */
  #fill (lost, state, next) {
    const { start, end, gaps } = lost
    if (gaps !== null) {
      gaps.next = next?.position ?? 0
      // At the log's end, the seqs of what is lost must not be used again.
      if (next === null) gaps.end = state.logicalEnd
    } else if (next !== null) {
      // If the next chunk does not say that it is after an unclean end, the last chunk of the filling must.
      const ahead = next.position - end - (lost.position - start)
      lost.skip = next.isAfterLoss ? 0 : ahead - ahead % RESERVATION_SIZE
    }
    this.#extendOwner(lost, 1)
    this.#filled = lost
    const count = countChunks(lost)
    state.chainCrc = count === 0 ? lost.previous : next?.chainCrc ?? inventCrc(lost.previous)
    state.erasedInOutput += count
    this.#output?.zerosTo(start)
    const filling = { ...lost, chainCrc: state.chainCrc, openSize: next?.openSize ?? 0 }
    this.#output?.fill(end - start, fillWithChunks(filling, this.#rules.salt))
  }

  // Adds the bytes in the range's only chunk to the record before it, or takes them away again.
  /** @type {(lost: Filling, sign: 1 | -1) => void} */
  #extendOwner (lost, sign) {
    const { owner, start, end } = lost
    const size = start % PAGE_SIZE === 0 && end - start < PAGE_SIZE ? restSizeOf(lost) : 0
    if (owner === null || size === 0) return
    const { salt } = this.#rules
    changeChunk(this.#output, owner.start, (chunk) => extendLastFrame(chunk, owner.offset, sign * size, salt))
  }
}

// Whether no chunk is between the range and the state; the zeros at a page's end may be.
/** @type {(lost: Filling, state: { end: number }) => boolean} */
function isRightAfter (lost, { end }) {
  return end >= lost.end && end - lost.end < CHUNK_HEADER_SIZE
}

/** No chunk names the last one of a log, so any chain crc will do. @type {(previous: number) => number} */
function inventCrc (previous) {
  return (previous ^ 1) >>> 0
}

/** @type {(output: ChunkSink | null, start: number, edit: (chunk: Buffer) => void) => void} */
function changeChunk (output, start, edit) {
  const measure = (/** @type {Buffer} */ head) => CHUNK_HEADER_SIZE + head.readUInt16BE(PAYLOAD_SIZE_OFFSET)
  output?.change(start, CHUNK_HEADER_SIZE, measure, edit)
}

exports.makeLostChunk = makeLostChunk
exports.eraseLastFrame = eraseLastFrame
exports.eraseRest = eraseRest
exports.Pending = Pending
exports.changeChunk = changeChunk
