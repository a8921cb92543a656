'use strict'
// What the chunks around one whose header is damaged say of it.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, isAhead, readChunkHeader } = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, PAGE_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')
const { endOfPage, findHeader, isWhole } = require('./find-header')

/**
 * @typedef {import('./find-header').Window} Window
 * @typedef {import('./mend-header').Neighbours} Neighbours
 * @typedef {import('./mend-header').End} End
 * @typedef {import('./read-source').Source} Source
 */

/**
 * @param {Window} window  holds all from the chunk to behind the first header of the next page, if there is one
 * @param {DataView} view  over the window's buffer
 * @param {number} at  where the chunk is
 * @param {number} limit  how far the file is read
 * @param {Source} source
 * @param {import('./salvage').Salvage} salvage  with all that comes before
 * @param {number} previous  identity of the chunk before, or UNKNOWN
 * @returns {Neighbours}
 */
function describeNeighbours (window, view, at, limit, source, salvage, previous) {
  const { rules } = source
  const { state } = salvage
  const next = findNext(window, view, at, limit, source, state.shift)
  const isFirst = at % PAGE_SIZE === 0
  const positions = [at + state.shift]
  // Gaps may come before the chunk, or lie in it.
  if ((rules.hasGaps || rules.hasJumps) && next) positions.push(next.header.position - next.start + at)
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
  return !rules.hasJumps || (slot !== null && at < slot.end && slot.logicalEnd - slot.end === shift)
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
    : isAhead(header.position, start + shift, rules.hasJumps)
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
  const add = (/** @type {number} */ end, /** @type {number} */ identity) => {
    if (end >= at + CHUNK_HEADER_SIZE && end <= pageEnd && (ends.get(end) ?? UNKNOWN) === UNKNOWN) {
      ends.set(end, identity)
    }
  }
  add(stored, UNKNOWN)
  if (slot) add(slot.end, slot.identity)
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
  return [...ends].map(([end, identity]) => ({ size: end - at, identity }))
}

/**
 * Whether a header has room for it.
 * @param {number} position
 */
function isPosition (position) {
  return position >= 0 && position <= FILE_SIZE_MAX
}

exports.describeNeighbours = describeNeighbours
