'use strict'
// Records to append: as long as the bench's messages are, and nothing in them that repeats.

const { createPrng } = require('../../lib/prng')

const RECORD_SIZE = 690
const SEED = 690

/**
 * @param {number} count
 * @returns {Buffer[]}  of RECORD_SIZE bytes each, the same ones every time
 */
function createRecords (count) {
  const { uint32 } = createPrng(SEED)
  return Array.from({ length: count }, () => {
    const record = Buffer.allocUnsafe(RECORD_SIZE)
    for (let offset = 0; offset + 4 <= RECORD_SIZE; offset += 4) record.writeUInt32LE(uint32(), offset)
    return record.fill(0xff, RECORD_SIZE - RECORD_SIZE % 4)
  })
}

exports.createRecords = createRecords
exports.RECORD_SIZE = RECORD_SIZE
