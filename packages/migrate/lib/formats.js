'use strict'
// Names the formats that can be read, and walks one block of the two formats that have blocks: bytes in, positions of
// records out. docs/internals/format.md describes both.

// Of a record's size; in async-append-only-log, also of the zero that ends a block.
const SIZE_SIZE = 2
const FRAME_OVERHEAD = 2 * SIZE_SIZE
const POINTER_SIZE = 4
const MARK_SIZE = 2
// The mark is the block size less 1, in 16 bits.
const BLOCK_SIZE_MAX = 65536

/**
 * A record or a flaw in a block. All numbers are offsets in the block; `seq` is that of the frame.
 * @typedef {{ seq: number, start: number, end: number }} Found
 * @typedef {{ what: string, start: number, end: number }} Flaw  bytes that are no frames, and why
 */

class BlockWalk {
  constructor () {
    /** @type {Found[]} undeleted, in order, up to the flaw if there is one */
    this.records = []
    /** Frames whose data is erased, or empty, which looks the same. */
    this.deletedCount = 0
    /** Frames with at least one byte, erased or not: the evidence for the format. */
    this.frameCount = 0
    /** @type {Flaw | null} the first damage */
    this.flaw = null
    /** @type {Found[]} undeleted records after the damage */
    this.rest = []
    /** @type {Flaw | null} what the end of the file cuts off */
    this.torn = null
  }

  /** @type {(block: Buffer, seq: number, start: number, end: number, records?: Found[]) => void} */
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

// Walks a block of flumelog-aligned-offset. Only the last block of a file may be shorter than `blockSize`.
/** @type {(block: Buffer, blockSize: number) => BlockWalk} */
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

// Whether the block's last frame ends here. It ends at the end of the file, at the mark and the pointer that close a
// block, or before zeros only: that is how a deletion from the file's last block leaves it. `pointer` is null if the
// block is not whole.
/** @type {(block: Buffer, offset: number, pointer: number | null) => boolean} */
function endsAt (block, offset, pointer) {
  if (offset === block.length) return true
  if (pointer === null) return false
  return isMarkedAt(block, offset, pointer) || isAllZero(block, offset, block.length)
}

/** The block is whole. @type {(block: Buffer, offset: number, pointer: number) => boolean} */
function isMarkedAt (block, offset, pointer) {
  if (pointer !== offset || offset > block.length) return false
  // A record that is larger than the format provides for reaches so far that the pointer overlaps the mark.
  if (offset > block.length - POINTER_SIZE - MARK_SIZE) return true
  return block.readUInt16LE(offset) === block.length - 1
}

// Null if no whole frame begins here.
/** @type {(block: Buffer, offset: number, pointer: number | null) => number | null} */
function findFrameEnd (block, offset, pointer) {
  if (offset + FRAME_OVERHEAD > block.length) return null
  const size = block.readUInt16LE(offset)
  const frameEnd = offset + FRAME_OVERHEAD + size
  if (frameEnd > block.length) return null
  if (block.readUInt16LE(frameEnd - SIZE_SIZE) === size) return frameEnd
  // The pointer overlaps the second size.
  return frameEnd > block.length - POINTER_SIZE && pointer === frameEnd ? frameEnd : null
}

// No frame begins at `offset`.
/** @type {(walk: BlockWalk, block: Buffer, offset: number, pointer: number | null, blockSize: number) => BlockWalk} */
function endWithFlaw (walk, block, offset, pointer, blockSize) {
  // Frames inside a record that was cut off may be its data.
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

// Whether the rest of the last block can be the beginning of one frame or of a block's end, or was never written.
/** @type {(block: Buffer, offset: number, blockSize: number) => boolean} */
function isCutOff (block, offset, blockSize) {
  if (offset + SIZE_SIZE > block.length || isAllZero(block, offset, block.length)) return true
  const frameEnd = offset + FRAME_OVERHEAD + block.readUInt16LE(offset)
  if (frameEnd > block.length) return frameEnd <= blockSize || isBlockEnd(block, offset, blockSize)
  return isAllZero(block, frameEnd - SIZE_SIZE, block.length)
}

// Whether the rest of the block is the beginning of a mark, filler and pointer.
/** @type {(block: Buffer, offset: number, blockSize: number) => boolean} */
function isBlockEnd (block, offset, blockSize) {
  if (blockSize > BLOCK_SIZE_MAX || blockSize - offset < POINTER_SIZE) return false
  const blockEnd = Buffer.alloc(blockSize - offset)
  blockEnd.writeUInt16LE(blockSize - 1)
  blockEnd.writeUInt32LE(offset, blockEnd.length - POINTER_SIZE)
  return blockEnd.subarray(0, block.length - offset).equals(block.subarray(offset))
}

// Finds the frames after a flaw backwards from the block's end, down to `limit`, because a package may append after a
// write that was cut off. Repetitive data looks like frames at any place: if a frame could also end a byte or two
// beside, none is believed. The result is in order.
/** @type {(block: Buffer, limit: number, pointer: number | null) => Array<[start: number, end: number]>} */
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

// Where the frame that ends at `end` begins, not before `limit`; null if none ends there.
/** @type {(block: Buffer, end: number, limit: number) => number | null} */
function findFrameStart (block, end, limit) {
  if (end - limit < FRAME_OVERHEAD || end > block.length) return null
  const size = block.readUInt16LE(end - SIZE_SIZE)
  const start = end - size - FRAME_OVERHEAD
  // Zeros would read as any number of empty frames.
  return size === 0 || start < limit || block.readUInt16LE(start) !== size ? null : start
}

// Whether another frame could end right beside a frame's end.
/** @type {(block: Buffer, end: number, limit: number) => boolean} */
function isBlurred (block, end, limit) {
  return [-2, -1, 1, 2].some((distance) => findFrameStart(block, end + distance, limit) !== null)
}

// Walks a block of async-append-only-log. Only the last block of a file may be shorter than `blockSize`.
/** @type {(block: Buffer, blockSize: number) => BlockWalk} */
function walkAppendOnlyBlock (block, blockSize) {
  const walk = new BlockWalk()
  let offset = 0
  while (offset + SIZE_SIZE <= block.length) {
    const size = block.readUInt16LE(offset)
    if (size === 0) return endBlock(walk, block, offset, blockSize)
    const start = offset + SIZE_SIZE
    const end = start + size
    // Every block ends with a mark, so there is always room for it.
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

// A size of zero is at `offset`.
/** @type {(walk: BlockWalk, block: Buffer, offset: number, blockSize: number) => BlockWalk} */
function endBlock (walk, block, offset, blockSize) {
  if (!isAllZero(block, offset, block.length)) {
    // The size may be damaged, or the record may be empty: nothing tells which, and where the records continue.
    const what = 'the mark of a block\'s end has bytes after it: a damaged size, or records after an empty one, which ' +
      'async-append-only-log does not stream either'
    walk.flaw = { what, start: offset, end: block.length }
  } else if (block.length < blockSize) {
    walk.torn = { what: 'the last block is not whole, though nothing but zeros is known to be missing', start: offset, end: block.length }
  }
  return walk
}

/** How many bytes a frame takes beside its data in the formats of offset-log; null if that varies. */
const logFormats = Object.freeze({ checked: null, lines: null, offset32: 12, offset48: 14, offset53: 16 })

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
