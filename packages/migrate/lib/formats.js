'use strict'
// The formats that can be read, and the walks over one block of the two that keep their records in blocks: bytes in,
// where the records are out. docs/format.md describes both.

// Of a record's size. In async-append-only-log also of the zero that ends a block.
const SIZE_SIZE = 2
const FRAME_OVERHEAD = 2 * SIZE_SIZE
const POINTER_SIZE = 4
const MARK_SIZE = 2
// The mark is the block size less 1, in 16 bits.
const BLOCK_SIZE_MAX = 65536

/**
 * A record in a block: its frame begins at `seq`, its data is from `start` to `end`. All are offsets in the block.
 * @typedef {{ seq: number, start: number, end: number }} Found
 * @typedef {{ what: string, start: number, end: number }} Flaw  bytes of the block that are no frames, and why
 */

class BlockWalk {
  constructor () {
    /** @type {Found[]} undeleted, in order, up to the flaw if there is one */
    this.records = []
    /** Frames whose data was erased, or is empty, which looks the same. */
    this.deletedCount = 0
    /** Frames that hold at least one byte, erased or not: the evidence for the format. */
    this.frameCount = 0
    /** @type {Flaw | null} the first damage */
    this.flaw = null
    /** @type {Found[]} undeleted records behind the damage */
    this.rest = []
    /** @type {Flaw | null} what the end of the file cuts off */
    this.torn = null
  }

  /**
   * @param {Buffer} block
   * @param {number} seq
   * @param {number} start
   * @param {number} end
   * @param {Found[]} [records]
   */
  add (block, seq, start, end, records = this.records) {
    if (end > start) this.frameCount++
    if (isAllZero(block, start, end)) this.deletedCount++
    else records.push({ seq, start, end })
  }
}

/** @param {Buffer} buf @param {number} start @param {number} end */
function isAllZero (buf, start, end) {
  for (let offset = start; offset < end; offset++) {
    if (buf[offset] !== 0) return false
  }
  return true
}

/**
 * A block of flumelog-aligned-offset.
 * @param {Buffer} block  shorter than `blockSize` only at the end of the file
 * @param {number} blockSize
 * @returns {BlockWalk}
 */
function walkAlignedBlock (block, blockSize) {
  const walk = new BlockWalk()
  const pointer = block.length === blockSize ? block.readUInt32LE(blockSize - POINTER_SIZE) : null
  let offset = 0
  while (!endsAt(block, offset, pointer)) {
    const frameEnd = findFrameEnd(block, offset, pointer)
    if (frameEnd === null) return endWithFlaw(walk, block, offset, pointer, blockSize)
    walk.add(block, offset, offset + SIZE_SIZE, frameEnd - SIZE_SIZE)
    offset = frameEnd
  }
  return walk
}

/**
 * Whether the block's last frame ends here: at the end of the file; at the mark and the pointer that close a block; or
 * before nothing but zeros, which is how deleting from the last block of a file leaves it.
 * @param {Buffer} block
 * @param {number} offset
 * @param {number | null} pointer  null in a block that is not whole
 */
function endsAt (block, offset, pointer) {
  if (offset === block.length) return true
  if (pointer === null) return false
  return isMarkedAt(block, offset, pointer) || isAllZero(block, offset, block.length)
}

/**
 * @param {Buffer} block  a whole one
 * @param {number} offset
 * @param {number} pointer
 */
function isMarkedAt (block, offset, pointer) {
  if (pointer !== offset || offset > block.length) return false
  // Records larger than the format provides for reach so far that the pointer lies over the mark.
  if (offset > block.length - POINTER_SIZE - MARK_SIZE) return true
  return block.readUInt16LE(offset) === block.length - 1
}

/**
 * @param {Buffer} block
 * @param {number} offset
 * @param {number | null} pointer
 * @returns {number | null}  null if no whole frame begins here
 */
function findFrameEnd (block, offset, pointer) {
  if (offset + FRAME_OVERHEAD > block.length) return null
  const size = block.readUInt16LE(offset)
  const frameEnd = offset + FRAME_OVERHEAD + size
  if (frameEnd > block.length) return null
  if (block.readUInt16LE(frameEnd - SIZE_SIZE) === size) return frameEnd
  // There the pointer lies over the second size.
  return frameEnd > block.length - POINTER_SIZE && pointer === frameEnd ? frameEnd : null
}

/**
 * @param {BlockWalk} walk
 * @param {Buffer} block
 * @param {number} offset  where no frame begins
 * @param {number | null} pointer
 * @param {number} blockSize
 */
function endWithFlaw (walk, block, offset, pointer, blockSize) {
  // What looks like frames in the data of a record that was cut off is data.
  if (pointer === null && isCutOff(block, offset, blockSize)) {
    walk.torn = { what: 'the file ends inside a record', start: offset, end: block.length }
    return walk
  }
  const found = walkBack(block, offset, pointer)
  for (const [start, end] of found) walk.add(block, start, start + SIZE_SIZE, end - SIZE_SIZE, walk.rest)
  const end = found.length > 0 ? found[0][0] : block.length
  walk.flaw = { what: 'a frame contradicts itself: its two sizes do not agree', start: offset, end }
  return walk
}

/**
 * Whether the rest of the last block can be the beginning of one frame, or of a block's end, or was never written.
 * @param {Buffer} block
 * @param {number} offset
 * @param {number} blockSize
 */
function isCutOff (block, offset, blockSize) {
  if (offset + SIZE_SIZE > block.length || isAllZero(block, offset, block.length)) return true
  const frameEnd = offset + FRAME_OVERHEAD + block.readUInt16LE(offset)
  if (frameEnd > block.length) return frameEnd <= blockSize || isBlockEnd(block, offset, blockSize)
  return isAllZero(block, frameEnd - SIZE_SIZE, block.length)
}

/**
 * Whether the rest of the block is the beginning of a mark, filler and pointer.
 * @type {(block: Buffer, offset: number, blockSize: number) => boolean}
 */
function isBlockEnd (block, offset, blockSize) {
  if (blockSize > BLOCK_SIZE_MAX || blockSize - offset < POINTER_SIZE) return false
  const blockEnd = Buffer.alloc(blockSize - offset)
  blockEnd.writeUInt16LE(blockSize - 1)
  blockEnd.writeUInt32LE(offset, blockEnd.length - POINTER_SIZE)
  return blockEnd.subarray(0, block.length - offset).equals(block.subarray(offset))
}

/**
 * Finds the frames that lead back from the end of the block. A write that was cut off leaves bytes that later appends
 * went on behind. Data that repeats itself looks like frames anywhere: where frames could as well end a byte or two
 * beside, none is believed.
 * @param {Buffer} block
 * @param {number} limit  not further back than this
 * @param {number | null} pointer
 * @returns {Array<[start: number, end: number]>}  in order
 */
function walkBack (block, limit, pointer) {
  let end = block.length
  if (pointer !== null) {
    if (pointer < limit || !isMarkedAt(block, pointer, pointer)) return []
    end = pointer
  } else if (isBlurred(block, end, limit)) {
    return []
  }
  /** @type {Array<[number, number]>} */
  const found = []
  for (let start = findFrameStart(block, end, limit); start !== null; start = findFrameStart(block, end, limit)) {
    found.push([start, end])
    end = start
  }
  while (found.length > 0 && isBlurred(block, found[found.length - 1][1], limit)) found.pop()
  return found.reverse()
}

/**
 * @param {Buffer} block
 * @param {number} end  of a frame
 * @param {number} limit  not further back than this
 * @returns {number | null}  where it begins; null if none ends here
 */
function findFrameStart (block, end, limit) {
  if (end - limit < FRAME_OVERHEAD || end > block.length) return null
  const size = block.readUInt16LE(end - SIZE_SIZE)
  const start = end - size - FRAME_OVERHEAD
  // Of zeros any number of empty frames could be made.
  return size === 0 || start < limit || block.readUInt16LE(start) !== size ? null : start
}

/**
 * @param {Buffer} block
 * @param {number} end  of a frame
 * @param {number} limit
 * @returns {boolean}  whether other frames could end right beside it
 */
function isBlurred (block, end, limit) {
  return [-2, -1, 1, 2].some((distance) => findFrameStart(block, end + distance, limit) !== null)
}

/**
 * A block of async-append-only-log.
 * @param {Buffer} block  shorter than `blockSize` only at the end of the file
 * @param {number} blockSize
 * @returns {BlockWalk}
 */
function walkAppendOnlyBlock (block, blockSize) {
  const walk = new BlockWalk()
  let offset = 0
  while (offset + SIZE_SIZE <= block.length) {
    const size = block.readUInt16LE(offset)
    if (size === 0) return endBlock(walk, block, offset, blockSize)
    const start = offset + SIZE_SIZE
    const end = start + size
    // The block's end is marked, so there is always room for the mark.
    if (end + SIZE_SIZE > blockSize) {
      walk.flaw = { what: `a record of ${size} bytes would reach past its block`, start: offset, end: block.length }
      return walk
    }
    if (end > block.length) break
    walk.add(block, offset, start, end)
    offset = end
  }
  walk.torn = { what: 'the file ends inside a block', start: offset, end: block.length }
  return walk
}

/**
 * @param {BlockWalk} walk
 * @param {Buffer} block
 * @param {number} offset  of a size of zero
 * @param {number} blockSize
 */
function endBlock (walk, block, offset, blockSize) {
  if (!isAllZero(block, offset, block.length)) {
    // Nothing tells whether the size was damaged or the record was empty, and what follows cannot be found for certain.
    const what = 'the mark of a block\'s end has bytes behind it: a damaged size, or records behind an empty one, which ' +
      'async-append-only-log does not stream either'
    walk.flaw = { what, start: offset, end: block.length }
  } else if (block.length < blockSize) {
    walk.torn = { what: 'the last block is not whole, though nothing but zeros is known to be missing', start: offset, end: block.length }
  }
  return walk
}

/** Bytes that a frame takes beside its data in offset-log's own formats; null if that varies. */
const logFormats = Object.freeze({ checked: null, offset32: 12, offset48: 14, offset53: 16 })

const blockFormats = Object.freeze({
  'flumelog-aligned-offset': walkAlignedBlock,
  'async-append-only-log': walkAppendOnlyBlock
})

/**
 * @typedef {keyof typeof logFormats} LogFormat
 * @typedef {keyof typeof blockFormats} BlockFormat
 * @typedef {LogFormat | BlockFormat} Format
 * @typedef {(block: Buffer, blockSize: number) => BlockWalk} WalkBlock
 */

exports.logFormats = logFormats
exports.blockFormats = blockFormats
exports.walkAlignedBlock = walkAlignedBlock
exports.walkAppendOnlyBlock = walkAppendOnlyBlock
const names = /** @type {Format[]} */ ([...Object.keys(logFormats), ...Object.keys(blockFormats)])
exports.formats = Object.freeze(names)
