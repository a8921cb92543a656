'use strict'
// Where a log of these framings can be cut in two, to be read by two threads: at a place that looks like the end of a
// frame. Bytes inside a record may look like that too: who reads up to the cut must say whether it is one.

const { trampoline } = require('@millrace/flow')
const { findFrameEnd, NO_FRAME } = require('./locate')

// Records larger than this are rarely cut between.
const DISTANCE_MAX = 1024 * 1024
// Nor where as much as this looks like the end of one, and is none.
const FAKE_COUNT_MAX = 100
const SPAN_SIZE = 64 * 1024
const TWO_32 = 2 ** 32

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('../../log-file').Cut} Cut
 */

/**
 * @param {OffsetStore} store
 * @param {number} from
 * @param {number} limit  at most the end of the log
 * @param {(err: Error | null, cut?: Cut | null) => void} cb  the first one between the two, or not far behind the first
 */
function findCut (store, from, limit, cb) {
  const { blocks, framing } = store
  const stop = Math.min(limit, from + DISTANCE_MAX)
  let start = Math.max(1, from)
  let fakeCount = 0
  trampoline((next) => {
    if (start >= stop || fakeCount > FAKE_COUNT_MAX) return cb(null, null)
    // The field that ends a frame may begin before.
    const base = Math.max(0, start - framing.endSize)
    const bytes = Buffer.allocUnsafe(Math.min(stop, start + SPAN_SIZE) - base)
    blocks.readInto(bytes, base, (err) => {
      if (err) return cb(err)
      const position = findEnd(framing, bytes, base, start)
      start = position === -1 ? base + bytes.length : position + 1
      if (position === -1) return next()
      findFrameEnd(store, position, (err, frameEnd) => {
        if (err || frameEnd !== NO_FRAME) return cb(err, { seq: position, at: position })
        fakeCount++
        next()
      })
    })
  })
}

/**
 * @param {import('./offset-framing').OffsetFraming} framing
 * @param {Buffer} bytes
 * @param {number} base  where in the file they begin
 * @param {number} start  where to begin to look
 * @returns {number}  the first position where a frame seems to end; -1 if there is none
 */
function findEnd (framing, bytes, base, start) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = base + bytes.length
  for (let position = Math.max(start, base + framing.endSize); position < end; position++) {
    if (view.getUint32(position - base - 4) === position % TWO_32 && framing.isEndAt(view, position - base, position)) {
      return position
    }
  }
  return -1
}

exports.findCut = findCut
