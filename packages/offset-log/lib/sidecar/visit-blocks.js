'use strict'
// Goes over a log's file a block at a time, in little memory.

const { readWhole, trampoline } = require('@millrace/block-file')
const { BLOCK_SIZE } = require('./layout')

const PIECE_SIZE = 16 * BLOCK_SIZE

/**
 * @param {import('@millrace/block-file/lib/storage').StorageHandle} handle
 * @param {{ start: number, end: number }} range  begins at a block's start
 * @param {(index: number, bytes: Buffer) => void} visit  the bytes are good until it returns; fewer than a block only
 *   at the end of the range or of the file
 * @param {(err: Error | null, end?: number) => void} cb  how far the bytes reached
 */
function visitBlocks (handle, { start, end }, visit, cb) {
  const buf = Buffer.allocUnsafeSlow(Math.max(0, Math.min(PIECE_SIZE, end - start)))
  let position = start
  trampoline((next) => {
    if (position >= end) return cb(null, position)
    const piece = buf.subarray(0, Math.min(buf.length, end - position))
    readWhole(handle, piece, position, (err, count) => {
      if (err) return cb(err)
      for (let offset = 0; offset < count; offset += BLOCK_SIZE) {
        visit((position + offset) / BLOCK_SIZE, piece.subarray(offset, Math.min(offset + BLOCK_SIZE, count)))
      }
      position += count
      // The file may have become shorter meanwhile.
      if (count < piece.length) cb(null, position)
      else next()
    })
  })
}

exports.visitBlocks = visitBlocks
