'use strict'
// Looks around a chunk that cannot be entered: where the page's chunks continue, and what its neighbours say about it.

const { isZero } = require('@millrace/flow')
const {
  CONTINUED_OFFSET, ChunkHeader, FLAGS_OFFSET, PAYLOAD_SIZE_OFFSET, POSITION_OFFSET, findHeaderAt, isAhead,
  isHeaderWhole, readChunkHeader, readUint48
} = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, PAGE_SIZE, endOfPage } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

/**
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {import('../offset-framing').Window} Window
 */

// Physical position of the next header in the page, from `from` on; -1 if there is none. The window must reach to
// `pageEnd` or the file's end. `shift`: logical position less physical position, at least.
/** @type {(cursor: ChunkCursor, from: number, pageEnd: number, rules: Rules, shift: number) => number} */
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
 * @typedef {import('./mend-header').Neighbours} Neighbours
 * @typedef {import('./mend-header').End} End
 * @typedef {import('./survey').Source} Source
 * @typedef {{ start: number, header: ChunkHeader }} Next  the next header in the page, or that of the next page
 */

/**
 * Describes the neighbours of the chunk at the cursor. The window must hold the next page's first header, if there is
 * one. `salvage` has everything in front of the chunk. `previous`: chain crc of the chunk before, or UNKNOWN.
 * @param {ChunkCursor} cursor
 * @param {number} limit
 * @param {Source} source
 * @param {import('./salvage').Salvage} salvage
 * @param {number} previous
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
    // Gaps may lie in front of the chunk or in it.
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

// Whether nothing can be left out in front of the chunk. It can have the position that the chunk before says or, if
// there is a next chunk, the one that this says. `shift` is that of the chunk before.
/** @type {(positions: number[], at: number, shift: number, source: Source) => boolean} */
function isSure ([before, next], at, shift, { rules, head: { slot } }) {
  if (next !== undefined) return before === next
  return !rules.hasGaps && slot !== null && at < slot.end && slot.logicalEnd - slot.end === shift
}

/** @type {(cursor: ChunkCursor, limit: number, source: Source, shift: number) => Next | null} */
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

/** @type {(cursor: ChunkCursor, limit: number, source: Source, next: Next | null) => End[]} */
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
    // The page may end in zeros, too few for a chunk.
    const zerosMax = limit < endOfPage(at) ? 0 : CHUNK_SIZE_MIN - 1
    for (let end = pageEnd; end >= pageEnd - zerosMax; end--) {
      add(end, next?.header.previous ?? UNKNOWN)
      if (window.buffer[end - 1 - window.start] !== 0) break
    }
  }
  return [...ends].map(([end, chainCrc]) => ({ size: end - at, chainCrc }))
}

/** Whether 48 bits can hold it. @type {(position: number) => boolean} */
function isPosition (position) {
  return position >= 0 && position <= FILE_SIZE_MAX
}

exports.findHeader = findHeader
exports.isZeroIn = isZeroIn
exports.describeNeighbours = describeNeighbours
