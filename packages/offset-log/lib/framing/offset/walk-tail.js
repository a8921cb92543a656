'use strict'
// Walks the frames behind a boundary that is known, to where they end.

const { trampoline } = require('@millrace/block-file')
const { Chunk } = require('../../chunk')

/**
 * @param {import('./offset-store').OffsetStore} store
 * @param {number} start  where a frame begins, or the file ends
 * @param {number} limit  at most the file's size
 * @param {(err: Error | null, end?: number) => void} cb  where the last frame ends before the limit, or before one that
 *   is not whole
 */
function walkTail ({ blocks, framing }, start, limit, cb) {
  const window = blocks.createSpanReader()
  const chunk = new Chunk()
  const walk = /** @type {import('./offset-framing').Walk} */ ({
    position: start, need: framing.overhead, error: null, maxRecordSize: Infinity
  })
  trampoline((next) => {
    if (walk.error !== null || walk.position >= limit) return cb(null, walk.position)
    window.loadForward(walk.position, Math.max(walk.need, framing.overhead), limit, (err) => {
      if (err) return cb(err)
      chunk.clear()
      framing.walkForward(window, new DataView(window.buffer.buffer), walk, Infinity, limit, chunk)
      next()
    })
  })
}

exports.walkTail = walkTail
