'use strict'
// Tells which framing a file has: the checked one by its magic, a legacy one by its first record, two sizes and an end
// that agree.

const { LogError } = require('@millrace/errors')
const { hasMagic } = require('./checked/head')
const { HEADER_POSITIONS, HEADER_SIZE } = require('./checked/layout')
const { HEAD_SIZE, offsetFramings } = require('./offset/offset-framing')

/**
 * @typedef {import('./offset/offset-framing').OffsetFraming} OffsetFraming
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 */

/**
 * @param {BlockFile} blocks  open and not empty
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
 * @param {BlockFile} blocks
 * @param {number} position
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isChecked (blocks, position, cb) {
  if (blocks.size.value < position + HEADER_SIZE) return cb(null, false)
  const bytes = Buffer.alloc(HEADER_SIZE)
  blocks.readInto(bytes, position, (err) => cb(err, hasMagic(bytes)))
}

/**
 * @param {BlockFile} blocks
 * @param {(err: Error | null, framing?: OffsetFraming) => void} cb  none when it is not a legacy log
 */
function detectLegacy (blocks, cb) {
  const fileSize = blocks.size.value
  if (fileSize < HEAD_SIZE) return cb(null)
  const head = Buffer.alloc(HEAD_SIZE)
  blocks.readInto(head, 0, (err) => {
    if (err) return cb(err)
    const size = head.readUInt32BE(0)
    const trailerStart = HEAD_SIZE + size
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

exports.detectFraming = detectFraming
