'use strict'
// The formats that can be read: those of offset-log, and those of blocks.

const { walkAlignedBlock } = require('./walk-aligned-block')
const { walkAppendOnlyBlock } = require('./walk-append-only-block')

/**
 * @typedef {(block: Buffer, blockSize: number) => import('./block-walk').BlockWalk} WalkBlock
 */

/** Bytes that the frames of offset-log's formats take beside the data; null where that differs. */
const logFormats = Object.freeze({ checked: null, offset32: 12, offset48: 14, offset53: 16 })

const blockFormats = Object.freeze({
  'flumelog-aligned-offset': walkAlignedBlock,
  'async-append-only-log': walkAppendOnlyBlock
})

/** @typedef {keyof typeof logFormats | keyof typeof blockFormats} Format */

exports.logFormats = logFormats
exports.blockFormats = blockFormats
const names = /** @type {Format[]} */ ([...Object.keys(logFormats), ...Object.keys(blockFormats)])
exports.formats = Object.freeze(names)
