'use strict'
// Finds the frame boundary that a bound stands for, also when the bound falls between records.

const { trampoline } = require('@millrace/block-file')
const { ChunkReader } = require('./chunk-reader')

/** @typedef {import('./log-file').LogFile} LogFile */

/**
 * @param {LogFile} file
 * @param {number} bound  any number
 * @param {(err: Error | null, position?: number) => void} cb  the first frame boundary at or after the bound: a frame's
 *   start, or the end of the log
 */
function locateBoundary (file, bound, cb) {
  if (bound <= 0) return cb(null, 0)
  if (bound >= file.end) return cb(null, file.end)
  isBoundary(file, bound, (err, isOne) => {
    if (err) cb(err)
    else if (isOne) cb(null, bound)
    else walkToBoundary(file, bound, cb)
  })
}

/**
 * Whether a frame ends at the position and another begins there: the fields before it and after it must agree.
 * @param {LogFile} file
 * @param {number} position  inside the file
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isBoundary ({ blocks, framing, end }, position, cb) {
  if (position < framing.overhead) return cb(null, position === 0)
  if (position + framing.overhead > end) return cb(null, position === end)
  blocks.read(position - framing.endSize, position + 4, (err, bytes) => {
    if (err || !bytes) return cb(err)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    if (!framing.isEndAt(view, framing.endSize, position)) return cb(null, false)
    const frameEnd = position + bytes.readUInt32BE(framing.endSize) + framing.overhead
    cb(null, frameEnd <= end)
  })
}

/**
 * Nothing inside a record tells where it is, so the frames are walked from the start of the log: slow, and right.
 * @param {LogFile} file
 * @param {number} bound
 * @param {(err: Error | null, position?: number) => void} cb
 */
function walkToBoundary (file, bound, cb) {
  const { end } = file
  const chunks = new ChunkReader(file, { position: 0, from: 0, stop: bound, reverse: false })
  trampoline((next) => {
    chunks.next(end, (err, chunk) => {
      if (err || !chunk) return cb(err)
      if (chunk.count === 0) cb(null, chunks.position)
      else next()
    })
  })
}

exports.locateBoundary = locateBoundary
exports.isBoundary = isBoundary
