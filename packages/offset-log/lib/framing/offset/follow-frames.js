'use strict'
// Follows a legacy log that another process writes: which whole frames there are behind the end that is known.

const { trampoline } = require('@millrace/flow')
const { Chunk } = require('../../chunk')

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('../../follower').News} News
 */

/**
 * Nothing in the bytes marks a commit: a batch may be seen in parts.
 * @param {OffsetStore} store  gets the new end
 * @param {(err: Error | null, news?: News) => void} cb
 */
function followFrames (store, cb) {
  const { blocks, framing, file } = store
  const limit = blocks.size.value
  const window = blocks.createSpanReader()
  const chunk = new Chunk()
  const walk = /** @type {import('./offset-framing').Walk} */ ({
    position: store.end, need: framing.overhead, error: null, maxRecordSize: Infinity
  })
  let since = file.writtenSince
  trampoline((next) => {
    // What is not whole is being written, or was when its writer died: it may be whole the next time.
    if (walk.error !== null || walk.position >= limit) {
      store.setEnd(walk.position)
      file.writtenSince = since
      return cb(null, { since, durable: store.durableLast })
    }
    window.loadForward(walk.position, Math.max(walk.need, framing.overhead), limit, (err) => {
      if (err) return cb(err)
      chunk.clear()
      framing.walkForward(window, new DataView(window.buffer.buffer), walk, Infinity, limit, chunk)
      if (chunk.count > 0) since = chunk.seqs[chunk.count - 1]
      next()
    })
  })
}

exports.followFrames = followFrames
