'use strict'
// When both copies of the file header are lost, what of it matters can be found again: every chunk's checksum is seeded
// with the salt, and a checksum can be worked backwards to its seed.

const { trampoline } = require('@millrace/flow')
const { CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET } = require('../chunk-header')
const { crc32, crc32OfFew } = require('../crc32')
const {
  CHUNK_HEADER_SIZE, HEADER_POSITIONS, HEAD_SIZE, JUMP_SIZE, LENGTH_SIZE, PAGE_SIZE, SLOT_POSITIONS, SLOT_SIZE
} = require('../layout')
const { decodeSlot } = require('../head')
const { FrameCount } = require('./count-frames')
const { isWhole, isZeroIn } = require('./find-header')

const SALT_OFFSET = 12
const ID_OFFSET = 16
const NAME_SIZE_OFFSET = 39
const NAME_SIZE_MAX = 20
const PREVIOUS_OFFSET = 32
const POSITION_OFFSET = 16
const CANDIDATES_MAX = 1024

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../head').FileHeader} FileHeader
 * @typedef {{ page: number, bytes: Buffer }} Page  `bytes` begins with the page
 */

/** By the top byte of a table entry: its index. */
const indexByTop = new Uint8Array(256)
const table = Uint32Array.from({ length: 256 }, (_, byte) => ~crc32OfFew(Buffer.from([byte]), 0, 1, 0xffffffff) >>> 0)
table.forEach((entry, index) => { indexByTop[entry >>> 24] = index })

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @param {number} crc  of these bytes
 * @returns {number}  what it was seeded with
 */
function findSeed (bytes, start, end, crc) {
  let state = ~crc >>> 0
  for (let at = end - 1; at >= start; at--) {
    const index = indexByTop[state >>> 24]
    state = (((state ^ table[index]) << 8) | ((index ^ bytes[at]) & 0xff)) >>> 0
  }
  return ~state >>> 0
}

/**
 * @param {BlockFile} blocks
 * @param {Buffer} head  its bytes
 * @param {(err: Error | null, header?: FileHeader | null) => void} cb  null when nothing in the file proves a salt
 */
function rescueHeader (blocks, head, cb) {
  findSalt(blocks, head, (err, salt) => {
    if (err || salt === undefined) return cb(err, null)
    findPlace(blocks, salt, 1, (err, first) => {
      if (err) return cb(err)
      findPlace(blocks, salt, -1, (err, last) => {
        if (err) return cb(err)
        const shift = first?.shift ?? shiftOfSlot(head, salt)
        const isJump = ((last?.shift ?? shift) - shift) % JUMP_SIZE === 0
        const hasGaps = (first?.hasGaps || last?.hasGaps || !isJump) === true
        // The first page may begin behind an unclean end.
        const base = HEAD_SIZE + (hasGaps ? shift : shift % JUMP_SIZE)
        cb(null, { salt, id: idOf(head), base, hasGaps, hasJumps: true, codec: codecOf(head) })
      })
    })
  })
}

/**
 * A salt counts when it was found in two ways.
 * @param {BlockFile} blocks
 * @param {Buffer} head
 * @param {(err: Error | null, salt?: number) => void} cb
 */
function findSalt (blocks, head, cb) {
  /** Salts that were found in one way. @type {Set<number>} */
  const found = new Set(HEADER_POSITIONS.map((position) => head.readUInt32BE(position + SALT_OFFSET)))
  const isSecond = (/** @type {number} */ salt) => {
    if (found.has(salt)) return true
    if (found.size === CANDIDATES_MAX) found.clear()
    found.add(salt)
    return false
  }
  let salt = saltsOfSlots(head).find(isSecond)
  if (salt !== undefined) return cb(null, salt)
  eachPage(blocks, 1, ({ page, bytes }) => {
    salt = saltsOf(page, bytes).find(isSecond)
    return salt === undefined
  }, (err) => cb(err, salt))
}

/**
 * @param {Buffer} head
 * @returns {number[]}  what would make each of the slots whole
 */
function saltsOfSlots (head) {
  return SLOT_POSITIONS.map((position) => head.subarray(position, position + SLOT_SIZE))
    .filter((bytes) => bytes.some((byte) => byte !== 0))
    .map((bytes) => findSeed(bytes, LENGTH_SIZE, SLOT_SIZE, bytes.readUInt32BE(0)))
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
 * @param {BlockFile} blocks
 * @param {number} salt
 * @param {1 | -1} direction  where to begin: at the first page, or at the last
 * @param {(err: Error | null, place?: PagePlace) => void} cb  of the first page that begins with a whole header
 */
function findPlace (blocks, salt, direction, cb) {
  /** @type {PagePlace | undefined} */
  let place
  eachPage(blocks, direction, ({ page, bytes }) => {
    if (bytes.length < CHUNK_HEADER_SIZE || !isWhole(bytes, viewOf(bytes), 0, salt)) return true
    place = { shift: bytes.readUIntBE(POSITION_OFFSET, 6) - page, hasGaps: hasGapIn(bytes, salt) }
    return false
  }, (err) => cb(err, place))
}

/**
 * @param {Buffer} page
 * @param {number} salt
 */
function hasGapIn (page, salt) {
  const view = viewOf(page)
  const frames = new FrameCount()
  for (let at = 0; page.length - at >= CHUNK_HEADER_SIZE && isWhole(page, view, at, salt);) {
    const continued = page.readUInt16BE(at + CONTINUED_OFFSET)
    const end = Math.min(page.length, at + CHUNK_HEADER_SIZE + page.readUInt16BE(at + PAYLOAD_SIZE_OFFSET))
    frames.count(view, at + CHUNK_HEADER_SIZE + continued, end, 0)
    if (frames.gapSize > 0) return true
    at = end
  }
  return false
}

/**
 * @param {BlockFile} blocks
 * @param {1 | -1} direction
 * @param {(page: Page) => boolean} visit  false ends it. Pages of zeros are left out
 * @param {(err: Error | null) => void} cb
 */
function eachPage (blocks, direction, visit, cb) {
  const fileSize = blocks.size.value
  const window = blocks.createSpanReader()
  const lastPage = Math.max(HEAD_SIZE, Math.ceil(fileSize / PAGE_SIZE) * PAGE_SIZE - PAGE_SIZE)
  let page = direction === 1 ? HEAD_SIZE : lastPage
  trampoline((next) => {
    for (; page < fileSize && page >= HEAD_SIZE; page += direction * PAGE_SIZE) {
      const end = Math.min(fileSize, page + PAGE_SIZE)
      if (page < window.start || end > window.end) {
        const loaded = (/** @type {Error | null} */ err) => err ? cb(err) : next()
        if (direction === 1) return window.loadForward(page, PAGE_SIZE, fileSize, loaded)
        return window.loadBackward(end, end - page, HEAD_SIZE, loaded)
      }
      if (isZeroIn(window, page, end)) continue
      if (!visit({ page, bytes: window.buffer.subarray(page - window.start, end - window.start) })) break
    }
    cb(null)
  })
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

/** @param {Buffer} head */
function idOf (head) {
  return Buffer.from(head.subarray(ID_OFFSET, ID_OFFSET + 16))
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

exports.rescueHeader = rescueHeader
