'use strict'
// When both copies of the file header are lost, what of it matters can be found again: every chunk's checksum is seeded
// with the salt, and a checksum can be worked backwards to its seed.

const { CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET, POSITION_OFFSET, isHeaderWhole } = require('../chunk-header')
const { crc32, findSeed } = require('../crc32')
const { FrameCount } = require('../frames')
const { decodeSlot } = require('../head')
const {
  CHUNK_HEADER_SIZE, HEADER_POSITIONS, HEAD_SIZE, RESERVATION_SIZE, LENGTH_SIZE, SLOT_POSITIONS, SLOT_SIZE
} = require('../layout')

const SALT_OFFSET = 12
const ID_OFFSET = 16
const NAME_SIZE_OFFSET = 39
const NAME_SIZE_MAX = 20
const PREVIOUS_OFFSET = 32
const SLOT_CHAIN_CRC_OFFSET = 38
const CANDIDATES_MAX = 1024

/**
 * @typedef {import('../head').FileHeader} FileHeader
 * @typedef {{ page: number, bytes: Buffer }} Page  `bytes` begins with the page
 */

/** A salt counts when it was found in two ways. */
class SaltSearch {
  /** Salts that were found in one way. @type {Set<number>} */
  #found

  /** @param {Buffer} head  its bytes */
  constructor (head) {
    this.#found = new Set(HEADER_POSITIONS.map((position) => head.readUInt32BE(position + SALT_OFFSET)))
    /** Undefined until it is found. */
    this.salt = this.#findAgain(saltsOfSlots(head))
  }

  /**
   * @param {Page} page
   * @returns {boolean}  false when it is found
   */
  visit ({ page, bytes }) {
    this.salt = this.#findAgain(saltsOf(page, bytes))
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
 * @param {Buffer} head  its bytes
 * @param {number} salt
 * @param {PagePlace | null} first  of the first page that has one
 * @param {PagePlace | null} last
 * @returns {FileHeader}
 */
function rebuildHeader (head, salt, first, last) {
  const shift = first?.shift ?? shiftOfSlot(head, salt)
  const isSkip = ((last?.shift ?? shift) - shift) % RESERVATION_SIZE === 0
  const hasGaps = (first?.hasGaps || last?.hasGaps || !isSkip) === true
  // The first page may begin behind an unclean end.
  const base = HEAD_SIZE + (hasGaps ? shift : shift % RESERVATION_SIZE)
  const id = Buffer.from(head.subarray(ID_OFFSET, ID_OFFSET + 16))
  return { salt, id, base, hasGaps, codec: codecOf(head) }
}

/**
 * @param {Buffer} head
 * @returns {number[]}  what would make each of the slots whole; twice, if the slot names it, as that of a log without
 *   chunks does
 */
function saltsOfSlots (head) {
  return SLOT_POSITIONS.map((position) => head.subarray(position, position + SLOT_SIZE))
    .filter((bytes) => bytes.some((byte) => byte !== 0))
    .flatMap((bytes) => {
      const salt = findSeed(bytes, LENGTH_SIZE, SLOT_SIZE, bytes.readUInt32BE(0))
      return bytes.readUInt32BE(SLOT_CHAIN_CRC_OFFSET) === salt ? [salt, salt] : [salt]
    })
}

/**
 * @param {number} page
 * @param {Buffer} bytes
 * @returns {number[]}  what would make each of the first headers whole whose payload is, and what the first one follows
 */
function saltsOf (page, bytes) {
  const salts = []
  for (let at = 0; bytes.length - at > CHUNK_HEADER_SIZE + LENGTH_SIZE && salts.length < 3;) {
    const end = at + CHUNK_HEADER_SIZE + bytes.readUInt16BE(at + 8)
    if (end < at + CHUNK_HEADER_SIZE + LENGTH_SIZE || end > bytes.length) break
    if (crc32(bytes.subarray(at + CHUNK_HEADER_SIZE, end)) !== bytes.readUInt32BE(at + 4)) break
    salts.push(findSeed(bytes, at + 4, at + CHUNK_HEADER_SIZE, bytes.readUInt32BE(at)))
    if (page + at === HEAD_SIZE) salts.push(bytes.readUInt32BE(PREVIOUS_OFFSET))
    at = end
  }
  return salts
}

/**
 * @typedef {{ shift: number, hasGaps: boolean }} PagePlace  logical position less the physical one, where a page
 *   begins, and whether it has a gap in it
 * @param {Page} page
 * @param {number} salt
 * @returns {PagePlace | null}  null unless the page begins with a whole header
 */
function placeOf ({ page, bytes }, salt) {
  if (bytes.length < CHUNK_HEADER_SIZE || !isHeaderWhole(bytes, viewOf(bytes), 0, salt)) return null
  return { shift: bytes.readUIntBE(POSITION_OFFSET, 6) - page, hasGaps: hasGapIn(bytes, salt) }
}

/**
 * @param {Buffer} page
 * @param {number} salt
 */
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

/**
 * @param {Buffer} head
 * @param {number} salt
 */
function shiftOfSlot (head, salt) {
  for (const position of SLOT_POSITIONS) {
    const slot = decodeSlot(head.subarray(position, position + SLOT_SIZE), salt)
    if (slot) return slot.logicalEnd - slot.end
  }
  return 0
}

/**
 * A wrong name would keep the right codec out; without one any codec may open the log.
 * @param {Buffer} head
 * @returns {string}  empty unless both copies say the same
 */
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
