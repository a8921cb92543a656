'use strict'
// The commits that the followed processes append: each follows from its number, so the reader can tell every byte.

const { createRandom } = require('@millrace/testkit')

const HEAD_SIZE = 12
const WARM_UP_COUNT = 8

/**
 * @param {number} number  of a commit
 * @returns {Buffer[]}  its records: each has the commit's number, its place in it, and how many there are
 */
function createCommit (number) {
  const random = createRandom(Math.imul(number + 1, 0x9e3779b1) | 0)
  for (let i = 0; i < WARM_UP_COUNT; i++) random(2)
  const count = random(3) === 0 ? 1 + random(random(10) === 0 ? 60 : 8) : 1
  return Array.from({ length: count }, (_, index) => {
    const size = HEAD_SIZE + (random(100) === 0 ? random(60_000) : random(700))
    const record = Buffer.alloc(size, 1 + random(255))
    record.writeUInt32BE(number, 0)
    record.writeUInt32BE(index, 4)
    record.writeUInt32BE(count, 8)
    return record
  })
}

/**
 * @param {Buffer} record
 * @returns {{ number: number, index: number, count: number, isRight: boolean }}
 */
function describeRecord (record) {
  const [number, index, count] = [0, 4, 8].map((offset) => record.readUInt32BE(offset))
  const expected = createCommit(number)[index]
  return { number, index, count, isRight: expected !== undefined && expected.equals(record) }
}

exports.createCommit = createCommit
exports.describeRecord = describeRecord
