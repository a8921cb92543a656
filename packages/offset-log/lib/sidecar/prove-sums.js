'use strict'
// Reads a log whole, makes the sums of all its blocks, and compares them with those that a sidecar says they should be.

const { crc32 } = require('../framing/checked/crc32')
const { BLOCK_SIZE } = require('./layout')
const { Sums } = require('./sums')
const { visitBlocks } = require('./visit-blocks')

/**
 * @typedef {object} Proof
 * @property {Sums} sums  of the log as it is
 * @property {number} comparedCount  how many blocks were compared
 * @property {Array<{ start: number, end: number }>} differing  those of them that are not as they should be
 * @property {boolean} isRight  there were sums, and all that has one is there and as it should be
 */

/**
 * @param {import('@millrace/block-file/lib/storage').StorageHandle} handle  of the log
 * @param {number} size  of the log
 * @param {Sums | null} expected
 * @param {(err: Error | null, proof?: Proof) => void} cb
 */
function proveSums (handle, size, expected, cb) {
  /** @type {Proof} */
  const proof = { sums: new Sums(), comparedCount: 0, differing: [], isRight: false }
  visitBlocks(handle, { start: 0, end: size }, (index, bytes) => {
    proof.sums.extend(bytes)
    if (!expected?.isKnown(index)) return
    const start = index * BLOCK_SIZE
    const end = expected.blockEnd(index)
    if (end - start > bytes.length) return
    proof.comparedCount++
    const sum = end - start === bytes.length ? proof.sums.at(index) : crc32(bytes.subarray(0, end - start))
    if (sum !== expected.at(index)) proof.differing.push({ start, end })
  }, (err, end = 0) => {
    if (err) return cb(err)
    proof.isRight = expected !== null && proof.differing.length === 0 && end >= expected.end
    cb(null, proof)
  })
}

exports.proveSums = proveSums
