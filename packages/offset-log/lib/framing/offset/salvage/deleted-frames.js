'use strict'
// Frames of deleted records, in place of what is lost: so what comes behind keeps its place.

// A reader holds a frame as a whole, a deleted one too.
const FRAME_SIZE_MAX = 1024 * 1024

/**
 * @param {import('../offset-framing').OffsetFraming} framing
 * @param {number} start
 * @param {number} end  at least one frame's overhead behind
 * @returns {() => Buffer}  makes the next of the frames
 */
function fillWithDeleted (framing, start, end) {
  const { overhead } = framing
  return () => {
    const left = end - start
    let size = Math.min(left, FRAME_SIZE_MAX)
    // What is left must hold a frame.
    if (size < left && left - size < overhead) size -= overhead
    const bytes = Buffer.alloc(size)
    framing.writeFrame(Buffer.alloc(size - overhead), start, bytes, 0)
    start += size
    return bytes
  }
}

exports.fillWithDeleted = fillWithDeleted
