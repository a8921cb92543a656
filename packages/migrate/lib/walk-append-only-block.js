'use strict'
// One block of async-append-only-log: bytes in, where its records are out. docs/format.md describes them.

const { BlockWalk, isAllZero } = require('./block-walk')

// Of a record's size, and of the zero that ends a block.
const SIZE_SIZE = 2

/**
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

exports.walkAppendOnlyBlock = walkAppendOnlyBlock
