'use strict'
// Checks all chunks of one page in a buffer, and finds a frame in a checked page.

const { isZero } = require('@millrace/flow')
const { ChunkHeader, checkChunk, readChunkHeader } = require('./chunk-header')
const { finishChunk } = require('./journal')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE
} = require('./layout')

const NO_FRAME = null
/** @type {Map<number, import('./journal').Entry[]>} */
const NOTHING_UNFINISHED = new Map()
// One object for all calls, because pages are checked one after the other, and often.
const header = new ChunkHeader()
/** @type {Frame} */
const GAP = Object.freeze({ type: FRAME_TYPES.GAP, size: 0, at: -1, chunkStart: -1, chunkEnd: -1, chainCrc: -1 })
/** @type {Frame} a gap that an unclean end or damage may have left */
const UNSURE_GAP = Object.freeze({ ...GAP })

/**
 * @typedef {import('./chunk-header').Rules} Rules
 * @typedef {import('./faults').Damage} Damage
 * @typedef {{ bytes: Buffer, view?: DataView, offset: number, start: number, end: number }} Page  positions `start` to
 *   `end` of the file, from `offset` of the bytes on
 */

/**
 * A frame, or a gap. `size`: of the record; `at`: of the length field, like `chunkStart` and `chunkEnd` physical.
 * @typedef {{ type: number, size: number, at: number, chunkStart: number, chunkEnd: number, chainCrc: number }} Frame
 */

/**
 * Verifies a page and its frames.
 * @type {(page: Page, rules: Rules, unfinished: Map<number, import('./journal').Entry[]>) => Damage | null}
 */
function checkPage (page, rules, unfinished) {
  const { bytes, offset, start, end } = page
  const view = page.view ?? new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let chainCrc = -1
  for (let at = start; at < end; at += CHUNK_HEADER_SIZE + header.size) {
    const chunkOffset = offset + at - start
    if (start + PAGE_SIZE - at < CHUNK_SIZE_MIN) {
      return isZero(bytes, chunkOffset, offset + end - start) ? null : { start: at, end, fault: 'FILLER' }
    }
    if (end - at < CHUNK_HEADER_SIZE) return { start: at, end, fault: 'HEADER' }
    const entries = unfinished.get(at)
    if (entries) finishChunk(entries, bytes.subarray(chunkOffset, offset + end - start), rules)
    let fault = checkChunk(bytes, view, chunkOffset, at, offset + end - start, rules, header)
    if (fault === null && chainCrc !== -1 && header.previous !== chainCrc) fault = 'LINK'
    if (fault !== null) return { start: at, end, fault }
    chainCrc = header.chainCrc
  }
  return null
}

/**
 * Whether a file ends as its newest slot says, by its last page alone. What the page does not show, the slot does: it
 * has the chain crc of the last chunk, which stands for all chunks before.
 * @param {Page} page  the last one, which ends where the slot says
 * @param {Rules} rules
 * @param {import('./head').Slot} slot
 * @returns {number | null}  the epoch of the last chunk; null if the page is damaged, or is not the one that the slot
 *   describes
 */
function findCleanEnd (page, rules, slot) {
  const damage = checkPage(page, { ...rules, verify: true }, NOTHING_UNFINISHED)
  return damage === null && header.chainCrc === slot.chainCrc ? header.epoch : null
}

/**
 * Looks for the frame at a seq.
 * @param {Page} page  checked
 * @param {number} seq
 * @param {boolean} hasGaps  whether the file was compacted: only then do gaps move positions
 * @returns {Frame | null}  null if the seq lies inside a record; a gap or UNSURE_GAP if it lies between records
 */
function findFrame ({ bytes, offset, start, end }, seq, hasGaps) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const header = new ChunkHeader()
  // Where the record ends that was passed last.
  let recordEnd = -1
  let isSure = false
  for (let chunkStart = start; start + PAGE_SIZE - chunkStart >= CHUNK_SIZE_MIN && chunkStart < end;) {
    readChunkHeader(view, offset + chunkStart - start, header)
    if (header.position > seq) {
      isSure = !header.isAfterLoss
      break
    }
    const chunkEnd = chunkStart + CHUNK_HEADER_SIZE + header.size
    let at = chunkStart + CHUNK_HEADER_SIZE + header.continued
    let shift = header.position - chunkStart
    while (chunkEnd - at >= LENGTH_SIZE && at + shift <= seq) {
      const word = view.getUint32(offset + at - start)
      const type = word >>> 30
      const size = word & FRAME_LENGTH_MASK
      if (type === FRAME_TYPES.PADDING) break
      if (at + shift === seq) return { type, size, at, chunkStart, chunkEnd, chainCrc: header.chainCrc }
      at += LENGTH_SIZE
      if (type !== FRAME_TYPES.GAP) at += size
      else if (hasGaps) shift += size
      if (type !== FRAME_TYPES.GAP) recordEnd = at + shift
    }
    isSure = chunkEnd - at >= LENGTH_SIZE && at + shift > seq
    chunkStart = chunkEnd
  }
  if (seq < recordEnd) return NO_FRAME
  return isSure ? GAP : UNSURE_GAP
}

/** The page's first header, if it names this chain crc. @type {(page: Page, chainCrc: number) => ChunkHeader | null} */
function readNext ({ bytes, offset }, chainCrc) {
  const header = new ChunkHeader()
  readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset, header)
  return header.previous === chainCrc ? header : null
}

exports.checkPage = checkPage
exports.findCleanEnd = findCleanEnd
exports.readNext = readNext
exports.findFrame = findFrame
exports.UNSURE_GAP = UNSURE_GAP
