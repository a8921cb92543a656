'use strict'
// What lies around a chunk that cannot be entered: where chunks go on in its page, and what its neighbours say of it.

const {
  CONTINUED_OFFSET, ChunkHeader, FLAGS_OFFSET, PAYLOAD_SIZE_OFFSET, POSITION_OFFSET, findHeaderAt, isAhead,
  isHeaderWhole, readChunkHeader, readUint48
} = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, PAGE_SIZE, endOfPage, isZero } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

/**
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {{ buffer: Buffer, start: number, end: number }} Window  bytes of the file, from position start to end
 */

/**
 * @param {ChunkCursor} cursor
 * @param {number} from  physical
 * @param {number} pageEnd  physical; the window reaches there, or to the file's end
 * @param {Rules} rules
 * @param {number} shift  how far logical positions are ahead of physical ones at `from`, at least
 * @returns {number}  physical position of the next header in the page, -1 if there is none
 */
function findHeader ({ window, view }, from, pageEnd, rules, shift) {
  const { buffer, start } = window
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

/**
 * @param {DataView} view
 * @param {number} offset
 * @param {number} positionMin
 */
function isLikelyHeader (view, offset, positionMin) {
  // No unknown flags, no such size as does not fit into a page, and nothing continued in the middle of one.
  if (view.getUint8(offset + FLAGS_OFFSET) !== 0 || view.getUint16(offset + CONTINUED_OFFSET) !== 0) return false
  if (view.getUint16(offset + PAYLOAD_SIZE_OFFSET) > PAGE_SIZE - CHUNK_HEADER_SIZE) return false
  return readUint48(view, offset + POSITION_OFFSET) >= positionMin
}

/**
 * @param {Window} window
 * @param {number} from  physical
 * @param {number} to  physical, at most a page on
 */
function isZeroIn ({ buffer, start }, from, to) {
  return isZero(buffer, from - start, to - start)
}

// What the chunks around one whose header is damaged say of it.

/**
 * @typedef {import('./mend-header').Neighbours} Neighbours
 * @typedef {import('./mend-header').End} End
 * @typedef {import('./survey').Source} Source
 * @typedef {{ start: number, header: ChunkHeader }} Next  the next header in the page, or that of the next page
 */

/**
 * @param {ChunkCursor} cursor  where the chunk is; its window holds all up to behind the first header of the next page,
 *   if there is one
 * @param {number} limit  how far the file is read
 * @param {Source} source
 * @param {import('./salvage').Salvage} salvage  with all that comes before
 * @param {number} previous  chain crc of the chunk before, or UNKNOWN
 * @returns {Neighbours}
 */
function describeNeighbours (cursor, limit, source, salvage, previous) {
  const { at } = cursor
  const { state, state: { shift, open } } = salvage
  const next = findNext(cursor, limit, source, shift)
  const positions = [at + shift]
  const epochs = [state.epoch, source.head.slot?.epoch ?? source.epoch]
  const durables = [state.durable]
  if (next) {
    // Gaps may come before the chunk, or lie in it.
    positions.push(next.header.position - next.start + at)
    epochs.push(next.header.epoch)
  }
  durables.push(...positions)
  if (next) durables.push(next.header.durable)
  return {
    physical: at,
    positions: [...new Set(positions)].filter(isPosition),
    isPositionSure: isPosition(positions[0]) && isSure(positions, at, shift, source),
    previous,
    continued: at % PAGE_SIZE !== 0 ? 0 : salvage.isLost ? UNKNOWN : salvage.continued,
    rest: open?.rest ?? 0,
    isRestErased: open?.isErased ?? false,
    epochs,
    durables: durables.filter(isPosition),
    ends: findEnds(cursor, limit, source, next)
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
  return !rules.hasGaps && slot !== null && at < slot.end && slot.logicalEnd - slot.end === shift
}

/**
 * @param {ChunkCursor} cursor
 * @param {number} limit
 * @param {Source} source
 * @param {number} shift
 * @returns {Next | null}
 */
function findNext (cursor, limit, { rules }, shift) {
  const { at, window, view } = cursor
  const pageEnd = endOfPage(at)
  const inPage = findHeader(cursor, at + 1, Math.min(limit, pageEnd), rules, shift)
  const start = inPage === -1 ? pageEnd : inPage
  if (start + CHUNK_HEADER_SIZE > Math.min(limit, window.end)) return null
  const offset = start - window.start
  if (inPage === -1 && !isHeaderWhole(window.buffer, view, offset, rules.salt)) return null
  const header = new ChunkHeader()
  readChunkHeader(view, offset, header)
  const isInPlace = rules.hasGaps
    ? header.position >= start + shift
    : isAhead(header.position, start + shift)
  return isInPlace ? { start, header } : null
}

/**
 * @param {ChunkCursor} cursor
 * @param {number} limit
 * @param {Source} source
 * @param {Next | null} next
 * @returns {End[]}
 */
function findEnds ({ at, window, view }, limit, { head: { slot }, promisedEnd }, next) {
  const pageEnd = Math.min(limit, endOfPage(at))
  /** @type {Map<number, number>} */
  const ends = new Map()
  const add = (/** @type {number} */ end, /** @type {number} */ chainCrc) => {
    const isPossible = end >= at + CHUNK_HEADER_SIZE && end <= pageEnd
    if (isPossible && (ends.get(end) ?? UNKNOWN) === UNKNOWN) ends.set(end, chainCrc)
  }
  add(at + CHUNK_HEADER_SIZE + view.getUint16(at - window.start + PAYLOAD_SIZE_OFFSET), UNKNOWN)
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
exports.isZeroIn = isZeroIn
exports.describeNeighbours = describeNeighbours
