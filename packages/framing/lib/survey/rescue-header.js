'use strict'
// Reconstructs the file header if both copies are lost. The salt seeds the checksum of every slot and chunk header, and
// a checksum can be computed backwards to its seed. Two checksums that lead to the same one prove it.

const { CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET, POSITION_OFFSET, isHeaderWhole } = require('../chunk-header')
const { crc32, findSeed } = require('../crc32')
const { FrameCount } = require('../frames')
const { decodeSlot } = require('../head')
const {
  CHUNK_HEADER_SIZE, HEADER_POSITIONS, HEAD_SIZE, RESERVATION_SIZE, LENGTH_SIZE, SLOT_POSITIONS, SLOT_SIZE, WORDS_MARK
} = require('../layout')

const ID_OFFSET = 16
const NAME_SIZE_OFFSET = 39
const NAME_SIZE_MAX = 20
const CANDIDATES_MAX = 1024

/**
 * @typedef {import('../head').FileHeader} FileHeader
 * @typedef {{ page: number, bytes: Buffer }} Page  `bytes` begins with the page
 */

/** A salt counts once two checksums lead to it. */
class SaltSearch {
  /** Salts that one checksum led to. @type {Set<number>} */
  #found = new Set()

  /** @param {Buffer} head  its bytes */
  constructor (head) {
    /** Undefined until it is found. */
    this.salt = this.#findAgain(saltsOfSlots(head))
  }

  /** False once the salt is found. @type {(page: Page) => boolean} */
  visit ({ bytes }) {
    this.salt = this.#findAgain(saltsOf(bytes))
    return this.salt === undefined
  }

  /** @param {number[]} salts */
  #findAgain (salts) {
    return salts.find((salt) => {
      if (this.#found.has(salt)) return true
      if (this.#found.size === CANDIDATES_MAX) this.#found.clear()
      this.#found.add(salt)
      return false
    })
  }
}

/**
 * `first` and `last`: of the first and the last page that have a place.
 * @type {(head: Buffer, salt: number, first: PagePlace | null, last: PagePlace | null) => FileHeader}
 */
function rebuildHeader (head, salt, first, last) {
  const shift = first?.shift ?? shiftOfSlot(head, salt)
  const isSkip = ((last?.shift ?? shift) - shift) % RESERVATION_SIZE === 0
  const hasGaps = (first?.hasGaps || last?.hasGaps || !isSkip) === true
  // If the first page begins after an unclean end, the skipped positions are no part of the base.
  const base = HEAD_SIZE + (hasGaps ? shift : shift % RESERVATION_SIZE)
  const id = Buffer.from(head.subarray(ID_OFFSET, ID_OFFSET + 16))
  return { salt, id, base, hasGaps, codec: codecOf(head), hasWords: first?.hasWords === true }
}

// The salts with which the slots are whole.
/** @type {(head: Buffer) => number[]} */
function saltsOfSlots (head) {
  return SLOT_POSITIONS.map((position) => head.subarray(position, position + SLOT_SIZE))
    .filter((bytes) => bytes.some((byte) => byte !== 0))
    .map((bytes) => findSeed(bytes, LENGTH_SIZE, SLOT_SIZE, bytes.readUInt32BE(0)))
}

// The salts with which the page's first headers are whole.
/** @type {(bytes: Buffer) => number[]} */
function saltsOf (bytes) {
  const salts = []
  for (let at = 0; bytes.length - at > CHUNK_HEADER_SIZE + LENGTH_SIZE && salts.length < 2;) {
    const end = at + CHUNK_HEADER_SIZE + bytes.readUInt16BE(at + 8)
    if (end < at + CHUNK_HEADER_SIZE + LENGTH_SIZE || end > bytes.length) break
    if (crc32(bytes.subarray(at + CHUNK_HEADER_SIZE, end)) !== bytes.readUInt32BE(at + 4)) break
    salts.push(findSeed(bytes, at + 4, at + CHUNK_HEADER_SIZE, bytes.readUInt32BE(at)))
    at = end
  }
  return salts
}

/**
 * @typedef {{ shift: number, hasGaps: boolean, hasWords: boolean }} PagePlace  logical position less physical position
 *   where a page begins; whether the page has a gap; and whether it begins with words, as the first page of a log with
 *   a dictionary does
 * @param {Page} page
 * @param {number} salt
 * @returns {PagePlace | null}  null unless the page begins with a whole header
 */
function placeOf ({ page, bytes }, salt) {
  if (bytes.length < CHUNK_HEADER_SIZE || !isHeaderWhole(bytes, viewOf(bytes), 0, salt)) return null
  const data = CHUNK_HEADER_SIZE + LENGTH_SIZE
  const hasWords = WORDS_MARK.equals(bytes.subarray(data, data + WORDS_MARK.length))
  return { shift: bytes.readUIntBE(POSITION_OFFSET, 6) - page, hasGaps: hasGapIn(bytes, salt), hasWords }
}

/** @type {(page: Buffer, salt: number) => boolean} */
function hasGapIn (page, salt) {
  const view = viewOf(page)
  const frames = new FrameCount()
  for (let at = 0; page.length - at >= CHUNK_HEADER_SIZE && isHeaderWhole(page, view, at, salt);) {
    const continued = page.readUInt16BE(at + CONTINUED_OFFSET)
    const end = Math.min(page.length, at + CHUNK_HEADER_SIZE + page.readUInt16BE(at + PAYLOAD_SIZE_OFFSET))
    frames.count(view, at + CHUNK_HEADER_SIZE + continued, end, 0)
    if (frames.gapSize > 0) return true
    at = end
  }
  return false
}

/** @type {(head: Buffer, salt: number) => number} */
function shiftOfSlot (head, salt) {
  for (const position of SLOT_POSITIONS) {
    const slot = decodeSlot(head.subarray(position, position + SLOT_SIZE), salt)
    if (slot) return slot.logicalEnd - slot.end
  }
  return 0
}

// Empty unless both copies say the same: a wrong name would keep the right codec out, and without a name any codec may
// open the log.
/** @type {(head: Buffer) => string} */
function codecOf (head) {
  const [first, second] = HEADER_POSITIONS.map((position) => {
    const start = position + NAME_SIZE_OFFSET
    return head.subarray(start, start + 1 + NAME_SIZE_MAX)
  })
  const size = first[0]
  return first.equals(second) && size <= NAME_SIZE_MAX ? first.toString('utf8', 1, 1 + size) : ''
}

/** @param {Buffer} bytes */
function viewOf (bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

exports.SaltSearch = SaltSearch
exports.placeOf = placeOf
exports.rebuildHeader = rebuildHeader
