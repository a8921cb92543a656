'use strict'
// Identifies a file before it is opened as a log: its framing, and the id of its log. A checked log begins with a
// magic. An offset log begins with a frame whose two sizes and end agree.

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
 * Writes nothing.
 * @param {BlockFileHandle} blocks  open and not empty
 * @param {(err: Error | null, framing?: 'checked' | OffsetFraming) => void} cb  ERR_LOG_UNKNOWN_FORMAT
 */
function detectFraming (blocks, cb) {
  const [first, second] = HEADER_POSITIONS
  isChecked(blocks, first, (err, isOne) => {
    if (err || isOne) return cb(err, 'checked')
    detectLegacy(blocks, (err, framing) => {
      if (err || framing) return cb(err, framing)
      // The second header comes last: a record of an offset log may hold the magic at its position.
      isChecked(blocks, second, (err, isOne) => {
        if (err || isOne) cb(err, 'checked')
        else cb(unknownFormat(blocks.path))
      })
    })
  })
}

/** @type {(blocks: BlockFileHandle, position: number, cb: (err: Error | null, isOne?: boolean) => void) => void} */
function isChecked (blocks, position, cb) {
  if (blocks.size.value < position + HEADER_SIZE) return cb(null, false)
  const bytes = Buffer.alloc(HEADER_SIZE)
  blocks.readInto(bytes, position, (err) => cb(err, hasMagic(bytes)))
}

/** @type {(blocks: BlockFileHandle, cb: (err: Error | null, framing?: OffsetFraming) => void) => void} */
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
 * @param {Buffer} trailer  the bytes behind the first record
 * @param {number} size  of that record, by the head of its frame
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

const PEEK_SIZE = HEADER_POSITIONS[HEADER_POSITIONS.length - 1] + AREA_SIZE

/**
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<{ id: Buffer | null, isEmpty: boolean }>}  `id`: of the checked log, null if neither header can be
 *   read. `isEmpty`: both header areas are zeros, as a power cut can leave them
 * @throws ENOENT if there is no such file
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

/** @param {Buffer} bytes  a header */
function idOf (bytes) {
  const header = decodeFileHeader(bytes)
  return header !== null && 'id' in header ? header.id : null
}

exports.detectFraming = detectFraming
exports.peekId = peekId
