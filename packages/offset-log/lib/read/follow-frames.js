'use strict'
// Follows a log of an offset framing that another process writes: finds the whole frames after the known end.

const { trampoline } = require('@millrace/flow')
const { RecordRun } = require('../record-run')

/** @typedef {import('../offset-store').OffsetStore} OffsetStore */
/** @typedef {import('../follower').News} News */

/**
 * These files do not mark commits, so part of a batch may be seen. Sets the store's end.
 * @param {OffsetStore} store
 * @param {(err: Error | null, news?: News) => void} cb
 */
function followFrames (store, cb) {
  const { blocks, framing, file } = store
  const limit = blocks.size.value
  const window = blocks.createSpanReader()
  const run = new RecordRun()
  const walk = /** @type {import('@millrace/framing').Walk} */ ({
    position: store.end, need: framing.overhead, error: null, maxRecordSize: Infinity
  })
  let since = file.writtenSince
  trampoline((next) => {
    // The frame is not whole. It is being written, or its writer died. The next look may find it whole.
    if (walk.error !== null || walk.position >= limit) {
      store.setEnd(walk.position)
      file.writtenSince = since
      return cb(null, { since, durable: store.durableLast })
    }
    window.loadForward(walk.position, Math.max(walk.need, framing.overhead), limit, (err) => {
      if (err) return cb(err)
      run.clear()
      framing.walkForward(window, walk, Infinity, limit, run)
      if (run.count > 0) since = run.seqs[run.count - 1]
      next()
    })
  })
}

exports.followFrames = followFrames
