'use strict'
// Tells which framing a file has from its first record: two sizes and an end that agree.

const { LogError } = require('@millrace/errors')
const { HEAD_SIZE, offsetFramings } = require('./offset-framing')

/**
 * @typedef {import('./offset-framing').OffsetFraming} OffsetFraming
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 */

/**
 * @param {BlockFile} blocks  open and not empty
 * @param {(err: Error | null, framing?: OffsetFraming) => void} cb  ERR_LOG_UNKNOWN_FORMAT; nothing is ever written
 */
function detectFraming (blocks, cb) {
  const fileSize = blocks.size.value
  if (fileSize < HEAD_SIZE) return cb(unknownFormat(blocks.path))
  blocks.readUInt32BE(0, (err, size = 0) => {
    if (err) return cb(err)
    const trailerStart = HEAD_SIZE + size
    if (trailerStart >= fileSize) return cb(unknownFormat(blocks.path))
    const widest = offsetFramings.offset53.trailerSize
    blocks.read(trailerStart, Math.min(fileSize, trailerStart + widest), (err, trailer) => {
      if (err || !trailer) return cb(err)
      const framing = Object.values(offsetFramings).find((framing) => hasTrailer(framing, trailer, size))
      if (framing) cb(null, framing)
      else cb(unknownFormat(blocks.path))
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
