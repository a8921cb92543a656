'use strict'
// Goes through the frames of one chunk, and notes what there is to know of them.

const { FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE } = require('../layout')

class FrameCount {
  constructor () {
    /** How many records lie whole in the chunk and are not erased, and the seq of the last of them. */
    this.recordCount = 0
    this.last = -1
    /** The last frame, if it goes on in the next chunk: where it begins, -1 if there is none, and its record's size. */
    this.openOffset = -1
    this.openSize = 0
    this.isOpenErased = false
    /** The sum of the gaps. */
    this.gapSize = 0
  }

  /**
   * @param {DataView} view
   * @param {number} start  of the first frame
   * @param {number} end  of the chunk
   * @param {number} position  logical, of the first frame
   */
  count (view, start, end, position) {
    this.recordCount = this.gapSize = 0
    this.openOffset = -1
    let shift = position - start
    let at = start
    while (end - at >= LENGTH_SIZE) {
      const word = view.getUint32(at)
      const size = word & FRAME_LENGTH_MASK
      const type = word >>> 30
      if (type === FRAME_TYPES.PADDING) break
      if (type === FRAME_TYPES.GAP) {
        shift += size
        this.gapSize += size
        at += LENGTH_SIZE
        continue
      }
      const frameEnd = at + LENGTH_SIZE + size
      if (frameEnd > end) {
        this.openOffset = at
        this.openSize = size
        this.isOpenErased = type === FRAME_TYPES.ERASED
        break
      }
      if (type === FRAME_TYPES.RECORD) {
        this.recordCount++
        this.last = at + shift
      }
      at = frameEnd
    }
  }
}

exports.FrameCount = FrameCount
