'use strict'
// Finds where chunks go on behind a place where they do not: the next whole header in the page.

const { crc32OfFew } = require('../crc32')
const { isHeaderAt } = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, PAGE_SIZE } = require('../layout')

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

exports.findHeader = findHeader
exports.isWhole = isWhole
exports.isZeroIn = isZeroIn
exports.endOfPage = endOfPage
