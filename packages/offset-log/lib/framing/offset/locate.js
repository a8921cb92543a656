'use strict'
// Finds the frame boundary that a bound stands for, also when the bound falls between records.

const { trampoline } = require('@millrace/flow')
const { ChunkReader } = require('./chunk-reader')

const NO_FRAME = -1

/** @typedef {import('./offset-store').OffsetStore} OffsetStore */

/**
 * @param {OffsetStore} store
 * @param {number} bound  any number
 * @param {(err: Error | null, position?: number) => void} cb  the first frame boundary at or after the bound: a frame's
 *   start, or the end of the log
 */
function locateBoundary (store, bound, cb) {
  if (bound <= 0) return cb(null, 0)
  if (bound >= store.end) return cb(null, store.end)
  // Nearly every bound is a seq, or one more: `gt` and `lte` ask for what comes after the record that they name.
  findFrameEnd(store, bound, (err, frameEnd) => {
    if (err || frameEnd !== NO_FRAME) return cb(err, bound)
    findFrameEnd(store, bound - 1, (err, frameEnd) => {
      if (err || frameEnd !== NO_FRAME) return cb(err, frameEnd)
      locateByWalking(store, bound, cb)
    })
  })
}

/**
 * @param {OffsetStore} store
 * @param {number} position
 * @param {(err: Error | null, frameEnd?: number) => void} cb  where the frame ends that begins here, or NO_FRAME
 */
function findFrameEnd (store, position, cb) {
  const { blocks, framing, end } = store
  isBoundary(store, position, (err, isOne) => {
    if (err || !isOne) return cb(err, NO_FRAME)
    blocks.readUInt32BE(position, (err, size = 0) => {
      const frameEnd = position + size + framing.overhead
      if (err || frameEnd > end) return cb(err, NO_FRAME)
      blocks.read(frameEnd - framing.trailerSize, frameEnd, (err, trailer) => {
        if (err || !trailer) return cb(err)
        const agrees = trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, frameEnd)
        cb(null, agrees ? frameEnd : NO_FRAME)
      })
    })
  })
}

/**
 * Whether a frame begins at the position as far as the bytes before it tell: one ends there.
 * @param {OffsetStore} store
 * @param {number} position
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isBoundary ({ blocks, framing, end }, position, cb) {
  if (position < framing.overhead || position + framing.overhead > end) return cb(null, position === 0)
  blocks.read(position - framing.endSize, position, (err, bytes) => {
    if (err || !bytes) return cb(err)
    cb(null, framing.isEndIn(bytes, position))
  })
}

/**
 * Nothing inside a record tells where it is, so the frames are walked from the start of the log: slow, and right.
 * @param {OffsetStore} store
 * @param {number} bound
 * @param {(err: Error | null, position?: number) => void} cb
 */
function locateByWalking (store, bound, cb) {
  const { end } = store
  const chunks = new ChunkReader(store, { position: 0, from: 0, stop: bound, reverse: false })
  trampoline((next) => {
    chunks.next(end, (err, chunk) => {
      if (err || !chunk) return cb(err)
      if (chunk.count === 0) cb(null, chunks.position)
      else next()
    })
  })
}

exports.NO_FRAME = NO_FRAME
exports.findFrameEnd = findFrameEnd
exports.locateBoundary = locateBoundary
exports.locateByWalking = locateByWalking
exports.isBoundary = isBoundary
