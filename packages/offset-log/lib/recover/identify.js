'use strict'
// Tells which framing a file has: the checked one by its magic, a legacy one by its first record, two sizes and an end
// that agree.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')
const {
  AREA_SIZE, FRAME_HEAD_SIZE, HEADER_POSITIONS, HEADER_SIZE, decodeFileHeader, hasMagic, offsetFramings
} = require('@millrace/framing')

/**
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 */

/**
 * @param {BlockFileHandle} blocks  open and not empty
 * @param {(err: Error | null, framing?: 'checked' | OffsetFraming) => void} cb  ERR_LOG_UNKNOWN_FORMAT; nothing is ever
 *   written
 */
function detectFraming (blocks, cb) {
  const [first, second] = HEADER_POSITIONS
  isChecked(blocks, first, (err, isOne) => {
    if (err || isOne) return cb(err, 'checked')
    detectLegacy(blocks, (err, framing) => {
      if (err || framing) return cb(err, framing)
      // Only when its first copy of the header is damaged.
      isChecked(blocks, second, (err, isOne) => {
        if (err || isOne) cb(err, 'checked')
        else cb(unknownFormat(blocks.path))
      })
    })
  })
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} position
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isChecked (blocks, position, cb) {
  if (blocks.size.value < position + HEADER_SIZE) return cb(null, false)
  const bytes = Buffer.alloc(HEADER_SIZE)
  blocks.readInto(bytes, position, (err) => cb(err, hasMagic(bytes)))
}

/**
 * @param {BlockFileHandle} blocks
 * @param {(err: Error | null, framing?: OffsetFraming) => void} cb  none when it is not a legacy log
 */
function detectLegacy (blocks, cb) {
  const fileSize = blocks.size.value
  if (fileSize < FRAME_HEAD_SIZE) return cb(null)
  const head = Buffer.alloc(FRAME_HEAD_SIZE)
  blocks.readInto(head, 0, (err) => {
    if (err) return cb(err)
    const size = head.readUInt32BE(0)
    const trailerStart = FRAME_HEAD_SIZE + size
    if (trailerStart >= fileSize) return cb(null)
    const widest = offsetFramings.offset53.trailerSize
    const trailer = Buffer.alloc(Math.min(fileSize - trailerStart, widest))
    blocks.readInto(trailer, trailerStart, (err) => {
      if (err) return cb(err)
      cb(null, Object.values(offsetFramings).find((framing) => hasTrailer(framing, trailer, size)))
    })
  })
}

/**
 * @param {OffsetFraming} framing
 * @param {Buffer} trailer  the bytes after the first record's data
 * @param {number} size  what its head says
 */
function hasTrailer (framing, trailer, size) {
  if (trailer.length < framing.trailerSize || trailer.readUInt32BE(0) !== size) return false
  return framing.isEndIn(trailer.subarray(0, framing.trailerSize), size + framing.overhead)
}

/** @param {string} path */
function unknownFormat (path) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} does not begin with a whole record of any framing that ` +
    'this version knows; check the path. If its first append was cut off, move the file away', { offset: 0, path })
}

// Tells which log a file beside this one is of, without opening it as a log.

const PEEK_SIZE = HEADER_POSITIONS[HEADER_POSITIONS.length - 1] + AREA_SIZE

/**
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<{ id: Buffer | null, isEmpty: boolean }>}  `id` is null when it is no log of the checked framing.
 *   It is empty too if a power cut has left zeros of its headers
 * @throws ENOENT when there is none
 */
async function peekId (path, storage) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage })
  try {
    await call(blocks, 'ready')
    const bytes = Buffer.alloc(PEEK_SIZE)
    await call(blocks, 'readInto', bytes.subarray(0, Math.min(blocks.size.value, PEEK_SIZE)), 0)
    const areas = HEADER_POSITIONS.map((position) => bytes.subarray(position, position + AREA_SIZE))
    const ids = areas.map((area) => idOf(area.subarray(0, HEADER_SIZE)))
    const isEmpty = areas.every((area) => area.every((byte) => byte === 0))
    return { id: ids.find((id) => id !== null) ?? null, isEmpty }
  } finally {
    await call(blocks, 'close').catch(() => {})
  }
}

/** @param {Buffer} bytes  of a header */
function idOf (bytes) {
  const header = decodeFileHeader(bytes)
  return header !== null && 'id' in header ? header.id : null
}

exports.detectFraming = detectFraming
exports.peekId = peekId
