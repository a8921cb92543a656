'use strict'
// The blocks of the two old formats, byte by byte: whole, cut off, damaged, and made of chance.

const fs = require('node:fs')
const tape = require('tape')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { walkAlignedBlock, walkAppendOnlyBlock } = require('../lib/formats')
const { newPath, randomBytes } = require('./helpers')
const { writers } = require('./old-packages')

const BLOCK_SIZE = 256
const seed = Date.now() % 2 ** 31

const walkers = {
  'flumelog-aligned-offset': { walkBlock: walkAlignedBlock, overhead: 4 },
  'async-append-only-log': { walkBlock: walkAppendOnlyBlock, overhead: 2 }
}

/** What a walk found of a block, as texts. */
function found (walk, block) {
  const text = ({ start, end }) => block.toString('latin1', start, end)
  return { records: walk.records.map(text), rest: walk.rest.map(text) }
}

/** A file of one block, and a bit of the next, that the old package wrote; and where each frame of the block begins. */
async function writeBlock (format, records) {
  const file = newPath()
  const seqs = await writers[format](file, records, { blockSize: BLOCK_SIZE })
  const bytes = fs.readFileSync(file)
  return { block: bytes.subarray(0, BLOCK_SIZE), seqs: seqs.filter((seq) => seq < BLOCK_SIZE), bytes }
}

tape('walkAlignedBlock: the block that docs/internals/format.md shows', (t) => {
  const block = Buffer.alloc(32)
  Buffer.from('020068690200' + '0300796f210300' + '1f00', 'hex').copy(block)
  block.writeUInt32LE(13, 28)
  const walk = walkAlignedBlock(block, 32)
  t.deepEqual(found(walk, block), { records: ['hi', 'yo!'], rest: [] })
  t.deepEqual(walk.records.map(({ seq }) => seq), [0, 6])
  t.equal(walk.flaw, null)
  t.end()
})

tape('walkAppendOnlyBlock: the block that docs/internals/format.md shows', (t) => {
  const block = Buffer.alloc(32)
  Buffer.from('02006869' + '0300796f21', 'hex').copy(block)
  const walk = walkAppendOnlyBlock(block, 32)
  t.deepEqual(found(walk, block), { records: ['hi', 'yo!'], rest: [] })
  t.deepEqual(walk.records.map(({ seq }) => seq), [0, 4])
  t.equal(walk.flaw, null)
  t.end()
})

for (const [format, { walkBlock, overhead }] of Object.entries(walkers)) {
  tape(`${format}: cut off anywhere, a block gives its whole records and says that it is torn (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const records = Array.from({ length: 40 }, () => randomBytes(random, 1 + random(30)))
    const { block, seqs } = await writeBlock(format, records)
    for (let size = 0; size < BLOCK_SIZE; size++) {
      const cut = block.subarray(0, size)
      const walk = walkBlock(cut, BLOCK_SIZE)
      const ends = seqs.map((seq, index) => seq + overhead + records[index].length)
      const count = ends.filter((end) => end <= size).length
      const boundary = count === 0 ? 0 : ends[count - 1]
      const isSound = walk.flaw === null && walk.records.length === count &&
        walk.records.every(({ start, end }, index) => cut.subarray(start, end).equals(records[index]))
      // An aligned-offset file may end where a record does; blocks of the other one are always written whole.
      const isCut = format === 'async-append-only-log' || boundary !== size
      const isTold = isCut ? walk.torn?.start === boundary && walk.torn.end === size : walk.torn === null
      if (!isSound || !isTold) t.fail(`at ${size}: ${JSON.stringify(walk)}`)
    }
    t.pass(`${seqs.length} records, ${BLOCK_SIZE} sizes`)
  })

  tape(`${format}: made of chance or hostile, a block never throws, and what it gives lies in it, in order (seed ${seed})`, (t) => {
    const random = createRandom(seed)
    for (let round = 0; round < inQuickRuns(20000); round++) {
      const blockSize = 16 + random(64)
      const block = Buffer.alloc(random(4) === 0 ? random(blockSize + 1) : blockSize)
      // Small numbers, so that many sizes make sense.
      for (let offset = 0; offset < block.length; offset++) block[offset] = random(3) === 0 ? random(12) : 0
      if (random(3) === 0) block.fill(0, random(block.length + 1))
      const { records, rest, flaw, torn } = walkBlock(block, blockSize)
      const all = [...records, ...rest]
      let position = 0
      for (const { seq, start, end } of all) {
        if (!(seq >= position && start === seq + 2 && end > start && end <= block.length)) t.fail(`${blockSize} ${block.toString('hex')}`)
        position = end
      }
      const bad = flaw ?? torn
      if (bad && !(bad.start >= 0 && bad.start <= bad.end && bad.end <= block.length)) t.fail(`${blockSize} ${block.toString('hex')}`)
      if (flaw && torn) t.fail('both')
    }
    t.pass()
    t.end()
  })
}

/** Whether the place that the damaged size leads to holds the same size by chance: then nothing in the format tells. */
function looksWhole (block, seq) {
  const size = block.readUInt16LE(seq)
  const end = seq + 2 + size
  return end + 2 <= block.length && block.readUInt16LE(end) === size
}

tape(`flumelog-aligned-offset: one damaged size takes one record, and it is told which (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const records = Array.from({ length: 40 }, () => randomBytes(random, 3 + random(30)))
  const { block, seqs } = await writeBlock('flumelog-aligned-offset', records)
  for (const [index, seq] of seqs.entries()) {
    for (const position of [seq, seq + 2 + records[index].length]) {
      const damaged = Buffer.from(block)
      damaged[position] ^= 1 << random(8)
      if (looksWhole(damaged, seq)) continue
      const walk = walkAlignedBlock(damaged, BLOCK_SIZE)
      const nextSeq = seqs[index + 1] ?? (index === seqs.length - 1 ? BLOCK_SIZE : -1)
      t.equal(walk.records.length, index)
      t.equal(walk.rest.length, seqs.length - index - 1)
      t.deepEqual([walk.flaw?.start, walk.flaw?.end], [seq, nextSeq])
    }
  }
})

tape('async-append-only-log: bytes behind the mark of a block\'s end are not passed over in silence', async (t) => {
  // It writes an empty record as such a mark, and does not stream what comes after it in the block.
  const { block, seqs } = await writeBlock('async-append-only-log', [Buffer.from('one'), Buffer.alloc(0), Buffer.from('two')])
  const walk = walkAppendOnlyBlock(block, BLOCK_SIZE)
  t.deepEqual(found(walk, block).records, ['one'])
  t.equal(walk.flaw?.start, seqs[1])
})

tape('flumelog-aligned-offset: empty records, which end its own streams, are counted as deleted', async (t) => {
  const { bytes } = await writeBlock('flumelog-aligned-offset', [Buffer.from('one'), Buffer.alloc(0), Buffer.from('two')])
  const walk = walkAlignedBlock(bytes, BLOCK_SIZE)
  t.deepEqual(found(walk, bytes).records, ['one', 'two'])
  t.equal(walk.deletedCount, 1)
  t.equal(walk.flaw, null)
})

/** Data that looks like frames, or like itself a few bytes further on. */
function hostileData (random, size) {
  const kinds = [
    () => Buffer.alloc(size, random(256)),
    () => Buffer.alloc(size, Buffer.from([1 + random(9), 0])),
    () => frames(Array.from({ length: size }, () => randomBytes(random, 1 + random(5)))).subarray(0, size),
    () => randomBytes(random, size)
  ]
  return kinds[random(kinds.length)]()
}

/** @param {Buffer[]} records */
function frames (records) {
  return Buffer.concat(records.map(frame))
}

/** @param {Buffer} data */
function frame (data) {
  const size = Buffer.alloc(2)
  size.writeUInt16LE(data.length)
  return Buffer.concat([size, data, size])
}

tape(`flumelog-aligned-offset: of a log that was cut off no record is invented, whatever its data (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 300; round++) {
    const blockSize = 256 + random(512)
    const records = [1 + random(20), 1 + random(20), blockSize - 64].map((size) => hostileData(random, size))
    const bytes = frames(records)
    const ends = records.map((_, index) => records.slice(0, index + 1).reduce((sum, { length }) => sum + length + 4, 0))
    for (let size = 0; size < bytes.length; size += 1 + random(3)) {
      const walk = walkAlignedBlock(bytes.subarray(0, size), blockSize)
      const isRight = walk.flaw === null && walk.rest.length === 0 &&
        walk.records.length + walk.deletedCount === ends.filter((end) => end <= size).length
      if (!isRight) t.fail(`${records.map((data) => data.toString('hex'))} at ${size}: ${JSON.stringify(walk)}`)
    }
  }
  t.pass()
  t.end()
})

tape('flumelog-aligned-offset: where zeros stand for the end of a write, it is torn', (t) => {
  const whole = frame(Buffer.from('one'))
  const torn = frame(Buffer.alloc(100, 'x')).fill(0, 50)
  const walk = walkAlignedBlock(Buffer.concat([whole, torn, Buffer.alloc(7)]), BLOCK_SIZE)
  t.equal(walk.records.length, 1)
  t.equal(walk.flaw, null)
  t.equal(walk.torn?.start, whole.length)
  t.end()
})

tape('flumelog-aligned-offset: of equal bytes that were cut off and appended to no record is invented', (t) => {
  const blockSize = 65536
  for (let fill = 1; fill < 256; fill++) {
    const torn = frame(Buffer.alloc(60000, fill)).subarray(0, 50000)
    const last = [frame(Buffer.from('appended')), frame(Buffer.alloc(5000, 'later '))]
    const written = Buffer.concat([frame(Buffer.from('first')), torn, ...last])
    const block = Buffer.alloc(blockSize)
    written.copy(block)
    block.writeUInt16LE(blockSize - 1, written.length)
    block.writeUInt32LE(written.length, blockSize - 4)
    const walk = walkAlignedBlock(block, blockSize)
    if (walk.records.length !== 1 || walk.rest.length !== 2) t.fail(`${fill}: ${walk.records.length} and ${walk.rest.length}`)
    // Of the last block nothing says where its frames end.
    const { rest } = walkAlignedBlock(written, blockSize)
    if (rest.length !== 0) t.fail(`${fill}: ${rest.length} in the last block`)
  }
  t.pass()
  t.end()
})

tape('flumelog-aligned-offset: blocks that are larger than their mark can say are read, whatever is in them', (t) => {
  const block = Buffer.concat([frame(Buffer.from('one')), Buffer.alloc(40000, 0xff)])
  t.equal(walkAlignedBlock(block, 2 ** 17).records.length, 1)
  const end = Buffer.concat([Buffer.alloc(2 ** 17 - 100), Buffer.alloc(50, 0xff)])
  end.writeUInt16LE(1)
  t.ok(walkAlignedBlock(end, 2 ** 17))
  t.end()
})
