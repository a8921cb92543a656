'use strict'
// Commits, as packCommit makes them, read by the oracle of the format.

const tape = require('tape')
const { HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, packCommit, packedSizeMax } = require('..')
const { decodeChunks, decodeFrames } = require('./checked-oracle')

tape('pack-commit: records of every kind of size, wherever a page begins or ends', (t) => {
  const salt = 0x5a175a17
  const starts = Array.from({ length: 20 }, (_, index) => index * 4 + 40)
  const offsets = [0, ...starts, ...Array.from({ length: 420 }, (_, index) => PAGE_SIZE - 420 + index)]
  const shapes = [[0], [1, 0], [4], [212], [255], [256], [257], [300, 0, 5], [16340], [16341], [16344, 1], [40000, 2]]
  let count = 0
  for (const offset of offsets) {
    for (const sizes of shapes) {
      if (sizes[0] > 20000 && offset % 9 > 0) continue
      const records = sizes.map((size, index) => Buffer.alloc(size, 1 + index))
      const end = HEAD_SIZE + offset
      const ends = records.map((_, index) => index + 1)
      const group = { records, ends, seqs: records.map(() => -1), count: records.length }
      const size = records.reduce((sum, { length }) => sum + LENGTH_SIZE + length, 0)
      const target = Buffer.alloc(packedSizeMax(size), 0xff)
      const packed = packCommit(group, { end, shift: 0, chainCrc: 77 }, { salt, epoch: 3, durable: HEAD_SIZE }, target)
      const chunks = decodeChunks(packed.bytes, { salt, base: HEAD_SIZE, hasGaps: false, start: end, previous: 77 })
      const frames = decodeFrames(chunks)
      const isRight = frames.length === records.length && frames.every(({ seq, data }, index) => {
        return seq === group.seqs[index] && data.equals(records[index])
      })
      if (!isRight) t.fail(`${sizes} at ${offset}`)
      const { tail } = packed
      const isTail = tail.end === end + packed.bytes.length && tail.chainCrc === chunks.at(-1).chainCrc
      if (!isTail) t.fail(`the tail after ${sizes} at ${offset}`)
      const first = chunks.find(({ payload }) => payload.length > 0)
      const splitSize = frames[0].data.length > 0 ? first.payload.length - 4 : 0
      const isSplitEarly = splitSize > 0 && splitSize < Math.min(256, sizes[0]) && first.payload[0] < 64
      if (isSplitEarly) t.fail(`${sizes} at ${offset} split after ${splitSize}`)
      count++
    }
  }
  t.pass(`${count} commits`)
  t.end()
})
