'use strict'
// Goes through the frames of one chunk, and notes what there is to know of them.

const { FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE } = require('../layout')

class FrameCount {
  constructor () {
    /** How many records lie whole in the chunk and are not erased, and the seq of the last of them. */
    this.recordCount = 0
    this.last = -1
    /** How many erased records begin in it. */
    this.erasedCount = 0
    /** The last frame, if it goes on in the next chunk: where it begins, -1 if it does not, and how much is to come. */
    this.openOffset = -1
    this.openSeq = 0
    this.openRest = 0
    this.isOpenErased = false
    /** The sum of the gaps. */
    this.gapSize = 0
    /** Logical position behind the last frame that is no padding. */
    this.contentEnd = 0
  }

  /**
   * @param {DataView} view
   * @param {number} start  of the first frame
   * @param {number} end  of the chunk
   * @param {number} position  logical, of the first frame
   */
  count (view, start, end, position) {
    this.recordCount = this.erasedCount = this.gapSize = 0
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
      if (type === FRAME_TYPES.ERASED) this.erasedCount++
      if (frameEnd > end) {
        this.openOffset = at
        this.openSeq = at + shift
        this.openRest = frameEnd - end
        this.isOpenErased = type === FRAME_TYPES.ERASED
        break
      }
      if (type === FRAME_TYPES.RECORD) {
        this.recordCount++
        this.last = at + shift
      }
      at = frameEnd
    }
    this.contentEnd = (this.openOffset === -1 ? at : end) + shift
  }
}

exports.FrameCount = FrameCount
