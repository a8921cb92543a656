'use strict'
// Finds where chunks go on behind a place where they do not: the next whole header in the page.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, isAhead, isHeaderAt, readChunkHeader } = require('../chunk-header')
const { crc32OfFew } = require('../crc32')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, PAGE_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

const ZEROS = Buffer.alloc(PAGE_SIZE)
const POSITION_OFFSET = 16

/**
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {{ buffer: Buffer, start: number, end: number }} Window  bytes of the file, from position start to end
 */

/**
 * @param {Window} window
 * @param {DataView} view  over the window's buffer
 * @param {number} from  physical
 * @param {number} pageEnd  physical; the window reaches there, or to the file's end
 * @param {Rules} rules
 * @param {number} shift  how far logical positions are ahead of physical ones at `from`, at least
 * @returns {number}  physical position of the next header in the page, -1 if there is none
 */
function findHeader (window, view, from, pageEnd, rules, shift) {
  const { buffer, start } = window
  const { hasGaps, salt } = rules
  const last = Math.min(Math.min(pageEnd, window.end) - CHUNK_HEADER_SIZE, endOfPage(from) - CHUNK_SIZE_MIN)
  if (last < from || isZeroIn(window, from, Math.min(pageEnd, window.end))) return -1
  for (let at = from; at <= last; at++) {
    const offset = at - start
    if (hasGaps) {
      if (isLikelyHeader(view, offset, at + shift) && isWhole(buffer, view, offset, salt)) return at
      continue
    }
    // Nearly every byte is ruled out by the one that differs from each position to the next.
    const isLikely = buffer[offset + 21] === ((at + shift) & 0xff)
    if (isLikely && isHeaderAt(buffer, view, offset, at + shift, rules)) return at
  }
  return -1
}

/**
 * @param {DataView} view
 * @param {number} offset
 * @param {number} positionMin
 */
function isLikelyHeader (view, offset, positionMin) {
  // No unknown flags, no such size as does not fit into a page, and nothing continued in the middle of one.
  if (view.getUint8(offset + 10) !== 0 || view.getUint16(offset + 28) !== 0) return false
  if (view.getUint16(offset + 8) > PAGE_SIZE - CHUNK_HEADER_SIZE) return false
  return positionOf(view, offset) >= positionMin
}

/**
 * Whether a header has its own checksum, wherever it says that it is.
 * @param {Buffer} buffer
 * @param {DataView} view
 * @param {number} offset
 * @param {number} salt
 */
function isWhole (buffer, view, offset, salt) {
  return crc32OfFew(buffer, offset + 4, offset + CHUNK_HEADER_SIZE, salt) === view.getUint32(offset)
}

/**
 * @param {DataView} view
 * @param {number} offset
 */
function positionOf (view, offset) {
  return view.getUint16(offset + POSITION_OFFSET) * 2 ** 32 + view.getUint32(offset + POSITION_OFFSET + 2)
}

/** @param {number} physical */
function endOfPage (physical) {
  return physical - physical % PAGE_SIZE + PAGE_SIZE
}

/**
 * @param {Window} window
 * @param {number} from  physical
 * @param {number} to  physical, at most a page on
 */
function isZeroIn ({ buffer, start }, from, to) {
  return buffer.compare(ZEROS, 0, to - from, from - start, to - start) === 0
}

// What the chunks around one whose header is damaged say of it.

/**
 * @typedef {import('./mend-header').Neighbours} Neighbours
 * @typedef {import('./mend-header').End} End
 * @typedef {import('./survey').Source} Source
 */

/**
 * @param {Window} window  holds all from the chunk to behind the first header of the next page, if there is one
 * @param {DataView} view  over the window's buffer
 * @param {number} at  where the chunk is
 * @param {number} limit  how far the file is read
 * @param {Source} source
 * @param {import('./salvage').Salvage} salvage  with all that comes before
 * @param {number} previous  chain crc of the chunk before, or UNKNOWN
 * @returns {Neighbours}
 */
function describeNeighbours (window, view, at, limit, source, salvage, previous) {
  const { state } = salvage
  const next = findNext(window, view, at, limit, source, state.shift)
  const isFirst = at % PAGE_SIZE === 0
  const positions = [at + state.shift]
  // Gaps may come before the chunk, or lie in it.
  if (next) positions.push(next.header.position - next.start + at)
  const epochs = [state.epoch, source.head.slot?.epoch ?? source.epoch]
  const durables = [state.durable, ...positions]
  if (next) epochs.push(next.header.epoch)
  if (next) durables.push(next.header.durable)
  return {
    physical: at,
    positions: [...new Set(positions)].filter(isPosition),
    isPositionSure: isPosition(positions[0]) && isSure(positions, at, state.shift, source),
    previous,
    continued: isFirst ? (salvage.isLost ? UNKNOWN : salvage.continued) : 0,
    rest: state.openRest,
    isRestErased: state.isOpenErased,
    epochs,
    durables: durables.filter(isPosition),
    ends: findEnds(window, at, limit, source, next)
  }
}

/**
 * @param {number[]} positions  that it can have, by the chunk before, and by the next one if there is one
 * @param {number} at
 * @param {number} shift  of the chunk before
 * @param {Source} source
 * @returns {boolean}  whether nothing can be left out in front of the chunk
 */
function isSure ([before, next], at, shift, { rules, head: { slot } }) {
  if (next !== undefined) return before === next
  if (rules.hasGaps) return false
  return slot !== null && at < slot.end && slot.logicalEnd - slot.end === shift
}

/**
 * @param {Window} window
 * @param {DataView} view
 * @param {number} at
 * @param {number} limit
 * @param {Source} source
 * @param {number} shift
 * @returns {{ start: number, header: ChunkHeader } | null}  the next header in the page, or that of the next page
 */
function findNext (window, view, at, limit, { rules }, shift) {
  const pageEnd = endOfPage(at)
  const inPage = findHeader(window, view, at + 1, Math.min(limit, pageEnd), rules, shift)
  const start = inPage === -1 ? pageEnd : inPage
  if (start + CHUNK_HEADER_SIZE > Math.min(limit, window.end)) return null
  const offset = start - window.start
  if (inPage === -1 && !isWhole(window.buffer, view, offset, rules.salt)) return null
  const header = new ChunkHeader()
  readChunkHeader(view, offset, header)
  const isInPlace = rules.hasGaps
    ? header.position >= start + shift
    : isAhead(header.position, start + shift)
  return isInPlace ? { start, header } : null
}

/**
 * @param {Window} window
 * @param {number} at
 * @param {number} limit
 * @param {Source} source
 * @param {ReturnType<typeof findNext>} next
 * @returns {End[]}
 */
function findEnds (window, at, limit, { head: { slot }, promisedEnd }, next) {
  const pageEnd = Math.min(limit, endOfPage(at))
  /** @type {Map<number, number>} */
  const ends = new Map()
  const stored = at + CHUNK_HEADER_SIZE + window.buffer.readUInt16BE(at - window.start + PAYLOAD_SIZE_OFFSET)
  const add = (/** @type {number} */ end, /** @type {number} */ chainCrc) => {
    if (end >= at + CHUNK_HEADER_SIZE && end <= pageEnd && (ends.get(end) ?? UNKNOWN) === UNKNOWN) {
      ends.set(end, chainCrc)
    }
  }
  add(stored, UNKNOWN)
  if (slot) add(slot.end, slot.chainCrc)
  add(promisedEnd, UNKNOWN)
  if (next && next.start < pageEnd) {
    add(next.start, next.header.previous)
  } else {
    // Less than a chunk before the page's end there may be zeros.
    const zerosMax = limit < endOfPage(at) ? 0 : CHUNK_SIZE_MIN - 1
    for (let end = pageEnd; end >= pageEnd - zerosMax; end--) {
      add(end, next?.header.previous ?? UNKNOWN)
      if (window.buffer[end - 1 - window.start] !== 0) break
    }
  }
  return [...ends].map(([end, chainCrc]) => ({ size: end - at, chainCrc }))
}

/**
 * Whether a header has room for it.
 * @param {number} position
 */
function isPosition (position) {
  return position >= 0 && position <= FILE_SIZE_MAX
}

exports.findHeader = findHeader
exports.isWhole = isWhole
exports.isZeroIn = isZeroIn
exports.endOfPage = endOfPage
exports.describeNeighbours = describeNeighbours
