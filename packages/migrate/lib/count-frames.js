'use strict'
// Counts the frames of an offset framing between two of its boundaries.

const { trampoline } = require('@millrace/flow')

/**
 * @param {ReturnType<typeof import('@millrace/block-file').BlockFile>} blocks
 * @param {number} start  where a frame begins
 * @param {number} end  where one ends, at or behind it
 * @param {number} overhead  what a frame takes beside its data, in bytes
 * @param {(err: Error | null, count?: number) => void} cb  may run before `countFrames` returns
 */
function countFrames (blocks, start, end, overhead, cb) {
  let count = 0
  let position = start
  trampoline((next) => {
    if (position >= end) return cb(null, count)
    blocks.readUInt32BE(position, (err, size = 0) => {
      if (err) return cb(err)
      count++
      position += size + overhead
      next()
    })
  })
}

exports.countFrames = countFrames
